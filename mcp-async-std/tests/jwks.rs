//! The keys of an issuer, fetched from a URL.

use mcp_async_std::{KeySource, jwks};
use mcp_tests::key_source;

#[test]
fn keys_are_fetched_from_a_url() {
    smol::block_on(key_source::keys_are_fetched_from_a_url(|url| jwks(url).fetch()));
}
