//! Check of the headers that mirror arguments, against the tools that the server has listed.
//!
//! In: results of `tools/list`; calls, with the heads of their requests. Out: the error of a call
//! whose `Mcp-Param-*` headers contradict its arguments. The server itself would refuse such a
//! call, but a server on a byte stream never receives the head.
//!
//! A tool that no client has listed over the same connection is unknown; its headers are not
//! checked.
//!
//! [Specification: Custom Headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters)

use crate::error::ErrorCode;
use crate::frame::http1::Head;
use crate::headers::{ListedTools, MirroredHeaders};
use crate::json::Json;
use crate::message::{ErrorData, Method};

/// The tools whose calls have headers to check.
#[derive(Debug, Default)]
pub(super) struct ParamHeaders(ListedTools);

impl ParamHeaders {
    /// Reads a page of tools. The schemas of all tools together have at most `max_bytes`.
    pub(super) fn read(&mut self, page: &Json, max_bytes: usize) {
        // Hardly any tool mirrors arguments, but a known tool may have changed.
        if self.0.is_empty() && !page.raw().may_contain(&["x-mcp-header"]) {
            return;
        }
        page.raw().members(|key, value| {
            if key.string().as_deref() == Some("tools") {
                // The client that lists the tools rejects invalid ones itself.
                value.elements(|tool| drop(self.0.add(tool, max_bytes)));
            }
        });
    }

    /// The error of a call whose head contradicts its arguments. `None` for other requests, and for
    /// requests without a head.
    pub(super) fn check(
        &self,
        method: &Method,
        params: &Json,
        head: Option<&Head>,
    ) -> Option<ErrorData> {
        let head = head.filter(|_| *method == Method::CallTool)?;
        let (plan, arguments) = self.0.of_call(params)?;
        let mirrored = MirroredHeaders::of_raw(head.raw_fields());
        let error = mirrored.check_params(plan, &arguments).err()?;
        Some(ErrorData::new(ErrorCode::HEADER_MISMATCH, alloc::format!("{error}")))
    }
}
