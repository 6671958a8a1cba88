//! Extensions of the protocol: MCP Apps, skills.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod apps;
mod skills;
