//! Quoted by `docs/guide/client.md`.

use std::error::Error;
use std::time::Duration;

use mcp_tokio::types::{
    CompleteRequestParams, CompletionReference, CreateMessageRequestParams, CreateMessageResult,
    ElicitAction, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, LoggingLevel,
    ResourceContents, Root, SamplingMessageContentBlock, SubscriptionFilter,
};
use mcp_tokio::{
    CallError, CallToolResult, Client, ClientConfig, Command, ConnectError, ConnectFailure,
    ErrorData, HttpClientConfig, Implementation, Negotiation, ProtocolVersion, Stderr, Url,
    UsageError, Verdict, connect_command, connect_http,
};
use serde_json::{Value, json};

use std::sync::mpsc::channel;

use mcp_service::testing::Pair;
use mcp_tokio::types::{
    Prompt, PromptMessage, RequestedSchema, Resource, Role, SamplingMessage, StringSchema,
};
use mcp_tokio::{
    Change, ContentBlock, Context, Handler, HttpConfig, Interrupt, Json, List, Progress, Registry,
    ServerInfo, Structured,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

type Outcome = Result<(), Box<dyn Error>>;

const BOTH: [Negotiation; 2] = [Negotiation::Legacy, Negotiation::Auto];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    city: String,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    celsius: f32,
}

/// A server that has what a client may meet.
fn weather() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry.logging().list_changed(List::Tools).subscribe();
    registry.tool("measure", "Measures", |_: Place, _| async {
        Structured(Weather { celsius: 7.5 })
    })?;
    registry.tool("forecast", "Tells the weather", |place: Place, _| async move {
        match &*place.city {
            "Atlantis" => Err("There is no such city."),
            city => Ok(format!("Rain in {city}.")),
        }
    })?;
    registry.tool("scan", "Asks all stations", |_: Place, context: Context| async move {
        for step in 1..=3 {
            context.sleep(Duration::from_secs(50)).await;
            context.progress(Progress::new(step).total(3));
        }
        context.log(LoggingLevel::Warning, "a station is late");
        "done"
    })?;
    registry.tool("ask", "Asks for everything", ask)?;
    registry.tool("redraw", "Draws anew", |_: Place, context: Context| async move {
        context.publish(&Change::ResourceUpdated("weather://map".into())).map(|()| "drawn")
    })?;
    registry.resource(Resource::new("weather://map", "map"), |uri, _| async {
        ResourceContents::text(uri, "Rain everywhere")
    })?;
    registry.prompt(Prompt::of::<Place>("pack")?, |_: Place, _| async {
        PromptMessage::new(Role::User, ContentBlock::text("What do I take along?"))
    })?;
    registry.completion(CompletionReference::prompt("pack"), |_, _| async { vec!["Oslo"] })?;
    registry.method("com.example/now", |_: Json, _| async {
        Json::parse(r#"{"hour":12}"#).map_err(|error| ErrorData::internal(error.to_string()))
    })?;
    Ok(registry)
}

async fn ask(place: Place, context: Context) -> Result<String, Interrupt> {
    let fields = RequestedSchema::new().required("name", StringSchema::new());
    let form = context.elicit("form", ElicitRequestFormParams::new("Who is it for?", fields))?;
    let url = ElicitRequestURLParams::new("Pay here", "https://pay.example.com");
    let paid = context.elicit("url", url)?;
    let question =
        SamplingMessage::new(Role::User, SamplingMessageContentBlock::text("A poem on rain?"));
    let asked = CreateMessageRequestParams::new(vec![question], 100);
    let poem = context.create_message("poem", asked)?;
    let roots = context.list_roots("roots")?.roots;
    let answers = [form.action, paid.action].map(|action| action == ElicitAction::Accept);
    Ok(format!("{}: {answers:?} {} {}", place.city, poem.model, roots.len()))
}

