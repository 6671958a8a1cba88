//! A server over HTTP: its connections and the handlers of its sessions, in virtual time.

mod alike;
mod connections;
mod modern;
mod outside;
mod reentrance;
mod sessions;
pub(crate) mod site;
mod threads;
mod token_ends;
mod verifiers;
mod wire;
