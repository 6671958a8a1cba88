//! Headers of a call that repeat its arguments: a bridge over HTTP holds them against the body,
//! whatever its server is, once the tool was listed.

use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use mcp_proto::message::Method;
use mcp_proto::server::Outcome;
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Era, Json, http};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, run_http};
use mcp_service::{BridgeConfig, Handler, Reader, Registry, Writer};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::{Value, json};

use super::cells::{BRIDGE, at, client};
use super::{ERAS, modern, policy, request};

const SCHEMA: &str =
    r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;

#[test]
fn header_that_contradicts_the_argument_is_refused_before_the_server_sees_the_call() {
    for up in ERAS {
        let calls = Arc::new(Mutex::new(0));
        let world = World::default();
        let _bridge = bridged(&world, up, &calls);
        let call = json!({"name": "query", "arguments": {"region": "eu"}});
        let right = "Mcp-Name: query\r\nMcp-Param-Region: eu\r\n";
        let wrong = "Mcp-Name: query\r\nMcp-Param-Region: us\r\n";
        let none = "Mcp-Name: query\r\n";
        // Nobody has listed the tool: it is not known that it has a header.
        assert_eq!(ask(&world, "tools/call", &call, wrong).0, 200);
        assert_eq!(ask(&world, "tools/list", &json!({}), "").0, 200);
        for (fields, says) in [(wrong, "us"), (none, "is missing")] {
            let (status, answer) = ask(&world, "tools/call", &call, fields);
            assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains("Mcp-Param-Region") && message.contains(says), "{answer}");
        }
        assert_eq!(*calls.lock().unwrap(), 1);
        assert_eq!(ask(&world, "tools/call", &call, right).0, 200);
        assert_eq!(*calls.lock().unwrap(), 2);
    }
}

#[test]
fn headers_of_other_requests_and_of_a_tool_that_has_changed_are_not_compared() {
    for up in ERAS {
        let world = World::default();
        let lists = Arc::new(Mutex::new(vec![json!({}), json!({"x-mcp-header": "Region"})]));
        let _bridge = bridged_to(&world, up, move || changing(&lists));
        let call = json!({"name": "query", "arguments": {"region": "eu"}});
        let wrong = "Mcp-Name: query\r\nMcp-Param-Region: us\r\n";
        assert_eq!(ask(&world, "tools/list", &json!({}), "").0, 200);
        assert_eq!(ask(&world, "tools/call", &call, wrong).1["error"]["code"], -32020);
        let (_, answer) = ask(&world, "prompts/get", &call, wrong);
        assert_eq!(answer["result"]["done"], true, "{answer}");
        assert_eq!(ask(&world, "tools/list", &json!({}), "").0, 200);
        let (_, answer) = ask(&world, "tools/call", &call, wrong);
        assert_eq!(answer["result"]["done"], true, "{answer}");
    }
}

/// A server that lists its tool with the next schema of the argument each time.
fn changing(schemas: &Arc<Mutex<Vec<Value>>>) -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("server", "1"));
    let schemas = schemas.clone();
    let answer = move |method: Method, _, _| {
        let result = match method.name() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "server", "version": "1"},
            }),
            "server/discover" => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
            }),
            "tools/list" => {
                let mut region = json!({"type": "string"});
                let schema = schemas.lock().unwrap().pop().unwrap();
                region.as_object_mut().unwrap().extend(schema.as_object().unwrap().clone());
                let schema = json!({"type": "object", "properties": {"region": region}});
                json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                    "tools": [{"name": "query", "inputSchema": schema}]})
            }
            _ => json!({"resultType": "complete", "done": true}),
        };
        let result = Json::encode(&result).unwrap();
        async move { Outcome::Complete(result) }
    };
    registry.forward(Handler::forward(answer, |_, _, _| ()));
    registry
}

#[test]
fn legacy_client_sends_no_such_headers_and_is_served() {
    for up in ERAS {
        let calls = Arc::new(Mutex::new(0));
        let world = World::default();
        let _bridge = bridged(&world, up, &calls);
        let client = client(Era::Legacy);
        let (runtime, driven) = (world.clone(), client.clone());
        world.spawn(async move { drop(run_http(&runtime, &driven, at(BRIDGE)).await) });
        let called = async {
            client.list_tools().await.unwrap();
            client.call_tool("query", &json!({"region": "eu"})).await
        };
        let result = world.run(called).unwrap().unwrap();
        assert!(!result.is_error, "{result:?}");
        assert_eq!(*calls.lock().unwrap(), 1);
    }
}

fn bridged(world: &World, era: Era, calls: &Arc<Mutex<usize>>) -> mcp_service::Bridge {
    let calls = calls.clone();
    bridged_to(world, era, move || registry(&calls))
}

/// A bridge to such a server of this era.
fn bridged_to(
    world: &World,
    era: Era,
    registry: impl Fn() -> Registry<Handler> + Send + Sync + 'static,
) -> mcp_service::Bridge {
    let here = world.clone();
    let target =
        BridgeTarget::stream(move || Ok(here.serve(registry(), server_config(policy(era)))));
    let bridge = bridge(world, target, BridgeConfig::new(Implementation::new("bridge", "1")));
    let mut config = http::Config::default();
    config.keep_head = true;
    world.serve_http(BRIDGE, bridge.catalog(), config);
    bridge
}

fn registry(calls: &Arc<Mutex<usize>>) -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("server", "1"));
    let tool = Tool::new("query", Json::parse(SCHEMA).unwrap());
    let calls = calls.clone();
    let query = move |_: Value, _| {
        *calls.lock().unwrap() += 1;
        async { "done" }
    };
    registry.tool_with(tool, query).unwrap();
    registry
}

/// The status of a POST of a modern client, and the message in the answer.
fn ask(world: &World, method: &str, params: &Value, fields: &str) -> (u16, Value) {
    let body = request(1, method, &modern(params.clone()));
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{fields}"
    );
    let text = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let answer = world.run(async {
        let mut socket = world.connect((Ipv4Addr::LOCALHOST, BRIDGE).into()).await.unwrap();
        poll_fn(|context| socket.poll_write(context, text.as_bytes())).await.unwrap();
        let mut answer = Vec::new();
        loop {
            let bytes = poll_fn(|context| socket.poll_read(context)).await.unwrap();
            if bytes.is_empty() {
                break String::from_utf8(answer).unwrap();
            }
            answer.extend_from_slice(&bytes);
        }
    });
    let answer = answer.unwrap();
    let message = answer.lines().find_map(|line| {
        let line = line.strip_prefix("data: ").unwrap_or(line);
        serde_json::from_str(line).ok().filter(Value::is_object)
    });
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), message.unwrap_or_default())
}
