//! Output of a server on a byte stream in one step, read strictly: whole lines, each a message of
//! JSON-RPC 2.0, and nothing after the end.

use std::collections::VecDeque;

use mcp_proto::Era;
use mcp_proto::server::{CancelCause, InputFailure, InputId, PingId, ReplyId, ServerEvent};
use mcp_proto::types::LoggingLevel;

use crate::fuzz::written::Written;

/// Output of one step.
#[derive(Default, Debug)]
pub(super) struct Seen {
    pub(super) lines: VecDeque<String>,
    pub(super) events: VecDeque<Event>,
    pub(super) closed: bool,
}

#[derive(PartialEq, Debug)]
pub(super) enum Event {
    Request(Asked),
    Cancelled { about: ReplyId, cause: CancelCause },
    Notification { method: String, params: String },
    Pong { ping: PingId, answered: bool },
    InputAnswered { input: InputId, came: Came },
    Closed,
}

/// Result of a request for input outside of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Came {
    Answer,
    NoObject,
    Error,
    TimedOut,
    Closed,
}

/// A request on its way to a handler.
#[derive(PartialEq, Debug)]
pub(super) struct Asked {
    pub(super) about: ReplyId,
    pub(super) method: String,
    pub(super) params: String,
    pub(super) era: Era,
    pub(super) wants_progress: bool,
    pub(super) log_level: Option<LoggingLevel>,
    /// True if it brings input.
    pub(super) input: bool,
}

impl Seen {
    pub(super) fn transmit(&mut self, bytes: &[u8]) {
        assert!(!self.closed, "bytes after the end");
        let text = str::from_utf8(bytes).unwrap_or_default();
        let lines = text.strip_suffix('\n');
        assert!(lines.is_some(), "no whole lines of UTF-8: {}", bytes.escape_ascii());
        for line in lines.unwrap_or_default().split('\n') {
            assert!(!line.contains('\r'));
            self.lines.push_back(line.to_owned());
        }
    }

    /// A fault is told for the record, and nothing hangs on it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other event is to be seen here")]
    pub(super) fn event(&mut self, event: &ServerEvent) {
        assert!(!self.closed, "an event after the end");
        let event = match event {
            ServerEvent::Request(request) => Event::Request(Asked {
                about: request.reply.id(),
                method: request.method.name().to_owned(),
                params: request.params.as_str().to_owned(),
                era: request.peer.version.era(),
                wants_progress: request.wants_progress,
                log_level: request.log_level,
                input: request.input.is_some(),
            }),
            ServerEvent::Cancelled { about, cause } => {
                Event::Cancelled { about: *about, cause: cause.clone() }
            }
            ServerEvent::Notification { method, params, .. } => Event::Notification {
                method: method.name().to_owned(),
                params: params.as_str().to_owned(),
            },
            ServerEvent::Pong { ping, answered } => {
                Event::Pong { ping: *ping, answered: *answered }
            }
            ServerEvent::InputAnswered { input, answer } => {
                let came = match answer {
                    Ok(_) => Came::Answer,
                    Err(InputFailure::NotAnObject) => Came::NoObject,
                    Err(InputFailure::Refused(_)) => Came::Error,
                    Err(InputFailure::TimedOut) => Came::TimedOut,
                    Err(_) => Came::Closed,
                };
                Event::InputAnswered { input: *input, came }
            }
            ServerEvent::Closed => Event::Closed,
            ServerEvent::PeerFault(_) => return,
            #[expect(clippy::panic, reason = "a kind of event that this file does not know")]
            other => panic!("{other:?}"),
        };
        self.events.push_back(event);
    }

    pub(super) fn close(&mut self) {
        assert!(!self.closed, "closed twice");
        self.closed = true;
    }

    /// The next message, to look at.
    pub(super) fn next(&self) -> Option<Written> {
        self.lines.front().filter(|line| line.starts_with('{')).map(|line| Written::read(line))
    }

    pub(super) fn response(&mut self) -> Written {
        let line = self.lines.pop_front();
        assert!(line.is_some(), "no answer");
        Written::read(&line.unwrap_or_default())
    }
}
