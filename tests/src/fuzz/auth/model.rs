//! Model of an authorizer: its requests, its servers, its store and a person.
//!
//! In: steps of a script. Out: inputs of the authorizer, and a panic if an action is none that may
//! be.

use std::collections::BTreeSet;

use mcp_proto::auth::{
    Access, AuthAction, AuthDecision, AuthState, Authorizer, ConsentPage, Credentials, Fetch,
    FetchAnswer, KeyRole, RecordId, RefusalAdvice, Scopes, Secret, SentRequest, SignId, SignInId,
    SubjectId,
};
use mcp_proto::http::{Unauthorized, Url};
use mcp_proto::{Duration, Instant};
use serde_json::Value;

use super::super::script_bytes::ScriptBytes;
use super::canaries::{CANARY, Canaries, harmless, random, signature};
use super::documents::{self, ScriptedAnswer, TokenQuery};
use super::fetches::{FetchRules, check_url, param};
use super::requests::{Requests, ScriptedRequest};
use super::settings::{RunSettings, SERVER};
use super::store::ScriptedStore;
use crate::base64;

/// The time since the Unix epoch at the start.
const EPOCH: u64 = 1_800_000_000;

/// The most actions at once: a bound on loops.
const MAX_ACTIONS: u32 = 2000;

/// The most questions that are open at once.
const MAX_OPEN: usize = 256;

pub(super) struct AuthModel {
    authorizer: Authorizer,
    server: Url,
    now: Instant,
    requests: Requests,
    open: Vec<OpenAction>,
    /// Questions that were answered.
    answered: Vec<OpenAction>,
    store: ScriptedStore,
    canaries: Canaries,
    fetches: FetchRules,
    /// The page that is shown.
    page: Option<ConsentPage>,
    is_listening: bool,
    /// Requested sign-ins that have no end.
    sign_ins: BTreeSet<SignInId>,
    has_proof_key: bool,
    subject_hosts: &'static [&'static str],
    hops: u32,
    proofs: BTreeSet<String>,
    rows: BTreeSet<(&'static str, &'static str)>,
}

/// An action that wants an answer.
#[derive(Clone)]
enum OpenAction {
    Fetch(Fetch),
    Hold(RecordId, String),
    Keep(RecordId, String, Secret),
    Listen,
    Consent(ConsentPage),
    Sign(SignId, KeyRole),
    Subject(SubjectId),
}

impl AuthModel {
    #[expect(clippy::expect_used, reason = "the URL of the server is a constant")]
    pub(super) fn new(bytes: &mut ScriptBytes<'_>) -> Self {
        let mut canaries = Canaries::default();
        let settings = RunSettings::read(bytes, &mut canaries).expect("settings");
        let mut count = 0;
        let random = move || {
            count += 1;
            random(count)
        };
        Self {
            authorizer: Authorizer::new(settings.config, Box::new(random)),
            server: Url::parse(SERVER).expect("a URL"),
            now: Instant::ZERO,
            requests: Requests::default(),
            open: Vec::new(),
            answered: Vec::new(),
            store: ScriptedStore::default(),
            canaries,
            fetches: FetchRules::new(settings.omits_resource),
            page: None,
            is_listening: false,
            sign_ins: BTreeSet::new(),
            has_proof_key: settings.has_proof_key,
            subject_hosts: settings.subject_hosts,
            hops: 0,
            proofs: BTreeSet::new(),
            rows: BTreeSet::new(),
        }
    }

    /// A request is about to be sent.
    pub(super) fn request(&mut self, bytes: &mut ScriptBytes<'_>) {
        let number = bytes.next();
        if !self.requests.is_full() {
            self.send(ScriptedRequest::new(number));
            self.act();
        }
    }

