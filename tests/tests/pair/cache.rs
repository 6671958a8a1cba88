//! Clients with a cache over HTTP: what they share, and when they ask again.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_proto::Instant;
use mcp_proto::client::{Cache, CacheConfig, Config, Negotiation, SharedCache};
use mcp_proto::server::Cacheable;
use mcp_proto::types::{CacheHint, Implementation, SubscriptionFilter};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Handler, HttpClientConfig, Registry, RemoteTools, ResponseCache};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// The same place, with another header.
#[derive(Deserialize, JsonSchema)]
struct Area {
    #[schemars(extend("x-mcp-header" = "Area"))]
    region: String,
}

#[test]
fn clients_of_one_url_share_what_is_public() {
    let cache = Arc::new(ResponseCache::default());
    let mut first = pair(CacheHint::public(60_000), &cache);
    first.run(first.client().list_tools()).unwrap();
    let mut second = pair(CacheHint::public(60_000), &cache);
    second.run(second.client().connected()).unwrap();
    let tools = second.run(second.client().list_tools()).unwrap();
    assert_eq!((lists(&first), lists(&second), tools.tools.len()), (1, 0, 1));
    // It knows the headers that calls of the tools need.
    let place = json!({ "region": "north" });
    let answer = second.run(second.client().call_tool("forecast", &place)).unwrap();
    assert_eq!(answer.content[0].as_text(), Some("Rain in north."));
    assert_eq!(lists(&second), 0, "{}", second.wire());
}

#[test]
fn clients_do_not_share_what_is_private_unless_they_name_one_principal() {
    let cache = Arc::new(ResponseCache::default());
    for (principal, expected) in
        [(None, 1), (None, 1), (Some("ada"), 1), (Some("bob"), 1), (Some("ada"), 0), (None, 1)]
    {
        let mut pair = pair_of(CacheHint::private(60_000), &cache, principal);
        pair.run(pair.client().connected()).unwrap();
        for _ in 0..2 {
            pair.run(pair.client().list_tools()).unwrap();
        }
        assert_eq!(lists(&pair), expected, "{principal:?}");
    }
}

#[test]
fn servers_at_other_urls_are_other_servers() {
    let cache = Arc::new(ResponseCache::default());
    let mut first = pair(CacheHint::public(60_000), &cache);
    first.run(first.client().list_tools()).unwrap();
    let url = HttpClientConfig::parse("http://localhost/mcp?tenant=2").unwrap();
    let mut second = pair(CacheHint::public(60_000), &cache).http_client_config(url);
    second.run(second.client().connected()).unwrap();
    second.run(second.client().list_tools()).unwrap();
    assert_eq!(lists(&second), 1);
}

#[test]
fn other_credentials_are_asked_for_again() {
    let cache = Arc::new(ResponseCache::default());
    let mut pair = pair(CacheHint::private(60_000), &cache);
    let client = pair.client();
    pair.run(client.connected()).unwrap();
    for (token, expected) in [(None, 1), (None, 1), (Some("Bearer 2"), 2), (None, 2)] {
        if let Some(token) = token {
            client.set_field("Authorization", token).unwrap();
        }
        pair.run(client.list_tools()).unwrap();
        assert_eq!(lists(&pair), expected, "{token:?}");
    }
    // The application vouches for them.
    client.set_principal(Some("ada"));
    for (token, expected) in [("Bearer 3", 3), ("Bearer 4", 3)] {
        client.set_field("Authorization", token).unwrap();
        pair.run(client.list_tools()).unwrap();
        assert_eq!(lists(&pair), expected, "{token}");
    }
}

#[test]
fn a_list_is_fetched_again_after_an_outage_of_its_subscription() {
    let cache = Arc::new(ResponseCache::default());
    let mut pair = pair(CacheHint::public(600_000), &cache);
    let client = pair.client();
    let filter = SubscriptionFilter::new().tools_list_changed();
    let mut changes = pair.run(client.subscribe(filter)).unwrap();
    pair.run(client.list_tools()).unwrap();
    pair.run(client.list_tools()).unwrap();
    assert_eq!(lists(&pair), 1);
    pair.cut();
    // The client says that everything may have changed.
    pair.run(changes.changed()).unwrap();
    pair.run(client.list_tools()).unwrap();
    assert_eq!(lists(&pair), 2);
}

