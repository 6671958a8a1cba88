//! Invariants of a client with any server, checked by a model that sees only the bytes it writes
//! and the events it reports.

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::client::{
    CallError, CallId, CallOptions, ClientEvent, Config, InputId, Negotiation, ServerInfo,
    SubscriptionId, Undelivered,
};
use mcp_proto::{Era, Instant, Json, Limits};

use super::super::oracle::{self, Object, Shape, Verdict};
use super::super::written::Written;
use super::server::Read;

pub(super) struct Model {
    limits: Limits,
    negotiation: Negotiation,
    phase: Phase,
    /// True if there has been a connection.
    connected: bool,
    calls: BTreeMap<CallId, Call>,
    /// The calls that have had their response, and the subscriptions that have ended.
    over: BTreeSet<CallId>,
    subscriptions: BTreeMap<SubscriptionId, Subscription>,
    /// Inputs that the server waits for, with their calls.
    inputs: BTreeMap<InputId, Option<CallId>>,
    last_input: Option<InputId>,
    /// All ids that requests have had.
    ids: BTreeSet<String>,
    /// The requests that the server has and that were not cancelled, by id.
    sent: BTreeMap<String, String>,
    /// The ids of those that the server has said something to; `None` once it has said what is hard
    /// to tell.
    replied: Option<BTreeSet<String>>,
    /// Last request to a legacy server about each resource: true to subscribe, false to
    /// unsubscribe.
    resources: BTreeMap<String, bool>,
    /// True if the last `initialize` said that roots change.
    tells_roots: bool,
    /// Number of actions so far.
    actions: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// A server is to be started, for the first time or anew.
    Unopened,
    /// Not yet connected, or the era is in doubt again.
    Negotiating,
    Connected(Era),
    /// `Closed` was told, `Close` is due.
    Closing,
    Closed,
}

struct Call {
    /// Text that tells its request from others, if there is one.
    tag: Option<String>,
    ends: Instant,
    wants_progress: bool,
    cancelled: bool,
    /// True if the server has made a task of it.
    follows: bool,
    /// The id under which the server has it, as far as it is to answer.
    out: Option<String>,
}

#[derive(Default)]
struct Subscription {
    begun: bool,
    cancelled: bool,
    /// The resources that a legacy server honours.
    uris: Vec<String>,
}

impl Model {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            limits: config.limits.clone(),
            negotiation: config.negotiation,
            phase: Phase::Unopened,
            connected: false,
            calls: BTreeMap::new(),
            over: BTreeSet::new(),
            subscriptions: BTreeMap::new(),
            inputs: BTreeMap::new(),
            last_input: None,
            ids: BTreeSet::new(),
            sent: BTreeMap::new(),
            replied: Some(BTreeSet::new()),
            resources: BTreeMap::new(),
            tells_roots: false,
            actions: 0,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    pub(super) fn is_unopened(&self) -> bool {
        self.phase == Phase::Unopened
    }

    /// The open calls, the subscriptions, and those that are over, by their place.
    pub(super) fn call(&self, n: u8) -> Option<CallId> {
        nth(n, self.calls.keys(), self.over.iter())
    }

    pub(super) fn subscription(&self, n: u8) -> Option<SubscriptionId> {
        nth(n, self.subscriptions.keys(), [].iter())
    }

    pub(super) fn is_open(&self, call: CallId) -> bool {
        self.calls.contains_key(&call)
    }

    /// The application has made a call.
    pub(super) fn called(
        &mut self,
        now: Instant,
        call: CallId,
        tag: Option<String>,
        options: &CallOptions,
    ) {
        assert!(!self.over.contains(&call), "an id is used twice");
        assert!(!matches!(self.phase, Phase::Closing | Phase::Closed), "a call after the end");
        let ends = now + options.max_total;
        let wants_progress = options.progress;
        let call_state =
            Call { tag, ends, wants_progress, cancelled: false, follows: false, out: None };
        assert!(self.calls.insert(call, call_state).is_none(), "an id is used twice");
        assert!(self.calls.len() <= self.limits.max_in_flight, "too many calls");
    }

