//! `mcp bridge`, run as users run it: over pipes and sockets, between eras.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::all;
use super::run::{and_this, run, run_in};
use super::server::SERVER;

all![
    clients_of_each_era_get_what_the_server_gives,
    http_serves_those_with_the_token,
    address_of_everybody_needs_a_token,
    server_that_is_not_there_is_an_error,
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
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(&words)
        .env("TOKEN", "secret")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(bridge.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("mcp bridge: ").unwrap().to_owned();
    for era in ["legacy", "modern"] {
        assert_eq!(run(&["tools", "--era", era, &url]).exit, 7);
        let wrong = [("MCP_TOKEN", "another")];
        assert_eq!(run_in(&wrong, &["tools", "--era", era, &url]).exit, 7);
        let ran = run_in(&[("MCP_TOKEN", "secret")], &["tools", "--json", "--era", era, &url]);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        assert!(ran.out.contains("inputSchema"), "{}", ran.out);
    }
    bridge.kill().unwrap();
    bridge.wait().unwrap();
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

/// These words, and the server as the last program.
fn and_program<'a>(words: &[&'a str], env: &[&'a str]) -> Vec<&'a str> {
    let program = and_this(&[]).pop().unwrap();
    [words, env, &["--", program]].concat()
}

/// What comes of these words, with the server as the last program.
fn with_program(words: &[&str], env: &[&str]) -> String {
    let ran = run(&and_program(words, env));
    assert_eq!(ran.exit, 0, "{words:?}: {}", ran.err);
    ran.out
}
