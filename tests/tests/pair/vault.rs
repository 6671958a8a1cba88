//! A vault that another process locks, or that answers slowly, in virtual time.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_proto::http::Url;
use mcp_service::auth::{AuthFuture, MemoryVault, Secret, SignIn, Vault, VaultLock};
use mcp_service::testing::{AuthServer, Pair, Person};
use mcp_service::{Client, HttpClientConfig};

use super::sign_in::{ISSUER, SERVER, call, count, protected, registry};

const KEY: &str = "server:http://localhost/mcp";

#[test]
fn lock_that_arrives_after_the_deadline_is_dropped() {
    let vault = TestVault::default();
    let (mut pair, server, client) = signed_in(&vault);
    let other = vault.try_lock().unwrap();
    // Two refreshes wait 10 s each, and go on without the lock.
    for refreshes in 1..=2 {
        let before = pair.now();
        pair.pass(Duration::from_secs(590));
        pair.run(call(&client)).unwrap();
        assert_eq!(pair.now(), before + Duration::from_secs(600));
        assert_eq!(count(&server, "POST /token"), 1 + refreshes);
    }
    drop(other);
    pair.run(call(&client)).unwrap();
    assert!(vault.try_lock().is_some(), "the client has locked the vault for good");
    // The next refresh gets the lock at once, and releases it.
    let before = pair.now();
    pair.pass(Duration::from_secs(590));
    pair.run(call(&client)).unwrap();
    assert_eq!(pair.now(), before + Duration::from_secs(590));
    assert!(vault.try_lock().is_some());
}

#[test]
fn later_refresh_keeps_its_lock_when_an_earlier_one_has_timed_out() {
    let vault = TestVault::default();
    let (mut pair, server, client) = signed_in(&vault);
    let other = vault.try_lock().unwrap();
    pair.pass(Duration::from_secs(590));
    pair.run(call(&client)).unwrap();
    // The second refresh is waiting when the lock becomes free.
    pair.pass(Duration::from_secs(590));
    let mut waiting = call(&client);
    assert!(pair.poll(&mut waiting).is_pending());
    vault.answers_writes.store(false, Ordering::Relaxed);
    drop(other);
    assert!(pair.poll(&mut waiting).is_pending());
    assert_eq!(count(&server, "POST /token"), 3);
    assert!(vault.try_lock().is_none(), "the tokens are stored without the lock");
}

#[test]
fn lock_is_released_if_the_record_is_not_read_in_time() {
    let vault = TestVault::default();
    let (mut pair, _, client) = signed_in(&vault);
    pair.pass(Duration::from_secs(590));
    vault.answers_reads.store(false, Ordering::Relaxed);
    pair.run(call(&client)).unwrap();
    assert!(vault.try_lock().is_some());
}

/// Another program removes the record, as `mcp logout` does.
#[test]
fn tokens_that_another_program_has_forgotten_are_not_stored_again() {
    let vault = TestVault::default();
    let (mut pair, server, client) = signed_in(&vault);
    let url = Url::parse(SERVER).unwrap();
    assert!(pair.run(SignIn::new(vault.clone()).forget(&url)).unwrap());
    server.set_person(Person::Refuses);
    pair.pass(Duration::from_secs(590));
    assert!(pair.run(call(&client)).is_err());
    assert_eq!(count(&server, "POST /token"), 1);
    assert!(pair.run(vault.read(KEY)).unwrap().is_none());
}

#[test]
fn record_that_cannot_be_read_is_not_a_removed_one() {
    let vault = TestVault::default();
    let (mut pair, server, client) = signed_in(&vault);
    for refreshes in 1..=2 {
        pair.pass(Duration::from_secs(590));
        vault.fails_reads.store(true, Ordering::Relaxed);
        pair.run(call(&client)).unwrap();
        vault.fails_reads.store(false, Ordering::Relaxed);
        assert_eq!(count(&server, "POST /token"), 1 + refreshes);
    }
    // A refusal reads the store, too.
    vault.fails_reads.store(true, Ordering::Relaxed);
    server.expire_tokens();
    pair.run(call(&client)).unwrap();
    assert_eq!((count(&server, "POST /token"), count(&server, "GET /authorize")), (4, 1));
}

/// A client with tokens that expire after 600 s.
fn signed_in(vault: &TestVault) -> (Pair, AuthServer, Client) {
    let server = AuthServer::new(ISSUER, SERVER).lifetime(Duration::from_secs(600));
    let sign_in = SignIn::new(vault.clone()).consent(server.browser());
    let config = HttpClientConfig::new(Url::parse(SERVER).unwrap()).sign_in(sign_in);
    let pair = Pair::over_http(registry());
    let server = server.clock(pair.clock());
    let mut pair =
        pair.http_config(protected(&server)).http_client_config(config).auth_server(&server);
    let client = pair.client();
    pair.run(call(&client)).unwrap();
    assert!(vault.try_lock().is_some());
    (pair, server, client)
}

/// A vault in memory that can stop answering.
#[derive(Clone)]
struct TestVault {
    records: MemoryVault,
    answers_reads: Arc<AtomicBool>,
    fails_reads: Arc<AtomicBool>,
    answers_writes: Arc<AtomicBool>,
}

impl Default for TestVault {
    fn default() -> Self {
        Self {
            records: MemoryVault::new(),
            answers_reads: Arc::new(true.into()),
            fails_reads: Arc::default(),
            answers_writes: Arc::new(true.into()),
        }
    }
}

impl TestVault {
    /// The lock of the server's key, if it is free.
    fn try_lock(&self) -> Option<VaultLock> {
        match self.records.lock(KEY).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(lock) => lock.ok(),
            Poll::Pending => None,
        }
    }
}

impl Vault for TestVault {
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        if self.fails_reads.load(Ordering::Relaxed) {
            return Box::pin(async { Err(io::Error::other("the keychain is locked")) });
        }
        if self.answers_reads.load(Ordering::Relaxed) {
            return self.records.read(key);
        }
        Box::pin(pending())
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
        if self.answers_writes.load(Ordering::Relaxed) {
            return self.records.write(key, record);
        }
        Box::pin(pending())
    }

    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>> {
        self.records.remove(key)
    }

    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        self.records.lock(key)
    }
}
