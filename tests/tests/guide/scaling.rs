//! Quoted by `docs/guide/scaling.md`.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_proto::request_state::{RequestStateCodec, RequestStateKey};
use mcp_service::testing::Pair;
use mcp_tokio::types::{CacheHint, ElicitRequestFormParams, RequestedSchema};
use mcp_tokio::{
    Cacheable, CallError, Context, ErrorData, Handler, HttpConfig, Implementation, InputRequired,
    Interrupt, Json, Negotiation, Registry, Sessions, UsageError,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

/// 32 random bytes, the same for all processes.
const SECRET: [u8; 32] = [7; 32];

#[derive(Deserialize, schemars::JsonSchema)]
struct Book {
    city: String,
}

/// Offer that the client keeps until the user has answered.
#[derive(Serialize, Deserialize)]
struct Offer {
    price: u32,
}

async fn book(
    codec: Arc<RequestStateCodec>,
    book: Book,
    context: Context,
) -> Result<String, Interrupt> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(internal)?;
    let mut binding = context.binding().ok_or_else(|| ErrorData::internal("it asks"))?;
    if let Some(principal) = &context.peer().principal {
        binding = binding.principal(principal.as_bytes());
    }
    if let Some(state) = context.input().and_then(|input| input.state.as_deref()) {
        // Made by one of us, for this call of this user, less than 10 minutes ago.
        let state = codec.verify(now, &binding, state).map_err(ErrorData::from)?;
        let offer: Offer = state.decode().map_err(ErrorData::from)?;
        return Ok(format!("A room in {} for {}.", book.city, offer.price));
    }
    let offer = Json::encode(&Offer { price: 80 }).map_err(internal)?;
    let state = codec.mint(now, nonce(), &binding, offer.as_bytes()).map_err(internal)?;
    let form = ElicitRequestFormParams::new("A room for 80?", RequestedSchema::new());
    Err(InputRequired::new("sure", form).state(state).into())
}

fn internal(error: impl Into<Box<dyn Error>>) -> ErrorData {
    ErrorData::internal(error.into().to_string())
}

/// Stands for 16 random bytes.
fn nonce() -> [u8; 16] {
    [1; 16]
}

fn registry() -> Result<Registry<Handler>, UsageError> {
    let codec = Arc::new(RequestStateCodec::new(RequestStateKey::new(1, &SECRET)?));
    let mut registry = Registry::new(Implementation::new("rooms", "1.0.0"));
    registry.tool("book", "Books a room", move |arguments: Book, context| {
        book(codec.clone(), arguments, context)
    })?;
    Ok(registry)
}

#[test]
fn another_process_goes_on() -> Outcome {
    let mut pair = Pair::over_http(registry()?);
    let (client, clock) = (pair.client(), pair.clock());
    client.on_form(move |form| {
        let clock = clock.clone();
        async move {
            clock.sleep(Duration::from_secs(60)).await;
            form.accept_defaults().map_err(ErrorData::from)
        }
    });
    let mut call = client.call_tool("book", &json!({ "city": "Oslo" }));
    assert!(pair.poll(&mut call).is_pending());
    // While the user thinks, the server is started anew: it knows nothing but the key.
    pair.restart();
    assert_eq!(pair.run(call)?.content[0].as_text(), Some("A room in Oslo for 80."));
    Ok(())
}

#[test]
fn a_state_that_is_not_ours_is_refused() -> Outcome {
    let mut pair = Pair::new(registry()?);
    let params = json!({
        "name": "book",
        "arguments": { "city": "Oslo" },
        "requestState": "eyJwcmljZSI6MX0",
    });
    let refused = pair.run(pair.client().call::<Json>("tools/call", &params));
    assert!(matches!(refused, Err(CallError::Error { .. })), "{refused:?}");
    Ok(())
}

fn behind_a_balancer() -> HttpConfig {
    let mut config = HttpConfig::default();
    // Each POST of a legacy client stands alone: any process may answer it.
    config.sessions = Sessions::Stateless;
    config
}

#[test]
fn legacy_clients_without_sessions() -> Outcome {
    let config = behind_a_balancer();
    let mut pair =
        Pair::over_http(registry()?).http_config(config).negotiation(Negotiation::Legacy);
    let client = pair.client();
    client.on_form(|form| async move { form.accept_defaults().map_err(ErrorData::from) });
    pair.run(client.list_tools())?;
    pair.restart();
    pair.run(client.list_tools())?;
    assert_eq!(pair.sessions(), 0);
    // There is no way to ask it anything.
    assert!(pair.run(client.call_tool("book", &json!({ "city": "Oslo" }))).is_err());
    Ok(())
}

#[test]
fn a_list_that_may_be_kept() -> Outcome {
    let mut registry = registry()?;
    registry.cache(Cacheable::Tools, CacheHint::public(60_000));
    let mut pair = Pair::new(registry);
    pair.run(pair.client().list_tools())?;
    let wire = pair.wire();
    assert!(wire.contains(r#""ttlMs":60000,"cacheScope":"public""#), "{wire}");
    Ok(())
}
