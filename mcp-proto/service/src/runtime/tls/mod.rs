//! TLS for `https` URLs: the same on all runtimes.
//!
//! In: the certificate authorities to trust, a host, a socket. Out: a TLS socket, or the reason why
//! the server is not trusted. Without the feature `tls`, connecting fails.

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
