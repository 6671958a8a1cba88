//! Servers within TLS, and clients that do not trust all of them.
//!
//! There is an authority of the suite's own, and whatever it certifies in front of a server.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use mcp_proto::client::ConnectError;
use mcp_service::HttpClientConfig;
use mcp_service::runtime::UNTRUSTED;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};
use serde_json::json;

use super::refusals::why;
use super::{ALL, MODERN, Named, Site};
use crate::http::Check;

pub(super) const CHECKS: &[Named] = &[
    ("calls_within_tls", ALL, calls_within_tls),
    ("a_long_message_within_tls", MODERN, a_long_message_within_tls),
    ("a_certificate_for_another_host", MODERN, a_certificate_for_another_host),
    ("a_certificate_that_has_expired", MODERN, a_certificate_that_has_expired),
    ("a_certificate_of_an_authority_that_is_not_trusted", MODERN, not_trusted),
    ("the_platform_does_not_trust_it_either", MODERN, not_trusted_by_the_platform),
    ("certificates_that_cannot_be_read", MODERN, certificates_that_cannot_be_read),
    ("no_tls_is_there", MODERN, no_tls_is_there),
];

fn calls_within_tls(site: Site) -> Check {
    let server = site.server()?;
    let gate = Gate::start(server.address, &Certified::new("localhost", 2040)?)?;
    let client = site.client();
    let (given, version) = (client.clone(), site.version());
    site.meet_with(&client, gate.trusted()?, move |connected| async move {
        assert_eq!(connected?.version, version);
        for message in ["a", "b"] {
            given.call_tool("echo", &json!({ "message": message })).await?;
        }
        given.close().await;
        Ok(())
    })?;
    server.end()
}

fn a_long_message_within_tls(site: Site) -> Check {
    let server = site.server()?;
    let gate = Gate::start(server.address, &Certified::new("localhost", 2040)?)?;
    let client = site.client();
    let given = client.clone();
    site.meet_with(&client, gate.trusted()?, move |connected| async move {
        connected?;
        let message = "a".repeat(2_000_000);
        let echoed = given.call_tool("echo", &json!({ "message": message })).await?;
        assert!(super::calls::text(&echoed) == message, "it is another one");
        given.close().await;
        Ok(())
    })?;
    server.end()
}

fn a_certificate_for_another_host(site: Site) -> Check {
    let words = refused(site, &Certified::new("example.com", 2040)?, Gate::trusted)?;
    assert!(words.contains("localhost") && words.contains("example.com"), "{words}");
    Ok(())
}

fn a_certificate_that_has_expired(site: Site) -> Check {
    let words = refused(site, &Certified::new("localhost", 2020)?, Gate::trusted)?;
    assert!(words.contains("has expired"), "{words}");
    Ok(())
}

fn not_trusted(site: Site) -> Check {
    let other = Certified::new("localhost", 2040)?.authority;
    let words = refused(site, &Certified::new("localhost", 2040)?, |gate| {
        Ok(gate.settings()?.trust(other.clone()))
    })?;
    // The program `mcp` gives advice for an error that ends so.
    assert!(words.ends_with(UNTRUSTED), "{words}");
    Ok(())
}

fn not_trusted_by_the_platform(site: Site) -> Check {
    let words = refused(site, &Certified::new("localhost", 2040)?, Gate::settings)?;
    assert!(words.contains("trust"), "{words}");
    Ok(())
}

fn certificates_that_cannot_be_read(site: Site) -> Check {
    for pem in ["", "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"] {
        let config = HttpClientConfig::parse("https://localhost/mcp")?.trust(pem);
        site.meet_with(&site.client(), config, |connected| async {
            let error = connected.err().ok_or("it is connected")?;
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            Ok(())
        })?;
    }
    Ok(())
}

fn no_tls_is_there(site: Site) -> Check {
    let server = site.server()?;
    let url = format!("https://localhost:{}/mcp", server.address.port());
    let config = HttpClientConfig::parse(&url)?.trust(Certified::new("localhost", 2040)?.authority);
    site.meet_with(&site.client(), config, |connected| async {
        let why = why(connected)?;
        assert!(matches!(why, ConnectError::Connection(_)), "{why}");
        Ok(())
    })?;
    server.end()
}

