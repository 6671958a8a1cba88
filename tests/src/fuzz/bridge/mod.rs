//! A bridge between a client and a server that send what a script says, under the eyes of a model.
//!
//! In: bytes: the two eras, then steps. If the first byte has 4, the steps are those of [`crowd`].
//! Out: a panic if something is not as the model has it:
//!
//! - a request arrives once, with its method and its parameters, but for what belongs to one hop;
//! - within an era a result, an error, progress and a question arrive as they were sent;
//! - nothing is answered twice, nor after it was cancelled; a call is never sent twice;
//! - when the server has ended, everything is answered, and nothing waits;
//! - the same lines in pieces give both peers the same bytes.

mod crowd;
mod model;

use mcp_proto::Era;

use model::BridgeModel;

use super::script_bytes::ScriptBytes;

/// The most steps of a script.
const MAX_STEPS: usize = 64;

/// Plays a script, with whole lines and in pieces.
///
/// # Panics
///
/// If a property does not hold.
pub fn bridge(data: &[u8]) {
    let piece = 1 + data.len() % 13;
    if data.first().is_some_and(|eras| eras & 4 != 0) {
        let whole = crowd::play(data, usize::MAX);
        assert!(whole == crowd::play(data, piece), "pieces of lines make a difference");
        return;
    }
    let whole = play(data, usize::MAX);
    assert!(whole == play(data, piece), "pieces of lines make a difference");
}

/// Returns all bytes that the client has got, and all that the server has got.
fn play(data: &[u8], chunk: usize) -> [Vec<u8>; 2] {
    let mut bytes = ScriptBytes::new(data);
    let eras = bytes.next();
    let era = |bit: u8| if eras & bit == 0 { Era::Legacy } else { Era::Modern };
    let mut model = BridgeModel::new(era(1), era(2), chunk);
    for _ in 0..MAX_STEPS {
        if bytes.is_empty() {
            break;
        }
        match bytes.next() % 14 {
            0..=3 => model.request(&mut bytes),
            4..=6 => model.respond(&mut bytes),
            7 => model.refuse(&mut bytes),
            8 => model.cancel(&mut bytes),
            9 => model.progress(&mut bytes),
            10 => model.ask(&mut bytes),
            11 => model.pass(&mut bytes),
            12 => model.repeat(&mut bytes),
            _ => model.babble(&mut bytes),
        }
    }
    model.end()
}
