//! Model of the messages that each client may receive, without knowledge of the server's workings.
//!
//! Each request bears a mark, which all that is said about it repeats. So of everything that a
//! client reads the model knows which request it belongs to, and where it may be.

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::http::Sessions;

use super::requests::{Kind, Sent, World, request};
use super::wire::{Found, Reader};

/// A request, by its connection and how many preceded it there.
type Exchange = (usize, usize);

/// A session, and an event of it.
type EventKey = (String, String);

pub(super) struct Model {
    mode: Sessions,
    /// Requests that were sent, by connections.
    sent: BTreeMap<usize, Vec<Sent>>,
    /// Exchange of each mark.
    marks: BTreeMap<String, Exchange>,
    serials: u32,
    /// Sessions, and the ids of their events in the order of their coming.
    sessions: Vec<(String, Vec<String>)>,
    /// Data of each event of a session.
    events: BTreeMap<(String, String), String>,
    /// The exchange that a stream of a session began in.
    streams: BTreeMap<(String, String), Exchange>,
    /// The event that says something, of what bears a mark.
    said: BTreeMap<String, Option<(String, String)>>,
    /// The marks of what handlers were asked.
    asked: BTreeMap<String, u32>,
    /// The rounds of input that handlers have asked for, by mark.
    rounds: BTreeMap<String, u32>,
    /// Texts from outside of requests: the session, and the event that says them.
    outside: BTreeMap<String, (Option<String>, Option<EventKey>)>,
    /// The marks of what was answered.
    answered: BTreeMap<String, Option<(String, String)>>,
    /// Connections whose clients do as they like.
    wild: BTreeSet<usize>,
    /// Those whose clients are gone, or write nothing more.
    ended: BTreeSet<usize>,
    closing: bool,
}

impl Model {
    pub(super) fn new(mode: Sessions) -> Self {
        Self {
            mode,
            sent: BTreeMap::new(),
            marks: BTreeMap::new(),
            serials: 0,
            sessions: Vec::new(),
            events: BTreeMap::new(),
            streams: BTreeMap::new(),
            said: BTreeMap::new(),
            asked: BTreeMap::new(),
            rounds: BTreeMap::new(),
            outside: BTreeMap::new(),
            answered: BTreeMap::new(),
            wild: BTreeSet::new(),
            ended: BTreeSet::new(),
            closing: false,
        }
    }

    /// Records a request of a client.
    pub(super) fn request(&mut self, link: usize, number: u8, argument: u8) -> Sent {
        self.serials += 1;
        let at = usize::from(argument / 16);
        let session = at.checked_rem(self.sessions.len()).and_then(|at| self.sessions.get(at));
        let event = session.and_then(|(_, events)| {
            let back = usize::from(argument % 16);
            events.get(events.len().checked_sub(1 + back)?)
        });
        let world = World {
            mark: format!("m{}m", self.serials),
            session: session.map(|(id, _)| id.as_str()),
            event: event.map(String::as_str),
        };
        let sent = request(number, argument, world);
        let bytes = sent.bytes.clone();
        let before = self.sent.entry(link).or_default();
        for mark in &sent.marks {
            self.marks.insert(mark.clone(), (link, before.len()));
        }
        let copy =
            Sent { bytes: Vec::new(), marks: sent.marks.clone(), id: sent.id.clone(), ..sent };
        before.push(copy);
        Sent {
            bytes,
            kind: Kind::Other,
            id: None,
            marks: Vec::new(),
            session: None,
            last_event: None,
        }
    }

    pub(super) fn gone_wild(&mut self, link: usize) {
        self.wild.insert(link);
    }

    pub(super) fn is_wild(&self, link: usize) -> bool {
        self.wild.contains(&link)
    }

    pub(super) fn ended(&mut self, link: usize) {
        self.ended.insert(link);
    }

    pub(super) fn closing(&mut self) {
        self.closing = true;
    }

    /// A handler has a request: for the first time, or with the input that it has asked for.
    pub(super) fn asked(&mut self, arguments: &str) {
        if let Some(mark) = self.mark(arguments) {
            let rounds = self.rounds.get(&mark).copied().unwrap_or_default();
            let asked = self.asked.entry(mark).or_default();
            *asked += 1;
            assert!(*asked <= rounds + 1, "executed twice: {arguments}");
        }
    }

