//! TLS settings: certificate authorities, versions, protocols, and the texts of errors.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Display;
use std::io;
use std::sync::OnceLock;

use bytes::Bytes;
use futures_rustls::TlsConnector;
use futures_rustls::rustls::crypto::ring;
use futures_rustls::rustls::pki_types::pem::PemObject;
use futures_rustls::rustls::pki_types::{CertificateDer, ServerName};
use futures_rustls::rustls::{self, CertificateError, ClientConfig, InvalidMessage, RootCertStore};

use super::socket::Transport;
use super::{NOT_TLS, UNTRUSTED};
use crate::Socket;
use crate::runtime::dialed::Dialed;

/// The TLS settings of a client, for all its connections.
#[derive(Clone)]
pub(in crate::runtime) struct Tls(Arc<ClientConfig>);

/// The settings of all clients that trust the authorities of the platform. To read these takes
/// milliseconds, in which a runtime with one thread serves nobody else. It also keeps the tickets
/// by which a later connection needs a shorter handshake.
static PLATFORM: OnceLock<Tls> = OnceLock::new();

impl Tls {
    /// Trusts the certificate authorities in this PEM text, or those of the platform.
    pub(in crate::runtime) fn new(trusted: Option<&[u8]>) -> io::Result<Self> {
        if let Some(pem) = trusted {
            return Self::trusting(read_authorities(pem)?);
        }
        if let Some(known) = PLATFORM.get() {
            return Ok(known.clone());
        }
        let found = Self::trusting(platform_authorities()?)?;
        Ok(PLATFORM.get_or_init(|| found).clone())
    }

    fn trusting(authorities: RootCertStore) -> io::Result<Self> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let mut config = config.with_root_certificates(authorities).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// The same settings, which offer these protocols (ALPN).
    pub(in crate::runtime) fn offering(&self, protocols: &[&[u8]]) -> Self {
        let mut config = ClientConfig::clone(&self.0);
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Self(Arc::new(config))
    }

    /// Connects to a host over TLS.
    ///
    /// Fails if the server is not trusted, or with the error of the socket.
    pub(in crate::runtime) async fn handshake<S: Socket + Unpin + 'static>(
        &self,
        host: &str,
        socket: S,
    ) -> io::Result<Dialed> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let transport = Transport { socket, unread: Bytes::new() };
        let connecting = TlsConnector::from(self.0.clone()).connect(name, transport);
        let stream = connecting.await.map_err(|error| explain(error, host))?;
        let protocol = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        Ok(Dialed { socket: Box::new(stream), protocol })
    }
}

fn read_authorities(pem: &[u8]) -> io::Result<RootCertStore> {
    let unreadable = |error: &dyn Display| {
        let text = format!("the certificates to trust cannot be read: {error}");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    };
    let mut authorities = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        authorities.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if authorities.is_empty() {
        return Err(unreadable(&"there are none"));
    }
    Ok(authorities)
}

/// The fault of a system without certificate authorities.
const NO_AUTHORITIES: &str = "no certificates of the platform, or of SSL_CERT_FILE and \
                              SSL_CERT_DIR in the environment, can be trusted";

fn platform_authorities() -> io::Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    // Certificates that cannot be read are skipped; they are just not trusted.
    let _ = authorities.add_parsable_certificates(found.certs);
    if authorities.is_empty() {
        let advice = "install `ca-certificates`, or name a PEM file in SSL_CERT_FILE";
        let errors = found.errors.iter().map(ToString::to_string);
        let errors: Vec<String> = errors.chain([advice.to_owned()]).collect();
        let text = format!("{NO_AUTHORITIES}: {}", errors.join("; "));
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    Ok(authorities)
}

/// Describes the fault of a certificate, or of a server that does not speak TLS.
fn explain(error: io::Error, host: &str) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    if let Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) = inner {
        return io::Error::new(error.kind(), NOT_TLS);
    }
    let Some(rustls::Error::InvalidCertificate(wrong)) = inner else { return error };
    let text = match wrong {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the certificate of the server is not for {host}: {wrong}")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of the server has expired: {wrong}")
        }
        CertificateError::UnknownIssuer => UNTRUSTED.to_owned(),
        _ => format!("the certificate of the server is not valid: {wrong}"),
    };
    io::Error::new(error.kind(), text)
}
