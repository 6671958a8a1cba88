//! Quoted by `docs/guide/bridge.md`.

use std::error::Error;
use std::future::{Future, pending};

use mcp_tokio::{
    BridgeConfig, BridgeTarget, Client, ClientConfig, HttpClientConfig, HttpConfig, Implementation,
    Negotiation, Registry, bridge, connect_http, serve_http_until,
};
use serde_json::json;
use tokio::net::TcpListener;

/// Serves clients of any era, with the server behind the bridge.
async fn serve_bridge(
    listener: TcpListener,
    target: BridgeTarget,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let bridge = bridge(target, BridgeConfig::new(Implementation::new("gateway", "1.0.0")));
    bridge.on_failure(|error| eprintln!("{error}"));
    let mut config = HttpConfig::default();
    // For the check of the headers `Mcp-Param-*`.
    config.keep_head = true;
    serve_http_until(listener, bridge.catalog(), config, stop).await?;
    bridge.close().await;
    Ok(())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn call_through_a_bridge_in_a_program_gets_the_answer() -> Result<(), Box<dyn Error>> {
    let (upstream, gateway) = (listen().await?, listen().await?);
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry.tool("forecast", "Tells the weather", |_: Nothing, _| async { "Rain" })?;
    let target = BridgeTarget::Http(Box::new(HttpClientConfig::parse(&url(&upstream)?)?));
    let gateway_url = url(&gateway)?;
    let calls = async {
        for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
            let config = ClientConfig::new(Implementation::new("app", "1.0.0"));
            let client = Client::new(config.negotiation(negotiation));
            connect_http(&client, HttpClientConfig::parse(&gateway_url)?).await?;
            let answer = client.call_tool("forecast", &json!({})).await?;
            assert_eq!(answer.content[0].as_text(), Some("Rain"));
            client.close().await;
        }
        Ok(())
    };
    tokio::select! {
        served = serve_http_until(upstream, registry, HttpConfig::default(), pending()) => {
            panic!("the server ended: {served:?}")
        }
        served = serve_bridge(gateway, target, pending()) => panic!("the bridge ended: {served:?}"),
        result = calls => result,
    }
}

async fn listen() -> std::io::Result<TcpListener> {
    TcpListener::bind("127.0.0.1:0").await
}

fn url(listener: &TcpListener) -> std::io::Result<String> {
    Ok(format!("http://{}/mcp", listener.local_addr()?))
}
