//! The law of shares: whatever one client does, no session and no listener of another one ends that
//! keeps within its fair share, and none is refused.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
use mcp_proto::server::{List, Registry, Reply, ServerEvent};
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Action, Bytes, Duration, Instant, Json, Machine};
use proptest::prelude::*;

use super::http::{INITIALIZE, modern, post};

/// The clients that keep within their shares; the one that does not comes on top of them.
const HONEST: usize = 3;
/// The sessions of a fair share, and the listeners.
const SHARE: usize = 4;
const FLOODER: usize = HONEST;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A client opens a session.
    Open(usize),
    /// It uses one of its sessions.
    Use(usize, prop::sample::Index),
    /// It listens to changes.
    Listen(usize),
    /// It ends one of its listeners.
    Leave(usize, prop::sample::Index),
    /// The flooder reads the stream of its newest session.
    Read,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Half of all is done by the flooder.
    let client = || prop_oneof![Just(FLOODER), 0..HONEST];
    prop_oneof![
        4 => client().prop_map(Step::Open),
        2 => (client(), any::<prop::sample::Index>()).prop_map(|(who, at)| Step::Use(who, at)),
        4 => client().prop_map(Step::Listen),
        1 => (client(), any::<prop::sample::Index>()).prop_map(|(who, at)| Step::Leave(who, at)),
        1 => Just(Step::Read),
        2 => (0..5_000_u64).prop_map(Step::Pass),
    ]
}

proptest! {
    #![proptest_config(super::cases(150))]

    #[test]
    fn second_hour_20_nobody_within_a_fair_share_ends_or_is_refused(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut site = Site::new();
        for step in steps {
            site.make(step);
            site.check();
        }
    }

    #[test]
    fn second_hour_12_with_requests_in_flight_still_nobody_ends(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut site = Site::new();
        site.holds = true;
        for step in steps {
            site.make(step);
            site.check();
        }
    }
}

struct Site {
    now: Instant,
    endpoint: Endpoint<usize>,
    config: Arc<Config>,
    registry: Registry<()>,
    /// All connections that there were, by number.
    connections: Vec<Connection>,
    /// The connections on which a listener has ended.
    ended: BTreeSet<usize>,
    clients: Vec<Client>,
    owed: Vec<Reply>,
    /// True if each session of the flooder has a request in flight, so that it cannot end.
    holds: bool,
}

#[derive(Default)]
struct Client {
    sessions: Vec<String>,
    listeners: Vec<usize>,
}

