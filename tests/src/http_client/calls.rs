//! Checks of calls, their answers, and notifications.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use mcp_proto::client::{CallError, Change, List};
use mcp_proto::types::{
    CallToolResult, CompleteRequestParams, CompletionReference, CreateMessageResult, ElicitResult,
    LoggingLevel, Root, SamplingMessageContentBlock, SubscriptionFilter,
};
use mcp_proto::{ErrorCode, Json};
use mcp_service::Client;
use serde_json::json;

use super::{ALL, ASKING, ERAS, LEGACY, Named, Site};
use crate::http::{Check, Server};
use crate::outside::Outside;

pub(super) const CHECKS: &[Named] = &[
    ("every_kind_of_call", ALL, every_kind_of_call),
    ("errors_keep_their_codes", ALL, errors_keep_their_codes),
    ("progress_comes_before_the_answer", ALL, progress_comes_before_the_answer),
    ("logs_are_heard", ASKING, logs_are_heard),
    ("a_server_is_given_what_it_needs", ASKING, a_server_is_given_what_it_needs),
    ("changes_are_heard", ASKING, changes_are_heard),
    (
        "second_hour_16_a_server_asks_outside_of_requests",
        LEGACY,
        second_hour_16_a_server_asks_outside_of_requests,
    ),
    ("many_calls_at_a_time", ALL, many_calls_at_a_time),
    ("a_long_message_there_and_back", ALL, a_long_message_there_and_back),
    ("arguments_stand_in_headers", ALL, arguments_stand_in_headers),
    (
        "a_stream_that_its_server_closes_is_resumed",
        ERAS,
        a_stream_that_its_server_closes_is_resumed,
    ),
];

fn every_kind_of_call(site: Site) -> Check {
    let server = site.everything()?;
    site.meet(&site.client(), server.address, |client| async move {
        let tools = client.list_tools().await?.tools;
        assert!(tools.iter().any(|tool| tool.name == "echo"), "{tools:?}");
        assert!(!client.list_prompts().await?.prompts.is_empty());
        assert!(!client.list_resources().await?.resources.is_empty());
        assert!(!client.list_resource_templates().await?.resource_templates.is_empty());
        let echoed = client.call_tool("echo", &json!({ "message": "ä\n" })).await?;
        assert_eq!(text(&echoed), "ä\n");
        let read = client.read_resource("test://static-text").await?;
        assert_eq!(read.contents.len(), 1);
        let prompt = client.get_prompt("test_simple_prompt", &()).await?;
        assert!(!prompt.messages.is_empty());
        let reference = CompletionReference::resource("test://template/{id}/data");
        let asked = CompleteRequestParams::new(reference, "id", "12");
        assert_eq!(client.complete(&asked).await?.completion.values, ["123", "124"]);
        client.ping().await?;
        Ok(())
    })?;
    server.end()
}

fn errors_keep_their_codes(site: Site) -> Check {
    let server = site.everything()?;
    site.meet(&site.client(), server.address, |client| async move {
        for (method, expected) in [
            ("vendor/unknown", ErrorCode::METHOD_NOT_FOUND),
            ("tools/call", ErrorCode::INVALID_PARAMS),
        ] {
            let result = client.call::<Json>(method, &json!({ "name": "unknown" })).await;
            let Err(CallError::Error { error, .. }) = result else {
                return Err(format!("{result:?}").into());
            };
            assert_eq!(error.code, expected);
        }
        Ok(())
    })?;
    server.end()
}

fn progress_comes_before_the_answer(site: Site) -> Check {
    let server = site.everything()?;
    site.meet(&site.client(), server.address, |client| async move {
        let heard = Heard::default();
        let listener = heard.clone();
        let call = client.call_tool("test_tool_with_progress", &());
        let done = call.on_progress(move |at| listener.push(at.progress.to_string())).await?;
        assert_eq!(text(&done), "done");
        assert_eq!(heard.take(), ["0", "50", "100"]);
        Ok(())
    })?;
    server.end()
}

fn logs_are_heard(site: Site) -> Check {
    let server = site.everything()?;
    let (client, heard) = (site.client(), Heard::default());
    let listener = heard.clone();
    client.on_log(move |message| listener.push(format!("{:?}", message.level)));
    site.meet(&client, server.address, |client| async move {
        client.set_log_level(LoggingLevel::Warning).await?;
        client.call_tool("test_logging_tool", &()).await?;
        assert_eq!(heard.take(), ["Warning", "Error"]);
        Ok(())
    })?;
    server.end()
}

