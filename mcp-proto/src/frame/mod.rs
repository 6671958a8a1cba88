//! Bytes to frames and back. Framers know no MCP and are usable alone.

mod line;
pub mod sse;

pub use line::{Line, LineReader, write_line};
