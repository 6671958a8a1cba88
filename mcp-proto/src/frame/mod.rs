//! Bytes to frames and back. Framers know no MCP and are usable alone.

pub mod http1;
mod line;
pub mod sse;

pub use line::{Line, LineReader, write_line};
