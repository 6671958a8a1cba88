//! Quoted by `docs/guide/server.md`: a weather service, piece by piece.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_tokio::types::{
    BooleanSchema, CompletionReference, ContentBlock, ElicitRequestFormParams, LoggingLevel,
    Prompt, PromptMessage, RequestedSchema, Resource, ResourceContents, ResourceTemplate, Role,
};
use mcp_tokio::{
    Catalog, Change, Client, Context, ErrorData, Handler, HandlerKind, HttpConfig, Implementation,
    Interrupt, Json, List, ListEntry, Outcome, Progress, Registry, RemoteTools, RemoteToolsError,
    RouteResponse, Session, SessionError, Structured, Tool, UsageError, limit_concurrency,
    limit_rate,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use mcp_service::testing::Pair;
use mcp_tokio::types::{CompleteRequestParams, Root, SubscriptionFilter};
use mcp_tokio::{ClientConfig, Config, HttpClientConfig, Negotiation, connect_http};

use crate::wire::assert_said;

type Tested = Result<(), Box<dyn Error>>;

const BOTH: [Negotiation; 2] = [Negotiation::Legacy, Negotiation::Auto];

fn run_server<T>(server: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(server);
    runtime.shutdown_background();
    Ok(result)
}

#[test]
fn blocking_work_does_not_keep_a_server_that_has_stopped() -> Tested {
    // The work ends when `release` is dropped, at the end of the test.
    let (release, work) = std::sync::mpsc::channel::<()>();
    let server = async {
        drop(tokio::task::spawn_blocking(move || work.recv()));
        "stopped"
    };
    assert_eq!(run_server(server)?, "stopped");
    drop(release);
    Ok(())
}

/// A place, and the day of the forecast.
#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The name of a city.
    city: String,
    /// Days ahead; today if it is absent.
    days: Option<u8>,
}

async fn forecast(place: Place, _: Context) -> String {
    match place.days {
        None | Some(0) => format!("It rains in {}.", place.city),
        Some(days) => format!("In {days} days the sun shines in {}.", place.city),
    }
}

fn weather() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry.instructions("Cities are known by their English names.");
    registry.tool("forecast", "Tells the weather of a city", forecast)?;
    Ok(registry)
}

const FORECAST: &str = r#"
{
  "name": "forecast",
  "description": "Tells the weather of a city",
  "inputSchema": {
    "description": "A place, and the day of the forecast.",
    "type": "object",
    "properties": {
      "city": {
        "description": "The name of a city.",
        "type": "string"
      },
      "days": {
        "description": "Days ahead; today if it is absent.",
        "type": "integer",
        "minimum": 0,
        "maximum": 255
      }
    },
    "required": ["city"]
  }
}
"#;

#[test]
fn a_tool() -> Tested {
    let mut pair = Pair::new(weather()?);
    let client = pair.client();
    let tools = pair.run(client.list_tools())?.tools;
    let expected: serde_json::Value = serde_json::from_str(FORECAST)?;
    assert_eq!(serde_json::to_value(&tools[0])?, expected);
    assert_eq!(called(weather()?, "forecast", &json!({ "city": "Oslo" }))?, "It rains in Oslo.");
    let later = called(weather()?, "forecast", &json!({ "city": "Oslo", "days": 2 }))?;
    assert_eq!(later, "In 2 days the sun shines in Oslo.");
    let none = called(weather()?, "forecast", &json!({}))?;
    assert_eq!(none, "The arguments do not fit the input schema: /city: is required");
    Ok(())
}

#[test]
fn a_tool_whose_definition_is_given() -> Tested {
    let mut registry = weather()?;
    let tool = Tool::of::<Place>("today")?
        .title("Today")
        .description("Tells what it is like")
        .annotate(|hints| hints.read_only_hint(true));
    registry.tool_with(tool, forecast)?;
    let mut pair = Pair::new(registry.clone());
    let tools = pair.run(pair.client().list_tools())?.tools;
    let hints = tools[1].annotations.as_ref().and_then(|hints| hints.read_only_hint);
    assert_eq!(hints, Some(true));
    assert_eq!(called(registry, "today", &json!({ "city": "Oslo" }))?, "It rains in Oslo.");
    Ok(())
}

