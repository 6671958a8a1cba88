//! Scopes that the tools of a message require.
//!
//! In: a message, or a batch of them. Out: the scopes of all tools that it calls. Over HTTP an
//! exchange asks before it hands a message on.

use alloc::vec::Vec;

use super::Declaration;
use crate::json::Raw;
use crate::limits::Limits;
use crate::message::{self, Incoming, Member, Message, Method};
use crate::scopes::Scopes;

impl Declaration {
    /// The scopes that a message requires; mostly none.
    pub(crate) fn required_scopes(&self, incoming: &Incoming, limits: &Limits) -> Scopes {
        if self.tool_scopes.is_empty() {
            return Scopes::none();
        }
        match incoming {
            Incoming::Message(message) => self.scopes_of(message).cloned().unwrap_or_default(),
            // A batch that is too long is refused later, and nothing of it is executed.
            Incoming::Batch(batch) => {
                let elements = batch.elements(limits.max_in_flight).unwrap_or_default();
                let parsed = elements.iter().map(|element| message::parse(element, limits));
                let parsed: Vec<Incoming> = parsed.filter_map(Result::ok).collect();
                let of_each = parsed.iter().filter_map(|element| match element {
                    Incoming::Message(message) => self.scopes_of(message),
                    Incoming::Batch(_) => None,
                });
                of_each.fold(Scopes::none(), |all, scopes| all.union(scopes))
            }
        }
    }

    fn scopes_of(&self, message: &Message) -> Option<&Scopes> {
        let Message::Request(request) = message else { return None };
        if !matches!(request.method, Method::CallTool) {
            return None;
        }
        let name = request.params.raw(Member::Name).and_then(Raw::string)?;
        self.tool_scopes.get(&*name)
    }
}
