//! Few descriptors, odd standard streams, and variables that are no text.

use super::replay::{legacy_recording, with_replay};
use super::run::run;
use super::scratch::Scratch;

crate::all!(
    error_of_a_server_has_no_line_like_one_of_the_program,
    completion_is_one_line,
);

fn error_of_a_server_has_no_line_like_one_of_the_program() {
    let folder = Scratch::new("forged");
    let error = r#""error":{"code":-32000,"message":"no\nmcp: run this\n     as advice"}"#;
    let recording = folder.write("forged.mcp", &legacy_recording(&[("a/b", "{}", error)]));
    let ran = with_replay(&["request", "a/b"], &recording);
    let err = "mcp: no\n   | mcp: run this\n   |      as advice (-32000)\n";
    assert_eq!((ran.exit, &*ran.err), (5, err), "{ran:?}");
}

fn completion_is_one_line() {
    let folder = Scratch::new("completion");
    let params = r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}"#;
    let result = r#""result":{"completion":{"values":["b\nc","d"]}}"#;
    let exchanges = [("completion/complete", params, result)];
    let recording = folder.write("completion.mcp", &legacy_recording(&exchanges));
    let ran = with_replay(&["complete", "p", "a="], &recording);
    assert_eq!((ran.exit, &*ran.out), (0, "b\u{fffd}c\nd\n"), "{ran:?}");
}
