//! duplex mcp-tokio|rmcp legacy|modern IN_FLIGHT CALLS
//!
//! Calls the tool `echo` of a server in the same process, through a pipe in memory, on one thread,
//! and prints how many calls it made in a second. Client and server are of the same library.

use std::error::Error;
use std::future::Future;
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

const MESSAGE: &str = "hello world, this is a echo message";
const PIPE: usize = 64 * 1024;

#[derive(Clone, Copy, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, era, in_flight, calls] = &arguments[..] else {
        return Err("usage: duplex mcp-tokio|rmcp legacy|modern IN_FLIGHT CALLS".into());
    };
    let era = match &**era {
        "legacy" => Era::Legacy,
        "modern" => Era::Modern,
        _ => return Err("the era is legacy or modern".into()),
    };
    let (in_flight, calls) = (in_flight.parse()?, calls.parse()?);
    match &**library {
        "mcp-tokio" => ours::run(era, in_flight, calls).await,
        "rmcp" => theirs::run(era, in_flight, calls).await,
        _ => Err("the library is mcp-tokio or rmcp".into()),
    }
}

/// Makes so many calls, so many of them at a time, and prints how fast.
async fn load<C: Future<Output = String>>(
    in_flight: usize,
    calls: usize,
    call: impl Fn() -> C,
) -> Outcome {
    assert_eq!(call().await, MESSAGE);
    let start = Instant::now();
    let (mut begun, mut done) = (0, 0);
    let mut open = FuturesUnordered::new();
    while done < calls {
        while begun < calls && open.len() < in_flight {
            open.push(call());
            begun += 1;
        }
        open.next().await.ok_or("no call is open")?;
        done += 1;
    }
    println!("calls_per_s={}", calls as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

mod ours {
    use mcp_tokio::mcp_proto::client::{self, Negotiation};
    use mcp_tokio::{Client, Config, Implementation, Registry, connect, serve};

    use super::{Era, MESSAGE, Outcome, PIPE, json, load};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Echo {
        /// What to say.
        message: String,
    }

    pub async fn run(era: Era, in_flight: usize, calls: usize) -> Outcome {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let mut registry = Registry::new(Implementation::new("duplex", "0.0.0"));
        registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(serve(registry, Config::default(), reader, writer));

        let mut config = client::Config::new(Implementation::new("duplex", "0.0.0"));
        if era == Era::Legacy {
            config.negotiation = Negotiation::Legacy;
        }
        let client = Client::new(config);
        let (reader, writer) = tokio::io::split(ours);
        connect(&client, reader, writer).await?;
        load(in_flight, calls, || async {
            let result = client.call_tool("echo", &json!({ "message": MESSAGE })).await;
            result.expect("a result").content[0].as_text().expect("text").to_owned()
        })
        .await
    }
}

mod theirs {
    use rmcp::handler::server::{router::tool::ToolRouter, wrapper::Parameters};
    use rmcp::model::{CallToolRequestParams, ProtocolVersion};
    use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
    use rmcp::{ClientHandler, ServerHandler, ServiceExt, tool, tool_handler, tool_router};

    use super::{Era, MESSAGE, Outcome, PIPE, load};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct EchoArguments {
        /// What to say.
        message: String,
    }

    #[derive(Clone)]
    struct Echo {
        tool_router: ToolRouter<Self>,
    }

    #[tool_router]
    impl Echo {
        #[tool(description = "Echoes its message")]
        async fn echo(&self, Parameters(arguments): Parameters<EchoArguments>) -> String {
            arguments.message
        }
    }

    #[tool_handler(router = self.tool_router)]
    impl ServerHandler for Echo {}

    #[derive(Clone)]
    struct Caller;

    impl ClientHandler for Caller {}

    pub async fn run(era: Era, in_flight: usize, calls: usize) -> Outcome {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        // It is ready after the first request that is not a probe, so nobody waits for it here.
        tokio::spawn(async move {
            let echo = Echo { tool_router: Echo::tool_router() };
            let server = echo.serve(theirs).await.expect("a server");
            server.waiting().await
        });
        let client = match era {
            Era::Legacy => Caller.serve(ours).await?,
            Era::Modern => {
                let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
                let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
                Caller.serve_with_lifecycle(ours, lifecycle).await?
            }
        };
        let peer = client.peer();
        load(in_flight, calls, || async {
            let mut arguments = serde_json::Map::new();
            arguments.insert("message".into(), MESSAGE.into());
            let call = CallToolRequestParams::new("echo").with_arguments(arguments);
            let result = peer.call_tool(call).await.expect("a result");
            result.content[0].as_text().expect("text").text.clone()
        })
        .await
    }
}
