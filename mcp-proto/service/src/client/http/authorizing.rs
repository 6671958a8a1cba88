//! Driver of a sign-in: runs the futures of the vault, the user's consent and the keys.
//!
//! In: actions of the authorizer, and wakes. Out: replies to the authorizer. The futures run
//! concurrently; each has at most one reply. A key of the vault stays locked until its record is
//! released. Changes of a record happen in order.
//!
//! | action | drops the futures that |
//! |---|---|
//! | release | still wait for the lock or the record |
//! | stop listening | prepare for a redirect, or ask the user |
//! | write, remove | change the record of the key; they end first, without a reply |
//!
//! A panic of the application's code counts as a failure of what it was asked for.
//!
//! When the client closes, only changes of records continue, for `Limits::drain` at most.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::task::{Context, Poll};
use std::io;

use mcp_proto::auth::{
    AuthAction, Authorizer, ConsentPage, KeyRole, RecordId, Secret, SignId, SubjectId,
};
use mcp_proto::{Duration, Instant};

use crate::Clock;
use crate::auth::{AuthFuture, PendingConsent, SignIn, VaultLock};
use crate::panics::{CaughtDrop, CaughtFuture, catch_panic};

/// The futures and locks of a client's sign-in.
pub(super) struct Authorizing {
    sign_in: SignIn,
    tasks: Vec<SignInTask>,
    /// The locks that are held, by the number of their load request.
    locks: BTreeMap<RecordId, CaughtDrop<VaultLock>>,
    pending: Option<CaughtDrop<Box<dyn PendingConsent>>>,
}

/// A future of the sign-in.
struct SignInTask {
    purpose: TaskPurpose,
    future: AuthFuture<SignInStep>,
}

/// The purpose of a future: the actions that drop it depend on it.
#[derive(PartialEq, Eq)]
enum TaskPurpose {
    /// Reads a record, and locks its key.
    Lock(RecordId),
    /// Changes the record of a key.
    Change(String),
    /// Prepares for a redirect, or asks the user.
    Consent,
    /// Anything else.
    Other,
}

/// A reply to the authorizer.
type AuthorizerReply = Box<dyn FnOnce(&mut Authorizer)>;

/// The output of a future.
enum SignInStep {
    /// A record, and the lock of its key if it was requested.
    Read {
        id: RecordId,
        record: io::Result<Option<Secret>>,
        lock: Option<CaughtDrop<VaultLock>>,
    },
    Written(RecordId, io::Result<()>),
    Removed,
    Signed(SignId, io::Result<Vec<u8>>),
    Subject(SubjectId, io::Result<Secret>),
    /// The redirect URI, and the consent.
    Prepared(io::Result<(String, CaughtDrop<Box<dyn PendingConsent>>)>),
    Redirect(Result<String, String>),
}

impl Authorizing {
    pub(super) fn new(sign_in: SignIn) -> Self {
        Self { sign_in, tasks: Vec::new(), locks: BTreeMap::new(), pending: None }
    }

    /// Starts the future of an action.
    pub(super) fn begin(&mut self, action: AuthAction) {
        let mut purpose = TaskPurpose::Other;
        let future: AuthFuture<SignInStep> = match action {
            AuthAction::Load { id, key, locks } => {
                if locks {
                    purpose = TaskPurpose::Lock(id);
                }
                self.read(id, key, locks)
            }
            AuthAction::Release { id, key, record: Some(record) } => {
                purpose = TaskPurpose::Change(key.clone());
                self.write(id, key, record)
            }
            AuthAction::Release { id, record: None, .. } => {
                self.release(id);
                return;
            }
            AuthAction::Remove { key } => {
                purpose = TaskPurpose::Change(key.clone());
                self.remove(key)
            }
            AuthAction::Listen { redirect_uri, port } => {
                purpose = TaskPurpose::Consent;
                self.prepare(redirect_uri, port)
            }
            AuthAction::Consent(page) => {
                purpose = TaskPurpose::Consent;
                self.ask(page)
            }
            AuthAction::Sign { id, key, input } => self.sign(id, key, input),
            AuthAction::Subject { id, issuer } => self.subject(id, issuer),
            AuthAction::StopListening => {
                self.tasks.retain(|task| task.purpose != TaskPurpose::Consent);
                self.pending = None;
                return;
            }
            _ => return,
        };
        self.tasks.push(SignInTask { purpose, future });
    }