    pub(super) fn cancelled(&mut self, call: CallId) {
        if let Some(call) = self.calls.get_mut(&call) {
            call.cancelled = true;
        }
    }

    pub(super) fn subscribed(&mut self, subscription: SubscriptionId) {
        let before = self.subscriptions.insert(subscription, Subscription::default());
        assert!(before.is_none(), "an id is used twice");
    }

    pub(super) fn unsubscribed(&mut self, subscription: SubscriptionId) {
        if let Some(subscription) = self.subscriptions.get_mut(&subscription) {
            subscription.cancelled = true;
        }
    }

    /// The application gives an input.
    pub(super) fn given(&mut self, input: InputId) {
        assert!(self.inputs.remove(&input).is_some(), "it was not asked for");
    }

    /// The server is there.
    pub(super) fn opened(&mut self) {
        self.phase = Phase::Negotiating;
        self.sent.clear();
        self.resources.clear();
        self.calls.values_mut().for_each(|call| call.out = None);
    }

    /// The server writes what it likes.
    pub(super) fn said(&mut self, bytes: &[u8]) {
        if bytes.contains(&b'{') {
            self.replied = None;
        }
    }

    /// The server responds to a request.
    pub(super) fn replied(&mut self, read: &Read) {
        if let Some(replied) = &mut self.replied {
            replied.extend(oracle::id_value(&read.id));
        }
    }

    /// The client writes.
    pub(super) fn transmit(&mut self, bytes: &[u8]) -> Vec<String> {
        assert!(!matches!(self.phase, Phase::Closing | Phase::Closed), "bytes after the end");
        assert!(self.phase != Phase::Unopened, "bytes to no server");
        self.actions += 1;
        let text = str::from_utf8(bytes).unwrap_or_default();
        let lines = text.strip_suffix('\n');
        assert!(lines.is_some(), "no whole lines of UTF-8: {}", bytes.escape_ascii());
        let lines: Vec<String> = lines.unwrap_or_default().split('\n').map(str::to_owned).collect();
        for line in &lines {
            assert!(!line.contains('\r'));
            self.line(line);
        }
        lines
    }

    fn line(&mut self, line: &str) {
        let limits = Limits::default();
        let shape = match oracle::judge(line.as_bytes(), &limits) {
            Verdict::Array(elements) => {
                assert_eq!(self.phase, Phase::Connected(Era::Legacy), "a batch: {line}");
                assert!(!elements.is_empty(), "an empty batch");
                for element in elements {
                    let response = Written::read(&element);
                    assert!(response.method.is_none(), "{element}");
                }
                return;
            }
            Verdict::Valid(shape) => shape,
            verdict @ (Verdict::Either(_) | Verdict::Invalid | Verdict::Unknown) => {
                #[expect(clippy::panic, reason = "this is how a fuzz target says no")]
                {
                    panic!("{verdict:?}: {line}");
                }
            }
        };
        let message = Written::read(line);
        match shape {
            Shape::Request { id, method, .. } => self.request(&id, &method, &message),
            Shape::Notification { method, .. } => self.notification(&method, &message),
            Shape::Response { result, .. } => {
                let connected = self.phase == Phase::Connected(Era::Legacy);
                assert!(connected || result.as_deref() == Some("{}"), "an answer: {line}");
            }
        }
    }