    /// A handler asks for input.
    pub(super) fn asks(&mut self, arguments: &str) {
        if let Some(mark) = self.mark(arguments) {
            *self.rounds.entry(mark).or_default() += 1;
        }
    }

    /// The session of the request that a handler has.
    pub(super) fn session_of(&self, arguments: &str) -> Option<String> {
        let (link, at) = *self.marks.get(&self.mark(arguments)?)?;
        self.sent.get(&link)?.get(at)?.session.clone()
    }

    /// The application says this to a session, outside of a request.
    pub(super) fn says_outside(&mut self, text: String, session: Option<String>) {
        self.outside.insert(text, (session, None));
    }

    /// A client has read something.
    pub(super) fn look(&mut self, link: usize, reader: &mut Reader) {
        let mut at =
            reader.complete - reader.found.iter().filter(|f| matches!(f, Found::End)).count();
        while let Some(found) = reader.found.pop_front() {
            match found {
                Found::End => at += 1,
                Found::Head { .. } | Found::Body(_) | Found::Event(..) | Found::Primed(_) => {
                    self.found((link, at), found);
                }
            }
        }
    }

    pub(super) fn closed(&mut self, link: usize, reader: &mut Reader) {
        let told = self.closing || self.ended.contains(&link) || self.wild.contains(&link);
        assert!(told || !reader.is_open(), "closed in the middle of a response");
    }

    /// All that handlers have is answered: so is the client, as far as it can be.
    pub(super) fn served(&self, link: usize, reader: &Reader) {
        if self.wild.contains(&link) || self.ended.contains(&link) {
            return;
        }
        let sent = self.sent.get(&link).map_or(&[][..], Vec::as_slice);
        let Some(next) = sent.get(reader.complete) else {
            assert_eq!(reader.complete, sent.len(), "more responses than requests");
            return;
        };
        // It reads for as long as it likes.
        assert!(matches!(next.kind, Kind::Get | Kind::Listen), "{:?} is not answered", next.kind);
    }

    fn found(&mut self, exchange: Exchange, found: Found) {
        let (link, at) = exchange;
        let sent = self.sent.get(&link).and_then(|sent| sent.get(at));
        assert!(sent.is_some(), "a response to nothing: {found:?}");
        let Some(sent) = sent else { return };
        let (kind, session) = (sent.kind, sent.session.clone());
        let (resumed, id) = (sent.last_event.clone(), sent.id.clone());
        match found {
            Found::End => {}
            Found::Head { status, session, events } => {
                assert!((200..=505).contains(&status));
                assert!(!events || status == 200);
                if let Some(session) = session {
                    assert!(kind == Kind::Initialize && status == 200, "a session for {kind:?}");
                    assert!(self.mode == Sessions::Stateful, "nobody has sessions");
                    assert!(self.sessions.iter().all(|(id, _)| *id != session), "a session twice");
                    self.sessions.push((session, Vec::new()));
                }
            }
            Found::Body(text) => {
                let is_ours = text.starts_with(['{', '[']);
                assert!(is_ours, "no JSON: {text}");
                self.said(exchange, kind, session.as_deref(), None, &text, id.as_deref());
            }
            Found::Primed(event) => {
                assert!(kind != Kind::Modern && kind != Kind::Listen, "{event} for {kind:?}");
            }
            Found::Event(None, text) => {
                let alone =
                    matches!(kind, Kind::Modern | Kind::Listen) || self.mode == Sessions::Stateless;
                // The stream of a session that has ended cannot be resumed: its last event is the
                // answer, which was ready before, or an error.
                let is_last = !text.contains("\"method\":");
                assert!(alone || is_last, "an event without id for {kind:?}: {text}");
                self.said(exchange, kind, session.as_deref(), None, &text, id.as_deref());
            }
            Found::Event(Some(event), text) => {
                assert!(!matches!(kind, Kind::Modern | Kind::Listen), "{event} for {kind:?}");
                // Whoever opens a session has it from the head.
                let opened = self.sessions.last().map(|(id, _)| id.clone());
                let session = session.or(opened.filter(|_| kind == Kind::Initialize));
                assert!(session.is_some(), "an event of no session: {event}");
                let session = session.unwrap_or_default();
                self.event(exchange, kind, &session, &event, &text, resumed.as_deref());
            }
        }
    }

