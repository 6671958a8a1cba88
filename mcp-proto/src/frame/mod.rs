//! Encoding and decoding of frames, usable without the rest of MCP.

pub mod http1;
mod line;
pub mod sse;

pub use line::{Line, LineReader, write_line};
