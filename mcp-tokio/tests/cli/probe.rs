//! `mcp probe`.

use super::run::{Running, run, with_server};
use super::server::{over_http, refusing};

crate::all!(
    a_modern_server,
    a_legacy_server,
    a_server_over_http,
    steps_are_seen_when_they_are_taken,
    for_programs,
    one_era_alone,
    error_of_a_step_is_shown,
);

const MODERN: &str = "\u{20}N ms  server/discover is sent
 N ms  an answer of a modern server, so the server is modern [modern]

server        kitchen 1.0.0
era           modern
version       2026-07-28
also          2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05
capabilities  tools (tells of changes)
              resources (subscriptions)
              prompts
              completions
              logging
instructions  Ask for coffee.
              Do not ask for tea.
";

const LEGACY: &str = "
server        kitchen 1.0.0
era           legacy
version       2025-11-25
capabilities  tools (tells of changes)
              resources (subscriptions)
              prompts
              completions
              logging
instructions  Ask for coffee.
              Do not ask for tea.
";

fn a_modern_server() {
    let ran = with_server("both", &["probe"]);
    assert_eq!((ran.exit, &*ran.out), (0, MODERN));
    assert_eq!(ran.err, "the kitchen is open\n", "what a server writes is seen");
    assert_eq!(with_server("both", &["probe", "--quiet"]).err, "");
}

fn a_legacy_server() {
    let ran = with_server("legacy", &["probe", "--quiet"]);
    let story = "\u{20}N ms  server/discover is sent
 N ms  an error, so initialize is sent [legacy-by-error]
          era: EraPolicy::LegacyOnly serves revisions up to 2025-11-25; open with `initialize`; see \
https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning\
#backward-compatibility-with-initialization-based-versions (-32600)
 N ms  an answer with a legacy version, so the server is legacy [legacy]
";
    assert_eq!((ran.exit, ran.out, &*ran.err), (0, format!("{story}{LEGACY}"), ""));
}

fn a_server_over_http() {
    let url = over_http(None);
    let ran = run(&["probe", &url]);
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, MODERN, ""));
    let ran = run(&["probe", &url, "--era", "legacy"]);
    let story = "\u{20}N ms  initialize is sent
 N ms  an answer with a legacy version, so the server is legacy [legacy]
";
    assert_eq!((ran.exit, ran.out, &*ran.err), (0, format!("{story}{LEGACY}"), ""));
}

fn steps_are_seen_when_they_are_taken() {
    let mut running = Running::start("silent", &["probe", "--quiet"]);
    assert!(running.out_line().ends_with("0 ms  server/discover is sent"));
    running.kill();
    let mut running = Running::start("silent", &["probe", "--quiet", "--timeout", "2"]);
    running.out_line();
    assert!(
        running
            .out_line()
            .ends_with("  nothing in time, so initialize is sent [legacy-by-silence]")
    );
    assert!(running.is_running(), "there is time left for initialize");
    running.kill();
}

fn for_programs() {
    let ran = with_server("legacy", &["probe", "--quiet", "--json"]);
    let expected = concat!(
        r#"{"server":{"name":"kitchen","version":"1.0.0"},"era":"legacy","version":"2025-11-25","#,
        r#""supported":["2025-11-25"],"capabilities":{"logging":{},"completions":{},"prompts":{},"#,
        r#""resources":{"subscribe":true},"tools":{"listChanged":true}},"#,
        r#""instructions":"Ask for coffee.\nDo not ask for tea.","decisions":["#,
        r#"{"ms":0,"step":"Probe","outcome":"Error","row":"legacy-by-error","then":"Send(Fallback)"},"#,
        r#"{"ms":0,"step":"Fallback","outcome":"Initialized","row":"legacy","then":"Legacy"}]}"#,
        "\n",
    );
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, expected, ""));
}

fn error_of_a_step_is_shown() {
    let ran = with_server("mismatch", &["probe"]);
    let line = ", so the server is modern [modern]\n          no Mcp-Method (-32020)\n";
    assert!(ran.exit == 0 && ran.out.contains(line), "{ran:?}");
    // HTTP+SSE is tried in place of the refused request.
    let url = refusing("initialize\"", "405 No\r\nContent-Type: text/html");
    let ran = run(&["probe", &url, "--era", "legacy"]);
    let line = "is tried [old-transport]\n          the server has answered with HTTP status 405\n";
    assert!(ran.out.contains(line), "{ran:?}");
    // The last error is that of the command.
    assert_eq!(ran.out.matches("HTTP status 405").count(), 1, "{ran:?}");
    assert!(ran.err.starts_with("mcp: the server has answered with HTTP status 405\n"), "{ran:?}");
}

fn one_era_alone() {
    for (kind, era, version) in [
        ("both", "auto", "2026-07-28"),
        ("both", "modern", "2026-07-28"),
        ("both", "legacy", "2025-11-25"),
        ("both", "2025-06-18", "2025-06-18"),
        ("legacy", "auto", "2025-11-25"),
        ("modern", "2026-07-28", "2026-07-28"),
    ] {
        let ran = with_server(kind, &["probe", "--era", era]);
        assert!(
            ran.out.contains(&format!("\nversion       {version}\n")),
            "{kind}, {era}: {ran:?}"
        );
    }
    for (kind, era) in [("legacy", "modern"), ("modern", "legacy")] {
        let ran = with_server(kind, &["probe", "--quiet", "--era", era]);
        assert_eq!(ran.exit, 4, "{kind}, {era}: {ran:?}");
    }
}