/// The words in which a client does not trust a server.
fn refused(
    site: Site,
    certified: &Certified,
    settings: impl Fn(&Gate) -> Result<HttpClientConfig, Box<dyn Error>>,
) -> Result<String, Box<dyn Error>> {
    let server = site.server()?;
    let gate = Gate::start(server.address, certified)?;
    let words = Arc::new(Mutex::new(String::new()));
    let heard = words.clone();
    site.meet_with(&site.client(), settings(&gate)?, move |connected| async move {
        let error = connected.err().ok_or("it is connected")?;
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
        Ok(())
    })?;
    server.end()?;
    Ok(words.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

/// A server with a certificate.
#[derive(Debug)]
pub struct Certified {
    config: Arc<ServerConfig>,
    /// Certificate of its authority, as PEM.
    pub authority: String,
}

impl Certified {
    /// The server is this host until the end of a year.
    pub fn new(host: &str, until: i32) -> Result<Self, Box<dyn Error>> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        // Each authority has a name of its own.
        params.distinguished_name.push(DnType::CommonName, format!("{:?}", key.public_key_raw()));
        let authority = CertifiedIssuer::self_signed(params, key)?;
        let (key, mut params) = (KeyPair::generate()?, CertificateParams::new([host.to_owned()])?);
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(until, 12, 31);
        let certificate = params.signed_by(&key, &authority)?;
        let key = PrivateKeyDer::try_from(key.serialize_der())?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions()?.with_no_client_auth();
        let config = config.with_single_cert(vec![certificate.der().clone()], key)?;
        Ok(Self { config: Arc::new(config), authority: authority.pem() })
    }

    /// The server speaks these protocols, the preferred one first.
    #[must_use]
    pub fn speaking(mut self, protocols: &[&str]) -> Self {
        let protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec());
        Arc::make_mut(&mut self.config).alpn_protocols = protocols.collect();
        self
    }
}

/// TLS terminator in front of a server, until it is dropped.
#[derive(Debug)]
pub struct Gate {
    /// Address at which it listens.
    pub address: SocketAddr,
    /// Certificate of the authority of the server, as PEM.
    pub authority: String,
    is_over: Arc<AtomicBool>,
}

impl Gate {
    /// Starts one in front of a server.
    pub fn start(server: SocketAddr, certified: &Certified) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, is_over) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let (config, ends) = (certified.config.clone(), is_over.clone());
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let config = config.clone();
                // A connection that fails concerns nobody else.
                thread::spawn(move || drop(pass_on(client, server, config)));
            }
        });
        Ok(Self { address, authority: certified.authority.clone(), is_over })
    }

    /// The settings of a client that trusts the authority.
    fn trusted(&self) -> Result<HttpClientConfig, Box<dyn Error>> {
        Ok(self.settings()?.trust(self.authority.clone()))
    }

    /// The settings of a client.
    fn settings(&self) -> Result<HttpClientConfig, Box<dyn Error>> {
        let url = format!("https://localhost:{}/mcp", self.address.port());
        Ok(HttpClientConfig::parse(&url)?)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Whoever accepts looks up.
        let _ = TcpStream::connect(self.address);
    }
}

/// Passes on what comes within TLS, while another thread passes on the answers.
fn pass_on(
    mut client: TcpStream,
    server: SocketAddr,
    config: Arc<ServerConfig>,
) -> Result<(), Box<dyn Error>> {
    let mut server = TcpStream::connect(server)?;
    let tls = Arc::new(Mutex::new(ServerConnection::new(config)?));
    let answers = (server.try_clone()?, client.try_clone()?, tls.clone());
    thread::spawn(move || {
        let (from, to, tls) = answers;
        let _ = answer(from, &to, &tls);
        let _ = to.shutdown(Shutdown::Both);
    });
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = client.read(&mut buffer)?;
        let mut came = buffer.get(..count).unwrap_or_default();
        if came.is_empty() {
            server.shutdown(Shutdown::Write)?;
            return Ok(());
        }
        let mut plain = Vec::new();
        let mut tls = tls.lock().unwrap_or_else(PoisonError::into_inner);
        while !came.is_empty() {
            tls.read_tls(&mut came)?;
            let processed = tls.process_new_packets();
            // Also what is wrong.
            flush(&mut tls, &client)?;
            let count = processed?.plaintext_bytes_to_read();
            let start = plain.len();
            plain.resize(start + count, 0);
            tls.reader().read_exact(plain.get_mut(start..).unwrap_or_default())?;
        }
        drop(tls);
        server.write_all(&plain)?;
    }
}

fn answer(mut from: TcpStream, to: &TcpStream, tls: &Mutex<ServerConnection>) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut buffer)?;
        let mut tls = tls.lock().unwrap_or_else(PoisonError::into_inner);
        if count == 0 {
            tls.send_close_notify();
            return flush(&mut tls, to);
        }
        tls.writer().write_all(buffer.get(..count).unwrap_or_default())?;
        flush(&mut tls, to)?;
    }
}

fn flush(tls: &mut ServerConnection, mut to: &TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(&mut to)?;
    }
    Ok(())
}