#[test]
fn calls() -> Outcome {
    let mut pair = Pair::new(weather()?);
    let client = pair.client();
    let oslo = json!({ "city": "Oslo" });
    let seen = pair.run(look(&client))?;
    assert_eq!(seen.len(), 8);
    let read = ["Rain everywhere", "What do I take along?", "Oslo"];
    assert_eq!(seen.get(5..).unwrap_or_default(), read);
    let result = pair.run(client.call_tool("forecast", &json!({ "city": "Atlantis" })))?;
    assert_eq!(told(&result), "the tool failed: There is no such city.");
    let result = pair.run(client.call_tool("measure", &oslo))?;
    assert_eq!(told(&result), r#"{"celsius":7.5}"#);
    let weather: Weather = result.structured()?;
    assert!(weather.celsius > 7.0);
    Ok(())
}

/// Names of the tools, texts of the map and of a prompt, and completions of a city.
async fn look(client: &Client) -> Result<Vec<String>, CallError> {
    let mut seen = Vec::new();
    for tool in client.list_tools().await?.tools {
        seen.push(tool.name);
    }
    for contents in client.read_resource("weather://map").await?.contents {
        seen.extend(contents.as_text().map(String::from));
    }
    for message in client.get_prompt("pack", &json!({ "city": "Oslo" })).await?.messages {
        seen.extend(message.content.as_text().map(String::from));
    }
    let pack = CompletionReference::prompt("pack");
    let begun = CompleteRequestParams::new(pack, "city", "O");
    seen.extend(client.complete(&begun).await?.completion.values);
    Ok(seen)
}

/// Text of a result.
fn told(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    let text = texts.collect::<Vec<_>>().join("\n");
    if result.is_error {
        return format!("the tool failed: {text}");
    }
    match &result.structured_content {
        Some(content) => content.to_string(),
        None => text,
    }
}

#[test]
fn time() -> Outcome {
    let mut pair = Pair::new(weather()?);
    let client = pair.client();
    let oslo = json!({ "city": "Oslo" });
    let (sender, receiver) = channel();
    let call = client
        .call_tool("scan", &oslo)
        .timeout(Duration::from_secs(60))
        .max_total(Duration::from_secs(600))
        .on_progress(move |progress| sender.send(progress.progress).unwrap_or_default());
    // It takes 150 s, but is never silent for 60.
    pair.run(call)?;
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1.0, 2.0, 3.0]);

    let mut call = client.call_tool("scan", &oslo);
    assert!(pair.poll(&mut call).is_pending());
    // Nobody wants it any more: the server is told.
    drop(call);
    pair.pass(Duration::from_secs(1));
    assert!(pair.wire().contains("notifications/cancelled"), "{}", pair.wire());
    Ok(())
}

/// Shows a form to the user.
async fn show(form: ElicitRequestFormParams) -> Result<ElicitResult, ErrorData> {
    // The user has typed this; the fields that were left out get their defaults.
    let content = json!({ "name": "Ada" });
    form.accept(&content).map_err(ErrorData::from)
}

async fn open(url: ElicitRequestURLParams) -> ElicitResult {
    // Ask first, and show the URL: it comes from the server, so do not trust it.
    let action =
        if url.url.starts_with("https://") { ElicitAction::Accept } else { ElicitAction::Decline };
    ElicitResult::new(action)
}

async fn sample(asked: CreateMessageRequestParams) -> Result<CreateMessageResult, ErrorData> {
    if asked.max_tokens > 1000 {
        return Err(ErrorData::invalid_params("that is too long"));
    }
    let text = SamplingMessageContentBlock::text("Drip, drop.");
    Ok(CreateMessageResult::new("a model", text))
}

/// Declares the inputs that servers may ask for; called before the client is connected.
fn enable(client: &Client) -> Result<(), UsageError> {
    client.on_form(show);
    client.on_url(open);
    client.on_create_message(sample);
    client.set_roots(vec![Root::new("file:///home/ada/project")])
}

