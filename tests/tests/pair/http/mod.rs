//! A pair over HTTP: what it offers, what breaks its connections, and what becomes of sessions.

mod breaks;
mod eras;
mod inputs;
mod modes;
mod network;
mod sessions;
mod site;
mod streams;