#[derive(Default)]
struct Counter {
    asked: AtomicUsize,
}

impl Counter {
    async fn count(&self, _: Place, _: Context) -> String {
        format!("asked {} times", self.asked.fetch_add(1, Ordering::Relaxed) + 1)
    }

    async fn reset(&self, _: Place, _: Context) -> String {
        format!("asked {} times until now", self.asked.swap(0, Ordering::Relaxed))
    }
}

fn counting() -> Result<Registry<Handler>, UsageError> {
    let mut registry = weather()?;
    registry
        .with(Arc::new(Counter::default()))
        .tool("count", "Counts its calls", Counter::count)?
        .tool("reset", "Starts counting again", Counter::reset)?;
    Ok(registry)
}

#[test]
fn state() -> Tested {
    let registry = counting()?;
    called(registry.clone(), "count", &json!({ "city": "Oslo" }))?;
    assert_eq!(called(registry.clone(), "count", &json!({ "city": "Oslo" }))?, "asked 2 times");
    let reset = called(registry, "reset", &json!({ "city": "Oslo" }))?;
    assert_eq!(reset, "asked 2 times until now");
    Ok(())
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// In the shade.
    celsius: f32,
}

async fn measure(_: Place, _: Context) -> Structured<Weather> {
    Structured(Weather { celsius: 7.5 })
}

#[test]
fn structured_output() -> Tested {
    let mut registry = weather()?;
    registry.tool("measure", "Measures", measure)?;
    let mut pair = Pair::new(registry);
    let result = pair.run(pair.client().call_tool("measure", &json!({ "city": "Oslo" })))?;
    assert_eq!(
        serde_json::to_string(&result.content)?,
        r#"[{"type":"text","text":"{\"celsius\":7.5}"}]"#
    );
    let content = result.structured_content.ok_or("no structured content")?;
    assert_eq!(content.as_str(), r#"{"celsius":7.5}"#);
    Ok(())
}

async fn look_up(place: Place, _: Context) -> Result<String, Box<dyn Error + Send + Sync>> {
    if place.city == "Atlantis" {
        // The model reads this, and may try another city.
        return Err("There is no such city.".into());
    }
    if place.days > Some(10) {
        // The client reads this, and the model does not.
        return Err(ErrorData::invalid_params("no forecast goes further than 10 days").into());
    }
    let degrees: f32 = "7.5".parse()?;
    Ok(format!("{degrees} °C"))
}

#[test]
fn errors() -> Tested {
    let with = || -> Result<_, UsageError> {
        let mut registry = weather()?;
        registry.tool("look_up", "Looks it up", look_up)?;
        registry.tool("fall", "Falls", |place: Place, _| async move {
            assert_ne!(place.city, "Oslo", "it fell");
            "it stands"
        })?;
        Ok(registry)
    };
    let mut pair = Pair::new(with()?);
    let lost = pair.run(pair.client().call_tool("look_up", &json!({ "city": "Atlantis" })))?;
    assert!(lost.is_error);
    assert_eq!(lost.content[0].as_text(), Some("There is no such city."));
    let mut code = |name: &str, arguments: &serde_json::Value| {
        let client = pair.client();
        match pair.run(client.call_tool(name, arguments)) {
            Err(mcp_tokio::CallError::Error { error, .. }) => error.code.0,
            _ => 0,
        }
    };
    assert_eq!(code("look_up", &json!({ "city": "Oslo", "days": 20 })), -32602);
    assert_eq!(code("no_such_tool", &json!({})), -32602);
    std::panic::set_hook(Box::new(|_| {}));
    assert_eq!(code("fall", &json!({ "city": "Oslo" })), -32603);
    drop(std::panic::take_hook());
    Ok(())
}

async fn scan(_: Place, context: Context) -> Result<String, Interrupt> {
    for station in 1..=3 {
        context.sleep(Duration::from_secs(10)).await;
        context.progress(Progress::new(station).total(3).message("asked a station"));
    }
    Ok("All of them say rain.".into())
}

async fn watch(_: Place, context: Context) -> &'static str {
    // Returns once nobody waits for the answer; then there is one more turn to tidy up in.
    context.cancelled().await;
    eprintln!("nobody waits any more");
    "never sent"
}