/// No subscription reports what changes between `add_to` and `follow`.
#[test]
fn tools_that_are_followed_are_current_although_an_older_list_is_kept() {
    let catalog = Catalog::from(registry(CacheHint::public(600_000)));
    let cache = Arc::new(ResponseCache::default());
    let mut pair = Pair::over_http(catalog.clone()).client_config(config(&cache, None));
    let mut remote = RemoteTools::new(&pair.client(), "");
    let mut front = Registry::new(Implementation::new("front", "1.0.0"));
    pair.run(remote.add_to(&mut front)).unwrap();
    let tides = |_: Place, _| async { "High at noon." };
    catalog.update(|registry| registry.tool("tides", "Tells tides", tides).map(|_| ())).unwrap();
    let front = Catalog::from(front);
    let mut following = Box::pin(remote.follow(&front));
    assert!(pair.poll(&mut following).is_pending());
    assert_eq!(lists(&pair), 2);
    let mut front = Pair::new(front.clone());
    assert_eq!(front.run(front.client().list_tools()).unwrap().tools.len(), 2);
}

/// The client of a legacy session keeps nothing, and it reports changes to the shared cache.
#[test]
fn change_in_a_legacy_session_drops_what_other_clients_keep() {
    let catalog = Catalog::from(registry(CacheHint::public(600_000)));
    let cache = Arc::new(ResponseCache::default());
    let mut modern = pair(CacheHint::public(600_000), &cache);
    modern.run(modern.client().list_tools()).unwrap();
    let config = config(&cache, None).negotiation(Negotiation::Legacy);
    let mut legacy = Pair::over_http(catalog.clone()).client_config(config);
    let filter = SubscriptionFilter::new().tools_list_changed();
    let mut changes = legacy.run(legacy.client().subscribe(filter)).unwrap();
    assert_eq!(cache.len(), 1);
    catalog.update(|registry| Ok(registry.remove_tool("forecast"))).unwrap();
    legacy.run(changes.changed()).unwrap();
    assert_eq!(cache.len(), 0);
}