    fn request(&mut self, id: &str, method: &str, message: &Written) {
        let value = oracle::id_value(id).unwrap_or_default();
        assert!(self.ids.insert(value.clone()), "the id {id} is used twice");
        let probes = method == "server/discover" && id.starts_with('"');
        let stamped = message.param("_meta").and_then(|meta| {
            let meta = Object::read(&meta)?;
            assert!(!meta.repeats(&["io.modelcontextprotocol/protocolVersion", "progressToken"]));
            let token = meta.get("progressToken");
            assert!(token.is_none_or(|token| token == id), "{method} has another's token");
            meta.get("io.modelcontextprotocol/clientCapabilities")?;
            meta.get("io.modelcontextprotocol/clientInfo")?;
            meta.get("io.modelcontextprotocol/protocolVersion").map(|_| ())
        });
        if probes || method == "initialize" {
            assert_eq!(probes, stamped.is_some(), "the envelope of the other era");
            self.phase = Phase::Negotiating;
            if !probes {
                self.tells_roots = message.param("capabilities").is_some_and(|text| {
                    Object::read(&text).is_some_and(|offers| offers.get("roots").is_some())
                });
            }
            self.sent.insert(value, String::new());
            return;
        }
        let era = Phase::Connected(if stamped.is_some() { Era::Modern } else { Era::Legacy });
        assert_eq!(self.phase, era, "{method} before the era is known, or of the other one");
        let uri = || message.param("uri").and_then(|uri| oracle::string(&uri)).unwrap_or_default();
        if method == "resources/subscribe" {
            self.resources.insert(uri(), true);
        } else if method == "resources/unsubscribe" {
            self.resources.insert(uri(), false);
        }
        if let Some(tag) = message.param("tag") {
            let call = self.calls.values_mut().find(|call| call.tag.as_ref() == Some(&tag));
            assert!(call.is_some(), "a request for a call that is over");
            if let Some(call) = call {
                let replied =
                    |id: &String| self.replied.as_ref().is_none_or(|ids| ids.contains(id));
                let again = call.out.as_ref().is_none_or(replied);
                assert!(again, "a call is sent twice: {method} {tag}");
                call.out = Some(value.clone());
            }
        }
        self.sent.insert(value, method.to_owned());
    }

    fn notification(&mut self, method: &str, message: &Written) {
        match method {
            "notifications/initialized" => {
                assert_eq!(self.phase, Phase::Negotiating, "a session that is open");
                return;
            }
            "notifications/cancelled" => {
                let id = message.param("requestId").as_deref().and_then(oracle::id_value);
                let id = id.unwrap_or_default();
                let method = self.sent.remove(&id).unwrap_or_default();
                assert!(!method.is_empty(), "nothing that could be cancelled");
                // A server that is asked for its versions again has understood what it was sent.
                if self.phase == Phase::Negotiating {
                    assert!(method != "initialize" && !id.contains("discover-"), "of a probe");
                    return;
                }
            }
            "notifications/roots/list_changed" => assert!(self.tells_roots, "it was not declared"),
            _ => {}
        }
        assert!(matches!(self.phase, Phase::Connected(_)), "{method} before the era is known");
    }

