//! Discovery: from the URL of a server to the metadata of its authorization server.
//!
//! In: answers to requests for metadata, one after the other. Out: the next URL to request, a
//! [`DiscoveredServer`], or an error. [`discovery_table::TABLE`] decides about the next step.
//!
//! | state | data | ends with |
//! |---|---|---|
//! | a request for metadata of the server | its URL, the next URLs | the answer |
//! | a request for metadata of the issuer | the same, and the [`IssuerTarget`] of the server | the answer |
//!
//! A request follows at most three redirects. Each redirect is checked, and none leads from `https`
//! to `http`.
//!
//! [Specification: Authorization Server
//! Discovery](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-server-discovery)

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};

use super::action::FetchAnswer;
use super::config::Config;
use super::decisions::Decisions;
use super::discovery_table::{self, DiscoveryStep, MetadataAnswer, MetadataQuestion};
use super::error::{AuthError, shown};
use super::grant_kind::GrantKind;
use super::metadata::{
    InvalidIssuer, IssuerMetadata, IssuerRules, ResourceMetadata, issuer_metadata_urls,
    origin_metadata_url, resource_metadata_urls,
};
use super::scopes::Scopes;
use crate::url::{Scheme, Url};

/// The maximum number of redirects that are followed for one request.
const MAX_REDIRECTS: u8 = 3;

/// A discovered server.
#[derive(Clone, Debug)]
pub(super) struct DiscoveredServer {
    /// The identifier of the server, as its metadata states it.
    pub(super) resource: String,
    /// The scopes that the server lists.
    pub(super) scopes: Scopes,
    pub(super) issuer: IssuerMetadata,
    /// True if the tokens must be bound to a key.
    pub(super) binds: bool,
    pub(super) grant: GrantKind,
    /// The URL of the metadata, if a challenge has named it.
    pub(super) metadata_url: Option<String>,
}

/// A discovery in progress.
#[derive(Debug)]
pub(super) struct Discovery {
    question: MetadataQuestion,
    /// The URL that a challenge has named.
    named_url: Option<String>,
    /// The requested URL.
    url: Url,
    redirects: u8,
    /// The URLs that may be requested next.
    next_urls: VecDeque<Url>,
    target: Option<IssuerTarget>,
    /// True if an earlier URL was unavailable.
    was_unavailable: bool,
    /// True if an earlier document did not list `S256`.
    lacked_pkce: bool,
}

/// The server, and the issuer that it names.
#[derive(Debug)]
struct IssuerTarget {
    resource: String,
    scopes: Scopes,
    binds: bool,
    expected: String,
}

impl IssuerTarget {
    /// The server with the metadata of its issuer.
    fn found(
        self,
        issuer: IssuerMetadata,
        grant: GrantKind,
        metadata_url: Option<String>,
    ) -> Discovered {
        let Self { resource, scopes, binds, .. } = self;
        let server = DiscoveredServer { resource, scopes, issuer, binds, grant, metadata_url };
        Discovered::Server(server)
    }
}

/// The result of an answer.
pub(super) enum Discovered {
    /// Another URL must be requested.
    Ask(Discovery),
    /// The discovery is complete.
    Server(DiscoveredServer),
}

/// The class of an answer, and the document if the body has one.
type Classified<T> = (MetadataAnswer, Option<T>);

impl Discovery {
    /// Starts a discovery with the URL of a challenge, or with the well-known URLs.
    pub(super) fn start(config: &Config, metadata_url: Option<&str>) -> Result<Self, AuthError> {
        let mut next_urls = resource_metadata_urls(&config.server);
        let (question, url) = if let Some(metadata_url) = metadata_url {
            (MetadataQuestion::NamedResource, config.policy.check(metadata_url)?)
        } else {
            let has_path = next_urls.len() > 1;
            let question = if has_path {
                MetadataQuestion::PathResource
            } else {
                MetadataQuestion::RootResource
            };
            (question, next_urls.pop_front().unwrap_or_else(|| config.server.clone()))
        };
        Ok(Self {
            question,
            named_url: metadata_url.map(String::from),
            url,
            redirects: 0,
            next_urls,
            target: None,
            was_unavailable: false,
            lacked_pkce: false,
        })
    }

