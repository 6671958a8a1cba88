//! HTTP/1.1 for servers: bytes to requests, responses to bytes. It knows no MCP.
//!
//! In: chunks of bytes, split anywhere, and their end. Out: [`Incoming`], pulled out of a
//! [`RequestReader`] one by one, and the bytes of a [`ResponseHead`] and of the body that its
//! [`Framing`] frames. Whoever calls has the socket and the clock: deadlines are its own, and
//! [`is_idle`](RequestReader::is_idle), [`is_in_head`](RequestReader::is_in_head) and
//! [`is_in_body`](RequestReader::is_in_body) say which of them runs.
//!
//! | state | bytes | the end of input |
//! |---|---|---|
//! | before a request | one empty line is ignored; others begin a head | `Closed` |
//! | in a head | complete: `Head`, then in its body; else `Refused` | `Truncated` |
//! | in a body | `Body` as it comes; complete: `End`, then before a request or behind the last | `Truncated` |
//! | behind the last request (`keep_alive` false) | dropped | `Closed` |
//! | behind `Refused`, `Truncated`, `Closed` | dropped | nothing |
//!
//! It takes nothing that could be read in two ways, as that is how one request is smuggled inside
//! of another past a proxy: both framings at once, lengths that are no plain number, bare line
//! feeds, folded fields. [`Refusal`] is the list. How bytes are split does not matter, neither for
//! what is accepted nor for what is refused.
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
//! let response = ResponseHead { length: Some(2), ..ResponseHead::new(200) };
//! let mut framing = response.encode(RequestKind::new(&head, keep_alive), &mut out);
//! framing.data(b"hi", &mut out);
//! framing.end(&mut out);
//! assert_eq!(out, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
//! ```
//!
//! Specification: [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110),
//! [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)

mod body;
mod buffer;
mod fault;
mod head;
mod parse;
mod reader;
mod refusal;
mod response;
mod syntax;

pub use body::BodyKind;
pub use head::{Head, HttpVersion};
pub use reader::{Incoming, RequestReader};
pub use refusal::Refusal;
pub use response::{CONTINUE, Framing, RequestKind, ResponseHead};
pub(crate) use syntax::is_named;
