//! TLS for `https` URLs: the same on all runtimes.
//!
//! In: the certificate authorities to trust, a host, a socket. Out: a TLS socket, or the reason why
//! the server is not trusted. Without the feature `tls`, connecting fails.

/// Error of a handshake whose answer is not TLS, for the advice of the program `mcp`.
pub const NOT_TLS: &str = "the answer of the server is not TLS";

/// Error of a handshake with a server whose certificate is from an unknown authority, for the same
/// purpose.
pub const UNTRUSTED: &str =
    "the certificate of the server is from an authority that is not trusted";

#[cfg(not(feature = "tls"))]
mod nothing;
#[cfg(feature = "tls")]
mod policy;
#[cfg(feature = "tls")]
mod socket;

#[cfg(not(feature = "tls"))]
pub(super) use nothing::Tls;
#[cfg(feature = "tls")]
pub(super) use policy::Tls;
