//! Oversized everything, and everything as slow as can be.

use std::time::Instant;

use mcp_proto::headers::HeaderPlan;
use mcp_proto::types::Tool;
use mcp_proto::{Duration, Json, Limits};

use super::site::{INITIALIZED, Site, call, initialize, modern, of_session, post, session_id};
use super::{KIB, MIB, Meter};

#[test]
fn what_is_too_long_is_refused_before_it_is_kept() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let number = site.connect();
    let session = session_id(&site.ask(number, &post("", &initialize("2025-11-25", "c"))));
    site.ask(number, &of_session(&session, INITIALIZED));
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let long = "x".repeat(MIB);
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    let piece = format!("{:x}\r\n{}\r\n", KIB * 60, "x".repeat(KIB * 60));
    let id = format!("\"{}\"", "i".repeat(2000));
    let batch = format!("[{}1]", "1,".repeat(MIB));
    let huge = initialize("2025-11-25", &"n".repeat(17 * KIB));
    let old = session_id(&site.ask(number, &post("", &initialize("2025-03-26", "c"))));
    let depth = format!("{}{}", "[".repeat(MIB), "]".repeat(MIB));
    let token = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"hold\",\"_meta\":{{\"progressToken\":{id}}}}}}}"
    );
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("414", format!("GET /{long}").into()),
        ("431", format!("{head}X: {long}").into()),
        ("431", format!("{head}{}", "X: y\r\n".repeat(10_000)).into()),
        ("413", format!("{head}Content-Length: 4194305\r\n\r\n").into()),
        ("413", format!("{chunked}{}", piece.repeat(100)).into()),
        ("400", format!("{chunked}{}", "0".repeat(MIB)).into()),
        ("400", post("", &depth)),
        ("400", post("", &batch)),
        ("400", of_session(&old, &batch)),
        ("400", of_session(&session, &call(&id, "hold"))),
        ("400", of_session(&session, &token)),
        ("400", post("", &call(&id, "hold"))),
        ("400", modern(&id, "tools/call", "\"name\":\"hold\"")),
        ("400", post("", &huge)),
    ];
    for (at, (status, request)) in cases.iter().enumerate() {
        let number = site.connect();
        site.write(number, request);
        let answer = site.take(number);
        let line: String = answer.chars().take(300).collect();
        // What a legacy machine refuses for its parameters goes out on 200.
        let is = |status: &str| answer.starts_with(&format!("HTTP/1.1 {status} "));
        assert!(is(status) || is("200") && answer.contains("\"error\""), "case {at}: {line}");
        assert!(answer.len() < 64 * KIB, "case {at}: {} bytes of answer", answer.len());
        site.reset(number);
    }
    assert!(site.owed.is_empty(), "no handler has seen any of it");
    assert_eq!(site.endpoint.sessions(), 2, "nor has it opened a session");
    let given: usize = cases.iter().map(|(_, request)| request.capacity()).sum();
    meter.assert_peak("oversized everything", given + 32 * MIB);
    drop((cases, long, piece, batch, depth, chunked, huge, token, id));
    meter.assert_used("after all of it", 64 * KIB);
}

#[test]
fn all_listeners_share_the_bounds_of_subscriptions() {
    let meter = Meter::start();
    let mut limits = Limits::default();
    // For each there are 8 subscriptions.
    limits.max_connections = 128;
    let mut site = Site::new(limits);
    let (mut accepted, mut refused) = (0, 0);
    for n in 0..300 {
        let uris: Vec<String> = (0..10).map(|at| format!("\"t:{n}-{at}\"")).collect();
        let wanted =
            format!("\"notifications\":{{\"resourceSubscriptions\":[{}]}}", uris.join(","));
        let number = site.connect();
        let answer = site.ask(number, &modern(1, "subscriptions/listen", &wanted));
        if answer.contains("notifications/subscriptions/acknowledged") {
            accepted += 1;
        } else {
            refused += 1;
        }
    }
    assert_eq!((accepted, refused), (102, 198));
    assert_eq!(site.endpoint.listeners(), 102);
    let numbers: Vec<_> = site.connections.keys().copied().collect();
    for number in numbers {
        site.reset(number);
    }
    assert_eq!(site.endpoint.listeners(), 0);
    meter.assert_peak("listeners", 4 * MIB);
    meter.assert_used("no listeners", 64 * KIB);
}

