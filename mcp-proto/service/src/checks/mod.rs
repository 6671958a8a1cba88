//! Checks around the handlers of validated tools; feature `validate`.

#[cfg(not(feature = "validate"))]
#[expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the same methods as with the feature"
)]
mod nothing;
#[cfg(feature = "validate")]
mod validated;

#[cfg(not(feature = "validate"))]
pub(super) use nothing::Checks;
#[cfg(feature = "validate")]
pub(super) use validated::Checks;
