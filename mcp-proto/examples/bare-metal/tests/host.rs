//! What runs on bare metal gives the same answers on a host.

use std::process::Command;

const ANSWER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"#,
    r#""io.modelcontextprotocol/serverInfo":{"name":"bare-metal","version":"1.0.0"}},"#,
    r#""content":[{"type":"text","text":"5"}]}}"#,
    "\n",
);

fn served(input: &str) -> String {
    let mut output = Vec::new();
    bare_metal::serve(input.as_bytes(), |answer| output.extend_from_slice(answer)).unwrap();
    String::from_utf8(output).unwrap()
}

#[test]
fn a_modern_client_is_answered_on_the_heap_of_the_program() {
    let output = Command::new(env!("CARGO_BIN_EXE_bare-metal")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    let (answer, heap) = output.split_at(output.find("heap: ").unwrap());
    assert_eq!(answer, ANSWER);
    assert!(heap.ends_with(" bytes at most, 0 blocks left\n"), "{heap}");
    print!("{heap}");
}

#[test]
fn a_legacy_client_is_answered() {
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2147483647,"b":1}}}"#;
    let expected = concat!(
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{"tools":{}},"serverInfo":{"name":"bare-metal","version":"1.0.0"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"2147483648"}]}}"#,
        "\n",
    );
    assert_eq!(served(&format!("{initialize}\n{call}")), expected);
}

#[test]
fn what_is_no_message_is_answered_too() {
    assert!(served("{]\n").starts_with(r#"{"jsonrpc":"2.0","error":{"code":-32700,"#));
}
