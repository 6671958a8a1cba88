//! The servers of these tests.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{env, thread};

use mcp_tokio::types::{
    CompletionReference, ElicitRequestFormParams, LoggingLevel, Prompt, PromptMessage,
    RequestedSchema, Resource, ResourceContents, ResourceTemplate, Role, StringSchema,
};
use mcp_tokio::{
    Authorization, CallToolResult, Config, ContentBlock, Context, EraPolicy, ErrorData, Handler,
    HttpConfig, Implementation, Interrupt, Json, List, Progress, Registry, Tool, UsageError,
    serve_http, serve_stdio_with,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Builder;

use super::{pantry, tasks};

/// Environment variable with the program's role, if it is not to be the tests.
pub(crate) const SERVER: &str = "MCP_CLI_TEST_SERVER";

/// Serves on standard input and output if the environment says so.
pub(crate) fn serve_if_told() -> Option<ExitCode> {
    let kind = env::var(SERVER).ok()?;
    if kind == "browser" {
        return Some(super::login::browser());
    }
    Some(match serve(&kind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

fn serve(kind: &str) -> io::Result<()> {
    let mut config = Config::default();
    match kind {
        "both" | "noisy" | "verbatim" | "pantry" | "fragile" | "odd" | "mortal" | "polite" => {}
        "roomy" => config.limits.max_in_flight = 2048,
        "legacy" | "legacy pantry" | "legacy mortal" | "legacy fragile" | "legacy odd" => {
            config.era_policy = EraPolicy::LegacyOnly;
        }
        "modern" => config.era_policy = EraPolicy::ModernOnly,
        "versions" => {
            return answer(
                r#""error":{"code":-32022,"message":"no","data":{"supported":["2099-01-01"]}}"#,
            );
        }
        "tasks" => return tasks::serve(),
        "spaced" => return answer(&format!("\"result\":{}", spaced())),
        "mismatch" => return answer(r#""error":{"code":-32020,"message":"no Mcp-Method"}"#),
        "hollow" => return answer(r#""result":{}"#),
        "refuses" => return answer(r#""error":{"code":-32000,"message":"not today"}"#),
        // It reads, and says nothing.
        _ => return io::copy(&mut io::stdin(), &mut io::sink()).map(drop),
    }
    eprintln!("the kitchen is open");
    if kind == "noisy" {
        writeln!(io::stdout(), "one\ntwo")?;
    }
    let registry = match kind {
        "verbatim" => verbatim(),
        "pantry" | "legacy pantry" => pantry::registry(),
        "fragile" | "legacy fragile" => fragile(),
        #[cfg(unix)]
        "mortal" | "legacy mortal" | "polite" => pantry::mortal(kind == "polite"),
        "odd" | "legacy odd" => odd(),
        _ => registry(),
    };
    let registry = registry.map_err(io::Error::other)?;
    Builder::new_current_thread().enable_all().build()?.block_on(serve_stdio_with(registry, config))
}

/// Answers every request alike.
fn answer(body: &str) -> io::Result<()> {
    for line in io::stdin().lines() {
        let request: serde_json::Value = serde_json::from_str(&line?)?;
        writeln!(io::stdout(), r#"{{"jsonrpc":"2.0","id":{},{body}}}"#, request["id"])?;
    }
    Ok(())
}

/// A result of each request, with blanks and line ends between its tokens.
fn spaced() -> String {
    let result = r#"{ "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {}, "serverInfo": { "name": "a b", "version": "1" },
        "ttlMs": 0, "cacheScope": "private" }"#;
    result.replace('\n', "\r")
}

/// A server over HTTP with a thread of its own, which ends with the tests. With a token, each
/// request needs it.
pub(crate) fn over_http(token: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut config = HttpConfig::default();
    if let Some(token) = token {
        config.authorize = Some(Arc::new(move |head| {
            let given = head.field("authorization").and_then(|it| it.strip_prefix(b"Bearer "));
            if given == Some(token.as_bytes()) {
                return Authorization::Allow(None);
            }
            Authorization::Unauthorized("Bearer scope=\"cook\"".into())
        }));
    }
    serve_with(listener, config);
    format!("http://{address}/mcp")
}

/// Serves over HTTP with a thread of its own.
pub(crate) fn serve_with(listener: TcpListener, config: HttpConfig) {
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            serve_http(listener, registry().unwrap(), config).await.unwrap();
        });
    });
}

/// A server of web pages, which answers whatever it is asked with one.
pub(crate) fn web(status: &'static str) -> String {
    let page = "<html>Hello!</html>";
    by_hand(move |_| format!("{status}\r\nContent-Type: text/html"), move |_| page.to_owned())
}

/// A legacy server over HTTP that answers this method with this status, and accepts the others.
pub(crate) fn refusing(method: &'static str, status: &'static str) -> String {
    let result = r#""result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}}}"#;
    let head = move |body: &str| match body {
        body if body.contains(method) => status.to_owned(),
        body if body.contains("\"id\"") => "200 OK\r\nContent-Type: application/json".to_owned(),
        _ => "202 Accepted".to_owned(),
    };
    by_hand(head, move |body| {
        let is_opening = body.contains("initialize\"") && !body.contains(method);
        if is_opening { format!(r#"{{"jsonrpc":"2.0","id":1,{result}}}"#) } else { String::new() }
    })
}

/// A server over HTTP with these heads and bodies for the bodies of requests.
pub(crate) fn by_hand(
    head: impl Fn(&str) -> String + Send + 'static,
    page: impl Fn(&str) -> String + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = String::new();
            reader.by_ref().take(length).read_to_string(&mut body).unwrap();
            let head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", head(&body));
            let page = page(&body);
            let _ =
                write!(reader.into_inner(), "{head}Content-Length: {}\r\n\r\n{page}", page.len());
        }
    });
    format!("http://{address}/")
}

/// An address where nobody listens.
pub(crate) fn nowhere() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[derive(Deserialize, JsonSchema)]
struct Brew {
    /// How many.
    cups: u32,
    /// Whether there is sugar in it.
    sugar: Option<bool>,
    /// What is said of it.
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Dish {
    /// Which.
    dish: String,
}

fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("kitchen", "1.0.0"));
    registry
        .instructions("Ask for coffee.\nDo not ask for tea.")
        .logging()
        .subscribe()
        .list_changed(List::Tools)
        .page_size(2)
        .tool("brew", "Makes coffee", brew)?
        .tool("burn", "Fails", |_: Nothing, _| async { CallToolResult::error("It burns.") })?
        .tool("leave", "Ends with an error", |_: Nothing, _| async {
            Err::<String, _>(Interrupt::from(ErrorData::internal("The cook is gone.")))
        })?
        .tool("name", "Asks for a name", name)?
        .tool("sleep", "Takes an hour", |_: Nothing, context: Context| async move {
            context.sleep(Duration::from_secs(3600)).await;
            "awake"
        })?
        .tool("red", "Would like to be \u{1b}[31mred", |_: Nothing, _| async { "\u{1b}[31mred" })?
        .resource(
            Resource::new("kitchen://stock", "stock")
                .description("What there is")
                .mime_type("text/plain"),
            |uri, _| async { ResourceContents::text(uri, "3 eggs") },
        )?
        .resource_template(
            ResourceTemplate::new("kitchen://recipes/{dish}", "recipes"),
            |uri, _: Dish, _| async { ResourceContents::text(uri, "Break the eggs.") },
        )?
        .prompt(Prompt::of::<Dish>("cook")?.description("Cooks"), |dish: Dish, _| async move {
            PromptMessage::new(Role::User, ContentBlock::text(format!("Cook {}.", dish.dish)))
        })?
        .completion(CompletionReference::prompt("cook"), |_, _| async {
            vec!["omelette".to_owned()]
        })?;
    Ok(registry)
}

/// With a tool that ends the server.
fn fragile() -> Result<Registry<Handler>, UsageError> {
    let mut registry = registry()?;
    registry.tool("quit", "Ends the server", |_: Nothing, _| async {
        std::process::exit(1);
        #[expect(unreachable_code, reason = "a tool has a result")]
        "never"
    })?;
    Ok(registry)
}

/// JSON that not every parser can decode.
pub(crate) const ODD: &str = r#"{"z":12345678901234567890123,"a":"\ud83d","e":1e400}"#;

/// With a tool whose result and log message have such JSON.
fn odd() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("kitchen", "1.0.0"));
    registry.logging().tool("weigh", "Weighs", |_: Nothing, context: Context| async move {
        context.log(LoggingLevel::Warning, Json::parse(ODD).unwrap());
        context.sleep(Duration::from_millis(20)).await;
        let mut result = CallToolResult::text("much");
        result.structured_content = Some(Json::parse(ODD).unwrap());
        result
    })?;
    Ok(registry)
}

