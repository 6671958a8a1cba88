//! `ARCHITECTURE.md` is equal to the code.

use mcp_proto::negotiate;

#[test]
fn shows_the_negotiation_table() {
    let text = include_str!("../../ARCHITECTURE.md");
    let (_, rest) = text.split_once("<!-- negotiation table: negotiate::draw() -->\n").unwrap();
    let (shown, _) = rest.split_once("<!-- end -->").unwrap();
    assert_eq!(shown, negotiate::draw());
}
