//! What only the legacy era needs: `initialize`, its session, `ping` and batches.
//!
//! In: a request or a batch that the table routes as legacy, and every answer, since it may belong
//! to a batch. Out: answers and tool calls.
//!
//! [Specification: Lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use bytes::Bytes;

use super::dispatch::tool_page;
use super::{Opening, Peer, Server, ServerAction};
use crate::error::ProtocolError;
use crate::json::{Json, Raw};
use crate::limits::Limits;
use crate::message::{self, Batch, Incoming, Member, Message, Method, Outgoing, Params, Request};
use crate::meta;
use crate::negotiate;
use crate::time::Instant;
use crate::version::ProtocolVersion;

/// What `initialize` established.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) version: ProtocolVersion,
    client_info: Json,
    capabilities: Json,
    batches: Batches,
}

impl Server {
    pub(super) fn legacy_request(&mut self, now: Instant, request: Request, batch: Option<u64>) {
        let id = request.id.clone();
        if let Err(error) = self.serve_legacy(now, request, batch) {
            self.refuse(batch, Some(id), &error);
        }
    }

    fn serve_legacy(
        &mut self,
        now: Instant,
        request: Request,
        batch: Option<u64>,
    ) -> Result<(), ProtocolError> {
        let result = match (&request.method, &self.opening) {
            (Method::Initialize, _) => self.initialize(&request.params)?,
            (Method::Ping, _) => Json::EMPTY_OBJECT,
            (Method::ListTools, _) if self.declaration.has_tools() => {
                tool_page(&request.params, &self.declaration)?
            }
            (Method::CallTool, Opening::Legacy(session)) if self.declaration.has_tools() => {
                let peer = session.peer();
                return self.call_tool(now, request, peer, batch);
            }
            (method, _) => {
                return Err(ProtocolError::MethodNotFound { method: method.name().into() });
            }
        };
        self.answer(batch, Outgoing::Result { id: request.id, stamp: Bytes::new(), result });
        Ok(())
    }

    fn initialize(&mut self, params: &Params) -> Result<Json, ProtocolError> {
        let invalid = |member: Member, expected| ProtocolError::InvalidParam {
            member: member.name(),
            expected,
        };
        let requested = params.raw(Member::ProtocolVersion).and_then(Raw::string);
        let requested = requested.ok_or(invalid(Member::ProtocolVersion, "a string"))?;
        let capabilities = params.get(Member::Capabilities).filter(|json| json.raw().is_object());
        let capabilities = capabilities.ok_or(invalid(Member::Capabilities, "an object"))?;
        let client_info = params.get(Member::ClientInfo).filter(meta::is_implementation);
        let client_info = client_info.ok_or(invalid(
            Member::ClientInfo,
            "an object with the strings `name` and `version`",
        ))?;
        for (member, value) in
            [(Member::Capabilities, &capabilities), (Member::ClientInfo, &client_info)]
        {
            if value.as_bytes().len() > self.config.limits.max_client_bytes {
                return Err(invalid(member, "no longer than Limits::max_client_bytes"));
            }
        }
        let version = negotiate::legacy_version(&requested);
        self.opening = Opening::Legacy(Session {
            version,
            client_info: client_info.detach(),
            capabilities: capabilities.detach(),
            batches: Batches::default(),
        });
        Ok(self.declaration.initialize(version))
    }

    pub(super) fn batch(&mut self, now: Instant, batch: &Batch) {
        let Limits { max_in_flight, .. } = self.config.limits;
        let size = batch.0.len();
        let Some(texts) = batch.elements(max_in_flight) else {
            return self.refuse(None, None, &ProtocolError::BatchTooLong { max_in_flight });
        };
        if texts.is_empty() {
            return self.refuse(None, None, &ProtocolError::EmptyBatch);
        }
        let Some(batches) = self.batches() else { return };
        if batches.messages + texts.len() > max_in_flight {
            return self.refuse(None, None, &ProtocolError::TooManyInFlight { max_in_flight });
        }
        let batch = Some(batches.begin(size, texts.len()));
        for text in texts {
            match message::parse(&text, &self.config.limits) {
                Ok(Incoming::Message(mut message)) => {
                    // The batch is in flight as a whole, and has been counted.
                    if let Message::Request(request) = &mut message {
                        request.size = 0;
                    }
                    self.message(now, message, batch);
                }
                Ok(Incoming::Batch(_)) => self.refuse(batch, None, &ProtocolError::NotAMessage),
                Err(malformed) => self.malformed(malformed, batch),
            }
        }
        self.leave(batch);
    }

    /// Sends an answer, or keeps it until its batch is complete.
    pub(super) fn answer(&mut self, batch: Option<u64>, answer: Outgoing) {
        let waiting = batch.and_then(|id| self.batches()?.open.get_mut(&id));
        match waiting {
            Some(waiting) => waiting.answers.push(answer),
            None => self.queue.push_back(ServerAction::Send(answer)),
        }
    }

    /// A request of a batch has entered a handler.
    pub(super) fn enter(&mut self, batch: Option<u64>) {
        if let Some(waiting) = batch.and_then(|id| self.batches()?.open.get_mut(&id)) {
            waiting.pending += 1;
        }
    }

    /// A request of a batch is settled, or the batch is read; the last one sends the answers.
    pub(super) fn leave(&mut self, batch: Option<u64>) {
        let answers = batch.and_then(|id| self.batches()?.leave(id));
        if let Some(answers) = answers {
            self.queue.push_back(ServerAction::Send(Outgoing::Batch(answers)));
        }
    }

    /// The bytes of the batches whose answers are not complete.
    pub(super) fn batch_bytes(&self) -> usize {
        match &self.opening {
            Opening::Legacy(session) => session.batches.bytes,
            Opening::Undecided | Opening::Modern => 0,
        }
    }

    fn batches(&mut self) -> Option<&mut Batches> {
        match &mut self.opening {
            Opening::Legacy(session) => Some(&mut session.batches),
            Opening::Undecided | Opening::Modern => None,
        }
    }
}

impl Session {
    fn peer(&self) -> Peer {
        Peer {
            version: self.version,
            client_info: Some(self.client_info.clone()),
            capabilities: self.capabilities.clone(),
        }
    }
}

/// Batches whose answers are not complete. Revision 2025-03-26 alone.
///
/// [Specification: Batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)
#[derive(Debug, Default)]
struct Batches {
    open: BTreeMap<u64, Waiting>,
    serials: u64,
    bytes: usize,
    /// How many messages they have, and so how many answers they may wait with.
    messages: usize,
}

#[derive(Debug)]
struct Waiting {
    /// The bytes of the batch.
    size: usize,
    /// The messages of the batch.
    messages: usize,
    /// The requests in handlers, and one while the batch is being read.
    pending: usize,
    answers: Vec<Outgoing>,
}

impl Batches {
    fn begin(&mut self, size: usize, messages: usize) -> u64 {
        self.serials += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.messages = self.messages.saturating_add(messages);
        let waiting = Waiting { size, messages, pending: 1, answers: Vec::new() };
        self.open.insert(self.serials, waiting);
        self.serials
    }

    fn leave(&mut self, id: u64) -> Option<Vec<Outgoing>> {
        let waiting = self.open.get_mut(&id)?;
        waiting.pending = waiting.pending.saturating_sub(1);
        if waiting.pending > 0 {
            return None;
        }
        let waiting = self.open.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(waiting.size);
        self.messages = self.messages.saturating_sub(waiting.messages);
        Some(waiting.answers).filter(|answers| !answers.is_empty())
    }
}