fn a_server_is_given_what_it_needs(site: Site) -> Check {
    let (server, client) = (site.everything()?, site.client());
    client.on_form(|_| async {
        let content = Json::encode(&json!({ "name": "Ada" })).unwrap_or(Json::EMPTY_OBJECT);
        ElicitResult::accept(content)
    });
    client.on_create_message(|_| async {
        CreateMessageResult::new("model", SamplingMessageContentBlock::text("Hello"))
    });
    client.set_roots(vec![Root::new("file:///home")])?;
    site.meet(&client, server.address, |client| async move {
        let said = async |tool: &str| {
            let result = client.call_tool(tool, &()).await?;
            Ok::<_, CallError>(text(&result))
        };
        let all = said("test_input_required_result_capabilities").await?;
        let all: BTreeSet<&str> = all.trim_start_matches("Answered: ").split(", ").collect();
        assert_eq!(all, BTreeSet::from(["client_roots", "greeting", "user_name"]));
        assert_eq!(said("test_input_required_result_list_roots").await?, "Roots: file:///home");
        assert_eq!(said("test_input_required_result_sampling").await?, "Hello");
        let name = said("test_input_required_result_elicitation").await?;
        assert!(name.contains("Ada"), "{name}");
        Ok(())
    })?;
    server.end()
}

fn second_hour_16_a_server_asks_outside_of_requests(site: Site) -> Check {
    let (outside, client) = (Outside::default(), site.client());
    let server = Server::of(outside.registry()?, site.serve, site.config())?;
    let heard = Outside::prepare(&client)?;
    site.meet(&client, server.address, |_| heard.all())?;
    outside.ended()?;
    server.end()
}

fn changes_are_heard(site: Site) -> Check {
    let server = site.everything()?;
    site.meet(&site.client(), server.address, |client| async move {
        let filter = SubscriptionFilter::new().tools_list_changed();
        let filter = filter.resource("test://watched-resource");
        let mut changes = client.subscribe(filter).await?;
        let honoured = changes.honoured();
        assert!(honoured.tools_list_changed && !honoured.resource_subscriptions.is_empty());
        client.call_tool("test_trigger_tool_change", &()).await?;
        assert_eq!(changes.changed().await, Some(Change::ListChanged(List::Tools)));
        client.call_tool("test_trigger_resource_update", &()).await?;
        let updated = Change::ResourceUpdated("test://watched-resource".into());
        assert_eq!(changes.changed().await, Some(updated));
        drop(changes);
        client.ping().await?;
        Ok(())
    })?;
    server.end()
}

fn many_calls_at_a_time(site: Site) -> Check {
    let server = site.server()?;
    site.meet(&site.client(), server.address, |client| async move {
        let mut calls: Vec<_> = (0..100).map(|n| (n, Some(Box::pin(echo(&client, n))))).collect();
        poll_fn(|context| {
            let mut all = Poll::Ready(());
            for (n, slot) in &mut calls {
                let Some(call) = slot else { continue };
                match Pin::new(call).poll(context) {
                    Poll::Ready(answer) => {
                        assert_eq!(answer, Ok(n.to_string()));
                        *slot = None;
                    }
                    Poll::Pending => all = Poll::Pending,
                }
            }
            all
        })
        .await;
        Ok(())
    })?;
    server.end()
}

async fn echo(client: &Client, n: u32) -> Result<String, CallError> {
    let echoed = client.call_tool("echo", &json!({ "message": n.to_string() })).await?;
    Ok(text(&echoed))
}

fn a_long_message_there_and_back(site: Site) -> Check {
    let server = site.server()?;
    site.meet(&site.client(), server.address, |client| async move {
        let message = "ä".repeat(1_500_000);
        let echoed = client.call_tool("echo", &json!({ "message": message })).await?;
        assert!(text(&echoed) == message, "it is another one");
        Ok(())
    })?;
    server.end()
}

/// Mirrors arguments in headers, whether or not the tools were listed before.
fn arguments_stand_in_headers(site: Site) -> Check {
    let server = site.everything()?;
    site.meet(&site.client(), server.address, |client| async move {
        let arguments = json!({ "text": "ä b", "count": -7, "flag": true });
        let refreshed = client.call_tool("test_header_types", &arguments).await?;
        client.list_tools().await?;
        let listed = client.call_tool("test_header_types", &arguments).await?;
        for result in [refreshed, listed] {
            let returned: serde_json::Value = serde_json::from_str(&text(&result))?;
            assert_eq!(returned, arguments);
        }
        Ok(())
    })?;
    server.end()
}

fn a_stream_that_its_server_closes_is_resumed(site: Site) -> Check {
    let server = site.everything()?;
    site.meet(&site.client(), server.address, |client| async move {
        let done = client.call_tool("test_reconnection", &()).await?;
        assert_eq!(text(&done), "Reconnection test completed");
        Ok(())
    })?;
    server.end()
}

pub(super) fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).collect()
}

/// Notifications, in order.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn push(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
