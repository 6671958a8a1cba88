//! The law of clients with a cache: they see nothing that a client without one could not have seen,
//! within the time for which the server calls its results fresh.
//!
//! Two clients share a cache, or each has its own. A server answers in any order, with any hints,
//! and reports changes. What a client is given without a request is compared with all that has
//! happened; what it is given after a request must come from an answer to that request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use mcp_proto::client::{
    Cache, CacheConfig, CacheLimits, CallId, CallOptions, Client, ClientEvent, Config, Listing,
    SharedCache,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Action, Binding, Duration, Instant, Json, Machine};
use mcp_tests::stdio_client::sent;
use serde_json::{Value, json};

use super::json as parse;

#[test]
fn a_client_with_a_cache_sees_what_is_fresh() {
    let mut hits = BTreeMap::<String, usize>::new();
    for seed in 0..1000 {
        let mut run = Run::new(seed, true);
        run.play();
        for hit in run.hits {
            *hits.entry(hit).or_default() += 1;
        }
    }
    for hit in [
        "Tools, 1 pages",
        "Tools, 2 pages",
        "Page, 1 pages",
        "Prompts, 1 pages",
        "Read, 1 pages",
        "of another client",
        "of another principal",
        "private",
    ] {
        assert!(hits.get(hit).is_some_and(|count| *count > 20), "too few of `{hit}`: {hits:?}");
    }
}

#[test]
fn a_client_without_a_cache_asks_each_time() {
    for seed in 0..200 {
        let mut run = Run::new(seed, false);
        run.play();
        assert_eq!(run.hits, Vec::<String>::new());
    }
}

/// A call of the application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// All tools, on one page or two.
    Tools,
    /// The first page of the tools.
    Page,
    Prompts,
    Read,
}

const KINDS: [Kind; 4] = [Kind::Tools, Kind::Page, Kind::Prompts, Kind::Read];
const PRINCIPALS: [&str; 2] = ["alice", "bob"];
const URI: &str = "a:b";

/// An answer of the server, by its number.
struct Answer {
    /// The method, and the cursor if there is one.
    page: String,
    client: usize,
    principal: &'static str,
    is_public: bool,
    ttl: u64,
    has_more: bool,
    /// Step in which the request was sent.
    sent: usize,
    /// Step and time of its arrival, if it was still wanted.
    delivered: Option<(usize, Instant)>,
}

/// A request that has reached the server.
struct Asked {
    client: usize,
    id: Value,
    page: String,
    principal: &'static str,
    step: usize,
}

/// A line on its way to a client.
struct Flight {
    client: usize,
    line: Value,
    answer: Option<usize>,
    change: Option<&'static str>,
}

struct PendingCall {
    kind: Kind,
    principal: &'static str,
    refresh: bool,
    step: usize,
}

struct Run {
    random: u64,
    now: Instant,
    step: usize,
    shares: bool,
    shelf: Arc<Shelf>,
    clients: Vec<Connection<Client>>,
    listens: Vec<Value>,
    principals: Vec<&'static str>,
    calls: BTreeMap<(usize, CallId), PendingCall>,
    asked: Vec<Asked>,
    flights: Vec<Flight>,
    answers: Vec<Answer>,
    /// Client, method and step of each change that has arrived.
    changes: Vec<(usize, &'static str, usize)>,
    /// Requests whose response is not wanted any more.
    cancelled: BTreeSet<(usize, String)>,
    hits: Vec<String>,
}

impl Run {
    fn new(seed: u64, has_cache: bool) -> Self {
        let is_shared = seed.is_multiple_of(3);
        let shelf = Arc::new(Shelf::default());
        let mut run = Self {
            random: seed.wrapping_add(1 << 40),
            now: Instant::ZERO + Duration::from_secs(seed % 7),
            step: 0,
            shares: is_shared,
            shelf: shelf.clone(),
            clients: Vec::new(),
            listens: Vec::new(),
            principals: vec![PRINCIPALS[0], PRINCIPALS[1]],
            calls: BTreeMap::new(),
            asked: Vec::new(),
            flights: Vec::new(),
            answers: Vec::new(),
            changes: Vec::new(),
            cancelled: BTreeSet::new(),
            hits: Vec::new(),
        };
        for principal in PRINCIPALS {
            let cache = if is_shared {
                CacheConfig::shared(shelf.clone())
            } else {
                CacheConfig::memory(CacheLimits::default())
            };
            let mut config = Config::new(Implementation::new("a", "1"));
            if has_cache {
                config = config.cache(cache.server("s").principal(principal));
            }
            run.connect(config);
        }
        run
    }