    /// The URL to request.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Continues with an answer; `None` if there is no answer. `current_issuer` is the issuer of
    /// the current tokens.
    pub(super) fn handle_answer(
        mut self,
        config: &Config,
        answer: Option<&FetchAnswer<'_>>,
        current_issuer: Option<&str>,
        decisions: &mut Decisions,
    ) -> Result<Discovered, AuthError> {
        if let Some(url) = answer.and_then(|answer| self.redirect(config, answer)) {
            self.url = url;
            self.redirects += 1;
            return Ok(Discovered::Ask(self));
        }
        match self.target.take() {
            None => self.handle_resource(config, answer, current_issuer, decisions),
            Some(target) => self.handle_issuer(config, answer, target, decisions),
        }
    }

    fn handle_resource(
        self,
        config: &Config,
        answer: Option<&FetchAnswer<'_>>,
        current_issuer: Option<&str>,
        decisions: &mut Decisions,
    ) -> Result<Discovered, AuthError> {
        let (found, document) = classify(answer, |body| {
            let Some(metadata) = ResourceMetadata::read(body) else {
                return (MetadataAnswer::Unusable, None);
            };
            let covers = metadata.covers(&config.server);
            (
                if covers { MetadataAnswer::Document } else { MetadataAnswer::Contradicts },
                Some(metadata),
            )
        });
        let next = self.decide(found, decisions);
        match (next, document) {
            (DiscoveryStep::AskIssuer, Some(document)) => {
                let offered = &document.authorization_servers;
                let expected =
                    config.choose_issuer(offered, current_issuer).unwrap_or_default().to_string();
                let target = IssuerTarget {
                    resource: document.resource,
                    scopes: document.scopes_supported,
                    binds: document.dpop_bound_access_tokens_required,
                    expected,
                };
                self.ask_issuer(config, target)
            }
            (DiscoveryStep::FailResource, Some(document)) => Err(AuthError::Resource {
                stated: document.resource,
                server: shown(config.server.as_str()),
            }),
            (DiscoveryStep::AskRoot, _) => self.ask_next(MetadataQuestion::RootResource, None),
            (DiscoveryStep::AskOrigin, _) => self.ask_origin(config),
            (next, _) => Err(self.failure(next, "")),
        }
    }

    fn issuer_rules<'a>(&self, config: &'a Config, expected: &'a str) -> IssuerRules<'a> {
        let is_origin = self.question == MetadataQuestion::OriginIssuer;
        // Clients of 2025-03-26 did not have to verify that a server supports PKCE.
        let is_lenient = is_origin && config.guesses_endpoints;
        IssuerRules {
            policy: &config.policy,
            expected,
            is_origin,
            accepted: &config.accepted_issuers,
            assumes_s256: is_lenient || config.assumes_pkce(expected),
            grant: config.grant,
            has_person: !config.unattended,
        }
    }

    fn handle_issuer(
        mut self,
        config: &Config,
        answer: Option<&FetchAnswer<'_>>,
        target: IssuerTarget,
        decisions: &mut Decisions,
    ) -> Result<Discovered, AuthError> {
        let rules = self.issuer_rules(config, &target.expected);
        let mut invalid = None;
        let (found, document) = classify(answer, |body| match IssuerMetadata::read(body, &rules) {
            Ok(metadata) => (MetadataAnswer::Document, Some(metadata)),
            Err(error) => {
                let found = match error {
                    InvalidIssuer::Contradicts { .. } => MetadataAnswer::Contradicts,
                    InvalidIssuer::Url(_) | InvalidIssuer::NoPkce | InvalidIssuer::Unusable => {
                        MetadataAnswer::Unusable
                    }
                };
                invalid = Some(error);
                (found, None)
            }
        });
        let offered = document.as_ref().and_then(|it| it.grant_types_supported.as_deref());
        let grant = rules.grant(offered);
        let mut stated = String::new();
        match invalid {
            Some(InvalidIssuer::Url(error)) => return Err(error),
            Some(InvalidIssuer::NoPkce) => self.lacked_pkce = true,
            Some(InvalidIssuer::Contradicts { stated: issuer }) => stated = issuer,
            Some(InvalidIssuer::Unusable) | None => {}
        }
        let next = self.decide(found, decisions);
        self.was_unavailable |= found == MetadataAnswer::Unavailable;
        match (next, document) {
            (DiscoveryStep::ChooseClient, Some(issuer)) => {
                Ok(target.found(issuer, grant, self.named_url))
            }
            (DiscoveryStep::AskNext, _) => {
                let is_last = self.next_urls.len() <= 1;
                let question =
                    if is_last { MetadataQuestion::LastIssuer } else { MetadataQuestion::Issuer };
                self.ask_next(question, Some(target))
            }
            (DiscoveryStep::Guess, _) if config.guesses_endpoints => {
                let issuer = IssuerMetadata::guessed(&config.server);
                let no_issuer = || AuthError::NoIssuer { issuer: target.expected.clone() };
                let issuer = issuer.ok_or_else(no_issuer)?;
                Ok(target.found(issuer, grant, self.named_url))
            }
            (DiscoveryStep::FailIssuer, _) => {
                Err(AuthError::Issuer { expected: target.expected, stated })
            }
            (DiscoveryStep::FailNoIssuer | DiscoveryStep::Guess, _) if self.lacked_pkce => {
                Err(AuthError::NoPkce { issuer: target.expected })
            }
            (next, _) => Err(self.failure(next, &target.expected)),
        }
    }

