//! Media types that resources declare, in what is read.

use mcp_proto::client::Negotiation;
use mcp_proto::server::{Change, List};
use mcp_proto::types::{
    Implementation, Resource, ResourceContents, ResourceTemplate, SubscriptionFilter,
};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Handler, Registry};
use serde_json::Value;

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("maps", "1"));
    registry.list_changed(List::Resources);
    let parts = |uri: String, _| async move {
        vec![
            ResourceContents::text(&*uri, "a"),
            ResourceContents::blob_from_bytes(&*uri, b"b"),
            ResourceContents::text(&*uri, "c").mime_type("text/html"),
            ResourceContents::text("map:other", "d"),
        ]
    };
    let declared = Resource::new("map:parts", "parts").mime_type("text/plain");
    registry.resource(declared, parts).unwrap();
    registry.resource(Resource::new("map:plain", "plain"), parts).unwrap();
    let family = ResourceTemplate::new("place:{name}", "places").mime_type("text/csv");
    let read = |uri: String, _: Value, _| async move { ResourceContents::text(uri, "a;b") };
    registry.resource_template(family, read).unwrap();
    registry
}

#[test]
fn declared_media_type_is_that_of_contents_without_one() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut pair = Pair::new(registry()).negotiation(negotiation);
        let mut types = |uri: &str| {
            let client = pair.client();
            let read = pair.run(client.read_resource(uri)).unwrap();
            let mime_type = |contents| match contents {
                ResourceContents::Text(text) => text.mime_type,
                ResourceContents::Blob(blob) => blob.mime_type,
            };
            let types = read.contents.into_iter().map(mime_type);
            types.map(Option::unwrap_or_default).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(types("map:parts"), "text/plain text/plain text/html ");
        assert_eq!(types("map:plain"), "  text/html ");
        assert_eq!(types("place:oslo"), "text/csv");
    }
}

#[test]
fn edit_ends_in_a_verb_of_the_registry_and_is_told() {
    let catalog = Catalog::from(registry());
    let mut pair = Pair::new(catalog.clone());
    let client = pair.client();
    let filter = SubscriptionFilter::new().resources_list_changed();
    let mut changes = pair.run(client.subscribe(filter)).unwrap();
    let read = |uri: String, _| async { ResourceContents::text(uri, "ships") };
    let harbour = || Resource::new("map:harbour", "harbour");
    catalog.edit(|registry| registry.resource(harbour(), read)).unwrap();
    assert_eq!(pair.run(changes.changed()), Some(Change::ListChanged(List::Resources)));
    catalog.edit(|registry| registry.resource(harbour(), read)).unwrap_err();
    assert_eq!(pair.run(client.list_resources()).unwrap().resources.len(), 3);
}
