//! `mcp bridge`, run as users run it: over pipes and sockets, between eras.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::all;
use super::login::Site;
use super::run::{and_this, run, run_as, run_in};
use super::scratch::Scratch;
use super::server::{SERVER, over_http, web};

all![
    clients_of_each_era_get_what_the_server_gives,
    http_serves_those_with_the_token,
    address_of_everybody_needs_a_token,
    file_has_a_path_for_each_server,
    entry_that_cannot_be_used_is_left_out_and_reported,
    option_for_one_server_is_for_none_of_several,
    token_of_the_environment_is_for_no_server_of_a_file,
    stored_credentials_are_used_and_refreshed,
    nobody_is_asked_to_sign_in_unless_told_to,
    credentials_that_are_not_stored_are_reported,
    server_that_ends_is_started_again,
    each_end_of_a_server_is_reported_with_its_name,
    faults_of_a_server_are_reported_with_its_name,
    server_that_is_not_reached_is_reported_with_the_reason,
    server_that_is_not_there_is_an_error,
    roots_of_a_bridge_are_refused,
    options_for_an_output_are_refused,
];

fn clients_of_each_era_get_what_the_server_gives() {
    for client in ["legacy", "modern"] {
        for server in ["legacy", "modern"] {
            let kind = format!("{SERVER}={server}");
            for words in [&["tools"][..], &["resources"], &["prompts"]] {
                let direct = [words, &["-q", "--json", "--era", client]].concat();
                let both = format!("{SERVER}=both");
                let direct = with_program(&direct, &["--env", &both]);
                let words = [words, &["-q", "--json", "--era", client, "--"]].concat();
                let bridge = [env!("CARGO_BIN_EXE_mcp"), "bridge", "-q"];
                let bridged = with_program(&[&words[..], &bridge].concat(), &["--env", &kind]);
                assert_eq!(bridged, direct, "client {client}, server {server}");
            }
        }
    }
}

fn http_serves_those_with_the_token() {
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--require-bearer-env", "TOKEN"];
    let kind = format!("{SERVER}=legacy");
    let words = and_program(&words, &["--env", &kind]);
    let bridge = Listening::start(&[("TOKEN", "secret")], &words);
    let url = &bridge.urls[0];
    for era in ["legacy", "modern"] {
        assert_eq!(run(&["tools", "--era", era, url]).exit, 7);
        let wrong = [("MCP_TOKEN", "another")];
        assert_eq!(run_in(&wrong, &["tools", "--era", era, url]).exit, 7);
        let ran = run_in(&[("MCP_TOKEN", "secret")], &["tools", "--json", "--era", era, url]);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        assert!(ran.out.contains("inputSchema"), "{}", ran.out);
    }
}

fn roots_of_a_bridge_are_refused() {
    let ran = run(&["bridge", "--root", "/", "http://127.0.0.1:1/mcp"]);
    assert!(ran.exit == 2 && ran.err.contains("--root"), "{ran:?}");
}