    fn ask_issuer(
        mut self,
        config: &Config,
        target: IssuerTarget,
    ) -> Result<Discovered, AuthError> {
        self.next_urls = issuer_metadata_urls(&config.policy.check(&target.expected)?);
        self.ask_next(MetadataQuestion::Issuer, Some(target))
    }

    fn ask_origin(mut self, config: &Config) -> Result<Discovered, AuthError> {
        let server = &config.server;
        let path = server.target().split('?').next().unwrap_or_default();
        let origin = server.origin();
        let resource = format!("{origin}{}", path.strip_suffix('/').unwrap_or(path));
        self.next_urls = origin_metadata_url(server).into_iter().collect();
        let scopes = Scopes::none();
        let target = IssuerTarget { resource, scopes, binds: false, expected: origin.into() };
        self.ask_next(MetadataQuestion::OriginIssuer, Some(target))
    }

    fn ask_next(
        mut self,
        question: MetadataQuestion,
        target: Option<IssuerTarget>,
    ) -> Result<Discovered, AuthError> {
        let issuer = target.as_ref().map_or("", |target| &target.expected);
        let no_issuer = AuthError::NoIssuer { issuer: issuer.to_string() };
        self.url = self.next_urls.pop_front().ok_or(no_issuer)?;
        Ok(Discovered::Ask(Self { question, redirects: 0, target, ..self }))
    }

    /// The URL of a redirect that may be followed.
    fn redirect(&self, config: &Config, answer: &FetchAnswer<'_>) -> Option<Url> {
        let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
        let location = answer.location.filter(|_| is_redirect && self.redirects < MAX_REDIRECTS)?;
        let url = self.url.join(location).ok()?;
        let is_downgrade = self.url.scheme() == Scheme::Https && url.scheme() == Scheme::Http;
        config.policy.check(url.as_str()).ok().filter(|_| !is_downgrade)
    }

    fn decide(&self, found: MetadataAnswer, decisions: &mut Decisions) -> DiscoveryStep {
        let row = discovery_table::TABLE.find((self.question, found, self.was_unavailable));
        decisions.record("flow", row.map_or("gap", |row| row.name));
        row.map_or(DiscoveryStep::FailNoIssuer, |row| row.then)
    }

    fn failure(&self, next: DiscoveryStep, issuer: &str) -> AuthError {
        let url = shown(self.url.as_str());
        match next {
            DiscoveryStep::FailNamed => AuthError::ResourceMetadata { url },
            DiscoveryStep::FailUnavailable => AuthError::Unavailable { url },
            DiscoveryStep::AskIssuer
            | DiscoveryStep::AskRoot
            | DiscoveryStep::AskOrigin
            | DiscoveryStep::AskNext
            | DiscoveryStep::ChooseClient
            | DiscoveryStep::Guess
            | DiscoveryStep::FailResource
            | DiscoveryStep::FailIssuer
            | DiscoveryStep::FailNoIssuer => AuthError::NoIssuer { issuer: issuer.into() },
        }
    }
}

/// The class of an answer; `read` classifies the body of an answer with a status from 200 to 299.
fn classify<T>(
    answer: Option<&FetchAnswer<'_>>,
    read: impl FnOnce(&[u8]) -> Classified<T>,
) -> Classified<T> {
    match answer.map(|answer| (answer.status, answer.body)) {
        None | Some((429 | 500.., _)) => (MetadataAnswer::Unavailable, None),
        Some((200..=299, body)) => read(body),
        Some((400..=499, _)) => (MetadataAnswer::Missing, None),
        Some(_) => (MetadataAnswer::Elsewhere, None),
    }
}