#[test]
fn progress_and_cancellation() -> Tested {
    let mut registry = weather()?;
    registry.tool("scan", "Asks all stations", scan)?;
    registry.tool("watch", "Watches the sky", watch)?;
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let (sender, receiver) = std::sync::mpsc::channel();
    let call = client.call_tool("scan", &json!({ "city": "Oslo" }));
    let call = call.on_progress(move |progress| sender.send(progress.progress).unwrap_or_default());
    pair.run(call)?;
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1.0, 2.0, 3.0]);

    let mut call = client.call_tool("watch", &json!({ "city": "Oslo" }));
    assert!(pair.poll(&mut call).is_pending());
    drop(call);
    pair.pass(Duration::from_secs(1));
    assert!(pair.wire().contains("notifications/cancelled"), "{}", pair.wire());
    Ok(())
}

async fn calibrate(place: Place, context: Context) -> &'static str {
    context.log(LoggingLevel::Info, format!("calibrating {}", place.city));
    context.log(LoggingLevel::Warning, json!({ "station": 7, "drift": 0.2 }));
    "calibrated"
}

#[test]
fn logs() -> Tested {
    let mut registry = weather()?;
    registry.logging().tool("calibrate", "Calibrates", calibrate)?;
    for negotiation in BOTH {
        let mut pair = Pair::new(registry.clone()).negotiation(negotiation);
        let client = pair.client();
        let (sender, receiver) = std::sync::mpsc::channel();
        client.on_log(move |message| sender.send(message.data.to_string()).unwrap_or_default());
        pair.run(client.connected())?;
        pair.run(client.set_log_level(LoggingLevel::Warning))?;
        pair.run(client.call_tool("calibrate", &json!({ "city": "Oslo" })))?;
        let heard: Vec<_> = receiver.try_iter().collect();
        assert_eq!(heard, [r#"{"drift":0.2,"station":7}"#], "{negotiation:?}");
    }
    Ok(())
}

#[derive(Deserialize)]
struct Station {
    name: String,
}

fn with_resources(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    let map = Resource::new("weather://map", "map").mime_type("text/plain");
    registry.resource(map, |uri, _| async { ResourceContents::text(uri, "Rain everywhere") })?;

    let stations = ResourceTemplate::new("weather://stations/{name}", "stations");
    registry.resource_template(stations, |uri, station: Station, _| async move {
        match &*station.name {
            "harbour" => Ok(ResourceContents::text(uri, "7.5 °C")),
            _ => Err(ErrorData::resource_not_found(&uri)),
        }
    })?;
    Ok(())
}

#[test]
fn resources() -> Tested {
    let mut registry = weather()?;
    with_resources(&mut registry)?;
    for (negotiation, not_found) in [(Negotiation::Legacy, -32002), (Negotiation::Auto, -32602)] {
        let mut pair = Pair::new(registry.clone()).negotiation(negotiation);
        let client = pair.client();
        let read = pair.run(client.read_resource("weather://stations/harbour"))?;
        let expected = ResourceContents::text("weather://stations/harbour", "7.5 °C");
        assert_eq!(read.contents, [expected]);
        for uri in ["weather://stations/moon", "weather://moon"] {
            let read = pair.run(client.read_resource(uri));
            let Err(mcp_tokio::CallError::Error { error, .. }) = read else {
                return Err(format!("{uri} is there").into());
            };
            assert_eq!(error.code.0, not_found, "{uri}, {negotiation:?}");
        }
    }
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
struct Trip {
    /// The destination.
    city: String,
}

fn with_prompts(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    let pack = Prompt::of::<Trip>("pack")?.description("What to take along");
    registry.prompt(pack, |trip: Trip, _| async move {
        let text = format!("What do I take along to {}? Look at the forecast first.", trip.city);
        PromptMessage::new(Role::User, ContentBlock::text(text))
    })?;
    registry.completion(CompletionReference::prompt("pack"), |asked, _| async move {
        let cities = ["Bergen", "Oslo", "Osaka"].into_iter();
        cities.filter(|city| city.starts_with(&asked.argument.value)).collect::<Vec<_>>()
    })?;
    Ok(())
}

#[test]
fn prompts_and_completion() -> Tested {
    let mut registry = weather()?;
    with_prompts(&mut registry)?;
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let prompt = pair.run(client.get_prompt("pack", &json!({ "city": "Oslo" })))?;
    assert_eq!(prompt.messages.len(), 1);
    let asked = CompleteRequestParams::new(CompletionReference::prompt("pack"), "city", "Os");
    let completion = pair.run(client.complete(&asked))?.completion;
    assert_eq!(completion.values, ["Oslo", "Osaka"]);
    Ok(())
}

#[derive(Deserialize)]
struct Alarm {
    loud: bool,
}

async fn warn(place: Place, context: Context) -> Result<String, Interrupt> {
    // This runs twice: once to ask, and once more with the answer. So ask first, and act after.
    let question = format!("Warn all of {}?", place.city);
    let fields = RequestedSchema::new().required("loud", BooleanSchema::new());
    let form = ElicitRequestFormParams::new(question, fields);
    match context.elicit("alarm", form)?.accepted() {
        Some(Ok(Alarm { loud: true })) => Ok("The sirens wail.".into()),
        Some(Ok(Alarm { loud: false })) => Ok("A message is sent.".into()),
        Some(Err(error)) => Err(ErrorData::invalid_params(error.to_string()).into()),
        None => Ok("Nobody is warned.".into()),
    }
}

#[test]
fn input() -> Tested {
    let mut registry = weather()?;
    registry.tool("warn", "Warns a city", warn)?;
    for negotiation in BOTH {
        let mut pair = Pair::new(registry.clone()).negotiation(negotiation);
        let client = pair.client();
        client.on_form(|form| async move {
            form.accept(&json!({ "loud": true })).map_err(ErrorData::from)
        });
        let answer = pair.run(client.call_tool("warn", &json!({ "city": "Oslo" })))?;
        assert_eq!(answer.content[0].as_text(), Some("The sirens wail."));
        assert_said(&pair, if negotiation == Negotiation::Legacy { LEGACY } else { MODERN });
    }
    // A client that cannot show a form.
    for (negotiation, code) in [(Negotiation::Legacy, -32603), (Negotiation::Auto, -32021)] {
        let mut pair = Pair::new(registry.clone()).negotiation(negotiation);
        let client = pair.client();
        let answer = pair.run(client.call_tool("warn", &json!({ "city": "Oslo" })));
        let Err(mcp_tokio::CallError::Error { error, .. }) = answer else {
            return Err("it was asked".into());
        };
        assert_eq!(error.code.0, code);
    }
    Ok(())
}

const LEGACY: &str = r#"
C> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"warn","arguments":{"city":"Oslo"}}}
S> {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Warn all of Oslo?","requestedSchema":{"type":"object","properties":{"loud":{"type":"boolean"}},"required":["loud"]}}}
C> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"loud":true}}}
S> {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"The sirens wail."}]}}
"#;