    /// The server accepts or refuses a request.
    pub(super) fn respond(&mut self, bytes: &mut ScriptBytes<'_>) {
        let Some(mut request) = self.requests.take_sent(bytes.next()) else { return };
        let Some(refusal) = self.refusal(bytes) else {
            self.requests.accept(request.operation);
            return self.authorizer.handle_accepted(request.operation);
        };
        let mut sent = SentRequest::new(request.operation);
        (sent.token, sent.tries, sent.nonces) = (request.token, request.tries, request.nonces);
        let before: Vec<AuthDecision> = self.authorizer.decisions().collect();
        let advice = self.authorizer.handle_refusal(self.now, &refusal, &sent);
        let after: Vec<AuthDecision> = self.authorizer.decisions().collect();
        let row = after.last().copied().filter(|_| before != after);
        // A flow that begins at once adds rows of its own.
        let steps_up = |rows: &[AuthDecision]| rows.iter().filter(|it| it.row == "step-up").count();
        if steps_up(&after) > steps_up(&before) {
            self.requests.count_step_up(request.operation);
        }
        match advice {
            RefusalAdvice::Fail(error) => Canaries::check_shown(&format!("{error} {error:?}")),
            RefusalAdvice::Wait => {
                request.refuse(refusal.wants_nonce(), None);
                self.requests.hold(request);
            }
            RefusalAdvice::Repeat => {
                request.refuse(refusal.wants_nonce(), row);
                self.send(request);
            }
        }
        self.act();
    }

    /// The refusal of the server; `None` if it accepts.
    fn refusal(&mut self, bytes: &mut ScriptBytes<'_>) -> Option<Unauthorized> {
        const PLACE: &str = "https://s.example/.well-known/oauth-protected-resource/mcp";
        let choice = bytes.next() % 16;
        let value = match choice {
            0..=2 => return None,
            3 => "Bearer".into(),
            4 => String::new(),
            5 => format!("Bearer resource_metadata=\"{PLACE}\", scope=\"a\""),
            6 => "Bearer error=\"insufficient_scope\", scope=\"a b\"".into(),
            7 => format!("Bearer error=\"insufficient_scope\", scope=\"s{}\"", bytes.next()),
            8 => "DPoP".into(),
            9 | 10 => "DPoP error=\"use_dpop_nonce\"".into(),
            11 => "Bearer resource_metadata=\"https://169.254.169.254/x\"".into(),
            12 => "Bearer error=\"invalid_token\", error_description=\"so\"".into(),
            13 => "Bearer error=\"insufficient_scope\"".into(),
            _ => {
                let length = usize::from(bytes.next());
                harmless(bytes.take(length))
            }
        };
        if choice == 9 {
            self.authorizer.handle_nonce(&format!("server{}", bytes.next()));
        }
        let is_scope = matches!(choice, 6 | 7 | 13);
        let status = if is_scope || bytes.next() & 7 == 7 { 403 } else { 401 };
        Some(Unauthorized::new(status, [value.as_bytes()]))
    }

    /// An open question is answered.
    pub(super) fn answer(&mut self, bytes: &mut ScriptBytes<'_>) {
        let number = usize::from(bytes.next());
        let Some(place) = number.checked_rem(self.open.len()) else { return };
        // The latest first: older ones have had their time, as a rule.
        let question = self.open.remove(self.open.len() - 1 - place);
        self.reply(&question, bytes);
        self.answered.push(question);
        self.act();
    }

    /// A question is answered that was answered before: nobody waits for that.
    pub(super) fn repeat(&mut self, bytes: &mut ScriptBytes<'_>) {
        let Some(question) = bytes.pick(&self.answered).cloned() else { return };
        // A redirect is known by its state, and a listener has no number.
        if !matches!(question, OpenAction::Consent(_) | OpenAction::Listen) {
            let timeout = self.authorizer.poll_timeout();
            self.reply(&question, bytes);
            assert_eq!(self.authorizer.poll_action(), None, "an answer counts twice");
            assert_eq!(self.authorizer.poll_timeout(), timeout);
        }
    }

