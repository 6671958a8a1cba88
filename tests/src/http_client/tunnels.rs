//! Clients behind a proxy that makes tunnels, or does not.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_proto::client::ConnectError;
use mcp_service::{HttpClientConfig, Proxies};
use serde_json::json;

use super::proxy::Proxy;
use super::refusals::why;
#[cfg(feature = "tls")]
use super::tls::{Certified, Gate};
use super::{ERAS, MODERN, Named, Site, to};
use crate::http::{Check, Server};

pub(super) const CHECKS: &[&[Named]] = &[PLAIN, WITHIN_TLS];

const PLAIN: &[Named] = &[
    ("calls_through_a_tunnel", ERAS, calls_through_a_tunnel),
    ("credentials_of_a_proxy_are_sent", MODERN, credentials_of_a_proxy_are_sent),
    ("listed_host_has_no_proxy", MODERN, listed_host_has_no_proxy),
    ("net_n1_refusal_of_a_proxy_is_explained", MODERN, net_n1_refusal_of_a_proxy_is_explained),
    (
        "net_n4_answer_that_is_none_makes_no_tunnel",
        MODERN,
        net_n4_answer_that_is_none_makes_no_tunnel,
    ),
    ("absent_proxy_is_named", MODERN, absent_proxy_is_named),
    ("socks_proxy_is_not_supported", MODERN, socks_proxy_is_not_supported),
];

#[cfg(feature = "tls")]
const WITHIN_TLS: &[Named] = &[
    ("calls_within_tls_through_a_tunnel", ERAS, calls_within_tls_through_a_tunnel),
    ("tunnel_within_tls", MODERN, tunnel_within_tls),
    ("net_n5_tunnel_changes_no_certificate", MODERN, net_n5_tunnel_changes_no_certificate),
];
#[cfg(not(feature = "tls"))]
const WITHIN_TLS: &[Named] = &[];

/// A host that only the proxy finds.
const HOST: &str = "mcp.test";

const ESTABLISHED: &str = "HTTP/1.1 200 Connection established\r\nProxy-Agent: test\r\n\r\n";

fn calls_through_a_tunnel(site: Site) -> Check {
    let server = known_as_host(site)?;
    let tunnels = Tunnels::start(server.address, ESTABLISHED)?;
    let config = HttpClientConfig::parse(&format!("http://{HOST}/mcp"))?;
    call(site, config.proxies(tunnels.proxies()?))?;
    for head in tunnels.heads() {
        assert_eq!(head, format!("CONNECT {HOST}:80 HTTP/1.1\r\nHost: {HOST}:80\r\n\r\n"));
    }
    assert!(!tunnels.heads().is_empty());
    server.end()
}

fn credentials_of_a_proxy_are_sent(site: Site) -> Check {
    let server = site.server()?;
    let tunnels = Tunnels::start(server.address, ESTABLISHED)?;
    let proxies = Proxies::all(&format!("ada:se%20cret@{}", tunnels.proxy.address))?;
    // Named by the application, so that loopback hosts have it as well.
    call(site, to(server.address)?.proxies(proxies))?;
    let heads = tunnels.heads();
    let field = "\r\nProxy-Authorization: Basic YWRhOnNlIGNyZXQ=\r\n";
    assert!(heads.iter().all(|head| head.contains(field)), "{heads:?}");
    assert!(!heads.is_empty());
    server.end()
}

fn listed_host_has_no_proxy(site: Site) -> Check {
    let server = site.server()?;
    let tunnels = Tunnels::start(server.address, ESTABLISHED)?;
    let url = format!("http://{}", tunnels.proxy.address);
    for proxies in [Proxies::all_except(&url, "example.com,127.0.0.0/8")?, Proxies::none()] {
        call(site, to(server.address)?.proxies(proxies))?;
    }
    assert_eq!(tunnels.heads(), [""; 0]);
    server.end()
}

fn net_n1_refusal_of_a_proxy_is_explained(site: Site) -> Check {
    for (answer, advice) in [
        ("HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nno\n", "with status 407: put a valid USER:"),
        ("HTTP/1.1 403 No\r\n\r\n", "with status 403: allow CONNECT to this host and port in the"),
        ("HTTP/1.1 502 No\r\n\r\n", "with status 502: it cannot reach this host;"),
        ("HTTP/1.1 404 No\r\n\r\n", "with status 404: check that it is a proxy for HTTP"),
    ] {
        let (reason, proxy) = refused(site, answer)?;
        let begin = format!("the proxy {proxy} refuses a tunnel to {HOST}:8000 {advice}");
        assert!(reason.contains(&begin) && !reason.contains("secret"), "{reason}");
    }
    Ok(())
}

fn net_n4_answer_that_is_none_makes_no_tunnel(site: Site) -> Check {
    let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "a".repeat(9_000));
    for (answer, cause) in [
        ("", "it has ended the connection"),
        ("HTTP/1.1 200 OK\r\nA", "it has ended the connection"),
        ("SSH-2.0-test\r\n", "its answer cannot be read: "),
        (&long, "its answer cannot be read: "),
        ("HTTP/1.1 200 OK\r\n\r\nHello!", "it has sent more than an answer"),
    ] {
        let (reason, proxy) = refused(site, answer)?;
        let begin = format!("the proxy {proxy} makes no tunnel: {cause}");
        assert!(reason.contains(&begin) && !reason.contains("secret"), "{reason}");
    }
    Ok(())
}

