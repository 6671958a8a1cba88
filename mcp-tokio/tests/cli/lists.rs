//! `mcp tools`, `mcp resources`, `mcp prompts`.

use super::run::{run, with_server};
use super::server::over_http;

crate::all!(
    tools,
    strict_tools_without_findings,
    strict_tools_with_findings,
    resources,
    prompts,
    for_programs,
);

const KINDS: [&str; 2] = ["both", "legacy"];

fn tools() {
    let expected = "\
brew
  Makes coffee
    cups   integer          required  How many.
    notes  array of string  optional  What is said of it.
    sugar  boolean          optional  Whether there is sugar in it.

burn
  Fails

leave
  Ends with an error

name
  Asks for a name

sleep
  Takes an hour

red
  Would like to be \u{fffd}[31mred
";
    for kind in KINDS {
        let ran = with_server(kind, &["tools", "--quiet"]);
        assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, expected, ""), "{kind}");
    }
    assert_eq!(run(&["tools", &over_http(None)]).out, expected);
}

fn strict_tools_without_findings() {
    let expected = (0, "no findings in 6 tools\n", "");
    for kind in KINDS {
        let ran = with_server(kind, &["tools", "--strict", "--quiet"]);
        assert_eq!((ran.exit, &*ran.out, &*ran.err), expected, "{kind}");
    }
    let ran = run(&["tools", "--strict", "--json", &over_http(None)]);
    assert_eq!((ran.exit, &*ran.out), (0, "{\"findings\":[]}\n"));
}

fn strict_tools_with_findings() {
    let expected = "\
brew /inputSchema/properties/sugar: `null` as a type of a member that is not required: leave the \
member out instead
brew /inputSchema/properties/cups/format: `format` that JSON Schema does not name: remove it, or \
use bounds or a pattern
burn /inputSchema: object without `properties`: add `\"properties\": {}`
by-hand /inputSchema/$schema: `$schema` names the default dialect: remove it
by-hand /inputSchema/$defs/A: definition with one reference: write it in the place of the `$ref`
by-hand /outputSchema: object without `properties`: add `\"properties\": {}`
";
    let ran = with_server("verbatim", &["tools", "--strict", "--quiet"]);
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (8, expected, ""));
    let ran = with_server("verbatim", &["tools", "--strict", "--quiet", "--json"]);
    let findings: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.exit, findings["findings"].as_array().unwrap().len()), (8, 6));
    let finding = serde_json::json!({
        "tool": "burn",
        "path": "/inputSchema",
        "rule": "missing-properties",
        "message": "object without `properties`: add `\"properties\": {}`",
    });
    assert_eq!(findings["findings"][2], finding);
}

fn resources() {
    let expected = "\
kitchen://stock  stock [text/plain]
  What there is

kitchen://recipes/{dish}  recipes
";
    for kind in KINDS {
        let ran = with_server(kind, &["resources", "--quiet"]);
        assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, expected, ""), "{kind}");
    }
}

fn prompts() {
    let expected = "\
cook
  Cooks
    dish  string  required  Which.
";
    for kind in KINDS {
        let ran = with_server(kind, &["prompts", "--quiet"]);
        assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, expected, ""), "{kind}");
    }
}

fn for_programs() {
    let ran = with_server("both", &["resources", "--quiet", "--json"]);
    let expected = concat!(
        r#"{"resources":[{"uri":"kitchen://stock","name":"stock","description":"What there is","#,
        r#""mimeType":"text/plain"}],"resourceTemplates":["#,
        r#"{"uriTemplate":"kitchen://recipes/{dish}","name":"recipes"}]}"#,
        "\n",
    );
    assert_eq!((ran.exit, &*ran.out), (0, expected));
    let ran = with_server("both", &["tools", "--quiet", "--json"]);
    let tools: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        tools["tools"][5]["description"], "Would like to be \u{1b}[31mred",
        "programs get all as it is"
    );
}
