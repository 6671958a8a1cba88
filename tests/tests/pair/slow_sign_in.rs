//! Sign-ins that the application forgets, or clients that it closes, while a vault or a person is
//! slow.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Poll, Waker};
use std::time::Duration;

use mcp_proto::auth::{AuthError, ConsentPage};
use mcp_proto::http::Url;
use mcp_proto::types::CallToolResult;
use mcp_proto::{Instant, Limits};
use mcp_service::auth::{
    AuthFuture, Consent, MemoryVault, PendingConsent, Secret, SignIn, Vault, VaultLock,
};
use mcp_service::testing::{AuthServer, Clock, Pair};
use mcp_service::{Call, Client, HttpClientConfig};

use super::sign_in::{ISSUER, SERVER, call, count, protected, registry};

#[test]
fn listener_of_a_forgotten_sign_in_is_not_used() {
    let (mut pair, client, person) = signed_in();
    let mut forgotten = pin!(client.authorize(""));
    assert!(pair.poll(&mut forgotten).is_pending());
    client.forget_authorization();
    let mut authorized = pin!(client.authorize(""));
    assert!(pair.poll(&mut authorized).is_pending());
    assert_eq!(person.state.lock().unwrap().listeners, 3);
    person.listens.open(3);
    person.answers.open(2);
    pair.run(authorized).unwrap();
    assert!(matches!(pair.run(forgotten), Err(AuthError::Consent { .. })));
}

#[test]
fn page_of_a_forgotten_sign_in_does_not_end_the_next_one() {
    let (mut pair, client, person) = signed_in();
    person.listens.open(3);
    let mut forgotten = pin!(client.authorize(""));
    assert!(pair.poll(&mut forgotten).is_pending());
    client.forget_authorization();
    let mut authorized = pin!(client.authorize(""));
    assert!(pair.poll(&mut authorized).is_pending());
    assert_eq!(person.state.lock().unwrap().pages, 3);
    // The person closes the page of the forgotten sign-in.
    person.state.lock().unwrap().refused = 2;
    person.answers.open(2);
    pair.pass(Duration::from_secs(1));
    assert!(pair.poll(&mut authorized).is_pending());
    person.answers.open(3);
    pair.run(authorized).unwrap();
}

#[test]
fn forgotten_tokens_are_removed_after_a_slow_write() {
    let (mut pair, client, server, vault) = slow_writes();
    vault.writes.open(2);
    pair.run(call(&client)).unwrap();
    let mut forgotten = pin!(client.authorize(""));
    assert!(pair.poll(&mut forgotten).is_pending());
    assert_eq!(count(&server, "POST /token"), 2);
    client.forget_authorization();
    assert!(pair.run(forgotten).is_err());
    vault.writes.open(3);
    pair.pass(Duration::from_secs(1));
    for key in [format!("server:{SERVER}"), format!("client:{ISSUER} http://127.0.0.1/callback")] {
        let record = pair.run(vault.records.read(&key)).unwrap();
        assert!(record.is_none(), "{key}");
    }
    // The client signs in again.
    vault.writes.open(5);
    pair.run(call(&client)).unwrap();
    assert_eq!(count(&server, "POST /token"), 3);
}

#[test]
fn client_closes_after_a_slow_write_of_tokens() {
    let (mut pair, client, _, vault) = slow_writes();
    let mut called = writing_tokens(&mut pair, &vault, &client);
    let mut closed = pin!(client.close());
    assert!(pair.poll(&mut closed).is_pending());
    assert!(pair.poll(&mut called).is_ready(), "the call fails at once");
    vault.writes.open(2);
    let before = pair.now();
    pair.run(closed);
    assert_eq!(pair.now(), before);
    let record = pair.run(vault.records.read(&format!("server:{SERVER}"))).unwrap();
    assert!(record.is_some());
}

#[test]
fn client_closes_without_a_write_that_does_not_end() {
    let (mut pair, client, _, vault) = slow_writes();
    let called = writing_tokens(&mut pair, &vault, &client);
    let before = pair.now();
    pair.run(client.close());
    assert_eq!(pair.now(), before + Limits::default().drain);
    assert!(pair.run(called).is_err());
}

#[test]
fn client_closes_while_a_person_is_asked() {
    let (mut pair, client, person) = signed_in();
    person.listens.open(2);
    let mut authorized = pin!(client.authorize(""));
    assert!(pair.poll(&mut authorized).is_pending());
    assert_eq!(person.state.lock().unwrap().pages, 2);
    let before = pair.now();
    pair.run(client.close());
    assert_eq!(pair.now(), before);
    assert!(pair.run(authorized).is_err());
}

/// The process may have been suspended: the redirect and its deadline are seen in the same turn.
#[test]
fn redirect_that_has_arrived_counts_although_the_page_has_had_its_time() {
    let server = AuthServer::new(ISSUER, SERVER);
    let person = PunctualPerson { server: server.clone(), clock: Arc::default() };
    let mut pair = pair(&server, SignIn::new(MemoryVault::new()).consent(person.clone()));
    person.clock.set(pair.clock()).unwrap();
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    assert_eq!(pair.now(), Instant::ZERO + PAGE_TIME);
}

