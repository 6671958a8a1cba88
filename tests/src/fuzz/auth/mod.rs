//! A client that signs in, with servers, a store and a person that do what a script says, under the
//! eyes of a model.
//!
//! In: bytes: the settings, then steps. Out: a panic if something is not as the model has it:
//!
//! - a request that is held is sent or fails, and is sent at most 4 times;
//! - a flow takes at most 40 requests; a question follows at most 3 redirects, and a POST none;
//! - an operation steps up at most 3 times, and nothing is repeated twice for want of a nonce;
//! - a URL is one of `https` at a public host;
//! - a token goes to its server only, and what one issuer gave or knows never goes to another;
//! - a lock and a listener end with the flow, and each wait has an end;
//! - no secret is in a `Debug` or a `Display`.

mod canaries;
mod documents;
mod fetches;
mod model;
mod requests;
mod settings;
mod store;

use std::collections::BTreeSet;

use super::script_bytes::ScriptBytes;
use model::AuthModel;

/// The most steps of a script.
const MAX_STEPS: usize = 96;

/// Plays a script.
pub fn auth(data: &[u8]) {
    auth_rows(data);
}

/// Plays a script. Returns the rows of tables that were taken: the table, and the row.
pub fn auth_rows(data: &[u8]) -> BTreeSet<(&'static str, &'static str)> {
    let mut bytes = ScriptBytes::new(data);
    let mut model = AuthModel::new(&mut bytes);
    for _ in 0..MAX_STEPS {
        if bytes.is_empty() {
            break;
        }
        match bytes.next() % 16 {
            0..=7 => model.answer(&mut bytes),
            8 | 9 => model.request(&mut bytes),
            10 | 11 => model.respond(&mut bytes),
            12 => model.pass(&mut bytes),
            13 => model.command(&mut bytes),
            14 => model.repeat(&mut bytes),
            _ => model.redirect(&mut bytes),
        }
    }
    model.end()
}
