//! Resources: text, bytes, one that changes, and a family of them.

use mcp_proto::UsageError;
use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, Resource, ResourceContents, ResourceTemplate,
};
use mcp_service::{Context, Handler, Registry};
use serde::Deserialize;

use super::PIXEL;

/// The resource that `test_trigger_resource_update` updates.
pub(super) const WATCHED: &str = "test://watched-resource";

const TEMPLATE: &str = "test://template/{id}/data";

#[derive(Deserialize)]
struct Data {
    id: String,
}

pub(super) fn register(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    let resource = |uri: &str, name: &str, description: &str, mime_type: &str| {
        Resource::new(uri, name).description(description).mime_type(mime_type)
    };
    registry
        .resource(
            resource("test://static-text", "static-text", "Text", "text/plain"),
            |uri: String, _| async {
                let text = "This is the content of the static text resource.";
                ResourceContents::text(uri, text).mime_type("text/plain")
            },
        )?
        .resource(
            resource("test://static-binary", "static-binary", "An image", "image/png"),
            |uri: String, _| async { ResourceContents::blob(uri, PIXEL).mime_type("image/png") },
        )?
        .resource(
            resource(WATCHED, "watched-resource", "Can be subscribed to", "text/plain"),
            |uri: String, _| async {
                ResourceContents::text(uri, "Watched resource content").mime_type("text/plain")
            },
        )?
        .resource_template(
            ResourceTemplate::new(TEMPLATE, "template")
                .description("Data by id")
                .mime_type("application/json"),
            |uri: String, data: Data, _| async move {
                let Data { id } = data;
                let text = serde_json::json!({
                    "id": id, "templateTest": true, "data": format!("Data for ID: {id}"),
                });
                ResourceContents::text(uri, text.to_string()).mime_type("application/json")
            },
        )?
        .completion(CompletionReference::resource(TEMPLATE), complete)?;
    Ok(())
}

async fn complete(asked: CompleteRequestParams, _: Context) -> Vec<String> {
    beginning(&asked, &["123", "124", "999"])
}

/// Those of the values that begin as the argument does.
pub(super) fn beginning(asked: &CompleteRequestParams, values: &[&str]) -> Vec<String> {
    let values = values.iter().filter(|value| value.starts_with(&asked.argument.value));
    values.map(|value| (*value).to_owned()).collect()
}
