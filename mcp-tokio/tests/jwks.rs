//! The keys of an issuer, fetched from a URL.

use mcp_tests::key_source;
use mcp_tokio::{KeySource, jwks};

#[tokio::test]
async fn keys_are_fetched_from_a_url() {
    key_source::keys_are_fetched_from_a_url(|url| jwks(url).fetch()).await;
}