const MODERN: &str = r#"
C> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{…},"name":"warn","arguments":{"city":"Oslo"}}}
S> {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","_meta":{…},"inputRequests":{"alarm":{"method":"elicitation/create","params":{"message":"Warn all of Oslo?","requestedSchema":{"type":"object","properties":{"loud":{"type":"boolean"}},"required":["loud"]}}}}}}
C> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{…},"name":"warn","arguments":{"city":"Oslo"},"inputResponses":{"alarm":{"action":"accept","content":{"loud":true}}}}}
S> {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","_meta":{…},"content":[{"type":"text","text":"The sirens wail."}]}}
"#;

fn with_limits(registry: &mut Registry<Handler>) {
    registry.around(HandlerKind::Tool, |request, next| async move {
        let name = request.tool.as_ref().map_or(String::new(), |tool| tool.name.clone());
        let who = request.context.peer().principal.clone();
        let outcome = next.run(request).await;
        eprintln!("{name} for {who:?}: {}", matches!(outcome, Outcome::Complete(_)));
        outcome
    });
    registry.around(HandlerKind::Tool, limit_rate(10, Duration::from_secs(1)));
    registry.around(HandlerKind::Tool, limit_concurrency(4));
}

#[test]
fn around_handlers() -> Tested {
    let mut registry = weather()?;
    with_limits(&mut registry);
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let oslo = json!({ "city": "Oslo" });
    for _ in 0..10 {
        assert!(!pair.run(client.call_tool("forecast", &oslo))?.is_error);
    }
    let refused = pair.run(client.call_tool("forecast", &oslo))?;
    assert_eq!(refused.content[0].as_text(), Some("Too many calls; try again in 0.1 s."));
    Ok(())
}

fn with_callers(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    registry.tool("warn", "Warns a city", warn)?;
    registry.only_for(ListEntry::tool("warn"), |peer| {
        peer.scopes().is_some_and(|scopes| scopes.contains("weather:warn"))
    })?;
    Ok(())
}

#[test]
fn some_callers_only() -> Tested {
    let mut registry = weather()?;
    with_callers(&mut registry)?;
    let mut pair = Pair::over_http(registry);
    let client = pair.client();
    assert_eq!(pair.run(client.list_tools())?.tools.len(), 1);
    assert!(pair.run(client.call_tool("warn", &json!({ "city": "Oslo" }))).is_err());
    Ok(())
}

fn city() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("city", "1.0.0"));
    registry.mount("weather_", weather()?)?;
    Ok(registry)
}

