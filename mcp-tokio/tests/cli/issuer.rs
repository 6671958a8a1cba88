//! `mcp bridge --require-issuer`: clients over HTTP bring tokens of an authorization server.
//!
//! `issuer.json` has the keys of an issuer, and tokens that are valid until the year 2100.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use super::all;
use super::bridge::{Listening, and_program};
use super::run::{run, run_in};
use super::server::SERVER;

all![
    tokens_of_the_issuer_are_verified,
    issuer_needs_all_that_belongs_to_it,
    issuer_protects_an_address_of_everybody,
];

const AUDIENCE: &str = "http://127.0.0.1/mcp";

fn tokens_of_the_issuer_are_verified() {
    let issuer: Value = serde_json::from_str(include_str!("issuer.json")).unwrap();
    let keys = keys(&issuer["jwks"].to_string());
    let bridge = start("127.0.0.1:0", &keys);
    let url = &bridge.urls[0];
    let ask = |token: &str, era: &str| {
        let words = ["tools", "--json", "--era", era, url];
        run_in(&[("MCP_TOKEN", token)], &words)
    };
    for era in ["legacy", "modern"] {
        let ran = ask(issuer["alice"].as_str().unwrap(), era);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        assert!(ran.out.contains("inputSchema"), "{}", ran.out);
        let forged = issuer["alice"].as_str().unwrap().replace("eyJ", "eyI");
        let other = issuer["alice at another server"].as_str().unwrap();
        for token in [issuer["bob"].as_str().unwrap(), other, &forged, "0123"] {
            assert_eq!(ask(token, era).exit, 7, "{token}");
        }
    }
    // A client that has none is told where to get one.
    let ran = run(&["tools", url]);
    assert_eq!(ran.exit, 7);
    assert!(ran.err.contains("mcp login"), "{}", ran.err);
}

fn issuer_needs_all_that_belongs_to_it() {
    let words = ["bridge", "--listen", "127.0.0.1:0", "--require-issuer", "https://a.example"];
    let rest = ["--audience", AUDIENCE, "--jwks", "http://127.0.0.1:1/", "--subject", "alice"];
    for missing in 0..3 {
        let rest: Vec<&str> = rest
            .chunks(2)
            .enumerate()
            .filter(|(at, _)| *at != missing)
            .flat_map(|(_, pair)| pair.iter().copied())
            .collect();
        let ran = run(&and_program(&[&words[..], &rest].concat(), &[]));
        assert_eq!(ran.exit, 2, "{ran:?}");
        assert!(ran.err.contains(["--audience", "--jwks", "--subject"][missing]), "{ran:?}");
    }
    let wrong = ["--audience", "no URL", "--jwks", "http://127.0.0.1:1/", "--subject", "alice"];
    assert_eq!(run(&and_program(&[&words[..], &wrong].concat(), &[])).exit, 2);
    for issuer in ["auth.example", "https://auth.example/?a=b"] {
        let words = ["bridge", "--listen", "127.0.0.1:0", "--require-issuer", issuer];
        let ran = run(&and_program(&[&words[..], &rest].concat(), &[]));
        assert!(ran.exit == 2 && ran.err.starts_with(&format!("mcp: {issuer}: ")), "{ran:?}");
    }
    let both = [&words[..], &rest, &["--require-bearer-env", "TOKEN"]].concat();
    assert_eq!(run(&and_program(&both, &[])).exit, 2);
}

fn issuer_protects_an_address_of_everybody() {
    assert_eq!(start("0.0.0.0:0", &keys("{}")).urls.len(), 1);
}

/// A bridge that serves `alice`.
fn start(address: &str, keys: &str) -> Listening {
    let words = ["bridge", "-q", "--listen", address, "--require-issuer"];
    let rest =
        ["https://auth.example.com", "--audience", AUDIENCE, "--jwks", keys, "--subject", "alice"];
    let kind = format!("{SERVER}=legacy");
    Listening::start(&[], &and_program(&[&words[..], &rest].concat(), &["--env", &kind]))
}

/// The URL of these keys.
fn keys(json: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/jwks", listener.local_addr().unwrap());
    let length = json.len();
    let answer =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{json}");
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let head = BufReader::new(&socket).lines();
            head.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            socket.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}
