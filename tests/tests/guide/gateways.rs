//! Quoted by `docs/guide/gateways.md`.

use std::error::Error;

use mcp_proto::headers::{Header, HeaderError, HeaderPlan, MirroredHeaders};
use mcp_proto::types::Tool;
use mcp_proto::{Bytes, ErrorCode, Limits, header_name};

type Outcome = Result<(), Box<dyn Error>>;

/// Route of a request, which only its head decides.
fn route<'a>(
    fields: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<&'static str, HeaderError> {
    let head = MirroredHeaders::of(fields);
    let claim = head.claim()?;
    let region = head.param("Region")?;
    Ok(match (claim.method, region.as_deref()) {
        ("tools/call", Some("eu")) => "http://eu.internal/mcp",
        ("tools/call", Some("us")) => "http://us.internal/mcp",
        _ => "http://any.internal/mcp",
    })
}

const HEAD: [(&str, &[u8]); 4] = [
    ("MCP-Protocol-Version", b"2026-07-28"),
    ("Mcp-Method", b"tools/call"),
    ("Mcp-Name", b"forecast"),
    ("Mcp-Param-Region", b"eu"),
];

#[test]
fn by_the_head() -> Outcome {
    assert_eq!(route(HEAD)?, "http://eu.internal/mcp");
    let listing: [(&str, &[u8]); 2] = [HEAD[0], ("Mcp-Method", b"tools/list")];
    assert_eq!(route(listing)?, "http://any.internal/mcp");
    // Servers of legacy revisions do not compare heads with bodies: nobody may trust these.
    let legacy: [(&str, &[u8]); 2] = [("MCP-Protocol-Version", b"2025-11-25"), HEAD[1]];
    assert!(matches!(route(legacy), Err(HeaderError::Unvalidated { .. })));
    Ok(())
}

header_name!(Region = "Region");

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    city: String,
    /// The region of the data.
    region: Header<String, Region>,
}

#[test]
fn with_the_body() -> Outcome {
    // From a `tools/list` that has passed.
    let schema = Tool::of::<Place>("forecast")?.input_schema;
    let place: Place = serde_json::from_str(r#"{"city":"Oslo","region":"eu"}"#)?;
    assert_eq!((&*place.city, &**place.region), ("Oslo", "eu"));
    let plan = HeaderPlan::compile(&schema)?;
    let plan_of = |tool: &str| (tool == "forecast").then_some(&plan);
    let body = Bytes::from(BODY.trim());

    assert!(MirroredHeaders::of(HEAD).check_body(&body, &Limits::default(), plan_of).is_ok());

    let mut lies = HEAD;
    lies[3].1 = b"us";
    let Err(error) = MirroredHeaders::of(lies).check_body(&body, &Limits::default(), plan_of)
    else {
        return Err("it was believed".into());
    };
    assert_eq!(error.code(), ErrorCode::HEADER_MISMATCH);
    Ok(())
}

const BODY: &str = r#"
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","region":"eu"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
"#;
