//! Vaults and consents that panic, also when they are dropped, in virtual time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_proto::auth::{AuthError, ConsentPage};
use mcp_proto::http::Url;
use mcp_service::auth::{
    AuthFuture, Consent, MemoryVault, PendingConsent, Secret, SignIn, Vault, VaultLock,
};
use mcp_service::testing::{AuthServer, Pair, Person};
use mcp_service::{Client, HttpClientConfig};

use super::sign_in::{ISSUER, SERVER, call, protected, registry};

#[test]
fn panic_of_a_consent_fails_the_sign_in_only() {
    for step in [Step::Prepare, Step::RedirectUri, Step::Ask, Step::Answer] {
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

/// The client drops them when it has its tokens, or when it closes.
#[test]
fn drops_of_a_consent_and_of_locks_that_panic_end_nothing() {
    let server = AuthServer::new(ISSUER, SERVER);
    let browser: Arc<dyn Consent> = Arc::new(server.browser());
    let sign_in = SignIn::new(Explosive(MemoryVault::new())).consent(Explosive(browser));
    let (mut pair, client) = pair(server.clone(), sign_in);
    pair.run(call(&client)).unwrap();
    client.forget_authorization();
    pair.run(call(&client)).unwrap();
    // The page of this sign-in is shown when the client closes.
    client.forget_authorization();
    server.set_person(Person::Leaves);
    let mut authorizing = Box::pin(client.authorize(""));
    assert!(pair.poll(&mut authorizing).is_pending());
    pair.run(client.close());
    assert!(pair.run(authorizing).is_err());
}

/// A vault or a consent whose values and futures panic when they are dropped.
struct Explosive<T>(T);

/// A value whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_quietly();
    }
}

/// Panics without a word on stderr.
fn panic_quietly() {
    std::panic::resume_unwind(Box::new("quiet"));
}

/// The same future, whose drop panics if it is early.
fn explosive<T: Send + 'static>(future: AuthFuture<T>) -> AuthFuture<T> {
    let bomb = Bomb;
    Box::pin(async move {
        let output = future.await;
        std::mem::forget(bomb);
        output
    })
}

impl Consent for Explosive<Arc<dyn Consent>> {
    fn prepare(
        &self,
        redirect_uri: &str,
        port: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let prepared = self.0.prepare(redirect_uri, port);
        explosive(Box::pin(async move {
            let pending = (prepared.await?, Bomb);
            Ok(Box::new(Explosive(pending)) as Box<dyn PendingConsent>)
        }))
    }
}

impl PendingConsent for Explosive<(Box<dyn PendingConsent>, Bomb)> {
    fn redirect_uri(&self) -> String {
        self.0.0.redirect_uri()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        explosive(self.0.0.ask(page))
    }
}

impl Vault for Explosive<MemoryVault> {
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        explosive(self.0.read(key))
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
        explosive(self.0.write(key, record))
    }

    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>> {
        explosive(self.0.remove(key))
    }

    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        let lock = self.0.lock(key);
        explosive(Box::pin(async move { Ok(Box::new((lock.await?, Bomb)) as VaultLock) }))
    }
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
    RedirectUri,
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
        self.check(Step::RedirectUri);
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