fn options_for_an_output_are_refused() {
    let folder = Scratch::new("bridge-out");
    let file = folder.write("a.txt", "old");
    for words in [&["--out", &file][..], &["--json"]] {
        let ran = run(&[&["bridge"], words, &["http://127.0.0.1:1/mcp"]].concat());
        assert!(ran.exit == 2 && ran.err.contains(words[0]), "{ran:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }
}

fn address_of_everybody_needs_a_token() {
    let ran = run(&["bridge", "--listen", "0.0.0.0:0", "http://127.0.0.1:1/mcp"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("--require-bearer-env"), "{}", ran.err);
    let ran =
        run(&["bridge", "--listen", "127.0.0.1:0", "--require-bearer-env", "NO_SUCH", "http://a/"]);
    assert_eq!(ran.exit, 2);
}

fn server_that_is_not_there_is_an_error() {
    for era in ["legacy", "modern"] {
        let words = ["tools", "-q", "--era", era, "--"];
        let bridge = [env!("CARGO_BIN_EXE_mcp"), "bridge", "--", "/no/such/program"];
        let ran = run(&[&words[..], &bridge].concat());
        assert!([4, 5].contains(&ran.exit), "{ran:?}");
        assert!(ran.err.contains("server"), "{ran:?}");
    }
}

fn file_has_a_path_for_each_server() {
    let folder = Scratch::new("bridge-file");
    let file = folder.write("mcp.json", &servers(&["legacy", "modern"]));
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--config", &file];
    let bridge = Listening::start(&[], &words);
    assert_eq!(bridge.urls.len(), 2, "{:?}", bridge.urls);
    for (url, end) in bridge.urls.iter().zip(["/my%20legacy/mcp", "/my%20modern/mcp"]) {
        assert!(url.ends_with(end), "{url}");
        for era in ["legacy", "modern"] {
            let ran = run(&["tools", "--json", "--era", era, url]);
            assert!(ran.exit == 0 && ran.out.contains("brew"), "{ran:?}");
        }
    }
    let host = bridge.urls[0].strip_prefix("http://").unwrap().split('/').next().unwrap();
    for path in ["/mcp", "/", "/my", "/my%20legacy", "/MY%20LEGACY/mcp", "/my%20legacy/mcp/"] {
        assert_eq!(run(&["tools", &format!("http://{host}{path}")]).exit, 4, "{path}");
    }
    // A session of one path is unknown at another.
    let opened = post(host, "/my%20legacy/mcp", "", INITIALIZE);
    let session = opened.lines().find_map(|line| line.strip_prefix("Mcp-Session-Id: ")).unwrap();
    let session = format!("Mcp-Session-Id: {session}\r\n");
    for (path, status) in [("/my%20legacy/mcp", "200"), ("/my%20modern/mcp", "404")] {
        let pinged = post(host, path, &session, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        assert_eq!(pinged.split(' ').nth(1), Some(status), "{pinged}");
    }
    // A name chooses one, at the usual path.
    let bridge = Listening::start(&[], &[&words[..], &["--server", "my modern"]].concat());
    assert!(bridge.urls.len() == 1 && bridge.urls[0].ends_with("/mcp"));
    assert_eq!(run(&["tools", &bridge.urls[0]]).exit, 0);
}

fn entry_that_cannot_be_used_is_left_out_and_reported() {
    let folder = Scratch::new("bridge-entries");
    let program = and_this(&[]).pop().unwrap();
    let good = json!({ "command": program, "env": { SERVER: "both" } });
    let nothing = json!({});
    let unset = json!({ "url": "http://127.0.0.1:1/${NO_SUCH_VARIABLE}" });
    let nowhere = json!({ "url": "nowhere" });
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--config"];
    let all = json!({ "a": nothing, "good": good, "x": unset, "z": nowhere });
    let file = folder.write("mcp.json", &json!({ "mcpServers": all }).to_string());
    let bridge = Listening::start(&[], &[&words[..], &[&file]].concat());
    assert!(bridge.urls.len() == 1 && bridge.urls[0].ends_with("/good/mcp"), "{:?}", bridge.urls);
    assert_eq!(run(&["tools", &bridge.urls[0]]).exit, 0);
    let lines = bridge.reports.join("");
    for name in ["a", "x", "z"] {
        let start = format!("mcp: {file}: the server {name:?}");
        assert_eq!(lines.matches(&start).count(), 1, "{lines}");
    }
    // Without any good entry there is nothing to serve.
    let bad = json!({ "mcpServers": { "a": nothing, "z": nowhere } });
    let file = folder.write("mcp.json", &bad.to_string());
    let ran = run(&[&words[..], &[&file]].concat());
    assert_eq!(ran.exit, 2, "{ran:?}");
    for name in ["a", "z"] {
        assert_eq!(ran.err.matches(&format!("the server {name:?}")).count(), 1, "{ran:?}");
    }
}

fn option_for_one_server_is_for_none_of_several() {
    let folder = Scratch::new("bridge-options");
    let file = folder.write("mcp.json", &servers(&["legacy", "modern"]));
    for option in [["--header", "X-Key: abc"], ["--bearer-env", "HOME"], ["--env", "A=b"]] {
        let words = ["bridge", "--listen", "127.0.0.1:0", "--config", &file];
        let ran = run(&[&words[..], &option].concat());
        assert_eq!(ran.exit, 2, "{ran:?}");
        assert!(ran.err.contains(option[0]), "{ran:?}");
    }
}

fn token_of_the_environment_is_for_no_server_of_a_file() {
    let folder = Scratch::new("bridge-token");
    let entry = |fields| json!({ "url": over_http(Some("sesame")), "headers": fields });
    let named = json!({ "authorization": "Bearer ${SECRET}" });
    let text = json!({ "mcpServers": { "its": entry(named), "other": entry(json!({})) } });
    let file = folder.write("mcp.json", &text.to_string());
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--config", &file];
    let bridge = Listening::start(&[("MCP_TOKEN", "sesame"), ("SECRET", "sesame")], &words);
    assert_eq!(run(&["tools", &bridge.urls[0]]).exit, 0);
    let ran = run(&["tools", &bridge.urls[1]]);
    assert!(ran.exit != 0 && ran.err.contains("401"), "{ran:?}");
    let token = [("MCP_TOKEN", "sesame")];
    let words = ["tools", "--config", &file, "--server", "other"];
    assert_eq!(run_in(&token, &words).exit, 7);
    let named = [&words[..], &["--bearer-env", "MCP_TOKEN"]].concat();
    assert_eq!(run_in(&token, &named).exit, 0);
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--config", &file, "--server", "other"];
    let bridge = Listening::start(&token, &words);
    let ran = run(&["tools", &bridge.urls[0]]);
    assert!(ran.exit != 0 && ran.err.contains("401"), "{ran:?}");
}

fn stored_credentials_are_used_and_refreshed() {
    let site = Site::new("bridge");
    assert_eq!(site.run(&["login"]).exit, 0);
    let vault = ("MCP_CREDENTIALS", site.folder.to_str().unwrap());
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", &site.url];
    let bridge = Listening::start(&[vault], &words);
    for era in ["legacy", "modern"] {
        let ran = run(&["tools", "--json", "--era", era, &bridge.urls[0]]);
        assert!(ran.exit == 0 && ran.out.contains("brew"), "{ran:?}");
        site.server.expire_tokens();
    }
    let ran = run(&["tools", "--era", "modern", &bridge.urls[0]]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert_eq!(site.count("GET /authorize"), 1);
    // Over standard input and output.
    let command = ["tools", "-q", "--inherit-env", "--", env!("CARGO_BIN_EXE_mcp"), "bridge"];
    let ran = run_as("", &[vault], &[&command[..], &[&site.url]].concat());
    assert_eq!(ran.exit, 0, "{ran:?}");
}

fn nobody_is_asked_to_sign_in_unless_told_to() {
    let site = Site::new("bridge-asks");
    let browser = std::env::current_exe().unwrap();
    let environment = [
        ("BROWSER", browser.to_str().unwrap()),
        ("MCP_CREDENTIALS", site.folder.to_str().unwrap()),
        (SERVER, "browser"),
    ];
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", &site.url];
    let bridge = Listening::start(&environment, &words);
    let ran = run(&["tools", &bridge.urls[0]]);
    assert!(ran.exit != 0 && ran.err.contains("401"), "{ran:?}");
    assert_eq!(site.count("GET /authorize"), 0);
    let bridge = Listening::start(&environment, &[&words[..], &["--login"]].concat());
    let ran = run(&["tools", &bridge.urls[0]]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert_eq!(site.count("GET /authorize"), 1);
    // Standard input is the client's.
    let ran = run(&["bridge", "--login", "--paste", &site.url]);
    assert!(ran.exit == 2 && ran.err.contains("--paste"), "{ran:?}");
}

fn credentials_that_are_not_stored_are_reported() {
    let site = Site::new("bridge-unsaved");
    site.spoil_the_store();
    let browser = std::env::current_exe().unwrap();
    let folder = site.folder.to_str().unwrap();
    let environment =
        [("BROWSER", browser.to_str().unwrap()), ("MCP_CREDENTIALS", folder), (SERVER, "browser")];
    let words = ["bridge", "-q", "--login", "--listen", "127.0.0.1:0", &site.url];
    let mut bridge = Listening::start(&environment, &words);
    assert_eq!(run(&["tools", &bridge.urls[0]]).exit, 0);
    let note = format!("mcp: {}: the new credentials cannot be stored: {folder}/", site.url);
    let mut line = String::new();
    while !line.starts_with(&note) {
        line.clear();
        assert_ne!(bridge.err.read_line(&mut line).unwrap(), 0, "nothing is reported");
    }
}

fn server_that_ends_is_started_again() {
    for kind in ["fragile", "legacy fragile"] {
        let words = ["bridge", "-q", "--listen", "127.0.0.1:0"];
        let kind = format!("{SERVER}={kind}");
        let bridge = Listening::start(&[], &and_program(&words, &["--env", &kind]));
        let url = &bridge.urls[0];
        for _ in 0..2 {
            let ran = run(&["call", "--era", "modern", url, "quit"]);
            assert!(ran.exit == 5 && ran.err.contains("-32603"), "{ran:?}");
            let ran = run(&["tools", "--era", "modern", url]);
            assert_eq!(ran.exit, 0, "{ran:?}");
        }
    }
}

fn each_end_of_a_server_is_reported_with_its_name() {
    let folder = Scratch::new("bridge-ends");
    for kind in ["fragile", "legacy fragile"] {
        let file = folder.write("mcp.json", &servers(&[kind, "both"]));
        let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--config", &file];
        let mut bridge = Listening::start(&[], &words);
        let end = format!("/my%20{}/mcp", kind.replace(' ', "%20"));
        let url = bridge.urls.iter().find(|url| url.ends_with(&end)).unwrap();
        let program = and_this(&[]).pop().unwrap();
        let end =
            format!("mcp: my {kind}: {program}: the connection to the server has ended (exit");
        for _ in 0..2 {
            assert_eq!(run(&["call", "--era", "modern", url, "quit"]).exit, 5);
            let mut line = String::new();
            bridge.err.read_line(&mut line).unwrap();
            assert!(line.starts_with(&end), "{line}");
        }
        #[cfg(unix)]
        {
            bridge.interrupt();
            let mut rest = String::new();
            bridge.err.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "");
        }
    }
}

fn faults_of_a_server_are_reported_with_its_name() {
    let folder = Scratch::new("bridge-faults");
    let file = folder.write("mcp.json", &servers(&["noisy"]));
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--config", &file];
    let mut bridge = Listening::start(&[], &words);
    // Each client has a process of its own; what all of them print is shown once.
    for _ in 0..2 {
        assert_eq!(run(&["tools", "--era", "legacy", &bridge.urls[0]]).exit, 0);
    }
    let program = and_this(&[]).pop().unwrap();
    let mut line = String::new();
    bridge.err.read_line(&mut line).unwrap();
    let start = format!("mcp: my noisy: {program}: json: \"one\" is not a message");
    assert!(line.starts_with(&start), "{line}");
    #[cfg(unix)]
    {
        bridge.interrupt();
        let mut rest = String::new();
        bridge.err.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
    }
}

fn server_that_is_not_reached_is_reported_with_the_reason() {
    let url = web("404 Not Found");
    let mut bridge = Listening::start(&[], &["bridge", "-q", "--listen", "127.0.0.1:0", &url]);
    assert_ne!(run(&["tools", "--era", "legacy", &bridge.urls[0]]).exit, 0);
    let mut line = String::new();
    bridge.err.read_line(&mut line).unwrap();
    assert_eq!(line, format!("mcp: {url}: the server has answered with HTTP status 404\n"));
    // The session of the client ends before the program, which is silent until then.
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--era", "legacy", "--timeout", "0.1"];
    let mut bridge =
        Listening::start(&[], &and_program(&words, &["--env", &format!("{SERVER}=silent")]));
    assert_ne!(run(&["tools", "--era", "legacy", &bridge.urls[0]]).exit, 0);
    line.clear();
    bridge.err.read_line(&mut line).unwrap();
    assert!(line.ends_with(": the server has not answered in time\n"), "{line}");
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

/// The answer to a POST, head and body.
fn post(host: &str, path: &str, fields: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    let usual = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
                 Connection: close\r\n";
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{usual}{fields}");
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.replace('\r', "")
}

/// A file with a server of each kind.
fn servers(kinds: &[&str]) -> String {
    let program = and_this(&[]).pop().unwrap();
    let server = |kind: &&str| {
        (format!("my {kind}"), json!({ "command": program, "env": { SERVER: kind } }))
    };
    let servers: serde_json::Map<_, _> = kinds.iter().map(server).collect();
    json!({ "mcpServers": servers }).to_string()
}

/// The longest time that a bridge may take for all of its test.
const MAX_TIME: Duration = Duration::from_secs(60);

/// A bridge that listens, until it is dropped.
pub(crate) struct Listening {
    child: Child,
    pub(crate) urls: Vec<String>,
    /// The lines before the URLs.
    reports: Vec<String>,
    /// As long as it is open, the bridge can write there.
    err: BufReader<ChildStderr>,
    /// Dropped when the bridge is ended.
    _watchdog: Sender<()>,
}

impl Listening {
    /// Starts `mcp` with these variables and words.
    pub(crate) fn start(environment: &[(&str, &str)], words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
            .args(words)
            .env("MCP_CREDENTIALS", "/none")
            .env_remove("MCP_TOKEN")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        let watchdog = watch(child.id());
        let mut bridge =
            Self { child, urls: Vec::new(), reports: Vec::new(), err, _watchdog: watchdog };
        // All lines are written at once.
        while bridge.urls.is_empty() || !bridge.err.buffer().is_empty() {
            let mut line = String::new();
            assert_ne!(bridge.err.read_line(&mut line).unwrap(), 0, "it does not listen");
            match line.trim().strip_prefix("mcp bridge: ") {
                Some(url) => bridge.urls.push(url.to_owned()),
                None => bridge.reports.push(line),
            }
        }
        bridge
    }

    /// Interrupts the bridge, and waits for its end.
    #[cfg(unix)]
    pub(crate) fn interrupt(&mut self) {
        super::run::interrupt(&self.child);
        assert!(self.child.wait().unwrap().success());
    }

    /// Interrupts the bridge until it has ended.
    #[cfg(unix)]
    pub(crate) fn interrupt_until_the_end(&mut self) {
        while self.child.try_wait().unwrap().is_none() {
            super::run::interrupt(&self.child);
            thread::yield_now();
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills a bridge that takes too long, so that a test that waits for its output fails.
fn watch(id: u32) -> Sender<()> {
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || {
        if ended.recv_timeout(MAX_TIME) == Err(RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
        }
    });
    sender
}

/// These words, and the server as the last program.
pub(crate) fn and_program<'a>(words: &[&'a str], env: &[&'a str]) -> Vec<&'a str> {
    let program = and_this(&[]).pop().unwrap();
    [words, env, &["--", program]].concat()
}

/// Output of `mcp` with these words, with the server as the last program.
fn with_program(words: &[&str], env: &[&str]) -> String {
    let ran = run(&and_program(words, env));
    assert_eq!(ran.exit, 0, "{words:?}: {}", ran.err);
    ran.out
}
