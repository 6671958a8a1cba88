//! A protected server, its authorization server, a store and a person, in virtual time.
//!
//! [`World::request`] sends a request as a client would: with the credentials of the authorizer,
//! and again if it says so. Tests change documents and answers, and read what was sent.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use mcp_proto::auth::{
    Access, AuthAction, AuthDecision, AuthError, AuthState, Authorizer, Config, Fetch, FetchAnswer,
    RecordId, RefusalAdvice, Secret, SentRequest, SignInId,
};
use mcp_proto::http::{Unauthorized, Url};
use mcp_proto::{Duration, Instant};

pub(crate) const SERVER: &str = "https://s.example/mcp";
pub(crate) const ISSUER: &str = "https://a.example";
pub(crate) const RESOURCE_PLACE: &str =
    "https://s.example/.well-known/oauth-protected-resource/mcp";
pub(crate) const ROOT_PLACE: &str = "https://s.example/.well-known/oauth-protected-resource";
pub(crate) const ISSUER_PLACE: &str = "https://a.example/.well-known/oauth-authorization-server";
pub(crate) const OPENID_PLACE: &str = "https://a.example/.well-known/openid-configuration";

/// The parameters of a form or a query.
pub(crate) type Params = BTreeMap<String, String>;

/// An answer to an authorizer.
pub(crate) type Reply = Box<dyn FnOnce(&mut Authorizer)>;