    /// Connects a client that is subscribed to everything.
    fn connect(&mut self, config: Config) {
        let now = self.now;
        let mut client = Connection::client(config);
        client.handle_opened(now);
        let discover = sent(&mut client);
        let capabilities = json!({ "tools": {}, "prompts": {}, "resources": {} });
        client.handle_bytes(
            now,
            line(&json!({
                "jsonrpc": "2.0", "id": discover[0]["id"], "result": {
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
                },
            })),
        );
        let filter =
            SubscriptionFilter::new().tools_list_changed().prompts_list_changed().resource(URI);
        client.with(now, |client| client.subscribe(now, filter).unwrap());
        let listen = sent(&mut client).remove(0);
        let mut meta = json!({});
        meta["io.modelcontextprotocol/subscriptionId"] = listen["id"].clone();
        client.handle_bytes(
            now,
            line(&json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": { "_meta": meta, "notifications": listen["params"]["notifications"] },
            })),
        );
        assert_eq!(sent(&mut client), Vec::<Value>::new());
        self.clients.push(client);
        self.listens.push(meta);
    }

    fn play(&mut self) {
        for _ in 0..80 {
            self.step += 1;
            match self.pick(16) {
                0..=4 => self.ask(),
                5..=7 => self.answer(),
                8..=11 => self.deliver(),
                12 => self.change(),
                13 if self.pick(3) == 0 => self.rename(),
                14 if self.pick(4) == 0 => self.cancel(),
                _ => self.wait(),
            }
            for client in 0..self.clients.len() {
                self.drain(client, false);
            }
        }
        // In the end each call has its response, and only one.
        while !self.calls.is_empty() {
            self.step += 1;
            if self.flights.is_empty() {
                self.answer();
            } else {
                self.deliver();
            }
            for client in 0..self.clients.len() {
                self.drain(client, false);
            }
        }
    }

    /// The clock of the cache goes with those of the clients, and shows another time.
    fn wait(&mut self) {
        let passed = Duration::from_millis(self.pick(1500) as u64);
        self.now = self.now + passed;
        let mut now = self.shelf.now.lock().unwrap();
        *now = *now + passed;
    }

    fn ask(&mut self) {
        let client = self.pick(2);
        let kind = KINDS[self.pick(4)];
        let refresh = self.pick(8) == 0;
        let mut options = CallOptions::default().timeout(Duration::MAX).max_total(Duration::MAX);
        if refresh {
            options = options.refresh();
        }
        let now = self.now;
        let id = self.clients[client].with(now, |client| match kind {
            Kind::Tools => client.list(now, Listing::Tools, options),
            Kind::Prompts => client.list(now, Listing::Prompts, options),
            Kind::Page => client.call(now, "tools/list", Json::EMPTY_OBJECT, options),
            Kind::Read => {
                let params = parse(&json!({ "uri": URI }).to_string());
                client.call(now, "resources/read", params, options)
            }
        });
        let principal = self.principals[client];
        let call = PendingCall { kind, principal, refresh, step: self.step };
        self.calls.insert((client, id.unwrap()), call);
        self.drain(client, true);
    }

    /// The server answers one of the requests that it has.
    fn answer(&mut self) {
        if self.asked.is_empty() {
            return;
        }
        let chosen = self.pick(self.asked.len() as u64);
        let Asked { client, id, page, principal, step } = self.asked.remove(chosen);
        let number = self.answers.len();
        let body = match self.pick(12) {
            0 => json!({ "error": { "code": -32602, "message": "no" } }),
            1 if page == "resources/read" => {
                // The client has no roots, and says so without asking anybody.
                json!({ "result": { "resultType": "input_required", "requestState": "s" } })
            }
            _ => {
                let is_public = self.pick(2) == 0;
                let ttl = [0, 300, 2000, 20_000][self.pick(4)];
                let has_more = page == "tools/list" && self.pick(2) == 0;
                let name = number.to_string();
                let mut result = match &*page {
                    "prompts/list" => json!({ "prompts": [{ "name": name }] }),
                    "resources/read" => {
                        json!({ "contents": [{ "uri": URI, "name": name, "text": "" }] })
                    }
                    _ => json!({ "tools": [{ "name": name, "inputSchema": {} }] }),
                };
                if has_more {
                    result["nextCursor"] = json!("2");
                }
                result["resultType"] = json!("complete");
                result["ttlMs"] = json!(ttl);
                result["cacheScope"] = json!(if is_public { "public" } else { "private" });
                self.answers.push(Answer {
                    page,
                    client,
                    principal,
                    is_public,
                    ttl,
                    has_more,
                    sent: step,
                    delivered: None,
                });
                json!({ "result": result })
            }
        };
        let answer = (self.answers.len() > number).then_some(number);
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        message.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        self.flights.push(Flight { client, line: message, answer, change: None });
    }

    fn deliver(&mut self) {
        if self.flights.is_empty() {
            return;
        }
        let chosen = self.pick(self.flights.len() as u64);
        let Flight { client, line: message, answer, change } = self.flights.remove(chosen);
        let is_wanted = !self.cancelled.contains(&(client, message["id"].to_string()));
        if let Some(answer) = answer.filter(|_| is_wanted) {
            self.answers[answer].delivered = Some((self.step, self.now));
        }
        if let Some(method) = change {
            self.changes.push((client, method, self.step));
        }
        self.clients[client].handle_bytes(self.now, line(&message));
    }

    /// Something changes, and the clients are told.
    fn change(&mut self) {
        let (notification, method) = [
            ("notifications/tools/list_changed", "tools/list"),
            ("notifications/prompts/list_changed", "prompts/list"),
            ("notifications/resources/updated", "resources/read"),
        ][self.pick(3)];
        for client in 0..self.clients.len() {
            let mut params = json!({ "_meta": self.listens[client] });
            if method == "resources/read" {
                params["uri"] = json!(URI);
            }
            let line = json!({ "jsonrpc": "2.0", "method": notification, "params": params });
            self.flights.push(Flight { client, line, answer: None, change: Some(method) });
        }
    }

    /// A client asks for another principal from here on.
    fn rename(&mut self) {
        let client = self.pick(2);
        let principal = PRINCIPALS[self.pick(2)];
        self.principals[client] = principal;
        self.clients[client].with(self.now, |client| client.set_principal(Some(principal)));
    }

    fn cancel(&mut self) {
        let Some((client, call)) = self.calls.keys().next().copied() else { return };
        let now = self.now;
        self.clients[client].with(now, |client| client.cancel(now, call).unwrap());
    }

    /// Takes what a client does. `asks` if it was just asked: a response is from its cache then.
    fn drain(&mut self, client: usize, asks: bool) {
        while let Some(action) = self.clients[client].poll_action() {
            match action {
                Action::Transmit(bytes) => {
                    self.sent(client, &serde_json::from_slice(&bytes).unwrap());
                }
                Action::Event(ClientEvent::Response { call, result }) => {
                    let call = self.calls.remove(&(client, call)).unwrap();
                    // Errors are never kept.
                    if let Ok(result) = result {
                        self.check(
                            client,
                            &call,
                            asks,
                            &serde_json::from_slice(result.as_bytes()).unwrap(),
                        );
                    }
                }
                Action::Event(_) | Action::Close => {}
            }
        }
    }

    fn sent(&mut self, client: usize, message: &Value) {
        if message["method"] == "notifications/cancelled" {
            let id = message["params"]["requestId"].to_string();
            self.cancelled.insert((client, id));
            return;
        }
        let mut page = message["method"].as_str().unwrap().to_owned();
        if message["params"]["cursor"].is_string() {
            page += " 2";
        }
        // What depends on input is not kept, and no answer to it is.
        if message["params"]["requestState"].is_string() {
            page += " with input";
        }
        let (id, principal) = (message["id"].clone(), self.principals[client]);
        self.asked.push(Asked { client, id, page, principal, step: self.step });
    }

    /// The law.
    fn check(&mut self, client: usize, call: &PendingCall, asks: bool, result: &Value) {
        let items = ["tools", "prompts", "contents"].map(|member| result[member].as_array());
        let items = items.into_iter().flatten().flatten();
        let numbers: Vec<usize> =
            items.map(|item| item["name"].as_str().unwrap().parse().unwrap()).collect();
        let seen: Vec<&Answer> = numbers.iter().map(|number| &self.answers[*number]).collect();
        let method = match call.kind {
            Kind::Tools | Kind::Page => "tools/list",
            Kind::Prompts => "prompts/list",
            Kind::Read => "resources/read",
        };
        let is_whole = call.kind != Kind::Page && seen[0].has_more;
        let mut pages = vec![method.to_owned()];
        pages.extend(is_whole.then(|| format!("{method} 2")));
        let found: Vec<&str> = seen.iter().map(|answer| &*answer.page).collect();
        if !asks {
            let plain = found.iter().map(|page| page.trim_end_matches(" with input"));
            assert!(plain.eq(pages.iter().map(|page| &**page)), "{found:?} for {:?}", call.kind);
            for answer in seen {
                assert_eq!(answer.client, client, "an answer to somebody else");
                assert!(answer.sent >= call.step, "part of the answer is older than the call");
            }
            return;
        }
        assert_eq!(found, pages, "for {:?}", call.kind);
        assert!(!call.refresh, "the application wants the server to be asked");
        let mut left = u64::MAX;
        for answer in &seen {
            let (step, at) = answer.delivered.unwrap();
            assert!(step <= call.step, "{step}");
            let fresh_until = at + Duration::from_millis(answer.ttl);
            assert!(self.now < fresh_until, "stale since {fresh_until}, it is {}", self.now);
            let rest = fresh_until.duration_since(self.now).as_millis();
            left = left.min(u64::try_from(rest).unwrap());
            assert!(self.shares || answer.client == client, "of a client that shares nothing");
            assert!(answer.is_public || answer.principal == call.principal, "a leak");
            let is_of_page = |other: &&Answer| other.page == answer.page;
            let knows = |other: usize| self.shares || other == client;
            for (told, changed, when) in &self.changes {
                let concerns = answer.page.starts_with(changed) && knows(*told);
                assert!(!concerns || *when < answer.sent, "changed since it was asked for");
            }
            for later in self.answers.iter().filter(is_of_page).filter(|it| knows(it.client)) {
                let came = later.delivered.is_some_and(|(then, _)| then > step);
                let supersedes = later.principal == call.principal && came;
                assert!(!supersedes || later.sent <= answer.sent, "another answer has come since");
            }
        }
        assert_eq!(result["ttlMs"], json!(left), "what is left of its time");
        self.hits.push(format!("{:?}, {} pages", call.kind, seen.len()));
        for (is, name) in [
            (seen[0].client != client, "of another client"),
            (seen[0].principal != call.principal, "of another principal"),
            (!seen[0].is_public, "private"),
        ] {
            self.hits.extend(is.then(|| name.to_owned()));
        }
    }

    fn pick(&mut self, count: u64) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from((self.random >> 33) % count).unwrap()
    }
}

/// A cache with a clock of its own.
#[derive(Debug, Default)]
struct Shelf {
    cache: Mutex<Cache>,
    now: Mutex<Instant>,
}

impl SharedCache for Shelf {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn with(&self, f: &mut dyn FnMut(&mut Cache)) {
        f(&mut self.cache.lock().unwrap());
    }
}

fn line(message: &Value) -> mcp_proto::Bytes {
    format!("{message}\n").into()
}
