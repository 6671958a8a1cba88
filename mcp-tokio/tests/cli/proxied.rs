//! The proxies that the environment of `mcp` names.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::{io, thread};

use mcp_tokio::HttpConfig;

use super::run::{Ran, run_in};
use super::server::{nowhere, over_http, serve_with};

crate::all!(
    proxy_of_the_environment_makes_a_tunnel,
    net_n1_proxy_that_refuses_is_named_without_its_password,
    host_in_no_proxy_has_no_proxy,
    net_n3_loopback_host_has_no_proxy,
);

const URL: &str = "http://mcp.invalid/mcp";

fn proxy_of_the_environment_makes_a_tunnel() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let mut config = HttpConfig::default();
    config.allowed_hosts.push("mcp.invalid".into());
    serve_with(listener, config);
    for name in ["HTTP_PROXY", "ALL_PROXY"] {
        let (proxy, heads) = proxy(server, "HTTP/1.1 200 OK\r\n\r\n");
        let ran = tools(&[(name, &format!("http://ada:0123@{proxy}"))], URL);
        assert_eq!(ran.exit, 0, "{ran:?}");
        assert!(ran.out.contains("brew"), "{ran:?}");
        let head = heads.recv().unwrap();
        assert!(head.starts_with("CONNECT mcp.invalid:80 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nProxy-Authorization: Basic YWRhOjAxMjM=\r\n"), "{head}");
    }
}

fn net_n1_proxy_that_refuses_is_named_without_its_password() {
    let (proxy, _heads) = proxy(nowhere(), "HTTP/1.1 407 No\r\n\r\n");
    let ran = tools(&[("HTTP_PROXY", &format!("ada:0123@{proxy}"))], URL);
    assert_ne!(ran.exit, 0);
    let begin = format!("the proxy {proxy} refuses a tunnel to mcp.invalid:80 with status 407");
    assert!(ran.err.contains(&begin) && !ran.err.contains("0123"), "{ran:?}");
}

fn host_in_no_proxy_has_no_proxy() {
    let proxy = format!("http://{}", nowhere());
    let ran = tools(&[("HTTP_PROXY", &proxy), ("NO_PROXY", "example.com, .invalid")], URL);
    assert_ne!(ran.exit, 0);
    assert!(!ran.err.contains("proxy"), "{ran:?}");
    // Nobody has the name, which the error names.
    assert!(ran.err.contains("no connection to the server: mcp.invalid: "), "{ran:?}");
}

fn net_n3_loopback_host_has_no_proxy() {
    let proxy = format!("http://{}", nowhere());
    let ran = tools(&[("ALL_PROXY", &proxy)], &over_http(None));
    assert_eq!(ran.exit, 0, "{ran:?}");
}

/// Lists the tools, with these variables and no others that concern proxies.
fn tools(environment: &[(&str, &str)], url: &str) -> Ran {
    let unset = ["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"].map(|name| (name, ""));
    run_in(&[&unset, environment].concat(), &["tools", url])
}

/// Proxy that gives each request this answer, and then passes bytes on to one server. It ends with
/// the tests.
fn proxy(server: SocketAddr, answer: &'static str) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, heads) = channel();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut head) = (client.unwrap(), Vec::new());
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                head.extend_from_slice(&byte);
            }
            let _ = sender.send(String::from_utf8(head).unwrap());
            client.write_all(answer.as_bytes()).unwrap();
            let Ok(server) = TcpStream::connect(server) else { continue };
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            for (mut from, mut to) in [(client, server), back] {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    (address, heads)
}