#[test]
fn mounted() -> Tested {
    let told = called(city()?, "weather_forecast", &json!({ "city": "Oslo" }))?;
    assert_eq!(told, "It rains in Oslo.");
    Ok(())
}

fn tides() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("tides", "1.0.0"));
    registry.tool("high", "Tells the time of high water", |place: Place, _| async move {
        format!("In {} the water is high at noon.", place.city)
    })?;
    Ok(registry)
}

async fn with_tides(
    registry: &mut Registry<Handler>,
    tides: &Client,
) -> Result<(), RemoteToolsError> {
    let mut remote = RemoteTools::new(tides, "tides_").filter(|tool| tool.name != "set_moon");
    remote.add_to(registry).await
}

async fn follow_tides(catalog: Catalog, tides: Client) -> Result<(), RemoteToolsError> {
    RemoteTools::new(&tides, "tides_").follow(&catalog).await
}

#[test]
fn tools_of_another_server() -> Tested {
    let mut registry = weather()?;
    let mut pair = Pair::new(tides()?);
    let client = pair.client();
    pair.run(with_tides(&mut registry, &client))?;
    let mut listing = Pair::new(registry);
    let tools = listing.run(listing.client().list_tools())?.tools;
    assert_eq!(tools[1].name, "tides_high");
    let catalog = Catalog::from(weather()?);
    pair.run(follow_tides(catalog.clone(), client))?;
    let mut listing = Pair::new(catalog);
    assert_eq!(listing.run(listing.client().list_tools())?.tools.len(), 2);
    Ok(())
}

fn with_changes(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    // Declares that the list of tools may change, and that updates of resources are reported.
    registry.list_changed(List::Tools).subscribe();
    registry.tool("install", "Installs a siren", |_: Place, context: Context| async move {
        context.catalog().update(|registry| {
            registry.tool("warn", "Warns a city", warn)?;
            Ok("There is a siren.")
        })
    })?;
    registry.tool("dismantle", "Removes the siren", |_: Place, context: Context| async move {
        let siren = context.catalog().update(|registry| Ok(registry.remove_tool("warn")))?;
        Ok::<_, UsageError>(if siren.is_some() { "It is gone." } else { "There is none." })
    })?;
    registry.tool("redraw", "Draws the map again", |_: Place, context: Context| async move {
        context.publish(&Change::ResourceUpdated("weather://map".into()))?;
        Ok::<_, UsageError>("The map is another one.")
    })?;
    Ok(())
}

