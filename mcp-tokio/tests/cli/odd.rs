//! Odd answers of servers, and odd input.

use super::run::run_in;
use super::server::over_http;

crate::all!(numbers_keep_their_digits);

/// Runs `mcp` with a legacy server that has the tool `t`, and answers this request with this result.
/// The server declares logging, and does not know the method.
fn numbers_keep_their_digits() {
    let words = ["request", &over_http(None), "kitchen/none", "any=12345678901234567890123"];
    let ran = run_in(&[("MCP_WIRE", "1")], &words);
    assert_eq!(ran.exit, 5, "{ran:?}");
    assert!(ran.err.contains(r#""any":12345678901234567890123"#), "{ran:?}");
}
