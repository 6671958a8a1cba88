//! `mcp call`.

use serde_json::Value;

use super::run::{run, with_server, with_server_in};
use super::server::{ODD, over_http};

crate::all!(
    what_happens_is_shown,
    less_is_shown,
    arguments_have_the_types_of_the_schema,
    for_programs,
    json_that_cannot_be_decoded_is_written_unchanged,
    a_tool_that_fails,
    an_error,
    nobody_is_there_to_be_asked,
    nothing_steers_the_terminal,
    too_slow,
    the_conversation_is_shown_once,
);

fn what_happens_is_shown() {
    let err = "\
progress 1 of 2  a cup
progress 2 of 2  a cup
warning: there is no milk
";
    let out = "2 cups, sugar: None, []\n";
    for kind in ["both", "legacy"] {
        let ran = with_server(kind, &["call", "--quiet", "brew", "cups=2"]);
        assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, out, err), "{kind}");
    }
    let url = over_http(None);
    for era in ["modern", "legacy"] {
        let ran = run(&["call", &url, "--era", era, "brew", "cups=2"]);
        assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, out, err), "{era}");
    }
}

fn less_is_shown() {
    let ran = with_server("both", &["call", "-q", "--log-level", "error", "brew", "cups=0"]);
    assert_eq!((ran.exit, &*ran.err), (0, ""));
}

fn arguments_have_the_types_of_the_schema() {
    let words =
        ["call", "-q", "--log-level=error", "brew", "cups=0", "sugar=true", r#"notes=["a"]"#];
    let ran = with_server("both", &words);
    assert_eq!((&*ran.out, &*ran.err), ("0 cups, sugar: Some(true), [\"a\"]\n", ""));
    let args = r#"{"cups":0,"notes":["b"]}"#;
    let ran = with_server("both", &["call", "-q", "--log-level=error", "brew", "--args", args]);
    assert_eq!((&*ran.out, &*ran.err), ("0 cups, sugar: None, [\"b\"]\n", ""));
}

fn for_programs() {
    let mut ran = with_server("legacy", &["call", "--quiet", "--json", "brew", "cups=1"]);
    // The order of members has no meaning: they are compared in alphabetical order.
    let sorted = |line: &str| serde_json::from_str::<Value>(line).unwrap().to_string() + "\n";
    ran.out = ran.out.lines().map(sorted).collect();
    let expected = concat!(
        r#"{"progress":{"message":"a cup","progress":1.0,"total":1.0}}"#,
        "\n",
        r#"{"log":{"data":"there is no milk","level":"warning"}}"#,
        "\n",
        r#"{"result":{"content":[{"text":"1 cups, sugar: None, []","type":"text"}]}}"#,
        "\n",
    );
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, expected, ""));
}

fn json_that_cannot_be_decoded_is_written_unchanged() {
    let result = format!("\"structuredContent\":{ODD}");
    for kind in ["odd", "legacy odd"] {
        let ran = with_server(kind, &["call", "-q", "--json", "weigh"]);
        assert_eq!(ran.exit, 0, "{kind}: {ran:?}");
        let lines: Vec<_> = ran.out.lines().collect();
        assert!(lines.len() == 2 && lines[0].contains(&format!("\"data\":{ODD}")), "{ran:?}");
        assert!(lines[1].contains(&result), "{kind}: {ran:?}");
        let words = ["request", "-q", "--json", "tools/call", "name=weigh", "arguments={}"];
        let ran = with_server(kind, &words);
        assert!(ran.exit == 0 && ran.out.contains(&result), "{kind}: {ran:?}");
    }
}

fn a_tool_that_fails() {
    let ran = with_server("both", &["call", "--quiet", "burn"]);
    let err = "mcp: the tool says that it has failed\n";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (1, "It burns.\n", err));
}

fn an_error() {
    let ran = with_server("both", &["call", "--quiet", "leave"]);
    let err = "mcp: The cook is gone. (-32603)\n";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (5, "", err));
    let ran = with_server("both", &["call", "--quiet", "--json", "leave"]);
    let out = concat!(
        r#"{"error":{"advice":null,"exit":5,"kind":"json-rpc","message":"The cook is gone. (-32603)"}}"#,
        "\n"
    );
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (5, out, err));
}

fn nobody_is_there_to_be_asked() {
    let err = "\
the server asks: What is your name?
there is no terminal to answer at: declined
";
    for kind in ["both", "legacy"] {
        let ran = with_server(kind, &["call", "--quiet", "name"]);
        assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "Decline\n", err), "{kind}");
    }
    let ran = with_server("both", &["call", "--quiet", "--json", "name"]);
    let asked = r#"{"asked":{"action":"decline","message":"What is your name?"}}"#;
    assert_eq!(ran.out.lines().next(), Some(asked));
}

fn nothing_steers_the_terminal() {
    let ran = with_server("both", &["call", "--quiet", "red"]);
    assert_eq!((ran.exit, &*ran.out), (0, "\u{fffd}[31mred\n"));
}

fn too_slow() {
    let ran = with_server("both", &["call", "--quiet", "--timeout", "0.5", "sleep"]);
    let err = "\
mcp: the server has not answered in time
     --timeout gives it more time
";
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (6, "", err));
}

fn the_conversation_is_shown_once() {
    let ran = with_server_in(&[("MCP_WIRE", "1")], "both", &["call", "red"]);
    let calls = ran.err.lines().filter(|line| line.contains(r#""method":"tools/call""#));
    assert_eq!(calls.count(), 1, "{}", ran.err);
}
