//! `testing::Pair`, where the fuzz target of the same name does not look.

use mcp_proto::client::Negotiation;
use mcp_proto::server::Registry;
use mcp_proto::service::Handler;
use mcp_proto::testing::{Network, Pair};
use mcp_proto::types::Implementation;

#[test]
fn a_client_that_is_closed_has_ended_once_both_sides_have() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let registry = Registry::<Handler>::new(Implementation::new("s", "1"));
        let mut pair = Pair::new(registry).negotiation(negotiation).network(Network::rough());
        let client = pair.client();
        assert_eq!(pair.run(client.ping()), Ok(()));
        pair.run(client.close());
        pair.run(client.close());
        assert!(pair.run(client.ping()).is_err());
        assert_eq!(pair.starts(), 1);
    }
}
