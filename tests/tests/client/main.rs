//! The client as futures, against a server of ours in virtual time: both eras for whatever both
//! have.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod bench;
mod callbacks;
mod cancel;
mod decisions;
mod early;
mod end;
mod flow;
mod hear;
mod input;
mod methods;
mod storm;
mod subscriptions;
mod threads;
mod time;
mod verdict;
