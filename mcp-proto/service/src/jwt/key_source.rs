//! Sources of the keys of an issuer.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use std::io;

/// A source of the keys of an issuer: a JSON Web Key Set.
///
/// Implemented by async functions that return the bytes. The adapters have a source that fetches a
/// URL.
pub trait KeySource: Send + Sync {
    /// Fetches the set. The future is dropped after 5 s; dropping it cancels the fetch.
    ///
    /// Several tasks may poll the future in turn. It is not polled while no token is verified; if
    /// its 5 s end meanwhile, the next token drops it. An error of any kind is a failure, and
    /// so is a text that is no JSON Web Key Set. Of a set, 64 keys are read.
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
