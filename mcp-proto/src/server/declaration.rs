//! A registry without its handlers: immutable, shared by all machines, serialised beforehand.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::registry::{HandlerId, Registry};
use crate::json::Json;
use crate::json::write::{self, List};
use crate::types::Tool;
use crate::version::{MODERN, ProtocolVersion};

/// What a server declares, as the machines send it.
#[derive(Debug)]
pub struct Declaration {
    server_info: Json,
    capabilities: Json,
    instructions: Option<String>,
    tools: BTreeMap<String, HandlerId>,
    tool_pages: Pages,
    discover: Json,
    /// What a modern result carries: `resultType` and the server's name.
    pub(super) stamp: Bytes,
    /// The same for a result that a client may cache.
    pub(super) cacheable_stamp: Bytes,
}

impl Declaration {
    pub(super) fn new<H>(registry: &Registry<H>) -> Self {
        let server_info = encode(&registry.server_info);
        let mut stamp = b"\"resultType\":\"complete\",\"_meta\":".to_vec();
        let mut meta = List::object(&mut stamp);
        meta.member(SERVER_INFO, server_info.as_bytes());
        meta.end();
        let cacheable = [&stamp[..], b",\"ttlMs\":0,\"cacheScope\":\"private\""].concat();
        let names = registry.tools.iter().enumerate();
        let mut declaration = Self {
            server_info,
            capabilities: capabilities(&registry.tools),
            instructions: registry.instructions.clone(),
            tools: names.map(|(at, tool)| (tool.name.clone(), HandlerId(at))).collect(),
            tool_pages: Pages::new("tools", &registry.tools, registry.page_size),
            discover: Json::EMPTY_OBJECT,
            stamp: stamp.into(),
            cacheable_stamp: cacheable.into(),
        };
        declaration.discover = declaration.write_discover();
        declaration
    }

    /// Whether the `tools` capability is declared.
    pub(super) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// The handler of a tool.
    pub(super) fn tool(&self, name: &str) -> Option<HandlerId> {
        self.tools.get(name).copied()
    }

    /// The page of `tools/list` at this cursor, `None` if no page handed it out.
    pub(super) fn tool_page(&self, cursor: Option<&str>) -> Option<&Json> {
        self.tool_pages.at(cursor)
    }

    /// The server's `Implementation`.
    pub(super) fn server_info(&self) -> &Json {
        &self.server_info
    }

    /// The result of `server/discover`.
    pub(super) fn discover(&self) -> &Json {
        &self.discover
    }

    /// The result of `initialize`.
    pub(super) fn initialize(&self, version: ProtocolVersion) -> Json {
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.text("protocolVersion", version.as_str());
        object.member("capabilities", self.capabilities.as_bytes());
        object.member("serverInfo", self.server_info.as_bytes());
        if let Some(instructions) = &self.instructions {
            object.text("instructions", instructions);
        }
        object.end();
        Json::trusted(out)
    }

    fn write_discover(&self) -> Json {
        let mut versions = Vec::new();
        let mut list = List::array(&mut versions);
        for version in MODERN {
            write::string(list.item(), version);
        }
        list.end();
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.member("supportedVersions", &versions);
        object.member("capabilities", self.capabilities.as_bytes());
        if let Some(instructions) = &self.instructions {
            object.text("instructions", instructions);
        }
        object.end();
        Json::trusted(out)
    }
}

/// The key of `_meta` under which a server names itself.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// A list in pages; a cursor is the decimal number of entries before its page.
#[derive(Debug)]
struct Pages {
    size: usize,
    pages: Vec<Json>,
}

impl Pages {
    fn new(member: &str, entries: &[Tool], size: usize) -> Self {
        let mut chunks: Vec<&[Tool]> = entries.chunks(size).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        let last = chunks.len() - 1;
        let page = |(at, chunk): (usize, &&[Tool])| {
            let mut array = Vec::new();
            let mut elements = List::array(&mut array);
            for entry in *chunk {
                elements.item().extend_from_slice(encode(entry).as_bytes());
            }
            elements.end();
            let mut out = Vec::new();
            let mut object = List::object(&mut out);
            object.member(member, &array);
            if at < last {
                object.text("nextCursor", &alloc::format!("{}", (at + 1) * size));
            }
            object.end();
            Json::trusted(out)
        };
        Self { size, pages: chunks.iter().enumerate().map(page).collect() }
    }

    fn at(&self, cursor: Option<&str>) -> Option<&Json> {
        let before = match cursor {
            None | Some("") => 0,
            Some(digits) => {
                let number: usize = digits.parse().ok()?;
                let canonical = number > 0 && digits == alloc::format!("{number}");
                canonical.then_some(number)?
            }
        };
        (before % self.size == 0).then(|| self.pages.get(before / self.size)).flatten()
    }
}

fn capabilities(tools: &[Tool]) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    if !tools.is_empty() {
        object.member("tools", b"{}");
    }
    object.end();
    Json::trusted(out)
}

/// Plain structs of strings and raw JSON always encode.
fn encode<T: serde::Serialize>(value: &T) -> Json {
    Json::encode(value).unwrap_or(Json::EMPTY_OBJECT)
}