    fn reply(&mut self, question: &OpenAction, bytes: &mut ScriptBytes<'_>) {
        let now = self.now;
        match question {
            OpenAction::Fetch(fetch) => self.reply_to_fetch(fetch, bytes),
            OpenAction::Hold(id, key) => {
                let unix = self.unix();
                let (record, is_raw) = self.store.read(key, unix, bytes, &mut self.canaries);
                self.fetches.is_loose |= is_raw;
                let unix = Duration::from_secs(unix);
                self.authorizer.handle_loaded(now, *id, unix, record.as_deref());
            }
            OpenAction::Keep(id, key, record) => {
                let kept = if bytes.next() & 7 == 7 { Err("no disk".into()) } else { Ok(()) };
                if kept.is_ok() {
                    self.store.write(key.clone(), record.expose().into());
                }
                self.authorizer.handle_released(now, *id, kept);
            }
            OpenAction::Listen => {
                let port = u16::from(bytes.next()) + 49152;
                let uri = format!("http://127.0.0.1:{port}/callback");
                let uri = if port & 7 == 7 { Err("no port".into()) } else { Ok(uri) };
                self.authorizer.handle_listening(now, uri);
            }
            OpenAction::Consent(page) => self.reply_to_page(page, bytes),
            OpenAction::Sign(id, role) => {
                assert!(*role == KeyRole::Client || self.has_proof_key, "a proof without a key");
                let choice = bytes.next() % 8;
                let bytes = signature(if choice == 6 { 63 } else { 64 });
                let signed = if choice == 7 { Err("no key".into()) } else { Ok(&bytes[..]) };
                self.authorizer.handle_signed(now, *id, signed);
            }
            OpenAction::Subject(id) => {
                let subject = self.canaries.issue("subject", self.subject_hosts);
                let is_given = bytes.next() % 8 != 7;
                let given = if is_given { Ok(Secret::new(&subject)) } else { Err("none".into()) };
                self.authorizer.handle_subject(now, *id, given);
            }
        }
    }

    fn reply_to_fetch(&mut self, fetch: &Fetch, bytes: &mut ScriptBytes<'_>) {
        let (url, body) = (&fetch.url, fetch.body.expose());
        let grant_type = param(body, "grant_type");
        let answer = match &grant_type {
            Some(grant_type) => {
                let audience = param(body, "audience").unwrap_or_default();
                let query = TokenQuery {
                    host: url.host(),
                    grant_type,
                    has_proof: fetch.fields.iter().any(|(name, _)| *name == "DPoP"),
                    // An issuer may have a slash at its end.
                    audience: audience.trim_start_matches("https://").trim_end_matches('/'),
                };
                documents::token(&query, bytes, &mut self.canaries)
            }
            None if fetch.method == "POST" => {
                documents::registration(url.host(), bytes, &mut self.canaries)
            }
            None => documents::metadata(url, bytes, &mut self.hops),
        };
        let ScriptedAnswer { status, location, nonce, body: text, is_raw } = answer;
        self.fetches.is_loose |= is_raw;
        self.fetches.redirect(url, location.as_deref());
        if text.contains("use_dpop_nonce") {
            self.fetches.want_nonce(body);
        }
        if status == 0 {
            return self.authorizer.handle_unfetched(self.now, fetch.id);
        }
        let mut answer = FetchAnswer::new(status, text.as_bytes());
        (answer.location, answer.nonce) = (location.as_deref(), nonce.as_deref());
        self.authorizer.handle_fetched(self.now, fetch.id, answer);
    }

    fn reply_to_page(&mut self, page: &ConsentPage, bytes: &mut ScriptBytes<'_>) {
        let state = page.state.expose();
        let host = page.url.host();
        let redirect = match bytes.next() % 8 {
            0..=2 => format!("?code={}&state={state}", self.canaries.issue("code", &[host])),
            3 => {
                let code = self.canaries.issue("code", &[host]);
                format!("{}?code={code}&state={state}&iss=https%3A%2F%2F{host}", page.redirect_uri)
            }
            4 => format!("?code={}&state={state}&iss=x", self.canaries.issue("code", &[])),
            5 => format!("?error=access_denied&state={state}"),
            6 => format!("?error=invalid_scope&state={state}"),
            _ => return self.authorizer.handle_refused_consent(self.now, "no".into()),
        };
        self.authorizer.handle_redirect(self.now, &redirect);
    }

