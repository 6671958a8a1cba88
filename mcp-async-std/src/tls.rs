//! TLS for `https` URLs.
//!
//! In: a connection and the name of its server. Out: the same within TLS, or in words why it is not to
//! be trusted.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use futures_rustls::TlsConnector;
use futures_rustls::client::TlsStream;
use futures_rustls::rustls::crypto::ring;
use futures_rustls::rustls::pki_types::pem::PemObject;
use futures_rustls::rustls::pki_types::{CertificateDer, ServerName};
use futures_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};
use smol::Async;

/// The settings of all connections of a client.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

impl Tls {
    /// Trusts the authorities with these certificates, as PEM, or those of the platform.
    pub(crate) fn new(trusted: Option<&[u8]>) -> io::Result<Self> {
        let authorities = match trusted {
            Some(pem) => given(pem)?,
            None => of_platform()?,
        };
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let mut config = config.with_root_certificates(authorities).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config).into()))
    }

    /// Puts a connection to a host within TLS.
    pub(crate) async fn wrap(
        &self,
        host: &str,
        stream: Async<TcpStream>,
    ) -> io::Result<TlsStream<Async<TcpStream>>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        self.0.connect(name, stream).await.map_err(|error| explained(error, host))
    }
}

fn given(pem: &[u8]) -> io::Result<RootCertStore> {
    let unreadable = |error: &dyn std::fmt::Display| {
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

fn of_platform() -> io::Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    // A platform may have some that cannot be read; without them there is less to trust.
    let _ = authorities.add_parsable_certificates(found.certs);
    if authorities.is_empty() {
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        let text = format!("the platform trusts no certificates: {}", errors.join("; "));
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    Ok(authorities)
}

/// What is wrong with a certificate, in words.
fn explained(error: io::Error, host: &str) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let Some(rustls::Error::InvalidCertificate(wrong)) = inner else { return error };
    let text = if is_of_name(wrong) {
        format!("the certificate of the server is not for {host}: {wrong}")
    } else if is_expired(wrong) {
        format!("the certificate of the server has expired: {wrong}")
    } else if *wrong == CertificateError::UnknownIssuer {
        "the certificate of the server is from an authority that is not trusted".to_owned()
    } else {
        format!("the certificate of the server is not valid: {wrong}")
    };
    io::Error::new(error.kind(), text)
}

fn is_of_name(wrong: &CertificateError) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(wrong, NotValidForName | NotValidForNameContext { .. })
}

fn is_expired(wrong: &CertificateError) -> bool {
    matches!(wrong, CertificateError::Expired | CertificateError::ExpiredContext { .. })
}
