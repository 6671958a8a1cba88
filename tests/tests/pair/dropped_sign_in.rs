//! Futures of a client that signs in, each dropped after 0, 1, 2, … steps of 10 ms, and the client
//! itself. The sign-in goes on or ends, happens once, and leaves neither a lock nor a listener.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_proto::auth::ConsentPage;
use mcp_proto::http::Url;
use mcp_service::auth::{AuthFuture, Consent, MemoryVault, PendingConsent, SignIn, Vault};
use mcp_service::testing::{AuthServer, Network, Pair};
use mcp_service::{Client, HttpClientConfig};

use super::sign_in::{ISSUER, SERVER, call, count, protected, registry};

/// The time of a step, and of each way over the network.
const STEP: Duration = Duration::from_millis(10);

/// A future of a client; it ends with whether it has succeeded.
type Operation = Pin<Box<dyn Future<Output = bool>>>;

/// A person whose listeners are counted by the clones of `listeners`.
struct Counted<C> {
    consent: C,
    listeners: Arc<()>,
}

struct CountedListener(Box<dyn PendingConsent>, #[expect(dead_code, reason = "counted")] Arc<()>);

impl<C: Consent> Consent for Counted<C> {
    fn prepare(
        &self,
        redirect_uri: &str,
        port: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let (preparing, counted) =
            (self.consent.prepare(redirect_uri, port), self.listeners.clone());
        Box::pin(async {
            let listener = CountedListener(preparing.await?, counted);
            Ok(Box::new(listener) as Box<dyn PendingConsent>)
        })
    }
}

impl PendingConsent for CountedListener {
    fn redirect_uri(&self) -> String {
        self.0.redirect_uri()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        self.0.ask(page)
    }
}

/// What outlives a client.
struct Place {
    vault: MemoryVault,
    server: AuthServer,
    listeners: Arc<()>,
}

impl Place {
    fn new() -> Self {
        let server = AuthServer::new(ISSUER, SERVER).lifetime(Duration::from_secs(600));
        Self { vault: MemoryVault::new(), server, listeners: Arc::default() }
    }

    fn pair(&self) -> (Pair, Client) {
        let pair = Pair::over_http(registry()).network(Network::calm().latency(STEP, STEP));
        let server = self.server.clone().clock(pair.clock());
        let consent = Counted { consent: server.browser(), listeners: self.listeners.clone() };
        let sign_in = SignIn::new(self.vault.clone()).consent(consent);
        let pair = pair
            .http_config(protected(&server))
            .http_client_config(HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(sign_in))
            .auth_server(&server);
        let client = pair.client();
        (pair, client)
    }

    /// Checks that nobody listens for a redirect or holds a lock, but for the consent itself and
    /// this.
    fn assert_free(&self, consents: usize, when: &str) {
        assert_eq!(Arc::strong_count(&self.listeners), 1 + consents, "{when}: listeners");
        for key in [format!("server:{SERVER}"), format!("client:{ISSUER}")] {
            let mut lock = self.vault.lock(&key);
            let lock = lock.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(lock.is_ready(), "{when}: {key} is locked");
        }
    }
}

fn operation<T, E>(future: impl Future<Output = Result<T, E>> + 'static) -> Operation {
    Box::pin(async { future.await.is_ok() })
}

/// Polls a future at most `polls` times, a step apart; its output if it completes.
fn poll(pair: &mut Pair, mut operation: Operation, polls: usize) -> Option<bool> {
    for _ in 0..polls {
        if let Poll::Ready(is_done) = pair.poll(&mut operation) {
            return Some(is_done);
        }
        pair.pass(STEP);
    }
    None
}

/// A client before its first sign-in, or before a refresh.
fn pair_before(place: &Place, is_refresh: bool) -> (Pair, Client) {
    let (mut pair, client) = place.pair();
    if is_refresh {
        pair.run(call(&client)).unwrap();
        pair.pass(Duration::from_secs(590));
    }
    (pair, client)
}

const OPERATIONS: [fn(&Client) -> Operation; 3] = [
    |client| operation(client.authorize("")),
    |client| operation(call(client)),
    |client| operation(client.connected()),
];

#[test]
fn futures_of_a_sign_in_may_be_dropped_at_any_time() {
    for (number, begin) in OPERATIONS.into_iter().enumerate() {
        for is_refresh in [false, true] {
            for polls in 0.. {
                let place = Place::new();
                let (mut pair, client) = pair_before(&place, is_refresh);
                let ended = poll(&mut pair, begin(&client), polls);
                let when = format!("operation {number}, {polls} polls, refresh: {is_refresh}");
                assert_ne!(ended, Some(false), "{when}");
                pair.run(call(&client)).unwrap();
                pair.pass(Duration::from_secs(1));
                // `authorize` asks the person again although a token is held.
                let asked = 1 + usize::from(is_refresh && number == 0);
                assert_eq!(count(&place.server, "GET /authorize"), asked, "{when}");
                place.assert_free(1, &when);
                pair.run(client.close());
                if ended.is_some() {
                    break;
                }
            }
        }
    }
}

#[test]
fn client_that_signs_in_may_be_dropped_at_any_time() {
    for (number, begin) in OPERATIONS.into_iter().enumerate() {
        for is_refresh in [false, true] {
            for polls in 0.. {
                let place = Place::new();
                let (mut pair, client) = pair_before(&place, is_refresh);
                let ended = poll(&mut pair, begin(&client), polls);
                drop((pair, client));
                let when = format!("operation {number}, {polls} polls, refresh: {is_refresh}");
                place.assert_free(0, &when);
                let (mut pair, client) = place.pair();
                pair.run(call(&client)).unwrap();
                place.assert_free(1, &when);
                if ended.is_some() {
                    break;
                }
            }
        }
    }
}