    /// Takes the lock of a load request. Drops the future of the request if it is pending: the
    /// authorizer would not release a lock that arrives later.
    fn release(&mut self, id: RecordId) -> Option<CaughtDrop<VaultLock>> {
        self.tasks.retain(|task| task.purpose != TaskPurpose::Lock(id));
        self.locks.remove(&id)
    }

    /// Takes the futures that change the record of a key. The next change must wait for their ends.
    /// The authorizer no longer needs their replies.
    fn take_changes(&mut self, key: &str) -> Vec<AuthFuture<SignInStep>> {
        let is_change =
            |purpose: &TaskPurpose| matches!(purpose, TaskPurpose::Change(own) if own == key);
        let changes = self.tasks.extract_if(.., |task| is_change(&task.purpose));
        changes.map(|task| task.future).collect()
    }

    /// Reads a record, and locks its key before if `locks` is true.
    fn read(&self, id: RecordId, key: String, locks: bool) -> AuthFuture<SignInStep> {
        let vault = self.sign_in.vault.clone();
        let read = async move {
            // A failed lock is ignored: only a race with another process is possible then.
            let lock = if locks { vault.lock(&key).await.ok() } else { None };
            let lock = lock.map(CaughtDrop::new);
            let record = vault.read(&key).await;
            SignInStep::Read { id, record, lock }
        };
        catching(read, SignInStep::Read { id, record: Err(panicked()), lock: None })
    }

    /// Writes a record, then releases the lock of its key.
    fn write(&mut self, id: RecordId, key: String, record: Secret) -> AuthFuture<SignInStep> {
        let (lock, earlier) = (self.release(id), self.take_changes(&key));
        let vault = self.sign_in.vault.clone();
        let write = async move {
            finish_all(earlier).await;
            let written = vault.write(&key, &record).await;
            drop(lock);
            SignInStep::Written(id, written)
        };
        catching(write, SignInStep::Written(id, Err(panicked())))
    }

    /// Removes a record.
    fn remove(&mut self, key: String) -> AuthFuture<SignInStep> {
        let (vault, earlier) = (self.sign_in.vault.clone(), self.take_changes(&key));
        let remove = async move {
            finish_all(earlier).await;
            // A record that stays is harmless: the server will refuse its tokens.
            let _ = vault.remove(&key).await;
            SignInStep::Removed
        };
        catching(remove, SignInStep::Removed)
    }

    /// Prepares for a redirect.
    fn prepare(&self, redirect_uri: String, port: Option<u16>) -> AuthFuture<SignInStep> {
        let consent = self.sign_in.consent.clone();
        let prepare = async move {
            SignInStep::Prepared(match consent {
                Some(consent) => consent.prepare(&redirect_uri, port).await.map(|pending| {
                    let mut pending = CaughtDrop::new(pending);
                    let uri = pending.get_mut().map(|pending| pending.redirect_uri());
                    (uri.unwrap_or_default(), pending)
                }),
                None => Err(no_consent()),
            })
        };
        catching(prepare, SignInStep::Prepared(Err(panicked())))
    }

    /// Shows a page to the user.
    fn ask(&mut self, page: ConsentPage) -> AuthFuture<SignInStep> {
        let pending = self.pending.as_mut().and_then(CaughtDrop::get_mut);
        let asked = catch_panic(|| pending.map(|pending| pending.ask(page)));
        let ask = async move {
            SignInStep::Redirect(match asked {
                Some(Some(asked)) => asked.await,
                Some(None) => Err(no_consent().to_string()),
                None => Err(panicked().to_string()),
            })
        };
        catching(ask, SignInStep::Redirect(Err(panicked().to_string())))
    }

