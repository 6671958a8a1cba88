//! The binding to a byte stream of newline-delimited JSON: a pipe to a child process, a socket.
//!
//! In: bytes, split anywhere. Out: bytes to write, and events for the application. A message is a
//! line of at most `Limits::max_line_bytes`; the module [`stream`] has the rest.
//!
//! The loop of a driver:
//!
//! ```
//! # use mcp_proto::{Action, Binding, Machine, server::{Outcome, Registry, ServerEvent}, stdio::Connection};
//! # use mcp_proto::{Bytes, Instant, Json, types::Implementation};
//! # let registry: Registry<fn(&Json) -> Outcome> = Registry::new(Implementation::new("x", "1"));
//! # let mut input = [&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..]].into_iter();
//! # let mut output = Vec::new();
//! # let now = || Instant::ZERO;
//! let mut connection = Connection::server(registry.declaration(), Default::default());
//! 'conversation: loop {
//!     while let Some(action) = connection.poll_action() {
//!         match action {
//!             Action::Transmit(bytes) => output.extend_from_slice(&bytes),
//!             Action::Event(ServerEvent::Request(request)) => {
//!                 let handler = registry.handler(request.handler).expect("it is registered");
//!                 let outcome = handler(&request.arguments);
//!                 connection.with(now(), |server| server.respond(now(), request.reply, outcome));
//!             }
//!             Action::Event(_) => {}
//!             Action::Close => break 'conversation,
//!         }
//!     }
//!     match input.next() {
//!         Some(chunk) => connection.handle_bytes(now(), Bytes::copy_from_slice(chunk)),
//!         None => connection.handle_eof(now()),
//!     }
//! }
//! # assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
//! ```
//!
//! [Specification: stdio](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio)

use bytes::{Bytes, BytesMut};

use crate::error::ProtocolError;
use crate::frame::{Line, LineReader, write_line};
use crate::limits::Limits;
use crate::stream::{self, Framing, FramingError};

pub use crate::stream::Side;

/// One side of a conversation on a byte stream of lines.
pub type Connection<S> = stream::Connection<S, Lines>;

/// The framing of stdio: a message is a line.
#[derive(Debug)]
pub struct Lines {
    reader: LineReader,
    max_line_bytes: usize,
}

impl Framing for Lines {
    fn new(limits: &Limits) -> Self {
        let Limits { max_line_bytes, .. } = *limits;
        Self { reader: LineReader::new(max_line_bytes), max_line_bytes }
    }

    fn push(&mut self, data: Bytes) {
        self.reader.push(data);
    }

    fn next_message(&mut self) -> Option<Result<Bytes, FramingError>> {
        self.reader.next_line().map(|line| self.message(line))
    }

    fn keeps_memory(&self) -> bool {
        self.reader.keeps_memory()
    }

    fn release_memory(&mut self) {
        self.reader.release_memory();
    }

    fn finish(&mut self) -> Option<Result<Bytes, FramingError>> {
        self.reader.finish().map(|line| self.message(line))
    }

    fn write(out: &mut BytesMut, text: impl FnOnce(&mut BytesMut)) {
        let start = out.len();
        text(out);
        write_line(out, start);
    }

    fn leaves_unchanged(part: &[u8]) -> bool {
        memchr::memchr2(b'\n', b'\r', part).is_none()
    }
}

impl Lines {
    fn message(&self, line: Line) -> Result<Bytes, FramingError> {
        match line {
            Line::Complete(text) => Ok(text),
            Line::TooLong(beginning) => {
                let error = ProtocolError::LineTooLong { max_line_bytes: self.max_line_bytes };
                Err(FramingError { beginning, error })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::machine::Machine;
    use crate::server::{Config, Registry, Server};
    use crate::time::{Duration, Instant};
    use crate::types::Implementation;

    #[test]
    fn memory_of_a_long_message_is_released_once_nothing_follows() {
        let registry: Registry<()> = Registry::new(Implementation::new("x", "1"));
        let mut connection: Connection<Server> =
            Connection::server(registry.declaration(), Config::default());
        let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
        let long = [b"{\"p\":\"", &*vec![b'x'; 3 * 1024 * 1024]].concat();
        let receive = |connection: &mut Connection<Server>, at| {
            connection.handle_bytes(ms(at), Bytes::copy_from_slice(&long));
            connection.handle_bytes(ms(at), Bytes::from_static(b"\"}\n"));
        };
        let before = connection.poll_timeout();
        connection.handle_writing(ms(1), true);
        assert_eq!(connection.poll_timeout(), before, "nothing is kept");

        receive(&mut connection, 2);
        assert_eq!(connection.poll_timeout(), Some(ms(22)));
        connection.handle_bytes(ms(3), Bytes::from_static(b"{}\n"));
        assert_eq!(connection.poll_timeout(), Some(ms(22)), "a short message changes nothing");
        connection.handle_writing(ms(9), false);
        assert_eq!(connection.poll_timeout(), Some(ms(22)), "nothing was written");
        connection.handle_writing(ms(9), true);
        connection.handle_timeout(ms(50));
        assert_eq!(connection.poll_timeout(), before, "as long as output waits");
        connection.handle_writing(ms(51), false);
        assert_eq!(connection.poll_timeout(), Some(ms(71)));
        connection.handle_timeout(ms(70));
        assert_eq!(connection.poll_timeout(), Some(ms(71)));
        connection.handle_timeout(ms(71));
        assert_eq!(connection.poll_timeout(), before);

        receive(&mut connection, 80);
        assert_eq!(connection.poll_timeout(), Some(ms(100)), "the next one is kept too");
    }
}
