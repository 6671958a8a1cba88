//! TLS for `https` URLs: the same on all runtimes.
//!
//! In: the authorities to trust, a host, a socket. Out: a socket within TLS, or in words why the
//! server is not to be trusted. Without the feature `tls` there is none.

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