    /// Signs with a key of the application.
    fn sign(&self, id: SignId, key: KeyRole, input: Secret) -> AuthFuture<SignInStep> {
        let key = match key {
            KeyRole::Client => self.sign_in.client_key.clone(),
            KeyRole::Proof => self.sign_in.proof_key.clone(),
        };
        let sign = async move {
            let signed = match key {
                Some(key) => key.sign(input.expose().as_bytes()).await,
                None => Err(io::Error::other("the client has no signing key")),
            };
            SignInStep::Signed(id, signed)
        };
        catching(sign, SignInStep::Signed(id, Err(panicked())))
    }

    /// Gets the token of a workload or a user from the application, to be sent to this issuer.
    fn subject(&self, id: SubjectId, issuer: String) -> AuthFuture<SignInStep> {
        let subject = self.sign_in.subject.clone();
        let give = async move {
            let given = match subject {
                Some(subject) => subject(issuer).await,
                None => Err(io::Error::other("there is no function for the subject token")),
            };
            SignInStep::Subject(id, given)
        };
        catching(give, SignInStep::Subject(id, Err(panicked())))
    }

    /// Polls all futures, and passes their outputs to the authorizer; returns false if none is
    /// ready.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        unix: Duration,
        context: &mut Context<'_>,
        mut with_authorizer: impl FnMut(AuthorizerReply),
    ) -> bool {
        let mut outcomes = Vec::new();
        self.tasks.retain_mut(|task| match task.future.as_mut().poll(context) {
            Poll::Ready(outcome) => {
                outcomes.push(outcome);
                false
            }
            Poll::Pending => true,
        });
        let has_some = !outcomes.is_empty();
        for outcome in outcomes {
            if let Some(answer) = self.answer(now, unix, outcome) {
                with_authorizer(answer);
            }
        }
        has_some
    }

    /// Waits for the end of pending changes of records, but not longer than `drain`. Drops all
    /// other futures, and the locks that no change holds.
    pub(super) async fn finish(&mut self, clock: &mut impl Clock, drain: Duration) {
        let Self { tasks, locks, pending, sign_in: _ } = self;
        locks.clear();
        *pending = None;
        tasks.retain(|task| matches!(task.purpose, TaskPurpose::Change(_)));
        let until = clock.now() + drain;
        poll_fn(|context| {
            tasks.retain_mut(|task| task.future.as_mut().poll(context).is_pending());
            if tasks.is_empty() { Poll::Ready(()) } else { clock.poll_timer(context, until) }
        })
        .await;
    }

    fn answer(
        &mut self,
        now: Instant,
        unix: Duration,
        outcome: SignInStep,
    ) -> Option<AuthorizerReply> {
        Some(match outcome {
            SignInStep::Read { id, record, lock } => {
                self.locks.extend(lock.map(|lock| (id, lock)));
                Box::new(move |authorizer| match record {
                    Ok(record) => {
                        let record = record.as_ref().map(Secret::expose);
                        authorizer.handle_loaded(now, id, unix, record);
                    }
                    Err(_) => authorizer.handle_unloaded(now, id, unix),
                })
            }
            SignInStep::Written(id, written) => {
                let written = written.map_err(|error| error.to_string());
                Box::new(move |authorizer| authorizer.handle_released(now, id, written))
            }
            SignInStep::Signed(id, signed) => {
                let signed = signed.map_err(|error| error.to_string());
                Box::new(move |authorizer| {
                    authorizer.handle_signed(now, id, signed.as_deref().map_err(String::clone));
                })
            }
            SignInStep::Subject(id, given) => {
                let given = given.map_err(|error| error.to_string());
                Box::new(move |authorizer| authorizer.handle_subject(now, id, given))
            }
            SignInStep::Prepared(prepared) => {
                let uri = prepared.map(|(uri, pending)| {
                    self.pending = Some(pending);
                    uri
                });
                let uri = uri.map_err(|error| error.to_string());
                Box::new(move |authorizer| authorizer.handle_listening(now, uri))
            }
            SignInStep::Redirect(Ok(redirect)) => {
                Box::new(move |authorizer| authorizer.handle_redirect(now, &redirect))
            }
            SignInStep::Redirect(Err(reason)) => {
                Box::new(move |authorizer| authorizer.handle_refused_consent(now, reason))
            }
            SignInStep::Removed => return None,
        })
    }
}

