//! Vaults and consents that panic, in virtual time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_proto::auth::{AuthError, ConsentPage};
use mcp_proto::http::Url;
use mcp_service::auth::{
    AuthFuture, Consent, MemoryVault, PendingConsent, Secret, SignIn, Vault, VaultLock,
};
use mcp_service::testing::{AuthServer, Pair};
use mcp_service::{Client, HttpClientConfig};

use super::sign_in::{ISSUER, SERVER, call, protected, registry};

#[test]
fn panic_of_a_consent_fails_the_sign_in_only() {
    for step in [Step::Prepare, Step::Ask, Step::Answer] {
        let server = AuthServer::new(ISSUER, SERVER);
        let panics = Arc::new(AtomicBool::new(false));
        let browser: Arc<dyn Consent> = Arc::new(server.browser());
        let person = Panicking { step, panics: panics.clone(), inner: browser };
        let (mut pair, client) = pair(server, SignIn::new(MemoryVault::new()).consent(person));
        pair.run(call(&client)).unwrap();
        client.forget_authorization();
        panics.store(true, Ordering::Relaxed);
        let authorized = pair.run(client.authorize(""));
        assert!(matches!(authorized, Err(AuthError::Consent { .. })), "{step:?}: {authorized:?}");
        panics.store(false, Ordering::Relaxed);
        pair.run(client.authorize("")).unwrap();
        pair.run(call(&client)).unwrap();
    }
}

#[test]
fn panics_of_a_vault_fail_no_call() {
    let server = AuthServer::new(ISSUER, SERVER);
    let sign_in = SignIn::new(PanickingVault).consent(server.browser());
    let (mut pair, client) = pair(server, sign_in);
    pair.run(call(&client)).unwrap();
    client.forget_authorization();
    pair.run(call(&client)).unwrap();
}

fn pair(server: AuthServer, sign_in: SignIn) -> (Pair, Client) {
    let config = HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(sign_in);
    let pair = Pair::over_http(registry());
    let server = server.clock(pair.clock());
    let pair = pair.http_config(protected(&server)).http_client_config(config).auth_server(&server);
    let client = pair.client();
    (pair, client)
}

/// The step of a consent that panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Prepare,
    Ask,
    Answer,
}

/// A consent that panics at a step while `panics` is set.
struct Panicking<T> {
    step: Step,
    panics: Arc<AtomicBool>,
    inner: T,
}

impl<T> Panicking<T> {
    fn check(&self, step: Step) {
        assert!(self.step != step || !self.panics.load(Ordering::Relaxed), "it panics");
    }
}

impl Consent for Panicking<Arc<dyn Consent>> {
    fn prepare(
        &self,
        redirect_uri: &str,
        port: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        self.check(Step::Prepare);
        let (step, panics) = (self.step, self.panics.clone());
        let prepared = self.inner.prepare(redirect_uri, port);
        Box::pin(async move {
            let inner = prepared.await?;
            Ok(Box::new(Panicking { step, panics, inner }) as Box<dyn PendingConsent>)
        })
    }
}

impl PendingConsent for Panicking<Box<dyn PendingConsent>> {
    fn redirect_uri(&self) -> String {
        self.inner.redirect_uri()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        self.check(Step::Ask);
        let asked = self.inner.ask(page);
        let answers = Panicking { step: self.step, panics: self.panics.clone(), inner: () };
        Box::pin(async move {
            answers.check(Step::Answer);
            asked.await
        })
    }
}

/// A vault whose methods panic: half of them in the call, half in the future.
struct PanickingVault;

#[expect(clippy::panic, reason = "the client must survive it")]
impl Vault for PanickingVault {
    fn read(&self, _: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        Box::pin(async { panic!("read") })
    }

    fn write(&self, _: &str, _: &Secret) -> AuthFuture<io::Result<()>> {
        panic!("write")
    }

    fn remove(&self, _: &str) -> AuthFuture<io::Result<()>> {
        Box::pin(async { panic!("remove") })
    }

    fn lock(&self, _: &str) -> AuthFuture<io::Result<VaultLock>> {
        panic!("lock")
    }
}