#[test]
fn t120_a_call_does_not_read_the_schema_of_its_tool() {
    let mut meter = Meter::start();
    let property = |n| format!("\"p{n}\":{{\"type\":\"string\",\"x-mcp-header\":\"H{n}\"}}");
    let properties: Vec<String> = (0..1500).map(property).collect();
    let schema = format!("{{\"type\":\"object\",\"properties\":{{{}}}}}", properties.join(","));
    let schema = Json::parse(schema).expect("a schema");
    let mut site = Site::with_tool(Tool::new("planned", schema.clone()));
    let number = site.connect();
    let call = modern(1, "tools/call", "\"name\":\"planned\",\"arguments\":{\"p7\":\"x\"}");
    let call = String::from_utf8(call).expect("text");
    let with_header =
        |value: &str| call.replacen("Host:", &format!("Mcp-Param-H7: {value}\r\nHost:"), 1);
    let (right, wrong) = (with_header("x"), with_header("y"));
    let ask = |site: &mut Site, request: &str, status: &str| {
        let answer = site.ask(number, request.as_bytes());
        assert!(answer.starts_with(status), "{answer}");
    };
    // The first requests fill buffers that stay.
    ask(&mut site, &right, "HTTP/1.1 200 ");
    ask(&mut site, &wrong, "HTTP/1.1 400 ");
    meter.restart();
    drop(HeaderPlan::compile(&schema));
    let plan = meter.peak();
    meter.restart();
    for _ in 0..3 {
        ask(&mut site, &right, "HTTP/1.1 200 ");
        ask(&mut site, &wrong, "HTTP/1.1 400 ");
    }
    println!("a plan takes {plan} bytes");
    meter.assert_peak("calls with a plan", plan / 4);
}

#[test]
fn one_byte_at_a_time_costs_what_it_costs() {
    let meter = Meter::start();
    let mut limits = Limits::default();
    limits.max_body_bytes = 4 * MIB;
    let mut site = Site::new(limits);
    let time = |site: &mut Site, length: usize| {
        let params = |length| {
            format!("\"name\":\"echo\",\"arguments\":{{\"a\":\"{}\"}}", "x".repeat(length))
        };
        let field = format!("X: {}\r\n", "y".repeat(length / 64));
        let request = String::from_utf8(modern(1, "tools/call", &params(length))).expect("text");
        let request = request.replacen("Host:", &format!("{field}Host:"), 1);
        let start = Instant::now();
        let number = site.connect();
        for byte in request.as_bytes() {
            assert_eq!(site.write(number, &[*byte]), 1);
        }
        let answer = site.take(number);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        start.elapsed()
    };
    time(&mut site, 10_000);
    let (short, long) = (time(&mut site, 100_000), time(&mut site, 1_600_000));
    println!("{short:?} for 100 KB, {long:?} for 1.6 MB");
    assert!(long < short * 80, "{short:?} for 100 KB, {long:?} for 1.6 MB");
    meter.assert_peak("one byte at a time", 16 * MIB);
}

#[test]
fn who_is_slow_has_its_time_and_no_more() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let head = post("", &initialize("2025-11-25", "c"));
    for length in [1, 40, 150, head.len() - 1] {
        let number = site.connect();
        for byte in &head[..length] {
            site.write(number, &[*byte]);
            site.pass(Duration::from_millis(1));
        }
        site.pass(Duration::from_secs(31));
        let answer = site.take(number);
        assert!(answer.starts_with("HTTP/1.1 408 "), "{length}: {answer}");
        site.pass(Duration::from_secs(3));
        assert!(site.connections[&number].closed, "{length}");
    }
    let idle = site.connect();
    site.pass(Duration::from_secs(76));
    assert!(site.connections[&idle].closed && site.take(idle).is_empty());
    meter.assert_peak("slow ones", 64 * KIB);
}
