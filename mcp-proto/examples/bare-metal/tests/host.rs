//! Tests on a host: the code for bare metal gives the same answers there, within its bounds.

use std::io::Write;
use std::process::{Command, Stdio};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
"#;
const ANSWER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"#,
    r#""io.modelcontextprotocol/serverInfo":{"name":"bare-metal","version":"1.0.0"}},"#,
    r#""content":[{"type":"text","text":"5"}]}}"#,
    "\n",
);
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}
"#;
const INITIALIZED: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{"tools":{}},"serverInfo":{"name":"bare-metal","version":"1.0.0"}}}"#,
    "\n",
);
const LEGACY_CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2147483647,"b":1}}}
"#;
const LEGACY_ANSWER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"2147483648"}]}}"#,
    "\n",
);

fn served(input: &str) -> String {
    let mut output = Vec::new();
    let mut server = bare_metal::Server::new().unwrap();
    for piece in input.as_bytes().chunks(7) {
        server.handle_bytes(piece, |answer| output.extend_from_slice(answer));
    }
    String::from_utf8(output).unwrap()
}

/// Output of the program, and what it says about its heap.
fn run(input: &str) -> (String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_bare-metal"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, input) = (program.stdin.take().unwrap(), input.to_owned());
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = program.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    let (answers, heap) = output.split_at(output.find("heap: ").unwrap());
    (answers.to_owned(), heap.to_owned())
}

#[test]
fn a_modern_client_is_answered_on_the_heap_of_the_program() {
    let (answers, heap) = run(CALL);
    assert_eq!(answers, ANSWER);
    assert!(heap.ends_with(" bytes at most, 0 blocks left\n"), "{heap}");
    print!("{heap}");
}

#[test]
fn a_thousand_calls_take_hardly_more_of_the_heap_than_one() {
    let peak = |heap: &str| heap.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    let (_, one) = run(CALL);
    let (answers, all) = run(&CALL.repeat(1000));
    assert_eq!(answers, ANSWER.repeat(1000));
    assert!(peak(&all) <= peak(&one) + 1024, "{one}{all}");
    assert!(all.ends_with(" 0 blocks left\n"), "{all}");
}

#[test]
fn a_line_that_is_longer_than_the_heap_is_refused() {
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}\n", "x".repeat(100_000));
    let (answers, heap) = run(&[&long, CALL].concat());
    assert!(answers.contains(r#""code":-32600"#) && answers.ends_with(ANSWER), "{answers}");
    assert!(heap.ends_with(" 0 blocks left\n"), "{heap}");
}

#[test]
fn a_legacy_client_is_answered() {
    assert_eq!(served(&[INITIALIZE, LEGACY_CALL].concat()), [INITIALIZED, LEGACY_ANSWER].concat());
}

#[test]
fn a_conversation_ends_with_its_mark_and_the_next_one_begins() {
    let conversations = [CALL, "\x04", INITIALIZE, LEGACY_CALL, "\x04", CALL].concat();
    assert_eq!(served(&conversations), [ANSWER, INITIALIZED, LEGACY_ANSWER, ANSWER].concat());
    // What is left of a message is no part of the next conversation.
    let answers = served(&[r#"{"jsonrpc""#, "\x04", CALL].concat());
    assert!(answers.contains(r#""code":-32700"#) && answers.ends_with(ANSWER), "{answers}");
}

#[test]
fn what_is_no_message_is_answered_too() {
    assert!(served("{]\n").starts_with(r#"{"jsonrpc":"2.0","error":{"code":-32700,"#));
}