#[test]
fn changes() -> Tested {
    let mut registry = weather()?;
    with_resources(&mut registry)?;
    with_changes(&mut registry)?;
    for negotiation in BOTH {
        let mut pair = Pair::new(registry.clone()).negotiation(negotiation);
        let client = pair.client();
        let filter = SubscriptionFilter::new().tools_list_changed().resource("weather://map");
        let mut changes = pair.run(client.subscribe(filter))?;
        let oslo = json!({ "city": "Oslo" });
        pair.run(client.call_tool("redraw", &oslo))?;
        let updated = Change::ResourceUpdated("weather://map".into());
        assert_eq!(pair.run(changes.changed()), Some(updated), "{negotiation:?}");
        pair.run(client.call_tool("install", &oslo))?;
        if negotiation == Negotiation::Auto {
            assert_eq!(pair.run(changes.changed()), Some(Change::ListChanged(List::Tools)));
        }
        assert_eq!(pair.run(client.list_tools())?.tools.len(), 5);
        let removed = pair.run(client.call_tool("dismantle", &oslo))?;
        assert_eq!(removed.content[0].as_text(), Some("It is gone."));
        let removed = pair.run(client.call_tool("dismantle", &oslo))?;
        assert_eq!(removed.content[0].as_text(), Some("There is none."));
        assert_eq!(pair.run(client.list_tools())?.tools.len(), 4);
    }
    Ok(())
}

async fn look_up_roots(session: Session) -> Result<(), SessionError> {
    let places = session.list_roots().await?.roots.len();
    session.log(LoggingLevel::Info, None, format!("{places} places")).await
}

fn with_roots(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    registry.logging();
    for method in ["notifications/initialized", "notifications/roots/list_changed"] {
        // This must not block; the task ends with the session at the latest.
        registry.session_notification(method, |_: Json, session| {
            tokio::spawn(look_up_roots(session));
        })?;
    }
    Ok(())
}

#[tokio::test]
async fn outside_of_a_request() -> Tested {
    let mut registry = weather()?;
    with_roots(&mut registry)?;
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let served = tokio::spawn(mcp_tokio::serve(registry, Config::default(), reader, writer));
    let mut config = ClientConfig::new(Implementation::new("guide", "1.0.0"));
    config.negotiation = Negotiation::Legacy;
    let client = Client::new(config);
    client.set_roots(vec![Root::new("file:///oslo")])?;
    let (sender, mut logs) = tokio::sync::mpsc::unbounded_channel();
    client.on_log(move |message| sender.send(message.data.to_string()).unwrap_or_default());
    let (reader, writer) = tokio::io::split(ours);
    mcp_tokio::connect(&client, reader, writer).await?;
    assert_eq!(logs.recv().await.as_deref(), Some("\"1 places\""));
    client.set_roots(Vec::new())?;
    assert_eq!(logs.recv().await.as_deref(), Some("\"0 places\""));
    client.close().await;
    Ok(served.await??)
}

async fn serve(
    listener: TcpListener,
    catalog: Catalog,
    stop: oneshot::Receiver<()>,
) -> std::io::Result<()> {
    let mut config = HttpConfig::default();
    config.path = "/weather".into();
    config.allowed_hosts.push("weather.example.com".into());
    config.allowed_origins.push("https://app.example.com".into());
    config.route(|head| (head.path() == "/health").then(|| RouteResponse::text("ok")));
    let stop = async { drop(stop.await) };
    mcp_tokio::serve_http_until(listener, catalog, config, stop).await
}

#[tokio::test]
async fn over_http() -> Tested {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel();
    let served = tokio::spawn(serve(listener, weather()?.into(), stopped));
    let client = Client::new(Implementation::new("app", "1.0.0"));
    connect_http(&client, HttpClientConfig::parse(&format!("http://{address}/weather"))?).await?;
    client.call_tool("forecast", &json!({ "city": "Oslo" })).await?;
    client.close().await;
    drop(stop);
    Ok(served.await??)
}

/// The text of what a tool returns.
fn called(
    registry: Registry<Handler>,
    name: &str,
    arguments: &serde_json::Value,
) -> Result<String, Box<dyn Error>> {
    let mut pair = Pair::new(registry);
    let result = pair.run(pair.client().call_tool(name, arguments))?;
    Ok(result.content[0].as_text().unwrap_or_default().into())
}
