//! Places of the keys of an issuer.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use std::io;

/// The keys of an issuer: a JSON Web Key Set, from wherever it is.
///
/// A function to a future of bytes is one. The adapters have one that fetches a URL.
pub trait KeySource: Send + Sync {
    /// Starts to fetch the set. Dropping the future gives up.
    fn fetch(&self) -> Pin<Box<dyn Future<Output = io::Result<Vec<u8>>> + Send>>;
}

impl<F, Fut> KeySource for F
where
    F: Fn() -> Fut + Send + Sync,
    Fut: Future<Output = io::Result<Vec<u8>>> + Send + 'static,
{
    fn fetch(&self) -> Pin<Box<dyn Future<Output = io::Result<Vec<u8>>> + Send>> {
        Box::pin(self())
    }
}
