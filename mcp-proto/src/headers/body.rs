//! Check of a whole body against its head, for gateways.
//!
//! In: a head and a body, and a lookup for the plan of a tool. Out: success, or the contradiction.
//! A server does not need this, because it checks the headers in its own steps.

use alloc::borrow::Cow;
use core::fmt;

use bytes::Bytes;

use super::check::MirroredHeaders;
use super::name::name_member;
use super::plan::HeaderPlan;
use crate::error::{ErrorCode, HeaderError, ProtocolError};
use crate::json::Json;
use crate::limits::Limits;
use crate::message::{self, Incoming, Member, Message, Method, Request};

/// Reason why a gateway should not forward a message; the peer is at fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BodyError {
    /// The body is not a message that a modern client may send.
    Message(ProtocolError),
    /// The headers contradict the body.
    Header(HeaderError),
}

impl MirroredHeaders<'_> {
    /// Checks the headers against a whole body: version, method, name, and the arguments of a tool
    /// by the plan from `plan_of`. (Only the server checks unknown tools and unsupported versions.)
    ///
    /// Notifications pass: this revision requires no headers for notifications, and defines no
    /// meaning for such headers.
    ///
    /// ```
    /// use mcp_proto::headers::{MirroredHeaders, HeaderPlan};
    /// use mcp_proto::{Bytes, Json, Limits};
    ///
    /// let schema = Json::parse(
    ///     r#"{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}"#,
    /// )?;
    /// let plan = HeaderPlan::compile(&schema)?;
    /// let body = Bytes::from(concat!(
    ///     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","#,
    ///     r#""arguments":{"n":42.0},"_meta":{"#,
    ///     r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    ///     r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    /// ));
    /// let head = |n: &'static [u8]| MirroredHeaders::of([
    ///     ("MCP-Protocol-Version", &b"2026-07-28"[..]),
    ///     ("Mcp-Method", b"tools/call"),
    ///     ("Mcp-Name", b"add"),
    ///     ("Mcp-Param-N", n),
    /// ]);
    /// let plan_of = |tool: &str| (tool == "add").then_some(&plan);
    /// assert!(head(b"42").check_body(&body, &Limits::default(), plan_of).is_ok());
    /// assert!(head(b"43").check_body(&body, &Limits::default(), plan_of).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_body<'p>(
        &self,
        body: &Bytes,
        limits: &Limits,
        plan_of: impl FnOnce(&str) -> Option<&'p HeaderPlan>,
    ) -> Result<(), BodyError> {
        let incoming = message::parse(body, limits).map_err(|malformed| malformed.error)?;
        match incoming {
            Incoming::Message(Message::Request(request)) => self.check_request(&request, plan_of),
            Incoming::Message(Message::Notification(_)) => Ok(()),
            Incoming::Message(Message::Response(_)) => {
                Err(ProtocolError::UnexpectedResponse.into())
            }
            Incoming::Batch(_) => Err(ProtocolError::UnexpectedBatch.into()),
        }
    }

    fn check_request<'p>(
        &self,
        request: &Request,
        plan_of: impl FnOnce(&str) -> Option<&'p HeaderPlan>,
    ) -> Result<(), BodyError> {
        let Request { method, params, .. } = request;
        let Some(claim) = params.raw(Member::MetaProtocolVersion) else {
            let client_capabilities = params.raw(Member::MetaClientCapabilities).is_none();
            return Err(
                ProtocolError::MissingMeta { protocol_version: true, client_capabilities }.into()
            );
        };
        let Some(claim) = claim.string() else {
            let key = Member::MetaProtocolVersion.name();
            return Err(ProtocolError::InvalidMeta { key, expected: "a string" }.into());
        };
        self.check_version(&claim)?;
        self.check_method(method.name())?;
        let name = name_in(method.name(), params.json());
        self.check_name(method.name(), name.as_deref())?;
        if *method == Method::CallTool
            && let Some(plan) = name.as_deref().and_then(plan_of)
        {
            let arguments = params.get(Member::Arguments).unwrap_or(Json::EMPTY_OBJECT);
            self.check_params(plan, &arguments)?;
        }
        Ok(())
    }
}

/// The name of the tool, prompt or resource of a request with these `params`, by [`name_member`].
/// `None` if the method needs no name, or if there is no such string. The last of duplicate keys
/// counts.
pub fn name_in<'a>(method: &str, params: &'a Json) -> Option<Cow<'a, str>> {
    params.raw().member(name_member(method)?)?.string()
}

impl BodyError {
    /// The code of the JSON-RPC error for the answer to the peer.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Message(error) => error.code(),
            Self::Header(error) => error.code(),
        }
    }
}

impl From<ProtocolError> for BodyError {
    fn from(error: ProtocolError) -> Self {
        Self::Message(error)
    }
}

impl From<HeaderError> for BodyError {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::Header(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BodyError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Message(error) => Some(error),
            Self::Header(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::error::Error;

    use super::*;

    #[test]
    fn contained_error_is_the_source() {
        let error = BodyError::from(ProtocolError::UnexpectedBatch);
        assert!(error.source().is_some_and(<dyn Error>::is::<ProtocolError>));
        let error = BodyError::from(HeaderError::Repeated { header: "Mcp-Name".into() });
        assert!(error.source().is_some_and(<dyn Error>::is::<HeaderError>));
    }
}