    fn event(
        &mut self,
        exchange: Exchange,
        kind: Kind,
        session: &str,
        event: &str,
        text: &str,
        resumed: Option<&str>,
    ) {
        let key = (session.to_owned(), event.to_owned());
        let stream = event.split_once('-').map_or("", |(stream, _)| stream).to_owned();
        if let Some(before) = self.events.get(&key) {
            assert_eq!(before, text, "{event} says something else");
            assert_eq!(kind, Kind::Get, "{event} again, without a reason");
        } else {
            self.events.insert(key.clone(), text.to_owned());
            if let Some((_, events)) = self.sessions.iter_mut().find(|(id, _)| id == session) {
                events.push(event.to_owned());
            }
        }
        if kind == Kind::Get {
            let of = resumed.and_then(|id| id.split_once('-')).map_or("0", |(stream, _)| stream);
            assert_eq!(of, stream, "{event} on another stream");
        } else {
            let began = self.streams.entry((session.to_owned(), stream)).or_insert(exchange);
            assert_eq!(*began, exchange, "{event} on another exchange");
        }
        self.said(exchange, kind, Some(session), Some(&key), text, None);
    }

    /// Somebody reads a message, with the event that it stands in.
    fn said(
        &mut self,
        exchange: Exchange,
        kind: Kind,
        session: Option<&str>,
        event: Option<&(String, String)>,
        text: &str,
        id: Option<&str>,
    ) {
        self.heard_outside(session, event, text);
        let answers = !text.contains("\"method\":");
        if let (Some(id), true, None) = (id, answers, event) {
            let is_its = text.contains(&format!("\"id\":{id}")) || !text.contains("\"id\":");
            assert!(is_its, "the answer to another request: {text}");
        }
        let Some(mark) = self.mark(text) else { return };
        let from = self.marks.get(&mark).copied().unwrap_or((usize::MAX, 0));
        if kind == Kind::Get {
            let of = self.sent.get(&from.0).and_then(|sent| sent.get(from.1));
            let of = of.and_then(|sent| sent.session.as_deref());
            assert_eq!(of, session, "to another session: {text}");
        } else {
            assert_eq!(from, exchange, "to another exchange: {text}");
        }
        let before = if answers {
            assert!(self.asked.contains_key(&mark), "nobody was asked: {text}");
            self.answered.entry(mark)
        } else {
            self.said.entry(text.to_owned())
        };
        let known = before.or_insert_with(|| event.cloned());
        assert!(known.as_ref() == event, "said twice: {text}");
        let first = event.is_none() && !self.once(exchange, text);
        assert!(!first, "said twice: {text}");
    }

    /// Checks that a text from outside of requests goes to its session only, in one event.
    fn heard_outside(
        &mut self,
        session: Option<&str>,
        event: Option<&(String, String)>,
        text: &str,
    ) {
        let Some((_, rest)) = text.split_once("\"text\":\"") else { return };
        let said = rest.split_once('"').map_or(rest, |(said, _)| said);
        let Some((of, known)) = self.outside.get_mut(said) else { return };
        assert!(of.is_none() || of.as_deref() == session, "to another session: {text}");
        let first = known.get_or_insert_with(|| event.cloned().unwrap_or_default());
        assert!(event == Some(&*first), "said twice: {text}");
    }

    /// Returns whether an exchange says this for the first time.
    fn once(&mut self, (link, at): Exchange, text: &str) -> bool {
        let key = (format!("{link} {at}"), text.to_owned());
        self.events.insert(key, String::new()).is_none()
    }

    /// The mark in a text.
    fn mark(&self, text: &str) -> Option<String> {
        let from = text.find("\"m").or_else(|| text.find("\\\"m"))?;
        let rest = text.get(from..)?.trim_start_matches(['\\', '"']);
        let end = rest.find(['"', '\\'])?;
        let mark = rest.get(..end)?;
        self.marks.contains_key(mark).then(|| mark.to_owned()).or_else(|| {
            // Another word that begins alike.
            let rest = rest.get(end + 1..)?;
            self.mark(rest)
        })
    }
}
