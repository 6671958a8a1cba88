//! The client metadata document of an application.
//!
//! In: the metadata of an issuer, and a redirect URI. Out: the client, if the issuer accepts the
//! document with this redirect URI.
//!
//! [Specification: Client ID Metadata
//! Documents](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#client-id-metadata-documents)

use alloc::string::String;
use alloc::vec::Vec;

use super::metadata::IssuerMetadata;
use super::redirect_uri::are_same;
use super::registration::{self, AuthMethod, RegisteredClient};
use crate::url::{Scheme, Url};

/// The URL of a document, and the redirect URIs in it.
#[derive(Clone, Debug)]
pub(super) struct ClientDocument {
    pub(super) url: String,
    pub(super) redirect_uris: Vec<String>,
}

impl ClientDocument {
    /// The client of the document, if the issuer accepts it with this redirect URI.
    pub(super) fn client(
        &self,
        issuer: &IssuerMetadata,
        redirect_uri: &str,
    ) -> Option<RegisteredClient> {
        let is_listed = self.redirect_uris.iter().any(|own| are_same(own, redirect_uri));
        let is_usable = is_listed
            && issuer.client_id_metadata_document_supported
            && registration::takes_public_clients(issuer)
            && Url::parse(&self.url)
                .is_ok_and(|it| it.scheme() == Scheme::Https && it.target() != "/");
        is_usable.then(|| RegisteredClient {
            id: self.url.clone(),
            secret: None,
            method: AuthMethod::None,
        })
    }
}
