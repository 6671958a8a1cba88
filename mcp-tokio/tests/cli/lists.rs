//! `mcp tools`, `mcp resources`, `mcp prompts`.

use super::run::{run, with_server};
use super::server::over_http;

crate::all!(tools, resources, prompts, for_programs);

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
