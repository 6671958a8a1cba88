//! HTTP/1.1: bytes to requests and responses, and back. Independent of MCP.
//!
//! # Servers
//!
//! In: chunks of bytes, split anywhere, and their end. Out: [`Incoming`], polled from a
//! [`RequestReader`] one by one, and the bytes of a [`ResponseHead`] and of the body in its
//! [`Framing`]. The caller has the socket and the clock, and sets deadlines according to
//! [`is_idle`](RequestReader::is_idle), [`is_in_head`](RequestReader::is_in_head) and
//! [`is_in_body`](RequestReader::is_in_body).
//!
//! | state | bytes | the end of input |
//! |---|---|---|
//! | before a request | one empty line is ignored; others begin a head | `Closed` |
//! | in a head | complete: `Head`, then in its body; else `Refused` | `Truncated` |
//! | in a body | `Body` as it arrives; complete: `End`, then before a request or after the last | `Truncated` |
//! | after the last request (`keep_alive` false) | dropped | `Closed` |
//! | after `Refused`, `Truncated`, `Closed` | dropped | nothing |
//!
//! The readers refuse all ambiguous messages, because request smuggling past a proxy exploits
//! ambiguity. Examples are both framings at once, lengths that are not plain numbers, bare line
//! feeds, and folded fields. [`Refusal`] lists all reasons. The split into chunks affects neither
//! what is accepted nor what is refused.
//!
//! ```
//! use mcp_proto::frame::http1::{Incoming, RequestKind, RequestReader, ResponseHead};
//! use mcp_proto::{Bytes, Limits};
//!
//! let mut reader = RequestReader::new(&Limits::default());
//! reader.push(Bytes::from("POST /greet HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"));
//! let Some(Incoming::Head { head, keep_alive, .. }) = reader.poll() else { panic!() };
//! assert_eq!((head.method(), head.path(), head.field("host")), ("POST", "/greet", Some(&b"a"[..])));
//! assert_eq!(reader.poll(), Some(Incoming::Body(Bytes::from("hello"))));
//! assert_eq!(reader.poll(), Some(Incoming::End));
//!
//! let mut out = Vec::new();
//! let mut response = ResponseHead::new(200);
//! response.length = Some(2);
//! let mut framing = response.encode(RequestKind::new(&head, keep_alive), &mut out);
//! framing.data(b"hi", &mut out);
//! framing.end(&mut out);
//! assert_eq!(out, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
//! ```
//!
//! # Clients
//!
//! In: a [`RequestHead`], which refuses ambiguous parts; then the bytes of the responses. Call
//! [`expect`](ResponseReader::expect) before a request is sent. Out: the bytes of the request, and
//! [`IncomingResponse`], polled from a [`ResponseReader`].
//!
//! | state | bytes | the end of input |
//! |---|---|---|
//! | idle | `Refused` | `Closed` |
//! | expecting a response | interim ones are skipped; others begin a head | `Closed`, after an interim one `Truncated` |
//! | in a head | complete: `Head`, then in its body; else `Refused` | `Truncated` |
//! | in a body | `Body` as it arrives; complete: `End`, then idle or after the last | `Truncated`; if the connection ends the body: `End`, then after the last |
//! | after the last response (`keep_alive` false) | dropped | `Closed` |
//! | after `Refused`, `Truncated`, `Closed` | dropped | nothing |
//!
//! Responses to HEAD, and those with 204 or 304, have no body, whatever their fields are.
//!
//! ```
//! use mcp_proto::frame::http1::{IncomingResponse, RequestHead, ResponseReader};
//! use mcp_proto::{Bytes, Limits};
//!
//! let mut out = Vec::new();
//! let mut request = RequestHead::new("POST", "/greet", "localhost:8080")?;
//! request.push("Content-Type", b"text/plain")?;
//! request.encode(Some(5), &mut out);
//! out.extend_from_slice(b"hello");
//! assert_eq!(String::from_utf8_lossy(&out), concat!(
//!     "POST /greet HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: text/plain\r\n",
//!     "Content-Length: 5\r\n\r\nhello",
//! ));
//!
//! let mut reader = ResponseReader::new(&Limits::default());
//! reader.expect("POST")?;
//! reader.push(Bytes::from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
//! let Some(IncomingResponse::Head { head, keep_alive: true, .. }) = reader.poll() else { panic!() };
//! assert_eq!((head.status(), head.field("content-length")), (200, Some(&b"2"[..])));
//! assert_eq!(reader.poll(), Some(IncomingResponse::Body(Bytes::from("hi"))));
//! assert_eq!(reader.poll(), Some(IncomingResponse::End));
//! assert!(reader.is_idle());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Specification: [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110),
//! [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)

mod body;
mod bounds;
mod buffer;
mod fault;
mod fields;
mod framing_headers;
mod head;
mod head_source;
mod head_syntax;
mod incoming;
mod last_head;
mod last_request;
mod parse;
mod reader;
mod refusal;
mod request;
mod response;
mod response_reader;
mod scan;
mod status;
mod syntax;

pub use body::BodyKind;
pub(crate) use fields::is_secret;
pub use head::{Head, HttpVersion};
pub use head_source::{HeadMatch, HeadParts, HeadSource};
pub use incoming::Incoming;
pub(crate) use last_head::HeadRepetition;
#[doc(hidden)]
pub use last_request::LastRequest;
pub use reader::RequestReader;
pub use refusal::Refusal;
pub use request::RequestHead;
pub(crate) use response::json_head;
pub use response::{CONTINUE, Framing, RequestKind, ResponseHead};
pub use response_reader::{IncomingResponse, NotIdle, ResponseReader};
pub use status::StatusHead;
pub(crate) use syntax::is_named;
