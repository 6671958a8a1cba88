//! Quoted by `docs/guide/testing.md`, and by the README.

use std::time::Duration;

use mcp_tokio::mcp_proto::Instant;
use mcp_tokio::testing::{Network, Pair};
use mcp_tokio::types::{ElicitAction, ElicitResult};
use mcp_tokio::{CallError, Client, Config, Implementation, Negotiation};
use serde_json::json;

use std::error::Error;

use mcp_tokio::types::{ElicitRequestFormParams, RequestedSchema};
use mcp_tokio::{Context, Handler, Interrupt, Registry, UsageError};

type Outcome = Result<(), Box<dyn Error>>;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    city: String,
}

fn weather() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry.tool("forecast", "Tells tomorrow's weather", |place: Place, _| async move {
        format!("Rain in {}.", place.city)
    })?;
    registry.tool("wait", "Waits for rain", wait)?;
    registry.tool("warn", "Warns a city", warn)?;
    Ok(registry)
}

async fn wait(place: Place, context: Context) -> String {
    context.sleep(Duration::from_secs(50)).await;
    format!("It rains in {}.", place.city)
}

async fn warn(place: Place, context: Context) -> Result<&'static str, Interrupt> {
    let form =
        ElicitRequestFormParams::new(format!("Warn {}?", place.city), RequestedSchema::new());
    let answer = context.elicit("sure", form)?;
    Ok(if answer.action == ElicitAction::Accept { "warned" } else { "let sleep" })
}

#[test]
fn a_city_has_weather_in_both_eras() -> Outcome {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut pair = Pair::new(weather()?).negotiation(negotiation);
        let answer = pair.client().call_tool("forecast", &json!({ "city": "Oslo" }));
        assert_eq!(pair.run(answer)?.content[0].as_text(), Some("Rain in Oslo."));
    }
    Ok(())
}

#[test]
fn waiting_takes_no_time() -> Outcome {
    let mut pair = Pair::new(weather()?);
    let client = pair.client();
    let call = client.call_tool("wait", &json!({ "city": "Oslo" }));
    pair.run(call)?;
    assert_eq!(pair.now(), Instant::ZERO + Duration::from_secs(50));

    let call = client.call_tool("wait", &json!({ "city": "Oslo" }));
    let result = pair.run(call.timeout(Duration::from_secs(49)));
    assert_eq!(result, Err(CallError::TimedOut));
    Ok(())
}

#[test]
fn a_user_who_takes_a_minute() -> Outcome {
    let mut pair = Pair::new(weather()?);
    let (client, clock) = (pair.client(), pair.clock());
    client.on_form(move |_| {
        let clock = clock.clone();
        async move {
            clock.sleep(Duration::from_secs(60)).await;
            ElicitResult::new(ElicitAction::Decline)
        }
    });
    let answer = pair.run(client.call_tool("warn", &json!({ "city": "Oslo" })))?;
    assert_eq!(answer.content[0].as_text(), Some("let sleep"));
    Ok(())
}

#[test]
fn something_happens_meanwhile() -> Outcome {
    let mut pair = Pair::new(weather()?);
    let mut call = pair.client().call_tool("wait", &json!({ "city": "Oslo" }));
    assert!(pair.poll(&mut call).is_pending());
    pair.pass(Duration::from_secs(10));
    pair.cut();
    assert_eq!(pair.run(call), Err(CallError::Interrupted));
    Ok(())
}

#[test]
fn a_response_is_lost() -> Outcome {
    let mut pair = Pair::over_http(weather()?);
    let client = pair.client();
    pair.run(client.connected())?;
    pair.cut_response(0);
    // The server has done it, and the client cannot know.
    let lost = pair.run(client.call_tool("forecast", &json!({ "city": "Oslo" })));
    assert!(matches!(lost, Err(CallError::Connection(_))), "{lost:?}");
    // The next one goes over another connection.
    pair.run(client.call_tool("forecast", &json!({ "city": "Oslo" })))?;
    Ok(())
}

#[test]
fn a_server_is_started_anew() -> Outcome {
    let mut pair = Pair::over_http(weather()?).negotiation(Negotiation::Legacy);
    let client = pair.client();
    pair.run(client.connected())?;
    assert_eq!(pair.sessions(), 1);
    pair.restart();
    // The new server refuses the call: the client opens another session and sends it again.
    pair.run(client.call_tool("forecast", &json!({ "city": "Oslo" })))?;
    assert_eq!((pair.sessions(), pair.starts()), (1, 2));
    Ok(())
}

#[test]
fn bytes_come_as_they_like() -> Outcome {
    for seed in 0..20 {
        let mut pair = Pair::over_http(weather()?).network(Network::rough()).seed(seed);
        pair.run(pair.client().call_tool("forecast", &json!({ "city": "Oslo" })))?;
    }
    Ok(())
}

const SAID: &str = r#"
C> {"jsonrpc":"2.0","method":"notifications/initialized"}
! connected 2025-11-25
C> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"city":"Oslo"}}}
@ 50s
S> {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"It rains in Oslo."}]}}
"#;

#[test]
fn what_was_said() -> Outcome {
    let mut pair = Pair::new(weather()?).negotiation(Negotiation::Legacy);
    pair.run(pair.client().call_tool("wait", &json!({ "city": "Oslo" })))?;
    assert!(pair.wire().ends_with(SAID.trim_start()), "{}", pair.wire());
    Ok(())
}

#[tokio::test]
async fn on_the_real_runtime() -> Outcome {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let served = tokio::spawn(mcp_tokio::serve(weather()?, Config::default(), reader, writer));

    let client = Client::new(Implementation::new("test", "1.0.0"));
    let (reader, writer) = tokio::io::split(ours);
    mcp_tokio::connect(&client, reader, writer).await?;
    client.call_tool("forecast", &json!({ "city": "Oslo" })).await?;
    client.close().await;
    Ok(served.await??)
}