impl Site {
    fn new() -> Self {
        let mut registry = Registry::new(Implementation::new("fair", "1.0.0"));
        registry.list_changed(List::Tools);
        let schema = Json::parse(r#"{"type":"object"}"#.to_owned()).unwrap();
        registry.add_tool(Tool::new("hold", schema), ()).unwrap();
        let mut config = Config::default();
        let limits = &mut config.server.limits;
        limits.max_sessions = (HONEST + 1) * SHARE;
        limits.max_subscriptions = (HONEST + 1) * SHARE;
        limits.max_connections = 1;
        let config = Arc::new(config);
        let mut count = 0_u128;
        let ids = move || {
            count += 1;
            count.to_be_bytes()
        };
        Self {
            now: Instant::ZERO,
            endpoint: Endpoint::new(registry.declaration(), config.clone(), Box::new(ids)),
            config,
            registry,
            connections: Vec::new(),
            ended: BTreeSet::new(),
            clients: (0..=HONEST).map(|_| Client::default()).collect(),
            owed: Vec::new(),
            holds: false,
        }
    }

    fn make(&mut self, step: Step) {
        match step {
            Step::Open(who) if who != FLOODER && self.clients[who].sessions.len() >= SHARE => {}
            Step::Open(who) => self.open(who),
            Step::Use(who, at) if !self.clients[who].sessions.is_empty() => {
                let session = at.get(&self.clients[who].sessions).clone();
                self.use_session(who, &session);
            }
            Step::Listen(who) if who != FLOODER && self.clients[who].listeners.len() >= SHARE => {}
            Step::Listen(who) => {
                let params = r#""notifications":{"toolsListChanged":true},"#;
                let listen = modern("subscriptions/listen", "", params);
                let (number, answer) = self.ask(who, &listen);
                let listens = answer.starts_with("HTTP/1.1 200 ");
                assert!(listens || who == FLOODER, "{who} is refused: {answer}");
                if listens {
                    self.clients[who].listeners.push(number);
                }
            }
            Step::Leave(who, at) if !self.clients[who].listeners.is_empty() => {
                let at = at.index(self.clients[who].listeners.len());
                let number = self.clients[who].listeners.remove(at);
                self.connections[number].handle_disconnect(self.now);
                self.drain(number);
            }
            Step::Read => {
                if let Some(session) = self.clients[FLOODER].sessions.last() {
                    let fields = format!("Host: localhost\r\nMcp-Session-Id: {session}\r\n");
                    self.ask(FLOODER, &format!("GET /mcp HTTP/1.1\r\n{fields}\r\n"));
                }
            }
            Step::Pass(millis) => {
                self.now = self.now + Duration::from_millis(millis);
                self.endpoint.handle_timeout(self.now);
            }
            Step::Use(..) | Step::Leave(..) => {}
        }
    }

    fn open(&mut self, who: usize) {
        let (_, answer) = self.ask(who, &post(INITIALIZE, ""));
        let Some((_, rest)) = answer.split_once("Mcp-Session-Id: ") else {
            let may_be_refused = who == FLOODER || self.holds;
            assert!(may_be_refused && answer.starts_with("HTTP/1.1 503 "), "{who}: {answer}");
            return;
        };
        let session = rest.split_once("\r\n").unwrap().0.to_owned();
        let fields = format!("Mcp-Session-Id: {session}\r\n");
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.ask(who, &post(initialized, &fields));
        if who == FLOODER && self.holds {
            let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold"}}"#;
            self.ask(who, &post(call, &fields));
        }
        self.clients[who].sessions.push(session);
    }

    fn use_session(&mut self, who: usize, session: &str) {
        let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
        let (_, answer) = self.ask(who, &post(ping, &format!("Mcp-Session-Id: {session}\r\n")));
        let lives = answer.starts_with("HTTP/1.1 200 ");
        assert!(lives || who == FLOODER, "a session of {who} has ended: {answer}");
    }

    /// The listeners of all but the flooder are there, and no limit is exceeded.
    fn check(&mut self) {
        let limits = &self.config.server.limits;
        assert!(self.endpoint.sessions() <= limits.max_sessions);
        assert!(self.endpoint.listeners() <= limits.max_subscriptions);
        for client in &self.clients[..HONEST] {
            for number in &client.listeners {
                assert!(!self.ended.contains(number), "a listener has ended");
            }
        }
    }

    /// Sends a request on a connection of its own, and takes what is said at once.
    fn ask(&mut self, who: usize, request: &str) -> (usize, String) {
        let declaration = self.registry.declaration();
        let mut connection = Connection::new(self.now, declaration, self.config.clone());
        let address = Ipv4Addr::new(192, 0, 2, u8::try_from(who).unwrap());
        connection.set_peer(IpAddr::V4(address));
        connection.handle_bytes(self.now, Bytes::from(request.to_owned()));
        self.connections.push(connection);
        let number = self.connections.len() - 1;
        (number, self.drain(number))
    }

    /// Takes all actions, and returns what one connection has said.
    fn drain(&mut self, number: usize) -> String {
        let (mut said, mut due) = (Vec::new(), vec![number]);
        while let Some(at) = due.pop() {
            self.connections[at].visit(self.now, &mut self.endpoint, &at);
            while let Some(action) = self.connections[at].poll_action() {
                match action {
                    Action::Transmit(bytes) => {
                        if String::from_utf8_lossy(&bytes).contains("\"resultType\":\"complete\"") {
                            self.ended.insert(at);
                        }
                        if at == number {
                            said.extend_from_slice(&bytes);
                        }
                    }
                    Action::Close => {}
                    Action::Event(event) => self.event(event),
                }
            }
            while let Some(action) = self.endpoint.poll_action() {
                match action {
                    EndpointAction::Wake(other) => due.push(other),
                    EndpointAction::Event(event) => self.event(event),
                    _ => {}
                }
            }
        }
        String::from_utf8(said).unwrap()
    }

    fn event(&mut self, event: ServerEvent) {
        if let ServerEvent::Request(request) = event {
            self.owed.push(request.reply);
        }
    }
}