fn absent_proxy_is_named(site: Site) -> Check {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let proxies = Proxies::all(&format!("http://ada:secret@{address}"))?;
    let reason = reason(site, proxies)?;
    assert!(reason.starts_with(&format!("the proxy {address} cannot be reached: ")), "{reason}");
    Ok(())
}

fn socks_proxy_is_not_supported(site: Site) -> Check {
    let reason = reason(site, Proxies::all("socks5://ada:secret@localhost:1080")?)?;
    assert_eq!(reason, "localhost:1080 is a SOCKS proxy: only HTTP proxies are supported");
    Ok(())
}

#[cfg(feature = "tls")]
fn calls_within_tls_through_a_tunnel(site: Site) -> Check {
    let (server, certified) = (known_as_host(site)?, Certified::new(HOST, 2040)?);
    let gate = Gate::start(server.address, &certified)?;
    let tunnels = Tunnels::start(gate.address, ESTABLISHED)?;
    let config = HttpClientConfig::parse(&format!("https://{HOST}/mcp"))?;
    call(site, config.trust(certified.authority).proxies(tunnels.proxies()?))?;
    let heads = tunnels.heads();
    assert!(heads.iter().all(|head| head.starts_with("CONNECT mcp.test:443 HTTP")), "{heads:?}");
    assert!(!heads.is_empty());
    server.end()
}

#[cfg(feature = "tls")]
fn tunnel_within_tls(site: Site) -> Check {
    let (server, certified) = (known_as_host(site)?, Certified::new(HOST, 2040)?);
    let gate = Gate::start(server.address, &certified)?;
    let tunnels = Tunnels::start(gate.address, ESTABLISHED)?;
    let outer = Certified::new("localhost", 2040)?;
    let outer_gate = Gate::start(tunnels.proxy.address, &outer)?;
    let proxies = Proxies::all(&format!("https://localhost:{}", outer_gate.address.port()))?;
    let config = HttpClientConfig::parse(&format!("https://{HOST}/mcp"))?.proxies(proxies);
    call(site, config.trust(certified.authority + &outer.authority))?;
    assert!(!tunnels.heads().is_empty());
    server.end()
}

#[cfg(feature = "tls")]
fn net_n5_tunnel_changes_no_certificate(site: Site) -> Check {
    let (server, certified) = (site.server()?, Certified::new("localhost", 2040)?);
    let gate = Gate::start(server.address, &certified)?;
    let tunnels = Tunnels::start(gate.address, ESTABLISHED)?;
    let config = HttpClientConfig::parse(&format!("https://{HOST}/mcp"))?;
    let config = config.trust(certified.authority).proxies(tunnels.proxies()?);
    let reason = reason_of(site, config)?;
    assert!(reason.contains("the certificate of the server is not for mcp.test"), "{reason}");
    server.end()
}

/// A server that answers requests for [`HOST`].
fn known_as_host(site: Site) -> Result<Server, Box<dyn Error>> {
    let mut config = site.config();
    config.allowed_hosts.push(HOST.into());
    Server::start(site.serve, config)
}

/// Connects a client, calls a tool twice, and closes the client.
fn call(site: Site, config: HttpClientConfig) -> Check {
    let client = site.client();
    let (given, version) = (client.clone(), site.version());
    site.meet_with(&client, config, move |connected| async move {
        assert_eq!(connected?.version, version);
        for message in ["a", "b"] {
            given.call_tool("echo", &json!({ "message": message })).await?;
        }
        given.close().await;
        Ok(())
    })
}

/// Why there is no connection through a proxy that answers so, and the proxy.
fn refused(site: Site, answer: &str) -> Result<(String, SocketAddr), Box<dyn Error>> {
    let tunnels = Tunnels::start(([127, 0, 0, 1], 1).into(), answer)?;
    let address = tunnels.proxy.address;
    Ok((reason(site, Proxies::all(&format!("http://ada:secret@{address}"))?)?, address))
}

fn reason(site: Site, proxies: Proxies) -> Result<String, Box<dyn Error>> {
    let config = HttpClientConfig::parse(&format!("http://{HOST}:8000/mcp"))?;
    reason_of(site, config.proxies(proxies))
}

fn reason_of(site: Site, config: HttpClientConfig) -> Result<String, Box<dyn Error>> {
    let reason = Arc::new(Mutex::new(String::new()));
    let heard = reason.clone();
    site.meet_with(&site.client(), config, move |connected| async move {
        let ConnectError::Connection(reason) = why(connected)? else {
            return Err("there was a connection".into());
        };
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = reason;
        Ok(())
    })?;
    Ok(reason.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

/// Proxy that answers each `CONNECT` alike, and then passes bytes on to one server.
struct Tunnels {
    proxy: Proxy,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Tunnels {
    fn start(server: SocketAddr, answer: &str) -> io::Result<Self> {
        let (heads, answer) = (Arc::<Mutex<Vec<_>>>::default(), answer.to_owned());
        let seen = heads.clone();
        let proxy = Proxy::start_with(server, move |client| {
            let head = read_head(client)?;
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(head);
            client.write_all(answer.as_bytes())
        })?;
        Ok(Self { proxy, heads })
    }

    /// This proxy, for all hosts.
    fn proxies(&self) -> io::Result<Proxies> {
        Proxies::all(&format!("http://{}", self.proxy.address))
    }

    /// The requests so far.
    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read_head(client: &mut TcpStream) -> io::Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.extend_from_slice(&byte);
    }
    String::from_utf8(head).map_err(io::Error::other)
}
