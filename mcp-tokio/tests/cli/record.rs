//! `mcp record`.

use std::{env, fs, process};

use mcp_tests::transcript::Transcript;

use super::replay::with_replay;
use super::run::{run, run_in, with_server};
use super::scratch::Scratch;
use super::server::over_http;

crate::all!(
    over_stdio_it_is_a_transcript,
    over_http_it_is_a_log,
    a_failure_is_recorded,
    what_is_there_is_not_lost,
    path_that_is_not_utf_8_is_shown,
    server_that_declares_nothing_is_asked,
    headers_of_the_command_line_are_masked,
    invalid_root_leaves_no_file,
);

/// Runs `mcp` with a file, and reads it.
fn recorded(name: &str, ran: impl FnOnce(&str)) -> String {
    let path = env::temp_dir().join(format!("mcp-cli-{}-{name}", process::id()));
    ran(path.to_str().unwrap());
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    text
}

fn invalid_root_leaves_no_file() {
    let folder = Scratch::new("no-root");
    let path = folder.path("a.mcp");
    for _ in 0..2 {
        let ran = run(&["record", &path, "--root", "/no/such", "--", "cat"]);
        assert!(ran.exit == 2 && ran.err.starts_with("mcp: --root: /no/such: "), "{ran:?}");
    }
    assert!(!fs::exists(&path).unwrap());
}

/// The first word of each line, but for time that has passed.
fn marks(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('@'));
    lines.filter_map(|line| line.split(' ').next()).collect::<Vec<_>>().join(" ")
}

fn over_stdio_it_is_a_transcript() {
    let text = recorded("stdio", |path| {
        let ran = with_server("legacy", &["record", "--quiet", path]);
        assert_eq!((ran.exit, &*ran.err), (0, ""));
        assert!(ran.out.ends_with(&format!(" lines in {path}\n")), "{}", ran.out);
    });
    // The negotiation, three pages of tools, resources, templates, prompts, and the end.
    let expected = "# = ! C> S> C> S> C> ! ! C> S> C> S> C> S> ! C> S> ! C> S> ! C> S> ! !";
    assert_eq!(marks(&text), expected, "{text}");
    for line in ["= role client", "! open", "! list tools tools", "! close", "! closed"] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    assert!(Transcript::parse("recorded.mcp", &text).unwrap().plays_client());
}

fn over_http_it_is_a_log() {
    let url = over_http(Some("sesame"));
    let text = recorded("http", |path| {
        let words = ["record", "--header", "X-Api-Key: mellon", &format!("{url}?key=abc"), path];
        let ran = run_in(&[("MCP_TOKEN", "sesame")], &words);
        assert_eq!((ran.exit, &*ran.err), (0, ""));
    });
    assert!(text.starts_with(&format!("# What {url} says ")), "{text}");
    for line in
        ["1> POST /mcp?*** HTTP/1.1", "1> Authorization: ***", "1> X-Api-Key: ***", "! closed"]
    {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    for secret in ["sesame", "mellon", "abc"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

fn a_failure_is_recorded() {
    let text = recorded("failure", |path| {
        let ran = with_server("refuses", &["record", "--quiet", path]);
        assert_eq!(ran.exit, 4, "{ran:?}");
    });
    assert!(text.ends_with("! closed: the server has refused: not today (-32000)\n"), "{text}");
    let ran = run(&["record", "/nowhere/to/be/found", "--", "cat"]);
    assert_eq!(ran.exit, 2, "{ran:?}");
}

fn what_is_there_is_not_lost() {
    let text = recorded("there", |path| {
        fs::write(path, "dear").unwrap();
        let ran = with_server("both", &["record", "--quiet", path]);
        let err = format!("mcp: {path} is there already\n     --force writes over it\n");
        assert_eq!((ran.exit, ran.err), (2, err));
    });
    assert_eq!(text, "dear");
    let text = recorded("forced", |path| {
        fs::write(path, "cheap").unwrap();
        assert_eq!(with_server("both", &["record", "--quiet", "--force", path]).exit, 0);
    });
    assert!(!text.contains("cheap") && text.contains("! closed"), "{text}");
}

/// Elsewhere `mcp` asks for these lists too.
fn server_that_declares_nothing_is_asked() {
    let folder = Scratch::new("declares-nothing");
    let opened = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{}}"#;
    let server = folder.write(
        "server.mcp",
        &format!(
            "C> {{\"id\":1,\"method\":\"initialize\"}}\n\
             S> {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{opened}}}\n\
             C> {{\"id\":2,\"method\":\"tools/list\"}}\n\
             S> {{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{\"tools\":[]}}}}\n"
        ),
    );
    let text = recorded("declares-nothing", |path| {
        let ran = with_replay(&["record", "--quiet", path], &server);
        assert_eq!((ran.exit, &*ran.err), (0, ""), "{ran:?}");
    });
    for (method, is_asked) in
        [("tools", true), ("resources", true), ("resources/templates", false), ("prompts", true)]
    {
        assert_eq!(text.contains(&format!("\"{method}/list\"")), is_asked, "{method}: {text}");
    }
}

fn path_that_is_not_utf_8_is_shown() {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        use super::run::and_this;
        use super::server::SERVER;

        let folder = Scratch::new("not-utf-8");
        let path = [folder.path("").as_bytes(), b"/\xff"].concat();
        let ran = process::Command::new(env!("CARGO_BIN_EXE_mcp"))
            .args(["record", "--quiet", "--json"])
            .arg(OsStr::from_bytes(&path))
            .args(and_this(&[]))
            .env(SERVER, "both")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stdout).contains("/\u{fffd}\""), "{ran:?}");
    }
}

fn headers_of_the_command_line_are_masked() {
    let url = over_http(None);
    let text = recorded("masked", |path| {
        let words = ["record", "--header", "X-Client: hunter2", &url, path];
        assert_eq!(run(&words).exit, 0);
    });
    assert!(text.contains("1> X-Client: ***\n") && !text.contains("hunter2"), "{text}");
}