    /// The client tells.
    pub(super) fn event(&mut self, event: &ClientEvent) {
        assert!(!matches!(self.phase, Phase::Closing | Phase::Closed), "an event after the end");
        self.actions += 1;
        match event {
            ClientEvent::Connected(server) => self.connected(server),
            ClientEvent::Reopen => {
                assert_eq!(self.negotiation, Negotiation::Auto, "it may not try anything else");
                assert_ne!(self.phase, Phase::Unopened, "twice");
                self.phase = Phase::Unopened;
            }
            ClientEvent::Response { call, result } => self.response(*call, result),
            ClientEvent::Progress { call, .. } => {
                let call = self.calls.get(call);
                assert!(call.is_some_and(|call| call.wants_progress), "nobody wants progress");
            }
            ClientEvent::Input(input) => {
                let id = input.reply.id();
                assert!(self.last_input < Some(id), "an id is used twice");
                self.last_input = Some(id);
                let era = if input.call.is_some() { Era::Modern } else { Era::Legacy };
                let doubt = self.phase == Phase::Negotiating && era == Era::Modern;
                assert!(doubt || self.phase == Phase::Connected(era), "{:?}", self.phase);
                if let Some(call) = input.call {
                    let call = self.calls.get_mut(&call);
                    assert!(call.is_some(), "input for a call that is over");
                    if let Some(call) = call {
                        call.out = None;
                    }
                }
                self.inputs.insert(id, input.call);
            }
            ClientEvent::Task { call, .. } => {
                let call = self.calls.get_mut(call);
                assert!(call.is_some(), "the task of a call that is over");
                if let Some(call) = call {
                    call.follows = true;
                }
            }
            ClientEvent::InputCancelled { input } => {
                assert!(self.inputs.remove(input).is_some(), "it is not asked for any more");
            }
            ClientEvent::Subscribed { subscription, honoured } => {
                let open = self.subscriptions.get_mut(subscription);
                assert!(open.as_ref().is_some_and(|open| !open.begun), "it begins twice, or late");
                if let Some(open) = open.filter(|_| self.phase == Phase::Connected(Era::Legacy)) {
                    open.begun = true;
                    open.uris.clone_from(&honoured.resource_subscriptions);
                    let uris: BTreeSet<&String> = open.uris.iter().collect();
                    assert_eq!(uris.len(), open.uris.len(), "a resource twice");
                }
            }
            ClientEvent::Changed { subscription, .. } => {
                let open = subscription.is_none_or(|id| self.subscriptions.contains_key(&id));
                assert!(open, "a change for a subscription that has ended");
            }
            ClientEvent::SubscriptionEnded { subscription, cause } => {
                let ended = self.subscriptions.remove(subscription);
                assert!(ended.is_some(), "it ends twice");
                let cancelled = ended.is_some_and(|ended| ended.cancelled);
                assert_eq!(cancelled, *cause == Err(CallError::Cancelled), "{cause:?}");
            }
            ClientEvent::Closed(error) => {
                let open = (self.calls.len(), self.subscriptions.len(), self.inputs.len());
                assert_eq!(open, (0, 0, 0), "calls, subscriptions or inputs without an end");
                // There has been a connection, or there is none because of something.
                let fits = match self.phase {
                    // A stored verdict that the end contradicts was no connection.
                    Phase::Connected(Era::Modern) if error.is_some() => {
                        matches!(self.negotiation, Negotiation::Pinned(_))
                    }
                    Phase::Connected(_) => error.is_none(),
                    Phase::Unopened | Phase::Negotiating | Phase::Closing | Phase::Closed => {
                        error.is_some() || self.connected
                    }
                };
                assert!(fits, "{error:?} when {:?}", self.phase);
                self.phase = Phase::Closing;
            }
            ClientEvent::Log(_)
            | ClientEvent::ElicitationComplete { .. }
            | ClientEvent::Notification { .. } => {
                assert!(matches!(self.phase, Phase::Connected(_)), "before the era is known");
            }
            ClientEvent::Undelivered { message, .. } => {
                let waited = matches!(message, Undelivered::Notification { .. });
                assert!(waited, "over a byte stream nothing else may wait");
            }
            ClientEvent::PeerFault(error) => assert!(!error.to_string().is_empty()),
            ClientEvent::ToolRejected { tool, .. } => {
                assert_eq!(tool, "", "tools are rejected over HTTP alone");
            }
            #[expect(
                clippy::panic,
                reason = "an event of HTTP, or one that this file does not know"
            )]
            // Nothing starts its server again.
            other @ (ClientEvent::Disconnected(_)
            | ClientEvent::Unauthorized { .. }
            | ClientEvent::NoStream { .. }
            | _) => panic!("{other:?}"),
        }
    }

    fn connected(&mut self, server: &ServerInfo) {
        let allowed = match self.negotiation {
            Negotiation::Pinned(version) => server.version == version,
            Negotiation::Legacy => server.era() == Era::Legacy,
            Negotiation::Auto | _ => true,
        };
        assert!(allowed, "connected as {:?} by {:?}", server.version, self.negotiation);
        assert!(!matches!(self.phase, Phase::Connected(_)), "connected twice");
        self.phase = Phase::Connected(server.era());
        self.connected = true;
        if server.era() == Era::Legacy {
            // It is a session of its own, and knows nothing of what came before.
            self.calls.values_mut().for_each(|call| call.out = None);
        }
    }

    fn response(&mut self, id: CallId, result: &Result<Json, CallError>) {
        let call = self.calls.remove(&id);
        assert!(call.is_some() && self.over.insert(id), "a second response, or to no call");
        let asks = self.inputs.values().any(|call| *call == Some(id));
        assert!(!asks, "input is asked for a call that is over");
        // A task may be cancelled at the server.
        let follows = call.as_ref().is_some_and(|call| call.follows);
        let cancelled = call.is_some_and(|call| call.cancelled);
        let is_told = *result == Err(CallError::Cancelled);
        assert!(cancelled == is_told || follows, "cancelled: {cancelled}, {result:?}");
        if let Ok(result) = result {
            assert!(result.as_str().starts_with('{'), "{result:?}");
        }
    }

    pub(super) fn close(&mut self) {
        assert_eq!(self.phase, Phase::Closing, "`Closed` comes first, and once");
        self.phase = Phase::Closed;
    }

    /// Number of actions so far, and whether the answer to the request that was read needs another.
    pub(super) fn awaits(&self, read: &Read) -> (usize, bool) {
        let value = oracle::id_value(&read.id).unwrap_or_default();
        // A task may be polled later.
        let waits = |call: &Call| call.out.as_ref() == Some(&value) && !call.follows;
        let connected = matches!(self.phase, Phase::Connected(_));
        (self.actions, connected && self.calls.values().any(waits))
    }

    /// The server has given it a whole answer, for the first time.
    pub(super) fn answered(&mut self, (before, awaits): (usize, bool)) {
        assert!(!awaits || self.actions > before, "an answer came to nothing");
    }

    /// All actions are taken.
    pub(super) fn settled(&mut self, now: Instant, next: Option<Instant>, wants_read: bool) {
        match self.phase {
            Phase::Closed => assert_eq!((next, wants_read), (None, false), "after the end"),
            Phase::Closing => assert_ne!(self.phase, Phase::Closing, "without `Close`"),
            Phase::Unopened => assert!(!wants_read),
            Phase::Negotiating | Phase::Connected(_) => assert!(wants_read),
        }
        let ends = self.calls.values().map(|call| call.ends).filter(|ends| *ends != Instant::NEVER);
        if let Some(ends) = ends.min() {
            assert!(next.is_some_and(|next| next <= ends), "{next:?}: a call may outlive {ends:?}");
        }
        if let Phase::Connected(_) = self.phase {
            for (id, call) in self.calls.iter().filter(|(_, call)| call.tag.is_some()) {
                let asks = self.inputs.values().any(|call| *call == Some(*id));
                let waits = asks || call.follows || call.out.is_some();
                assert!(waits, "{id:?} waits for nothing at {now:?}");
            }
        }
        if self.phase == Phase::Connected(Era::Legacy) {
            let begun = self.subscriptions.values().filter(|open| open.begun);
            for uri in begun.flat_map(|open| &open.uris) {
                assert_eq!(self.resources.get(uri), Some(&true), "nobody is told of {uri}");
            }
        }
    }

    /// The deadline is over, and was handled.
    pub(super) fn timed(&self, now: Instant, next: Option<Instant>) {
        assert!(next.is_none_or(|at| at > now), "a deadline in the past: {next:?} at {now:?}");
        let late = self.calls.values().find(|call| call.ends <= now);
        assert!(late.is_none() || now == Instant::NEVER, "a call outlives its time");
    }
}

/// The n-th of the first, around its end; from 128 on of the others.
fn nth<'a, T: Copy + 'a>(
    n: u8,
    first: impl ExactSizeIterator<Item = &'a T>,
    mut others: impl ExactSizeIterator<Item = &'a T>,
) -> Option<T> {
    let mut first = first;
    if n < 128 {
        let at = usize::from(n) % first.len().max(1);
        return first.nth(at).copied();
    }
    let at = usize::from(n) % others.len().max(1);
    others.nth(at).copied()
}