    /// Somebody has a browser come back with anything.
    pub(super) fn redirect(&mut self, bytes: &mut ScriptBytes<'_>) {
        let length = usize::from(bytes.next());
        let mut redirect = harmless(bytes.take(length));
        let knows_state = bytes.next() & 1 == 1;
        if let Some(page) = self.page.as_ref().filter(|_| knows_state) {
            // A code that was not given is of no use, and of no harm.
            redirect = format!("{redirect}&state={}", page.state.expose());
        }
        self.authorizer.handle_redirect(self.now, &redirect);
        self.act();
    }

    /// The application wants something.
    pub(super) fn command(&mut self, bytes: &mut ScriptBytes<'_>) {
        match bytes.next() % 8 {
            choice @ 0..=2 => {
                let scopes = if choice == 2 { Scopes::none() } else { Scopes::words("a") };
                self.sign_ins.insert(self.authorizer.authorize(self.now, &scopes));
            }
            3 => {
                self.authorizer.forget();
            }
            4 => self.authorizer.set_client("https://b.example", "by hand", None),
            5 => self.authorizer.handle_nonce(&format!("server{}", bytes.next())),
            _ => {
                let length = usize::from(bytes.next());
                self.authorizer.handle_nonce(&harmless(bytes.take(length)));
            }
        }
        self.act();
    }

    /// Time passes.
    pub(super) fn pass(&mut self, bytes: &mut ScriptBytes<'_>) {
        let choice = bytes.next();
        let due = self.authorizer.poll_timeout().filter(|_| choice & 32 != 0);
        let millis = 1_u64 << (choice % 32);
        self.now = due.unwrap_or(self.now + Duration::from_millis(millis)).max(self.now);
        if self.authorizer.poll_timeout().is_some_and(|due| due <= self.now) {
            self.time_out();
        }
    }

    fn time_out(&mut self) {
        self.authorizer.handle_timeout(self.now);
        let due = self.authorizer.poll_timeout();
        assert!(due.is_none_or(|due| due > self.now), "a time in the past, twice");
        self.act();
    }

    /// Nobody answers any more: each wait ends, and every request is sent or fails.
    pub(super) fn end(mut self) -> BTreeSet<(&'static str, &'static str)> {
        let mut waits = 0;
        while let Some(due) = self.authorizer.poll_timeout() {
            waits += 1;
            assert!(waits < MAX_ACTIONS, "it waits for ever");
            self.now = due.max(self.now);
            self.time_out();
        }
        assert!(!self.requests.has_held(), "a request is held for ever");
        self.store.check_unlocked();
        assert!(!self.is_listening, "it listens for ever");
        assert!(self.sign_ins.is_empty(), "a requested sign-in has no end");
        self.rows
    }

    /// Sends a request with the credentials that there are, or holds it.
    fn send(&mut self, mut request: ScriptedRequest) {
        match self.authorizer.access(self.now, "POST", &self.server) {
            Access::Wait => return self.requests.hold(request),
            Access::None => request.token = None,
            Access::Ready(credentials) => {
                self.check_credentials(&credentials);
                request.token = Some(credentials.token);
            }
        }
        self.requests.send(request);
    }

