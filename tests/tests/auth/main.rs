//! The client of OAuth: its tables as a whole, the bugs of other clients (`a01` to `a50`), and what
//! an attacker may try (`s01` to `s20`), as far as the machine decides them.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a driver of a test skips other actions")]

mod authorize;
mod closing;
mod discovery;
mod grants;
mod held;
mod host;
mod http_client;
mod locks;
mod proofs;
mod protected;
mod proxies;
mod rounds;
mod security;
mod sign_in;
mod step_ups;
mod tables;
mod tokens;
mod world;