/// Waits for all futures, in order.
async fn finish_all(futures: Vec<AuthFuture<SignInStep>>) {
    for future in futures {
        future.await;
    }
}

/// The output of `future`, or `otherwise` if code of the application panics.
fn catching(
    future: impl Future<Output = SignInStep> + Send + 'static,
    otherwise: SignInStep,
) -> AuthFuture<SignInStep> {
    let caught = CaughtFuture::new(Box::pin(future));
    Box::pin(async move { caught.await.unwrap_or(otherwise) })
}

fn panicked() -> io::Error {
    io::Error::other("the code of the application panicked")
}

fn no_consent() -> io::Error {
    io::Error::other("there is no way to ask a person")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Vault;
    use crate::lock::Lock;
    use alloc::sync::Arc;
    use core::future::ready;
    use core::sync::atomic::{AtomicBool, Ordering};
    use core::task::Waker;
    use mcp_proto::http::Url;

    /// A vault that logs what happens, and whose writes wait until it is open.
    #[derive(Clone, Default)]
    struct SlowVault {
        log: Arc<Lock<Vec<String>>>,
        is_open: Arc<AtomicBool>,
    }

    /// The lock of a key, which logs its end.
    struct LoggedLock(SlowVault);

    impl Drop for LoggedLock {
        fn drop(&mut self) {
            self.0.record("unlocked");
        }
    }

    impl SlowVault {
        fn record(&self, entry: &str) {
            self.log.lock().push(entry.into());
        }
    }

    impl Vault for SlowVault {
        fn read(&self, _: &str) -> AuthFuture<io::Result<Option<Secret>>> {
            Box::pin(ready(Ok(None)))
        }

        fn write(&self, _: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
            let (vault, record) = (self.clone(), record.clone());
            self.record(&alloc::format!("write {}", record.expose()));
            Box::pin(poll_fn(move |_| {
                if !vault.is_open.load(Ordering::Relaxed) {
                    return Poll::Pending;
                }
                vault.record(&alloc::format!("wrote {}", record.expose()));
                Poll::Ready(Ok(()))
            }))
        }

        fn remove(&self, _: &str) -> AuthFuture<io::Result<()>> {
            self.record("removed");
            Box::pin(ready(Ok(())))
        }

        fn lock(&self, _: &str) -> AuthFuture<io::Result<VaultLock>> {
            self.record("locked");
            Box::pin(ready(Ok(Box::new(LoggedLock(self.clone())) as VaultLock)))
        }
    }

    #[test]
    fn changes_of_a_record_happen_in_order_and_the_first_under_its_lock() {
        let vault = SlowVault::default();
        let sign_in = SignIn::new(vault.clone());
        let server = Url::parse("https://s.example/mcp").unwrap();
        let mut authorizer = sign_in.authorizer(&server, || [0; 16]);
        authorizer.access(Instant::ZERO, "POST", &server);
        let Some(AuthAction::Load { id, key, .. }) = authorizer.poll_action() else {
            unreachable!("the record is loaded first")
        };
        let mut authorizing = Authorizing::new(sign_in);
        let mut poll = |action: Option<AuthAction>| {
            if let Some(action) = action {
                authorizing.begin(action);
            }
            let mut context = Context::from_waker(Waker::noop());
            authorizing.poll(Instant::ZERO, Duration::ZERO, &mut context, |_| ());
            vault.log.lock().join(", ")
        };
        let write = |record: &str| {
            let record = Some(Secret::new(record));
            Some(AuthAction::Release { id, key: key.clone(), record })
        };
        assert_eq!(poll(Some(AuthAction::Load { id, key: key.clone(), locks: true })), "locked");
        assert_eq!(poll(write("a")), "locked, write a");
        assert_eq!(poll(write("b")), "locked, write a");
        assert_eq!(poll(Some(AuthAction::Remove { key: key.clone() })), "locked, write a");
        vault.is_open.store(true, Ordering::Relaxed);
        let all = "locked, write a, wrote a, unlocked, write b, wrote b, removed";
        assert_eq!(poll(None), all);
    }
}
