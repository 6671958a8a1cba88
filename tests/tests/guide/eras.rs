//! Quoted by `docs/guide/eras.md`.

use std::error::Error;
use std::fs;

use mcp_service::testing::Pair;
use mcp_tokio::{
    Context, EraPolicy, Handler, Implementation, Negotiation, ProtocolVersion, Registry, UsageError,
};
use serde_json::json;

use crate::wire::assert_said;

type Outcome = Result<(), Box<dyn Error>>;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("clock", "1.0.0"));
    registry.tool("now", "Tells the time", |_: Nothing, context: Context| async move {
        // Hardly anybody needs to know.
        let era = context.peer().version.era();
        format!("It is noon, and the client is {era}.")
    })?;
    Ok(registry)
}

const LEGACY: &str = r#"
C> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"pair","version":"1.0.0"}}}
S> {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"clock","version":"1.0.0"}}}
C> {"jsonrpc":"2.0","method":"notifications/initialized"}
! connected 2025-11-25
C> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"now","arguments":{}}}
S> {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"It is noon, and the client is legacy."}]}}
"#;

const MODERN: &str = r#"
C> {"jsonrpc":"2.0","id":"discover-2","method":"server/discover","params":{"_meta":{…}}}
S> {"jsonrpc":"2.0","id":"discover-2","result":{"resultType":"complete","_meta":{…},"ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"tools":{}}}}
! connected 2026-07-28
C> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{…},"name":"now","arguments":{}}}
S> {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{…},"content":[{"type":"text","text":"It is noon, and the client is modern."}]}}
"#;

const META: &str = r#"
"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"pair","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}
"#;

#[test]
fn both_eras() -> Outcome {
    for (negotiation, said) in [(Negotiation::Legacy, LEGACY), (Negotiation::Auto, MODERN)] {
        let mut pair = Pair::new(registry()?).negotiation(negotiation);
        pair.run(pair.client().call_tool("now", &json!({})))?;
        assert_said(&pair, said);
        assert_eq!(pair.wire().contains(META.trim()), negotiation == Negotiation::Auto);
    }
    Ok(())
}

/// The table on the page, as it comes out.
#[test]
fn who_gets_along_with_whom() -> Outcome {
    let servers = [EraPolicy::Auto, EraPolicy::LegacyOnly, EraPolicy::ModernOnly];
    let clients = [
        ("`Negotiation::Auto`", Negotiation::Auto),
        ("`Negotiation::Legacy`", Negotiation::Legacy),
        ("`Negotiation::Pinned` to 2026-07-28", Negotiation::Pinned(ProtocolVersion::V2026_07_28)),
        ("`Negotiation::Pinned` to 2025-06-18", Negotiation::Pinned(ProtocolVersion::V2025_06_18)),
    ];
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guide/eras.md");
    let page = fs::read_to_string(page)?;
    for (name, negotiation) in clients {
        let mut row = format!("| {name} |");
        for era_policy in servers {
            let over_pipe = version(Pair::new(registry()?), era_policy, negotiation);
            let over_http = version(Pair::over_http(registry()?), era_policy, negotiation);
            assert_eq!(over_pipe, over_http);
            row = [&*row, " ", &over_pipe, " |"].concat();
        }
        assert!(page.contains(&row), "the page lacks\n{row}");
    }
    Ok(())
}

fn version(pair: Pair, era_policy: EraPolicy, negotiation: Negotiation) -> String {
    let mut pair = pair.era_policy(era_policy).negotiation(negotiation);
    match pair.run(pair.client().connected()) {
        Ok(server) => server.version.to_string(),
        Err(_) => "no connection".into(),
    }
}