/// A call whose tokens are being written to the vault.
fn writing_tokens(pair: &mut Pair, vault: &SlowWrites, client: &Client) -> Call<CallToolResult> {
    // The first write is that of the registration.
    vault.writes.open(1);
    let mut called = call(client);
    assert!(pair.poll(&mut called).is_pending());
    assert_eq!(*vault.count.lock().unwrap(), 2);
    called
}

fn pair(server: &AuthServer, sign_in: SignIn) -> Pair {
    let pair = Pair::over_http(registry());
    let server = server.clone().clock(pair.clock());
    pair.http_config(protected(&server))
        .http_client_config(HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(sign_in))
        .auth_server(&server)
}

/// A client whose vault is slow.
fn slow_writes() -> (Pair, Client, AuthServer, SlowWrites) {
    let vault = SlowWrites::default();
    let server = AuthServer::new(ISSUER, SERVER);
    let pair = pair(&server, SignIn::new(vault.clone()).consent(server.browser()));
    let client = pair.client();
    (pair, client, server, vault)
}

/// A client that has signed in once.
fn signed_in() -> (Pair, Client, SlowPerson) {
    let server = AuthServer::new(ISSUER, SERVER);
    let person = SlowPerson {
        server: server.clone(),
        state: Arc::default(),
        listens: Gate::default(),
        answers: Gate::default(),
    };
    person.listens.open(1);
    person.answers.open(1);
    let mut pair = pair(&server, SignIn::new(MemoryVault::new()).consent(person.clone()));
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    (pair, client, person)
}

/// A gate that the test opens for the first so many.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(usize, Vec<Waker>)>>);

impl Gate {
    fn open(&self, count: usize) {
        let mut gate = self.0.lock().unwrap();
        gate.0 = count;
        gate.1.drain(..).for_each(Waker::wake);
    }

    fn pass(&self, number: usize) -> impl Future<Output = ()> + Send + use<> {
        let gate = self.clone();
        poll_fn(move |context| {
            let mut gate = gate.0.lock().unwrap();
            if number <= gate.0 {
                return Poll::Ready(());
            }
            gate.1.push(context.waker().clone());
            Poll::Pending
        })
    }
}

/// A person whose listeners and answers wait for gates.
#[derive(Clone)]
struct SlowPerson {
    server: AuthServer,
    state: Arc<Mutex<PersonState>>,
    listens: Gate,
    answers: Gate,
}

#[derive(Default)]
struct PersonState {
    listeners: usize,
    pages: usize,
    /// The page that the person refuses.
    refused: usize,
}

struct SlowTab {
    person: SlowPerson,
    redirect_uri: String,
}

impl Consent for SlowPerson {
    fn prepare(&self, _: &str, _: Option<u16>) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let mut state = self.state.lock().unwrap();
        state.listeners += 1;
        let redirect_uri = format!("http://127.0.0.1:{}/callback", 50_000 + state.listeners);
        let ready = self.listens.pass(state.listeners);
        let tab = SlowTab { person: self.clone(), redirect_uri };
        Box::pin(async move {
            ready.await;
            Ok(Box::new(tab) as Box<dyn PendingConsent>)
        })
    }
}

impl PendingConsent for SlowTab {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        if page.redirect_uri != self.redirect_uri {
            return Box::pin(async { Err("another listener waits for the redirect".into()) });
        }
        let person = self.person.clone();
        let number = {
            let mut state = person.state.lock().unwrap();
            state.pages += 1;
            state.pages
        };
        Box::pin(async move {
            person.answers.pass(number).await;
            if person.state.lock().unwrap().refused == number {
                return Err("the page was closed".into());
            }
            person.server.answer("GET", &page.url, "").location.ok_or("no redirect".into())
        })
    }
}

/// The time for a page of a sign-in.
const PAGE_TIME: Duration = Duration::from_secs(5 * 60);

/// A person who takes all the time that a page has.
#[derive(Clone)]
struct PunctualPerson {
    server: AuthServer,
    clock: Arc<OnceLock<Clock>>,
}

struct PunctualTab(PunctualPerson);

impl Consent for PunctualPerson {
    fn prepare(&self, _: &str, _: Option<u16>) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let tab = PunctualTab(self.clone());
        Box::pin(async move { Ok(Box::new(tab) as Box<dyn PendingConsent>) })
    }
}

impl PendingConsent for PunctualTab {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:50000/callback".into()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        let PunctualPerson { server, clock } = self.0.clone();
        let slept = clock.get().unwrap().sleep(PAGE_TIME);
        Box::pin(async move {
            slept.await;
            server.answer("GET", &page.url, "").location.ok_or("no redirect".into())
        })
    }
}

/// A vault whose writes wait for a gate.
#[derive(Clone, Default)]
struct SlowWrites {
    records: MemoryVault,
    writes: Gate,
    count: Arc<Mutex<usize>>,
}

impl Vault for SlowWrites {
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        self.records.read(key)
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
        let number = {
            let mut count = self.count.lock().unwrap();
            *count += 1;
            *count
        };
        let (ready, records) = (self.writes.pass(number), self.records.clone());
        let (key, record) = (key.to_owned(), record.clone());
        Box::pin(async move {
            ready.await;
            records.write(&key, &record).await
        })
    }

    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>> {
        self.records.remove(key)
    }

    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        self.records.lock(key)
    }
}