    fn check_credentials(&mut self, credentials: &Credentials) {
        Canaries::check_shown(&format!("{credentials:?}"));
        let text = credentials.authorization.expose();
        let Some(proof) = &credentials.proof else {
            return assert!(text.starts_with("Bearer "), "a bound token without a proof");
        };
        assert!(text.starts_with("DPoP ") && self.has_proof_key, "a proof without a bound token");
        let proof = proof.expose();
        assert!(self.proofs.insert(proof.into()), "a proof is used twice");
        let claims = proof.split('.').nth(1).map(base64::decode).unwrap_or_default();
        let claims: Value = serde_json::from_slice(&claims).unwrap_or_default();
        let claim = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
        assert_eq!((claim("htm"), claim("htu")), ("POST", SERVER));
    }

    /// Takes all actions.
    fn act(&mut self) {
        self.rows.extend(self.authorizer.decisions().map(|it| (it.table, it.row)));
        for _ in 0..MAX_ACTIONS {
            let Some(action) = self.authorizer.poll_action() else {
                return Canaries::check_shown(&format!("{:?}", self.authorizer));
            };
            self.handle(action);
            assert!(self.open.len() <= MAX_OPEN, "too many open questions");
        }
        #[expect(clippy::panic, reason = "this is how a fuzz target says no")]
        {
            panic!("actions without an end");
        }
    }

    fn handle(&mut self, action: AuthAction) {
        Canaries::check_shown(&format!("{action:?}"));
        match action {
            AuthAction::Fetch(fetch) => {
                self.fetches.check(&fetch, &self.canaries);
                self.open.push(OpenAction::Fetch(fetch));
            }
            AuthAction::Load { id, key, locks } => {
                if locks {
                    self.store.lock(&key);
                }
                self.open.push(OpenAction::Hold(id, key));
            }
            AuthAction::Release { id, key, record } => {
                self.store.unlock(&key);
                self.open.extend(record.map(|record| OpenAction::Keep(id, key, record)));
            }
            AuthAction::Remove { key } => self.store.remove(&key),
            AuthAction::Listen { .. } => {
                assert!(!self.is_listening, "it listens twice");
                self.is_listening = true;
                self.open.push(OpenAction::Listen);
            }
            AuthAction::StopListening => self.is_listening = false,
            AuthAction::Consent(page) => {
                self.check_page(&page);
                self.page = Some(page.clone());
                self.open.push(OpenAction::Consent(page));
            }
            AuthAction::Sign { id, key, .. } => self.open.push(OpenAction::Sign(id, key)),
            AuthAction::Subject { id, .. } => self.open.push(OpenAction::Subject(id)),
            AuthAction::Resume => self.send_held(),
            AuthAction::Changed(state) => self.change(&state),
            AuthAction::Authorized { id, .. } => {
                assert!(
                    self.sign_ins.remove(&id),
                    "the end of a sign-in that nobody has requested"
                );
            }
            _ => {}
        }
    }

    fn check_page(&mut self, page: &ConsentPage) {
        let url = page.url.as_str();
        check_url(&page.url);
        assert!(self.is_listening, "nothing listens");
        let query = url.split_once('?').map_or("", |(_, query)| query);
        assert_eq!(param(query, "code_challenge_method").as_deref(), Some("S256"));
        assert_eq!(param(query, "state").as_deref(), Some(page.state.expose()));
        assert_eq!(url.matches(CANARY).count(), 1, "a page has a secret: {url}");
        // Nobody but the browser sees it.
        self.canaries.add(page.state.expose(), &[]);
    }

    fn change(&mut self, state: &AuthState) {
        if *state == AuthState::Asking {
            return;
        }
        self.fetches.end_flow();
        self.store.check_unlocked();
        assert!(!self.is_listening, "it listens after the flow");
        self.page = None;
        match state {
            AuthState::Failed(error) => {
                Canaries::check_shown(&error.to_string());
                drop(self.requests.take_held());
            }
            AuthState::Ready { .. } | AuthState::Asking | _ => self.send_held(),
        }
    }

    fn send_held(&mut self) {
        for request in self.requests.take_held() {
            self.send(request);
        }
    }

    fn unix(&self) -> u64 {
        EPOCH + self.now.as_micros() / 1_000_000
    }
}