/// A person, by what comes back from the page.
pub(crate) enum Person {
    /// A redirect with a code.
    Consents,
    /// A redirect with these parameters beside the state.
    Redirects(&'static str),
    /// Nothing.
    Leaves,
    /// Nothing, and the run ends there.
    Pauses,
}

pub(crate) struct World {
    pub(crate) authorizer: Authorizer,
    server: Url,
    pub(crate) now: Instant,
    pub(crate) store: BTreeMap<String, String>,
    /// `Ok` if the store keeps records, or its error.
    pub(crate) keeps: Result<(), String>,
    /// Status, `Location` and body, by URL.
    pub(crate) documents: BTreeMap<String, (u16, Option<String>, String)>,
    /// Answers of the token endpoint in place of its own.
    pub(crate) token_answers: VecDeque<(u16, String)>,
    /// Members of each token answer beside the token.
    pub(crate) token_members: String,
    pub(crate) gives_refresh_token: bool,
    pub(crate) person: Person,
    /// Parameters of the next redirects beside the state, in place of the person's.
    pub(crate) redirects: VecDeque<&'static str>,
    /// Whether anybody signs.
    pub(crate) signs: bool,
    pub(crate) port: u16,
    /// The tokens that the server accepts.
    pub(crate) accepted: Vec<String>,
    /// The challenge of a 401.
    pub(crate) challenge: String,
    /// The number of requests that the server refuses for want of a nonce.
    pub(crate) nonces_wanted: u32,
    /// Scopes that operations need: a 403 names them.
    pub(crate) needs: BTreeMap<String, String>,
    /// Methods and URLs without queries, in order.
    pub(crate) log: Vec<String>,
    pub(crate) pages: Vec<Params>,
    pub(crate) page_urls: Vec<String>,
    pub(crate) forms: Vec<Params>,
    pub(crate) heads: Vec<BTreeMap<String, String>>,
    pub(crate) registrations: Vec<String>,
    pub(crate) registration: (u16, String),
    pub(crate) ports_asked: Vec<Option<u16>>,
    pub(crate) states: Vec<AuthState>,
    /// The ends of requested sign-ins.
    pub(crate) authorized: Vec<Result<(), AuthError>>,
    /// The numbers of these sign-ins.
    pub(crate) ended: Vec<SignInId>,
    /// The issuers for which the token of the workload or the person was wanted.
    pub(crate) subject_issuers: Vec<String>,
    /// Everything that `Debug` and `Display` have shown.
    pub(crate) shown: String,
    held_locks: Vec<RecordId>,
    pub(crate) sent: u32,
    refresh_token: Option<String>,
    granted: BTreeMap<String, String>,
    issued: u32,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|config| config)
    }

    pub(crate) fn with(change: impl FnOnce(Config) -> Config) -> Self {
        Self::at(SERVER, change)
    }

    pub(crate) fn at(server: &str, change: impl FnOnce(Config) -> Config) -> Self {
        let mut count = 0;
        let random = move || {
            count += 1;
            [count; 16]
        };
        let server = Url::parse(server).unwrap();
        let config = change(Config::new(server.clone()));
        let mut world = Self {
            server,
            authorizer: Authorizer::new(config, Box::new(random)),
            now: Instant::ZERO,
            store: BTreeMap::new(),
            keeps: Ok(()),
            documents: BTreeMap::new(),
            token_answers: VecDeque::new(),
            token_members: r#","expires_in":3600"#.into(),
            gives_refresh_token: true,
            person: Person::Consents,
            redirects: VecDeque::new(),
            signs: true,
            port: 49152,
            accepted: Vec::new(),
            challenge: "Bearer".into(),
            nonces_wanted: 0,
            needs: BTreeMap::new(),
            log: Vec::new(),
            pages: Vec::new(),
            page_urls: Vec::new(),
            forms: Vec::new(),
            heads: Vec::new(),
            registrations: Vec::new(),
            registration: (201, r#"{"client_id":"dynamic"}"#.into()),
            ports_asked: Vec::new(),
            states: Vec::new(),
            authorized: Vec::new(),
            ended: Vec::new(),
            subject_issuers: Vec::new(),
            shown: String::new(),
            held_locks: Vec::new(),
            sent: 0,
            refresh_token: None,
            granted: BTreeMap::new(),
            issued: 0,
        };
        world.resource(RESOURCE_PLACE, SERVER, ISSUER);
        world.issuer(ISSUER_PLACE, ISSUER, "");
        world
    }

    /// The same servers and store for another process.
    pub(crate) fn restart(self) -> Self {
        self.restart_with(|config| config)
    }

    pub(crate) fn restart_with(self, change: impl FnOnce(Config) -> Config) -> Self {
        Self { authorizer: Self::with(change).authorizer, ..self }
    }

    pub(crate) fn document(&mut self, url: &str, status: u16, body: &str) {
        self.documents.insert(url.into(), (status, None, body.into()));
    }

    pub(crate) fn redirect(&mut self, url: &str, location: &str) {
        self.documents.insert(url.into(), (302, Some(location.into()), String::new()));
    }

    /// Metadata of the server; `members` of the second form go in front.
    pub(crate) fn resource(&mut self, url: &str, resource: &str, issuer: &str) {
        let body = format!(r#"{{"resource":"{resource}","authorization_servers":["{issuer}"]}}"#);
        self.document(url, 200, &body);
    }

    /// Metadata of an authorization server; `members` replace its own.
    pub(crate) fn issuer(&mut self, url: &str, issuer: &str, members: &str) {
        // The last of two equal members counts.
        let body = format!(
            r#"{{"issuer":"{issuer}","authorization_endpoint":"{issuer}/authorize",
               "token_endpoint":"{issuer}/token","registration_endpoint":"{issuer}/register",
               "code_challenge_methods_supported":["S256"]{members}}}"#
        );
        self.document(url, 200, &body);
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
    }

    /// The credentials of a POST to the server.
    pub(crate) fn access(&mut self) -> Access {
        self.authorizer.access(self.now, "POST", &self.server)
    }

    /// Sends a request until it is accepted or fails.
    pub(crate) fn request(&mut self, operation: &str) -> Result<(), AuthError> {
        let (mut tries, mut nonces) = (0, 0);
        loop {
            let credentials = match self.access() {
                Access::Ready(credentials) => Some(credentials),
                Access::None => None,
                Access::Wait => {
                    self.run()?;
                    continue;
                }
            };
            self.sent += 1;
            let token = credentials.as_ref().map(|it| it.authorization.expose().to_owned());
            let refusal = match self.wanted_nonce() {
                None => self.judge(token.as_deref(), operation),
                refusal => refusal,
            };
            let Some(refusal) = refusal else {
                self.authorizer.handle_accepted(operation);
                return Ok(());
            };
            let mut sent = SentRequest::new(operation);
            sent.token = credentials.map(|it| it.token);
            (sent.tries, sent.nonces) = (tries, nonces);
            match self.authorizer.handle_refusal(self.now, &refusal, &sent) {
                RefusalAdvice::Repeat => {}
                RefusalAdvice::Wait => self.run()?,
                RefusalAdvice::Fail(error) => return Err(error),
            }
            tries += 1;
            nonces += u8::from(refusal.wants_nonce());
            assert!(tries <= 4, "a request is sent four times at most");
        }
    }

    /// The server's wish for another nonce.
    fn wanted_nonce(&mut self) -> Option<Unauthorized> {
        self.nonces_wanted = self.nonces_wanted.checked_sub(1)?;
        self.authorizer.handle_nonce(&format!("server{}", self.nonces_wanted));
        Some(Unauthorized::new(401, [&b"DPoP error=\"use_dpop_nonce\""[..]]))
    }

    /// The server's refusal.
    pub(crate) fn judge(
        &self,
        authorization: Option<&str>,
        operation: &str,
    ) -> Option<Unauthorized> {
        let token = authorization.and_then(|value| value.split_once(' ')).map(|(_, token)| token);
        let Some(token) = token.filter(|token| self.accepted.iter().any(|own| own == token)) else {
            return Some(Unauthorized::new(401, [self.challenge.as_bytes()]));
        };
        let needed = self.needs.get(operation)?;
        let granted = self.granted.get(token).map(String::as_str).unwrap_or_default();
        let has = |scope| granted.split(' ').any(|own| own == scope);
        (!needed.split(' ').all(has)).then(|| {
            let value = format!(r#"Bearer error="insufficient_scope", scope="{needed}""#);
            Unauthorized::new(403, [value.as_bytes()])
        })
    }

    /// Does all actions, and lets time pass where nothing else happens.
    pub(crate) fn run(&mut self) -> Result<(), AuthError> {
        loop {
            write!(self.shown, "{:?}", self.authorizer).unwrap();
            let Some(action) = self.authorizer.poll_action() else {
                let Some(deadline) = self.authorizer.poll_timeout() else {
                    assert_eq!(self.held_locks, [], "a lock is kept");
                    return Ok(());
                };
                assert!(deadline > self.now, "a deadline in the past");
                self.now = deadline;
                self.authorizer.handle_timeout(self.now);
                continue;
            };
            let failure = match &action {
                AuthAction::Changed(AuthState::Failed(error)) => Some(error.clone()),
                _ => None,
            };
            let is_page = matches!(action, AuthAction::Consent(_));
            if let Some(reply) = self.reply(action) {
                reply(&mut self.authorizer);
            } else if is_page && matches!(self.person, Person::Pauses) {
                return Ok(());
            }
            if let Some(error) = failure {
                return Err(error);
            }
        }
    }

    /// Does an action; returns the answer to the authorizer, if there is one.
    pub(crate) fn reply(&mut self, action: AuthAction) -> Option<Reply> {
        write!(self.shown, "{action:?}").unwrap();
        let now = self.now;
        if let AuthAction::Release { id, .. } = &action {
            self.held_locks.retain(|locked| locked != id);
        }
        match action {
            AuthAction::Fetch(fetch) => {
                let answer = self.answer(&fetch);
                Some(Box::new(move |it| match answer {
                    (0, ..) => it.handle_unfetched(now, fetch.id),
                    (status, location, body) => {
                        let mut answer = FetchAnswer::new(status, body.as_bytes());
                        answer.location = location.as_deref();
                        answer.nonce = body.contains("use_dpop_nonce").then_some("issuer");
                        it.handle_fetched(now, fetch.id, answer);
                    }
                }))
            }
            AuthAction::Load { id, key, locks } => {
                self.held_locks.extend(locks.then_some(id));
                let unix = Duration::from_secs(1_800_000_000 + now.as_micros() / 1_000_000);
                let record = self.store.get(&key).cloned();
                Some(Box::new(move |it| it.handle_loaded(now, id, unix, record.as_deref())))
            }
            AuthAction::Release { id, key, record: Some(record) } => {
                if self.keeps.is_ok() {
                    self.store.insert(key, record.expose().into());
                }
                let keeps = self.keeps.clone();
                Some(Box::new(move |it| it.handle_released(now, id, keeps)))
            }
            AuthAction::Sign { .. } if !self.signs => None,
            AuthAction::Sign { id, .. } => {
                Some(Box::new(move |it| it.handle_signed(now, id, Ok(&[7; 64]))))
            }
            AuthAction::Subject { id, issuer } => {
                self.subject_issuers.push(issuer);
                let subject = Ok(Secret::new("canary-subject"));
                Some(Box::new(move |it| it.handle_subject(now, id, subject)))
            }
            AuthAction::Remove { key } => {
                self.store.remove(&key);
                None
            }
            AuthAction::Listen { port, .. } => {
                self.ports_asked.push(port);
                let uri = format!("http://127.0.0.1:{}/callback", self.port);
                Some(Box::new(move |it| it.handle_listening(now, Ok(uri))))
            }
            AuthAction::Consent(page) => {
                self.page_urls.push(page.url.as_str().into());
                self.pages.push(params(page.url.as_str()));
                let state = page.state.expose();
                let next = self.redirects.pop_front().map(Person::Redirects);
                let redirect = match next.as_ref().unwrap_or(&self.person) {
                    Person::Consents => format!("?code=canary-code&state={state}"),
                    Person::Redirects(params) => format!("?{params}&state={state}"),
                    Person::Leaves | Person::Pauses => return None,
                };
                Some(Box::new(move |it| it.handle_redirect(now, &redirect)))
            }
            AuthAction::Changed(state) => {
                if let AuthState::Failed(error) = &state {
                    write!(self.shown, "{error} {error:?}").unwrap();
                }
                self.states.push(state);
                None
            }
            AuthAction::Authorized { id, result } => {
                self.authorized.push(result);
                self.ended.push(id);
                None
            }
            _ => None,
        }
    }

    /// The answer to a request of the authorizer: status, `Location` and body; status 0 is none.
    pub(crate) fn answer(&mut self, fetch: &Fetch) -> (u16, Option<String>, String) {
        let url = fetch.url.as_str().split('?').next().unwrap();
        self.log.push(format!("{} {url}", fetch.method));
        let head = fetch.fields.iter().map(|(name, value)| ((*name).into(), value.expose().into()));
        self.heads.push(head.collect());
        match (fetch.method, url.rsplit('/').next()) {
            ("POST", Some("token")) => {
                let is_bound = fetch.fields.iter().any(|(name, _)| *name == "DPoP");
                let form = params(&format!("?{}", fetch.body.expose()));
                let (status, body) = self.token(form, if is_bound { "DPoP" } else { "bearer" });
                (status, None, body)
            }
            ("POST", Some("register")) => {
                self.registrations.push(fetch.body.expose().into());
                let (status, body) = self.registration.clone();
                (status, None, body)
            }
            _ => {
                let document = self.documents.get(fetch.url.as_str()).cloned();
                document.unwrap_or((404, None, String::new()))
            }
        }
    }

    /// The token endpoint: a refresh token is good once.
    fn token(&mut self, form: Params, token_type: &str) -> (u16, String) {
        let exchanges = form["grant_type"].ends_with("token-exchange");
        let refreshes = form["grant_type"] == "refresh_token";
        let is_current = form.get("refresh_token") == self.refresh_token.as_ref();
        self.forms.push(form);
        if let Some(answer) = self.token_answers.pop_front() {
            return answer;
        }
        if refreshes && !is_current {
            return (400, r#"{"error":"invalid_grant"}"#.into());
        }
        if exchanges {
            let body = r#"{"access_token":"canary-jag","token_type":"N_A","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}"#;
            return (200, body.into());
        }
        self.issued += 1;
        let token = format!("canary-access-{}", self.issued);
        let asked = self.pages.last().and_then(|page| page.get("scope")).cloned();
        self.granted.insert(token.clone(), asked.unwrap_or_default());
        let mut members = self.token_members.clone();
        if self.gives_refresh_token {
            let refresh = format!("canary-refresh-{}", self.issued);
            write!(members, r#","refresh_token":"{refresh}""#).unwrap();
            self.refresh_token = Some(refresh);
        }
        self.accepted = vec![token.clone()];
        (200, format!(r#"{{"access_token":"{token}","token_type":"{token_type}"{members}}}"#))
    }

    pub(crate) fn rows(&self, table: &str) -> Vec<&'static str> {
        let rows = self.authorizer.decisions().filter(|it| it.table == table);
        rows.map(|AuthDecision { row, .. }| row).collect()
    }

    pub(crate) fn grants(&self) -> Vec<&str> {
        self.forms.iter().map(|form| form["grant_type"].as_str()).collect()
    }
}

/// The parameters behind the question mark.
pub(crate) fn params(url: &str) -> Params {
    let (_, query) = url.split_once('?').unwrap_or_default();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}
