//! A client, of mcp-tokio or of rmcp, which calls the tool `echo` and prints what a call costs it.
//! The server is of the same library and in the same process, behind a pipe in memory, or a
//! command.

use std::error::Error;
use std::future::Future;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mcp_bench::server::Server;
use mcp_bench::usage::cpu_time;
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

const USAGE: &str = "usage: clients mcp-tokio|rmcp legacy|modern IN_FLIGHT CALLS \
    memory | stdio SERVER... | http SERVER...";

const MESSAGE: &str = "hello world, this is a echo message";
const WARM_UP: usize = 50;
const PIPE: usize = 64 * 1024;

#[derive(Clone, Copy, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

/// Where the server is.
enum Place<'a> {
    Memory,
    /// A program with its arguments.
    Stdio(&'a [String]),
    Url(String),
}

struct Load {
    in_flight: usize,
    calls: usize,
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, era, in_flight, calls, place, command @ ..] = &arguments[..] else {
        return Err(USAGE.into());
    };
    let era = match &**era {
        "legacy" => Era::Legacy,
        "modern" => Era::Modern,
        _ => return Err(USAGE.into()),
    };
    let load = Load { in_flight: in_flight.parse()?, calls: calls.parse()? };
    // It runs until the client has ended.
    let mut server = None;
    let place = match &**place {
        "memory" => Place::Memory,
        "stdio" if !command.is_empty() => Place::Stdio(command),
        "http" if !command.is_empty() => {
            let server = server.insert(Server::start(command)?);
            Place::Url(format!("http://{}/mcp", server.address()))
        }
        _ => return Err(USAGE.into()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match &**library {
        "mcp-tokio" => runtime.block_on(ours::run(era, place, load))?,
        "rmcp" => runtime.block_on(theirs::run(era, place, load))?,
        _ => return Err(USAGE.into()),
    }
    server.map_or(Ok(()), Server::stop)
}

impl Load {
    /// Makes so many calls, so many of them at a time, and prints what they cost.
    async fn run<C: Future<Output = String>>(self, call: impl Fn() -> C) -> Outcome {
        self.make(WARM_UP, &call).await?;
        // By then a client over HTTP knows whether the server keeps connections.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        self.make(WARM_UP, &call).await?;
        let (start, process) = (Instant::now(), std::process::id());
        let cpu = cpu_time(process)?;
        self.make(self.calls, &call).await?;
        let (elapsed, cpu) = (start.elapsed(), cpu_time(process)? - cpu);
        println!("calls_per_s={:.0}", self.calls as f64 / elapsed.as_secs_f64());
        println!("cpu_us_per_call={:.2}", cpu.as_secs_f64() * 1e6 / self.calls as f64);
        Ok(())
    }

    async fn make<C: Future<Output = String>>(
        &self,
        calls: usize,
        call: &impl Fn() -> C,
    ) -> Outcome {
        // A `FuturesUnordered` of one call wakes its task once more for each.
        if self.in_flight == 1 {
            for _ in 0..calls {
                check(&call().await)?;
            }
            return Ok(());
        }
        let (mut begun, mut done) = (0, 0);
        let mut open = FuturesUnordered::new();
        while done < calls {
            while begun < calls && open.len() < self.in_flight {
                open.push(call());
                begun += 1;
            }
            check(&open.next().await.ok_or("no call is open")?)?;
            done += 1;
        }
        Ok(())
    }
}

fn check(answer: &str) -> Outcome {
    if answer == MESSAGE { Ok(()) } else { Err(format!("the answer is {answer}").into()) }
}

mod ours {
    use mcp_bench::tools::Echo;
    use mcp_tokio::mcp_proto::client::{self, Negotiation};
    use mcp_tokio::{
        Client, Command, Config, HttpClientConfig, Implementation, Registry, connect,
        connect_command, connect_http, serve,
    };

    use super::{Era, Load, MESSAGE, Outcome, PIPE, Place, json};

    pub async fn run(era: Era, place: Place<'_>, load: Load) -> Outcome {
        let mut config = client::Config::new(Implementation::new("clients", "0.0.0"));
        if era == Era::Legacy {
            config.negotiation = Negotiation::Legacy;
        }
        let client = Client::new(config);
        match place {
            Place::Memory => {
                let (ours, theirs) = tokio::io::duplex(PIPE);
                let mut registry = Registry::new(Implementation::new("clients", "0.0.0"));
                registry
                    .tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
                let (reader, writer) = tokio::io::split(theirs);
                tokio::spawn(serve(registry, Config::default(), reader, writer));
                let (reader, writer) = tokio::io::split(ours);
                connect(&client, reader, writer).await?;
            }
            Place::Stdio(command) => {
                connect_command(&client, Command::new(&command[0]).args(&command[1..])).await?;
            }
            Place::Url(url) => {
                connect_http(&client, HttpClientConfig::parse(&url)?).await?;
            }
        }
        let call = || async {
            let result = client.call_tool("echo", &json!({ "message": MESSAGE })).await;
            result.expect("a result").content[0].as_text().expect("text").to_owned()
        };
        load.run(call).await?;
        client.close().await;
        Ok(())
    }
}

mod theirs {
    use std::process::Stdio;

    use mcp_bench::tools::Echo;
    use rmcp::handler::server::{router::tool::ToolRouter, wrapper::Parameters};
    use rmcp::model::{CallToolRequestParams, ProtocolVersion};
    use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
    use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
    use rmcp::{
        ClientHandler, RoleClient, ServerHandler, ServiceExt, tool, tool_handler, tool_router,
    };
    use tokio::process::Command;

    use super::{Era, Load, MESSAGE, Outcome, PIPE, Place};

    #[derive(Clone)]
    struct Server {
        tool_router: ToolRouter<Self>,
    }

    #[tool_router]
    impl Server {
        #[tool(description = "Echoes its message")]
        async fn echo(&self, Parameters(arguments): Parameters<Echo>) -> String {
            arguments.message
        }
    }

    // Without the `router` argument the macro would make a new router for every call.
    #[tool_handler(router = self.tool_router)]
    impl ServerHandler for Server {}

    #[derive(Clone)]
    struct Caller;

    impl ClientHandler for Caller {}

    pub async fn run(era: Era, place: Place<'_>, load: Load) -> Outcome {
        match place {
            Place::Memory => {
                let (ours, theirs) = tokio::io::duplex(PIPE);
                // It is ready after the first request that is not a probe: nobody waits for it.
                tokio::spawn(async move {
                    let server = Server { tool_router: Server::tool_router() };
                    server.serve(theirs).await.expect("a server").waiting().await
                });
                call(era, ours, load).await
            }
            Place::Stdio(command) => {
                let mut server = Command::new(&command[0])
                    .args(&command[1..])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()?;
                let output = server.stdout.take().ok_or("no output")?;
                let input = server.stdin.take().ok_or("no input")?;
                call(era, (output, input), load).await?;
                server.wait().await?;
                Ok(())
            }
            Place::Url(url) => call(era, StreamableHttpClientTransport::from_uri(url), load).await,
        }
    }

    async fn call<T, E, A>(era: Era, transport: T, load: Load) -> Outcome
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let client = match era {
            Era::Legacy => Caller.serve(transport).await?,
            Era::Modern => {
                let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
                let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
                Caller.serve_with_lifecycle(transport, lifecycle).await?
            }
        };
        let peer = client.peer().clone();
        let call = || async {
            let mut arguments = serde_json::Map::new();
            arguments.insert("message".into(), MESSAGE.into());
            let call = CallToolRequestParams::new("echo").with_arguments(arguments);
            let result = peer.call_tool(call).await.expect("a result");
            result.content[0].as_text().expect("text").text.clone()
        };
        load.run(call).await?;
        client.cancel().await?;
        Ok(())
    }
}