/// Tools with schemas that some hosts reject.
fn verbatim() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("kitchen", "1.0.0"));
    registry.portable_schemas(false).tool("brew", "Makes coffee", brew)?.tool(
        "burn",
        "Fails",
        |_: Nothing, _| async { CallToolResult::error("It burns.") },
    )?;
    let schema = concat!(
        r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","##,
        r##""properties":{"a/b":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}"##
    );
    let schema = Json::parse(schema).unwrap();
    let output = Json::parse(r#"{"type":"object"}"#).unwrap();
    let tool = Tool::new("by-hand", schema).output_schema(output);
    registry.tool_with(tool, |_: Nothing, _| async { CallToolResult::text("") })?;
    Ok(registry)
}

async fn brew(brew: Brew, context: Context) -> String {
    context.log(LoggingLevel::Debug, "looking for the pot");
    for cup in 1..=brew.cups {
        context.progress(Progress::new(cup).total(brew.cups).message("a cup"));
    }
    context.log(LoggingLevel::Warning, "there is no milk");
    // What is told at the end may come after the answer to a client that is slow.
    context.sleep(Duration::from_millis(20)).await;
    format!("{} cups, sugar: {:?}, {:?}", brew.cups, brew.sugar, brew.notes)
}

async fn name(_: Nothing, context: Context) -> Result<String, Interrupt> {
    let schema = RequestedSchema::new().required("name", StringSchema::new());
    let form = ElicitRequestFormParams::new("What is your name?", schema);
    Ok(format!("{:?}", context.elicit("name", form)?.action))
}