#[test]
fn input() -> Outcome {
    for negotiation in BOTH {
        let mut pair = Pair::new(weather()?).negotiation(negotiation);
        let client = pair.client();
        enable(&client)?;
        let answer = pair.run(client.call_tool("ask", &json!({ "city": "Oslo" })))?;
        assert_eq!(answer.content[0].as_text(), Some("Oslo: [true, true] a model 1"));
    }
    Ok(())
}

#[test]
fn logs_and_changes() -> Outcome {
    for negotiation in BOTH {
        let mut pair = Pair::new(weather()?).negotiation(negotiation);
        let client = pair.client();
        let (sender, receiver) = channel();
        client.on_log(move |message| {
            sender.send(format!("{:?}: {}", message.level, message.data)).unwrap_or_default();
        });
        // Without it a modern server sends none.
        pair.run(client.set_log_level(LoggingLevel::Warning))?;
        pair.run(client.call_tool("scan", &json!({ "city": "Oslo" })).on_progress(|_| {}))?;
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [r#"Warning: "a station is late""#]);

        let map = "weather://map";
        let filter = SubscriptionFilter::new().tools_list_changed().resource(map);
        let mut changes = pair.run(client.subscribe(filter.clone()))?;
        // A server need not honour all of it, or any.
        assert_eq!(changes.honoured(), &filter, "{negotiation:?}");
        pair.run(client.call_tool("redraw", &json!({ "city": "Oslo" })))?;
        assert_eq!(pair.run(changes.changed()), Some(Change::ResourceUpdated(map.into())));
    }
    Ok(())
}

/// Passes the number of tools to `seen`, first and after each change, until the client is closed.
async fn watch_tools(
    client: &Client,
    pause: Duration,
    seen: impl Fn(usize),
) -> Result<(), CallError> {
    loop {
        let result = watch_tools_once(client, &seen).await;
        // After an error too: the server may be back after the pause.
        tokio::select! {
            _ = client.closed() => return result,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Does the same until the subscription ends, or a request fails.
async fn watch_tools_once(client: &Client, seen: impl Fn(usize)) -> Result<(), CallError> {
    let filter = SubscriptionFilter::new().tools_list_changed();
    let mut changes = client.subscribe(filter).await?;
    // This list includes the changes since the last subscription.
    seen(client.list_tools().await?.tools.len());
    while changes.changed().await.is_some() {
        seen(client.list_tools().await?.tools.len());
    }
    changes.ended().unwrap_or(Ok(()))
}

#[tokio::test]
async fn a_subscription_follows_the_next_server() -> Outcome {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let first = mcp_tokio::serve_http_until(
        TcpListener::from_std(listener.try_clone()?)?,
        weather()?,
        HttpConfig::default(),
        async move { drop(stopped.await) },
    );
    let first = tokio::spawn(first);
    let client = Client::new(Implementation::new("app", "1.0.0"));
    connect_http(&client, HttpClientConfig::parse(&url)?).await?;
    let (sender, mut lists) = tokio::sync::mpsc::unbounded_channel();
    let watching = client.clone();
    let watch = tokio::spawn(async move {
        let seen = |tools| sender.send(tools).unwrap_or_default();
        watch_tools(&watching, Duration::from_millis(10), seen).await
    });
    assert_eq!(lists.recv().await, Some(5));
    drop(stop);
    first.await??;
    tokio::spawn(mcp_tokio::serve_http_until(
        TcpListener::from_std(listener)?,
        weather()?,
        HttpConfig::default(),
        std::future::pending(),
    ));
    assert_eq!(lists.recv().await, Some(5));
    client.close().await;
    assert!(watch.await?.is_err());
    Ok(())
}

#[tokio::test]
async fn a_watch_survives_a_list_that_fails() -> Outcome {
    let mut registry = weather()?;
    registry.tool("install", "Installs", |_: Place, context: Context| async move {
        context.publish(&Change::ListChanged(List::Tools)).map(|()| "installed")
    })?;
    let mut pair = Pair::over_http(registry);
    let client = pair.client();
    let (sender, lists) = channel();
    let seen = |tools| sender.send(tools).unwrap_or_default();
    let mut watch = Box::pin(watch_tools(&client, Duration::from_secs(1), seen));
    assert!(pair.poll(&mut watch).is_pending());
    pair.run(client.call_tool("install", &json!({ "city": "Oslo" })))?;
    pair.restart();
    pair.refuse(Duration::from_secs(60));
    assert!(pair.poll(&mut watch).is_pending());
    assert_eq!(lists.try_iter().collect::<Vec<_>>(), [6]);
    Ok(())
}

/// Advice about a call that failed.
fn advice(error: &CallError) -> &'static str {
    match error {
        CallError::Error { .. } => "the server says why",
        CallError::TimedOut => "it may have done it; give it more time, or ask for progress",
        CallError::Unauthorized(_) => "get a token, set it, call again",
        CallError::Usage(_) => "this program is wrong",
        error if error.may_have_been_executed() => "look whether it was done, or ask the user",
        _ => "it was not done: call again later",
    }
}

#[test]
fn errors() -> Outcome {
    let mut pair = Pair::new(weather()?);
    let client = pair.client();
    let unknown = pair.run(client.call_tool("no_such_tool", &json!({})));
    assert_eq!(unknown.as_ref().map_err(advice), Err("the server says why"));
    let list = pair.run(client.call_tool("measure", &["Oslo"]));
    assert_eq!(list.as_ref().map_err(advice), Err("this program is wrong"));
    Ok(())
}

#[test]
fn a_verdict_is_kept() -> Outcome {
    let mut pair = Pair::new(weather()?);
    let client = pair.client();
    pair.run(client.connected())?;
    let stored = serde_json::to_string(&client.verdict())?;

    let verdict: Option<Verdict> = serde_json::from_str(&stored)?;
    let config = ClientConfig::new(Implementation::new("app", "1.0.0")).verdict(verdict);
    let mut pair = Pair::new(weather()?).client_config(config);
    let client = pair.client();
    pair.run(client.list_tools())?;
    pair.run(client.call_tool("measure", &json!({ "city": "Oslo" })))?;
    assert!(!pair.wire().contains("server/discover"), "{}", pair.wire());
    Ok(())
}

#[test]
fn a_pinned_version() -> Outcome {
    let config = ClientConfig::new(Implementation::new("app", "1.0.0"))
        .negotiation(Negotiation::Pinned(ProtocolVersion::V2025_06_18));
    let mut pair = Pair::new(weather()?).client_config(config);
    let server: ServerInfo = pair.run(pair.client().connected())?;
    assert_eq!(server.version.as_str(), "2025-06-18");
    Ok(())
}

#[test]
fn a_method_of_an_extension() -> Outcome {
    let mut pair = Pair::new(weather()?);
    let now: Value = pair.run(pair.client().call("com.example/now", &json!({})))?;
    assert_eq!(now["hour"], 12);
    Ok(())
}

async fn over_http(client: &Client, url: &str, token: &str) -> Result<(), Box<dyn Error>> {
    let server = HttpClientConfig::parse(url)?;
    let server = server.field("Authorization", &format!("Bearer {token}"))?;
    let server = connect_http(client, server).await?;
    eprintln!("{url} speaks {}", server.version);
    Ok(())
}

async fn behind_a_proxy(client: &Client, url: &str) -> Result<(), Box<dyn Error>> {
    let mut server = HttpClientConfig::parse(url)?;
    server.trusts_endpoint_origin = Some(Url::parse("http://10.0.0.7:8000")?);
    connect_http(client, server).await?;
    Ok(())
}

#[tokio::test]
async fn http_sse() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/sse", listener.local_addr()?);
    tokio::spawn(sse_server(listener));
    let client = Client::new(Implementation::new("app", "1.0.0"));
    behind_a_proxy(&client, &url).await?;
    let transport = client.verdict().map(|verdict| verdict.transport);
    assert_eq!(transport, Some(mcp_proto::client::Transport::HttpSse));
    let rows: Vec<_> = client.decisions().iter().map(|decision| decision.row).collect();
    assert_eq!(rows, ["legacy-by-error", "old-transport", "legacy"]);
    client.ping().await?;
    client.close().await;
    Ok(())
}

/// A server of HTTP+SSE that sees itself at another origin.
async fn sse_server(listener: TcpListener) -> std::io::Result<()> {
    const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\
        event: endpoint\ndata: http://10.0.0.7:8000/messages\n\n";
    const EMPTY: &str = "Content-Length: 0\r\nConnection: close\r\n\r\n";

    let mut stream = None;
    loop {
        let (mut socket, _) = listener.accept().await?;
        let mut text = String::new();
        // The last byte of a request is that of its head, or the last brace of its body.
        while !text.ends_with(if text.starts_with("POST") { "}" } else { "\r\n\r\n" }) {
            let mut piece = [0; 4096];
            let length = socket.read(&mut piece).await?;
            text.push_str(&String::from_utf8_lossy(&piece[..length]));
        }
        if text.starts_with("GET /sse ") {
            socket.write_all(STREAM.as_bytes()).await?;
            stream = Some(socket);
            continue;
        }
        let status = if text.starts_with("POST /messages ") { "202 Accepted" } else { "405 No" };
        socket.write_all(format!("HTTP/1.1 {status}\r\n{EMPTY}").as_bytes()).await?;
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        if let (Some(stream), Some(_)) = (&mut stream, message.get("id")) {
            let info = json!({ "name": "srv", "version": "1" });
            let result =
                json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": info });
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            stream.write_all(format!("event: message\ndata: {answer}\n\n").as_bytes()).await?;
        }
    }
}

#[tokio::test]
async fn http() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    tokio::spawn(mcp_tokio::serve_http_until(
        listener,
        weather()?,
        HttpConfig::default(),
        std::future::pending(),
    ));
    let client = Client::new(Implementation::new("app", "1.0.0"));
    over_http(&client, &url, "0123").await?;
    client.set_field("Authorization", "Bearer 4567")?;
    client.list_tools().await?;
    client.close().await;
    Ok(())
}

/// A server that is not there, or does not start, is an error here.
async fn in_a_process(client: &Client, program: &str) -> std::io::Result<ServerInfo> {
    let command = Command::new(program)
        .arg("stdio")
        .env("WEATHER_KEY", "0123")
        .stderr(Stderr::lines(|line| eprintln!("weather: {line}")));
    connect_command(client, command).await
}

#[tokio::test]
async fn a_program_that_is_not_there() -> Outcome {
    let client = Client::new(Implementation::new("app", "1.0.0"));
    let error = in_a_process(&client, "/nowhere/weather").await.err().ok_or("it is there")?;
    assert!(error.to_string().starts_with("cannot start /nowhere/weather"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_program_that_is_no_server() -> Outcome {
    let client = Client::new(Implementation::new("app", "1.0.0"));
    let error = in_a_process(&client, "true").await.err().ok_or("it is a server")?;
    let unreached = error.get_ref().and_then(|inner| inner.downcast_ref::<ConnectFailure>());
    assert_eq!(unreached.map(|it| &it.error), Some(&ConnectError::Closed));
    assert_eq!(unreached.and_then(|it| it.exit?.code()), Some(0));
    assert!(error.to_string().starts_with("true: "), "{error}");
    let closed = client.closed().await;
    eprintln!("the connection is over: {closed}");
    assert_eq!(closed.exit, unreached.and_then(|it| it.exit));
    Ok(())
}
