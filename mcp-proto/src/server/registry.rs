//! Register once, serve both eras.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::declaration::Declaration;
use crate::error::UsageError;
use crate::json::{Json, Raw};
use crate::types::{Implementation, Tool};

/// Names a handler in its [`Registry`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HandlerId(pub(super) usize);

/// What a server offers, each with a handler of the caller's type `H`.
///
/// ```
/// use mcp_proto::server::Registry;
/// use mcp_proto::types::{Implementation, Tool};
/// use mcp_proto::Json;
///
/// let mut registry = Registry::new(Implementation::new("clock", "1.0.0"));
/// let schema = Json::parse(r#"{"type":"object"}"#)?;
/// registry.add_tool(Tool::new("now", schema).description("Tells the time"), "handler")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry<H> {
    pub(super) server_info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Tool>,
    pub(super) page_size: usize,
    names: BTreeSet<String>,
    handlers: Vec<H>,
}

impl<H> Registry<H> {
    /// An empty registry for a server with this name and version.
    pub fn new(server_info: Implementation) -> Self {
        Self {
            server_info,
            instructions: None,
            tools: Vec::new(),
            page_size: 100,
            names: BTreeSet::new(),
            handlers: Vec::new(),
        }
    }

    /// Sets what models are told about using this server.
    pub fn instructions(&mut self, instructions: impl Into<String>) -> &mut Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Sets how many entries a page of a list has; default 100, at least 1.
    pub fn page_size(&mut self, entries: usize) -> &mut Self {
        self.page_size = entries.max(1);
        self
    }

    /// Adds a tool; tools are listed in the order in which they are added.
    ///
    /// Fails, and adds nothing, with [`UsageError::DuplicateTool`], with
    /// [`UsageError::InvalidToolName`] unless the name has 1 to 128 of the characters
    /// `A-Z a-z 0-9 _ - .`, and with [`UsageError::InvalidSchema`] unless the input schema is an
    /// object with `"type": "object"` and the output schema an object.
    pub fn add_tool(&mut self, tool: Tool, handler: H) -> Result<&mut Self, UsageError> {
        if !is_tool_name(&tool.name) {
            return Err(UsageError::InvalidToolName { name: tool.name });
        }
        let output = tool.output_schema.as_ref().is_none_or(|schema| schema.raw().is_object());
        if !has_type_object(&tool.input_schema) || !output {
            return Err(UsageError::InvalidSchema { name: tool.name });
        }
        if !self.names.insert(tool.name.clone()) {
            return Err(UsageError::DuplicateTool { name: tool.name });
        }
        self.tools.push(tool);
        self.handlers.push(handler);
        Ok(self)
    }

    /// The handler that a [`Request`](super::Request) names.
    pub fn handler(&self, id: HandlerId) -> Option<&H> {
        self.handlers.get(id.0)
    }

    /// What the machines need to know: all of it but the handlers, ready to be sent.
    pub fn declaration(&self) -> Arc<Declaration> {
        Arc::new(Declaration::new(self))
    }
}

/// The specification's "only allowed characters", which some clients enforce.
fn is_tool_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    (1..=128).contains(&name.len()) && name.bytes().all(allowed)
}

fn has_type_object(schema: &Json) -> bool {
    let mut found = false;
    schema.raw().members(|key, value: Raw<'_>| {
        if key.0 == b"\"type\"" {
            found = value.0 == b"\"object\"";
        }
    });
    found
}