#[test]
fn a_list_is_fetched_again_after_a_call_with_its_headers_was_refused() {
    let catalog = Catalog::from(registry(CacheHint::public(600_000)));
    let cache = Arc::new(ResponseCache::default());
    let mut pair = Pair::over_http(catalog.clone()).client_config(config(&cache, None));
    let client = pair.client();
    let place = json!({ "region": "north" });
    let calls = |pair: &Pair| pair.wire().matches(r#""method":"tools/call""#).count();
    pair.run(client.list_tools()).unwrap();
    pair.run(client.call_tool("forecast", &place)).unwrap();
    assert_eq!((lists(&pair), calls(&pair)), (1, 1));
    // Without a subscription the client is not notified.
    let change = |registry: &mut Registry| {
        registry.remove_tool("forecast");
        let forecast = |Area { region }: Area, _| async move { format!("Sun in {region}.") };
        registry.tool("forecast", "Tells the weather", forecast).map(|_| ())
    };
    catalog.update(change).unwrap();
    // The call is refused, the tools are listed, and the call is sent again.
    pair.run(client.call_tool("forecast", &place)).unwrap();
    assert_eq!((lists(&pair), calls(&pair)), (2, 3));
    let tools = pair.run(client.list_tools()).unwrap().tools;
    assert!(tools[0].input_schema.as_str().contains("Area"));
    pair.run(client.call_tool("forecast", &place)).unwrap();
    assert_eq!((lists(&pair), calls(&pair)), (3, 4));
}

#[test]
fn legacy_servers_are_asked_each_time_whatever_the_transport() {
    let cache = Arc::new(ResponseCache::default());
    let mut pair = Pair::over_http(registry(CacheHint::public(60_000)))
        .client_config(config(&cache, None).negotiation(Negotiation::Legacy));
    for _ in 0..2 {
        pair.run(pair.client().list_tools()).unwrap();
    }
    assert_eq!((lists(&pair), cache.len()), (2, 0));
}

/// Each client counts its time from its own beginning.
#[test]
fn a_shared_result_is_stale_at_the_same_time_for_all() {
    let cache = Arc::new(ResponseCache::default());
    let mut first = pair(CacheHint::public(60_000), &cache);
    // The time of its machine is another one by now than that of the cache.
    first.pass(Duration::from_secs(5000));
    first.run(first.client().list_tools()).unwrap();
    let mut second = pair(CacheHint::public(60_000), &cache);
    second.run(second.client().connected()).unwrap();
    second.run(second.client().list_tools()).unwrap();
    assert_eq!(lists(&second), 0);
    second.pass(Duration::from_secs(61));
    second.run(second.client().list_tools()).unwrap();
    assert_eq!(lists(&second), 1);
}

/// A cache of several clients that panics at one access.
#[derive(Debug)]
struct Panicking {
    cache: ResponseCache,
    at: usize,
    /// It panics after the access instead of before.
    is_late: bool,
    accesses: AtomicUsize,
}

impl Panicking {
    fn access<T>(&self, access: impl FnOnce() -> T) -> T {
        let panics = self.accesses.fetch_add(1, Ordering::Relaxed) == self.at;
        if panics && !self.is_late {
            resume_unwind(Box::new("quiet"));
        }
        let result = access();
        if panics {
            resume_unwind(Box::new("quiet"));
        }
        result
    }
}

impl SharedCache for Panicking {
    fn now(&self) -> Instant {
        self.access(|| self.cache.now())
    }

    fn with(&self, f: &mut dyn FnMut(&mut Cache)) {
        self.access(|| self.cache.with(f));
    }
}

/// Each client has results of its own, since the server calls them private.
#[test]
fn panic_of_a_cache_fails_no_call_and_shares_nothing() {
    for is_late in [false, true] {
        for at in 0.. {
            let (cache, accesses) = (ResponseCache::default(), AtomicUsize::new(0));
            let cache = Arc::new(Panicking { cache, at, is_late, accesses });
            for client in 0..2 {
                let config = Config::new(Implementation::new("app", "1.0.0"));
                let config = config.cache(CacheConfig::shared(cache.clone()));
                let mut pair = Pair::over_http(registry(CacheHint::private(60_000)))
                    .client_config(config.negotiation(Negotiation::Auto));
                for _ in 0..2 {
                    pair.run(pair.client().list_tools()).unwrap();
                }
                assert!(lists(&pair) >= 1, "client {client}, {at}, {is_late}");
                pair.run(pair.client().close());
            }
            if cache.accesses.load(Ordering::Relaxed) <= at {
                assert!(at > 10, "{at}");
                break;
            }
        }
    }
}

/// Clients in JavaScript and Go cannot read larger numbers.
#[test]
fn a_time_without_end_is_sent_as_an_exact_integer() {
    let mut pair = Pair::new(registry(CacheHint::public(u64::MAX)));
    let tools = pair.run(pair.client().list_tools()).unwrap();
    assert_eq!(tools.ttl_ms, Some((1 << 53) - 1));
}

fn registry(hint: CacheHint) -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry
        .tool("forecast", "Tells the weather", |place: Place, _| async move {
            format!("Rain in {}.", place.region)
        })
        .unwrap();
    registry.list_changed(mcp_proto::server::List::Tools);
    registry.cache(Cacheable::Tools, hint);
    registry
}

fn config(cache: &Arc<ResponseCache>, principal: Option<&str>) -> Config {
    let mut shared = CacheConfig::shared(cache.clone());
    shared.principal = principal.map(Into::into);
    Config::new(Implementation::new("app", "1.0.0")).cache(shared)
}

fn pair(hint: CacheHint, cache: &Arc<ResponseCache>) -> Pair {
    pair_of(hint, cache, None)
}

fn pair_of(hint: CacheHint, cache: &Arc<ResponseCache>, principal: Option<&str>) -> Pair {
    Pair::over_http(registry(hint)).client_config(config(cache, principal))
}

/// Number of lists that the client has asked for.
fn lists(pair: &Pair) -> usize {
    pair.wire().matches(r#""method":"tools/list""#).count()
}
