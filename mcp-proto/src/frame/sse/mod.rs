//! Server-sent events.
//!
//! To write, call functions that append an event to a buffer.
//!
//! ```
//! use mcp_proto::frame::sse;
//!
//! let mut out = Vec::new();
//! sse::priming("s1-0", &mut out);
//! sse::message(Some("s1-1"), br#"{"jsonrpc":"2.0","id":1,"result":{}}"#, &mut out);
//! sse::message(None, b"{\n}", &mut out);
//! sse::retry(500, &mut out);
//! sse::comment(&mut out);
//! assert_eq!(String::from_utf8_lossy(&out), concat!(
//!     "id: s1-0\n",
//!     "data: \n",
//!     "\n",
//!     "event: message\n",
//!     "id: s1-1\n",
//!     "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
//!     "\n",
//!     "event: message\n",
//!     "data: { }\n",
//!     "\n",
//!     "retry: 500\n",
//!     "\n",
//!     ":\n",
//!     "\n",
//! ));
//! ```
//!
//! To read, push chunks of bytes, split anywhere, into an [`EventReader`], and poll it for
//! [`Incoming`]. An event with empty data is not a message, but it may have an id to resume from.
//!
//! ```
//! use mcp_proto::Bytes;
//! use mcp_proto::frame::sse::{EventReader, Incoming};
//!
//! let mut reader = EventReader::new(1024);
//! reader.push(Bytes::from("id: 7\r\ndata:\r\n\r\n: alive\r\n\r\ndata: {\"a\":\r\ndata: 1}\r\n\r"));
//! let Some(Incoming::Event(event)) = reader.poll() else { panic!() };
//! assert!(event.data.is_empty());
//! let Some(Incoming::Event(event)) = reader.poll() else { panic!() };
//! assert_eq!((&event.name[..], &event.data[..]), (&b"message"[..], &b"{\"a\":\n1}"[..]));
//! assert_eq!(event.id.as_deref(), Some(&b"7"[..]));
//!
//! reader.push(Bytes::from("\nretry: 500\nid: 8\ndata: cut o"));
//! assert_eq!(reader.poll(), Some(Incoming::Retry(500)));
//! assert_eq!(reader.poll(), None);
//! assert_eq!(reader.last_event_id().map(|id| &id[..]), Some(&b"7"[..]));
//! ```
//!
//! [WHATWG: Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream)

mod decode;
mod encode;
mod lines;

pub use decode::{Event, EventReader, Incoming};
pub use encode::{comment, message, priming, retry};
