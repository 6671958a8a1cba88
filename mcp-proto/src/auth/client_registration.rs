//! Dynamic registration of a client.
//!
//! In: events of the driver. Out: requests to the registration endpoint, and at the end the record
//! of the client, or an error. A request names the scopes that the client will request, because
//! some authorization servers limit a client to these scopes. If it is rejected, a second request
//! leaves the scopes out.
//!
//! [RFC 7591, section 3](https://www.rfc-editor.org/rfc/rfc7591#section-3)

use alloc::string::String;

use super::action::{FetchAnswer, FetchId};
use super::error::AuthError;
use super::event::{AuthEvent, StepContext, StepProgress};
use super::metadata::IssuerMetadata;
use super::record::ClientRecord;
use super::registration;
use super::scopes::Scopes;

/// A registration in progress.
#[derive(Debug)]
pub(super) struct ClientRegistration {
    fetch: FetchId,
    redirect_uri: String,
    /// The scopes that the request names.
    scopes: Scopes,
}

type RegistrationStep = Result<StepProgress<ClientRegistration, ClientRecord>, AuthError>;

impl ClientRegistration {
    /// Sends a request.
    pub(super) fn start(
        issuer: &IssuerMetadata,
        redirect_uri: String,
        scopes: Scopes,
        context: &mut StepContext<'_>,
    ) -> Result<Self, AuthError> {
        let config = &context.config;
        let no_client = || AuthError::NoClient { issuer: issuer.issuer.clone() };
        let endpoint = issuer.registration_endpoint.as_ref().ok_or_else(no_client)?;
        let body = registration::request(&config.client_name, &redirect_uri, &scopes, issuer);
        let fetch = context.outbox.register(context.now, endpoint, body, &config.policy)?;
        Ok(Self { fetch, redirect_uri, scopes })
    }

    /// Continues with an event; an event of another step changes nothing.
    pub(super) fn handle(
        self,
        event: AuthEvent<'_>,
        issuer: &IssuerMetadata,
        context: &mut StepContext<'_>,
    ) -> RegistrationStep {
        match (self.fetch, event) {
            (fetch, AuthEvent::Fetched(id, answer)) if id == fetch => match answer {
                Some(answer) if answer.status == 400 && !self.scopes.is_empty() => {
                    let again = Self::start(issuer, self.redirect_uri, Scopes::none(), context);
                    again.map(StepProgress::Pending)
                }
                answer => self.finish(answer.as_ref(), issuer),
            },
            (_, AuthEvent::TimedOut) => self.finish(None, issuer),
            _ => Ok(StepProgress::Pending(self)),
        }
    }

    fn finish(self, answer: Option<&FetchAnswer<'_>>, issuer: &IssuerMetadata) -> RegistrationStep {
        let read = answer.ok_or_else(|| Some("no answer".into()));
        let read = read.and_then(|it| registration::read_answer(it.status, it.body, issuer));
        let failed = |reason| AuthError::Registration { issuer: issuer.issuer.clone(), reason };
        let (client, secret_expires_at) = read.map_err(failed)?;
        let redirect_uri = self.redirect_uri;
        Ok(StepProgress::Done(ClientRecord { client, secret_expires_at, redirect_uri }))
    }
}
