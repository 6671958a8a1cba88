//! Quoted by `docs/guide/cache.md`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_service::testing::Pair;
use mcp_tokio::types::{CacheHint, Resource, ResourceContents, SubscriptionFilter};
use mcp_tokio::{
    CacheConfig, CacheLimits, Cacheable, Catalog, Change, ClientConfig, Implementation, Registry,
    ResponseCache, UsageError,
};

type Outcome = Result<(), Box<dyn Error>>;

const MAP: &str = "weather://map";

/// A server whose map may be kept for a minute, and how often it was read.
fn weather() -> Result<(Catalog, Arc<AtomicUsize>), UsageError> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    let reads = Arc::new(AtomicUsize::new(0));
    let counter = reads.clone();
    registry.resource(Resource::new(MAP, "map"), move |uri, _| {
        let reads = counter.fetch_add(1, Ordering::Relaxed);
        async move { ResourceContents::text(uri, format!("map {reads}")) }
    })?;
    registry.cache(Cacheable::Contents, CacheHint::private(60_000));
    registry.subscribe();
    Ok((registry.into(), reads))
}

#[test]
fn a_client_that_keeps_results() -> Outcome {
    let (catalog, reads) = weather()?;
    let config = ClientConfig::new(Implementation::new("app", "1.0.0"))
        .cache(CacheConfig::memory(CacheLimits::default()));
    let mut pair = Pair::new(catalog.clone()).client_config(config);
    let client = pair.client();

    let mut changes = pair.run(client.subscribe(SubscriptionFilter::new().resource(MAP)))?;
    pair.run(client.read_resource(MAP))?;
    pair.run(client.read_resource(MAP))?;
    // The second one has not reached the server.
    assert_eq!(reads.load(Ordering::Relaxed), 1);

    catalog.publish(&Change::ResourceUpdated(MAP.into()))?;
    pair.run(changes.changed());
    pair.run(client.read_resource(MAP))?;
    assert_eq!(reads.load(Ordering::Relaxed), 2);

    // The user wants to see the map of this moment.
    pair.run(client.read_resource(MAP).refresh())?;
    assert_eq!(reads.load(Ordering::Relaxed), 3);

    pair.pass(Duration::from_secs(60));
    pair.run(client.read_resource(MAP))?;
    assert_eq!(reads.load(Ordering::Relaxed), 4);
    Ok(())
}

#[test]
fn clients_that_share_a_cache() -> Outcome {
    let (catalog, reads) = weather()?;
    let cache = Arc::new(ResponseCache::new(CacheLimits::default()));
    let config = |user: &str| {
        let shared = CacheConfig::shared(cache.clone()).principal(user);
        ClientConfig::new(Implementation::new("app", "1.0.0")).cache(shared)
    };
    for (user, count) in [("ada", 1), ("ada", 1), ("bob", 2), ("ada", 2)] {
        let mut pair = Pair::over_http(catalog.clone()).client_config(config(user));
        let client = pair.client();
        pair.run(client.connected())?;
        pair.run(client.read_resource(MAP))?;
        assert_eq!(reads.load(Ordering::Relaxed), count, "{user}");
    }
    // Ada signs out.
    cache.clear_principal("ada");
    assert_eq!(cache.len(), 1);
    Ok(())
}

#[test]
fn a_server_that_is_away() -> Outcome {
    let (catalog, _) = weather()?;
    let cache = CacheConfig::memory(CacheLimits::default());
    // After the minute there is an hour more, while the server cannot be reached.
    let cache = cache.stale_on_error(Duration::from_secs(3600));
    let config = ClientConfig::new(Implementation::new("app", "1.0.0")).cache(cache);
    let mut pair = Pair::over_http(catalog).client_config(config);
    let client = pair.client();
    pair.run(client.read_resource(MAP))?;
    pair.pass(Duration::from_secs(100));
    pair.refuse(Duration::from_secs(3000));
    let stale = pair.run(client.read_resource(MAP))?;
    assert_eq!(stale.ttl_ms, Some(0));
    Ok(())
}
