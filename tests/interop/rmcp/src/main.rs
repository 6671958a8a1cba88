//! `interop-rmcp MODE -- COMMAND...`: the rmcp client, which speaks both eras.

use std::{env, error::Error, fmt::Debug, process::ExitCode, time::Duration};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ErrorCode,
        ProgressNotificationParam, ProtocolVersion,
    },
    object,
    service::{NotificationContext, PeerRequestOptions, RunningService},
    transport::TokioChildProcess,
};
use tokio::{process::Command, sync::mpsc, time};

const TOOLS: [&str; 4] = ["echo", "test_error_handling", "test_tool_with_progress", "wait"];
const DEADLINE: Duration = Duration::from_secs(30);

type Outcome = Result<(), Box<dyn Error>>;
type Client = RunningService<RoleClient, Progress>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await else {
        return ExitCode::SUCCESS;
    };
    println!("FAILED: {error}");
    ExitCode::FAILURE
}

async fn run() -> Outcome {
    let mut words = env::args().skip(1);
    let (Some(mode), Some("--"), Some(program)) =
        (words.next(), words.next().as_deref(), words.next())
    else {
        return Err("usage: interop-rmcp MODE -- COMMAND...".into());
    };
    let mut command = Command::new(program);
    command.args(words);
    time::timeout(DEADLINE, take_steps(&mode, command)).await?
}

async fn take_steps(mode: &str, command: Command) -> Outcome {
    let (lifecycle, version) = lifecycle(mode)?;
    let (progress, mut seen) = mpsc::unbounded_channel();
    let mut client = Progress(progress)
        .serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle)
        .await?;
    ok("connect");

    let server = client.peer_info().ok_or("the client knows nothing of its server")?;
    expect(&server.protocol_version, &version)?;
    ok("protocol version");

    expect(server.server_info.as_ref().map(|info| info.name.as_str()), Some("everything"))?;
    ok("server name");

    let listed = client.list_all_tools().await?;
    let missing = TOOLS.iter().filter(|name| !listed.iter().any(|tool| tool.name == **name));
    expect(missing.collect(), Vec::<&&str>::new())?;
    ok("list tools");

    echo(&client, "hello, ✓ wörld").await?;
    ok("echo");

    client.call_tool(CallToolRequestParams::new("test_tool_with_progress")).await?;
    for progress in [0.0, 50.0, 100.0] {
        expect(seen.recv().await, Some(progress))?;
    }
    expect(seen.try_recv(), Err(mpsc::error::TryRecvError::Empty))?;
    ok("progress");

    let failed = client.call_tool(CallToolRequestParams::new("test_error_handling")).await?;
    expect(failed.is_error, Some(true))?;
    expect(text(&failed), Some("This tool intentionally returns an error for testing"))?;
    ok("tool error");

    match client.call_tool(CallToolRequestParams::new("no_such_tool")).await {
        Err(ServiceError::McpError(error)) => expect(error.code, ErrorCode::INVALID_PARAMS)?,
        other => return Err(format!("no JSON-RPC error but {other:?}").into()),
    }
    ok("unknown tool");

    let wait = CallToolRequestParams::new("wait").with_arguments(object!({ "seconds": 30 }));
    let wait = ClientRequest::CallToolRequest(CallToolRequest::new(wait));
    let waiting = client.send_cancellable_request(wait, PeerRequestOptions::no_options()).await?;
    time::sleep(Duration::from_millis(200)).await;
    waiting.cancel(Some("changed my mind".into())).await?;
    ok("cancel");

    echo(&client, "still here").await?;
    ok("echo after cancel");

    client.close().await?;
    ok("close");
    Ok(())
}

/// How the client connects in `mode`, and the version that must come of it.
fn lifecycle(mode: &str) -> Result<(ClientLifecycleMode, ProtocolVersion), String> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match mode {
        "initialize" => Ok((ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_11_25)),
        "discover" => Ok((
            ClientLifecycleMode::Discover { preferred_versions },
            ProtocolVersion::V_2026_07_28,
        )),
        "auto" => Ok((
            ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
            ProtocolVersion::V_2026_07_28,
        )),
        _ => Err(format!("no mode {mode}")),
    }
}

/// A client handler that passes on the progress of every request.
struct Progress(mpsc::UnboundedSender<f64>);

impl ClientHandler for Progress {
    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.send(progress.progress);
    }
}

async fn echo(client: &Client, message: &str) -> Outcome {
    let call = CallToolRequestParams::new("echo").with_arguments(object!({ "message": message }));
    expect(text(&client.call_tool(call).await?), Some(message))
}

/// The text of a result that is one text and nothing else.
fn text(result: &CallToolResult) -> Option<&str> {
    match result.content.as_slice() {
        [only] => only.as_text().map(|content| content.text.as_str()),
        _ => None,
    }
}

fn expect<T: PartialEq + Debug>(actual: T, expected: T) -> Outcome {
    if actual == expected {
        return Ok(());
    }
    Err(format!("got {actual:?}, not {expected:?}").into())
}

fn ok(step: &str) {
    println!("ok {step}");
}
