//! Conversations that are right often enough to get deep, and wrong often enough to matter.

use mcp_proto::server::Config;
use mcp_proto::{Duration, EraPolicy, Instant};
use mcp_tests::fuzz::{self, Op, Script};
use proptest::prelude::*;
use proptest::sample::select;

/// A call to a machine, at a time that need not be later than that of the call before.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Bytes(Instant, String),
    Eof(Instant),
    Timeout(Instant),
    Poll(u8),
    Respond(Instant),
    Notify(Instant, f64),
}

const MODERN: &str = "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
    \"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}";

/// Calls to one of two machines.
pub(crate) fn calls() -> impl Strategy<Value = Vec<(u8, Call)>> {
    let at = || (0_u64..3_000_000).prop_map(Instant::from_micros);
    let call = prop_oneof![
        6 => (at(), line()).prop_map(|(at, text)| Call::Bytes(at, text)),
        1 => at().prop_map(Call::Eof),
        3 => at().prop_map(Call::Timeout),
        6 => (0_u8..4).prop_map(Call::Poll),
        4 => at().prop_map(Call::Respond),
        3 => (at(), select(vec![f64::NAN, 0.0, 0.5, 1.0, 1e300])).prop_map(|(at, n)| Call::Notify(at, n)),
    ];
    prop::collection::vec((any::<u8>(), call), 0..60)
}

/// A conversation, opened in some way.
pub(crate) fn conversation() -> impl Strategy<Value = Script> {
    (config(), opening(), prop::collection::vec(ops(), 1..6)).prop_map(
        |(config, opening, parts)| {
            let mut script = Script { config, ops: Vec::new() };
            script.push(Op::Bytes(opening.into_bytes()));
            parts.into_iter().flatten().for_each(|op| script.push(op));
            script
        },
    )
}

/// Small limits, so that they are reached.
pub(crate) fn config() -> impl Strategy<Value = Config> {
    let policy = select(vec![
        EraPolicy::Auto,
        EraPolicy::Auto,
        EraPolicy::LegacyOnly,
        EraPolicy::ModernOnly,
    ]);
    let ms = Duration::from_millis;
    let handler = select(vec![ms(20), ms(200), ms(1000), ms(0), Duration::MAX]);
    // A drain that never ends would never close.
    let drain = select(vec![ms(20), ms(200), ms(2000), ms(0)]);
    let sizes = (1_usize..6, select(vec![300_usize, 64 * 1024]), select(vec![5_usize, 64]));
    let line = select(vec![150_usize, 4096, 4096]);
    (policy, line, sizes, select(vec![6_usize, 128]), handler, drain).prop_map(
        |(policy, line, (requests, bytes, token), depth, handler, drain)| {
            let mut config = Config::default();
            config.era_policy = policy;
            config.limits.max_line_bytes = line;
            config.limits.max_in_flight = requests;
            config.limits.max_in_flight_bytes = bytes;
            config.limits.max_id_bytes = token;
            config.limits.max_depth = depth;
            config.limits.handler_timeout = handler;
            config.limits.input_timeout = handler;
            config.limits.max_input_rounds = requests;
            config.limits.max_subscriptions = requests;
            config.limits.max_subscription_bytes = bytes / 100;
            config.limits.drain = drain;
            config
        },
    )
}

/// Sequences of operations.
pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let time = || (0_u64..400).prop_map(Duration::from_millis);
    let op = prop_oneof![
        12 => line().prop_map(|text| Op::Bytes(text.into_bytes())),
        1 => text().prop_map(|text| Op::Bytes(text.into_bytes())),
        2 => time().prop_map(Op::Tick),
        1 => time().prop_map(Op::Wait),
        1 => Just(Op::Deadline),
        3 => any::<u8>().prop_map(Op::AnswerOldest),
        3 => any::<u8>().prop_map(Op::AnswerNewest),
        1 => Just(Op::Drop),
        1 => any::<u8>().prop_map(Op::AnswerVoid),
        3 => any::<u8>().prop_map(Op::Progress),
        1 => any::<u8>().prop_map(Op::ProgressVoid),
        4 => (0_u8..8).prop_map(Op::Ask),
        4 => (0_u8..10, 0_u8..8).prop_map(|(id, manner)| {
            Op::Bytes(fuzz::answer(id + 32 * manner).into_bytes())
        }),
        3 => any::<u8>().prop_map(Op::Publish),
        1 => Just(Op::Declare),
        1 => select(vec![0, 1, 10, 255]).prop_map(Op::Ping),
        2 => any::<u8>().prop_map(Op::Log),
        1 => any::<u8>().prop_map(Op::Say),
        1 => any::<u8>().prop_map(Op::AskOutside),
        1 => any::<u8>().prop_map(Op::Withdraw),
        1 => any::<u8>().prop_map(Op::TellOutside),
    ];
    (prop::collection::vec(op, 1..8), prop::bool::weighted(0.1)).prop_map(|(mut ops, eof)| {
        ops.extend(eof.then_some(Op::Eof));
        ops
    })
}

/// Bytes: any, or of the alphabet that JSON and the controls of a script are made of.
pub(crate) fn noise() -> impl Strategy<Value = Vec<u8>> {
    let alphabet =
        b"{}[]\",:\\u0123456789eE+-. \t\r\nidmethodnulltrue\x01\x03\x04\x05\x07\xEF\xBB\xBF";
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(select(alphabet.to_vec()), 0..200),
    ]
}

/// A message or a batch, and the end of its line.
fn line() -> BoxedStrategy<String> {
    let end = select(vec!["\n", "\n", "\n", "\r\n", "\n\n", " \n"]);
    (text(), end).prop_map(|(text, end)| text + end).boxed()
}

/// A message or a batch.
pub(crate) fn text() -> BoxedStrategy<String> {
    prop_oneof![
        8 => message(),
        2 => prop::collection::vec(message(), 0..5).prop_map(|all| format!("[{}]", all.join(","))),
        1 => select(vec!["", "null", "[[]]", "[1]", "\"x\"", "{}", "\u{feff}{}"])
            .prop_map(str::to_owned),
    ]
    .boxed()
}

fn opening() -> impl Strategy<Value = String> {
    let versions = ["2024-11-05", "2025-03-26", "2025-03-26", "2025-11-25", "2026-07-28", "x"];
    let initialized = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    prop_oneof![
        2 => Just(String::new()),
        4 => (select(versions.to_vec()), select(vec!["", initialized, initialized])).prop_map(
            |(version, then)| format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"open\",\"method\":\"initialize\",\"params\":{}}}\n{then}",
                initialize(version)
            )
        ),
        2 => Just(format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"open\",\"method\":\"tools/list\",\
             \"params\":{{\"_meta\":{{{MODERN}}}}}}}\n"
        )),
    ]
}

fn initialize(version: &str) -> String {
    format!(
        "{{\"protocolVersion\":\"{version}\",\"capabilities\":{{\"roots\":{{}}}},\
         \"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}"
    )
}

fn message() -> BoxedStrategy<String> {
    prop_oneof![
        // Nothing is wrong with these, so that handlers have much to do.
        9 => (0_u8..60, select(vec!["", MODERN])).prop_map(|(id, meta)| format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\
             \"params\":{{\"name\":\"hold\",\"_meta\":{{{meta}}}}}}}"
        )),
        9 => (member("jsonrpc", version()), member("id", id()), call())
            .prop_map(|(version, id, call)| object(&[version, id, call])),
        3 => (version(), call()).prop_map(|(v, call)| object(&[format!("\"jsonrpc\":{v}"), call])),
        2 => id().prop_map(|id| format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
             \"params\":{{\"requestId\":{id},\"reason\":\"r\"}}}}"
        )),
        1 => (version(), member("id", id()), answer())
            .prop_map(|(v, id, answer)| object(&[format!("\"jsonrpc\":{v}"), id, answer])),
        // Everything at once, in any order.
        1 => (member("id", id()), answer(), call(), member("id", id()))
            .prop_map(|(a, b, c, d)| object(&["\"jsonrpc\":\"2.0\"".into(), a, b, c, d])),
    ]
    .boxed()
}

fn object(members: &[String]) -> String {
    let members: Vec<&str> = members.iter().map(String::as_str).filter(|m| !m.is_empty()).collect();
    format!("{{{}}}", members.join(","))
}

/// A member that is left out now and then, or spelled in another way.
fn member(
    key: &'static str,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    (value, 0_u8..40).prop_map(move |(value, how)| match how {
        0 => String::new(),
        1 => {
            let (first, rest) = key.split_at(1);
            let first = first.bytes().next().unwrap_or_default();
            format!("\"\\u{first:04x}{rest}\" : {value}")
        }
        _ => format!("\"{key}\":{value}"),
    })
}

fn version() -> impl Strategy<Value = String> {
    prop_oneof![30 => Just("\"2.0\"".to_owned()), 1 => select(vec!["\"1.0\"", "2.0", "null"]).prop_map(str::to_owned)]
}

fn id() -> impl Strategy<Value = String> {
    let odd = ["null", "1.5", "true", "[]", "{}", "\"\\ud800\"", "1e999", "-", "01"];
    let good = ["1", "2", "3", "\"1\"", "1.0", "1e0", "\"\\u0031\"", "-0", "18446744073709551615"];
    let long = "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"";
    prop_oneof![
        12 => select(good.to_vec()).prop_map(str::to_owned),
        8 => (0_u8..30).prop_map(|id| id.to_string()),
        1 => select(odd.to_vec()).prop_map(str::to_owned),
        1 => Just(long.to_owned()),
    ]
}

fn answer() -> impl Strategy<Value = String> {
    select(vec![
        "\"result\":{}",
        "\"result\":null",
        "\"error\":{\"code\":-32600,\"message\":\"m\"}",
        "\"error\":{\"code\":1.0,\"message\":\"m\",\"data\":[]}",
        "\"error\":[1,\"m\",null]",
        "\"result\":1,\"error\":{}",
    ])
    .prop_map(str::to_owned)
}

/// A method and its parameters.
fn call() -> BoxedStrategy<String> {
    let methods = [
        "tools/list",
        "ping",
        "server/discover",
        "initialize",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "resources/list",
        "",
        "x\\n\\u0000",
    ];
    let tools = ["hold", "hold", "hold", "echo", "none"];
    prop_oneof![
        6 => (select(tools.to_vec()), arguments(), meta()).prop_map(|(name, arguments, meta)| {
            let params = object(&[format!("\"name\":\"{name}\""), arguments, meta]);
            format!("\"method\":\"tools/call\",\"params\":{params}")
        }),
        3 => (select(methods.to_vec()), cursor(), meta()).prop_map(|(method, cursor, meta)| {
            let params = object(&[cursor, meta]);
            format!("\"method\":\"{method}\",\"params\":{params}")
        }),
        1 => select(methods.to_vec()).prop_map(|method| format!("\"method\":\"{method}\"")),
        6 => (offer(), meta()).prop_map(|((method, params), meta)| {
            format!("\"method\":\"{method}\",\"params\":{}", object(&[params, meta]))
        }),
        1 => select(vec!["2025-03-26", "2025-06-18", "2026-07-28"]).prop_map(|version| {
            format!("\"method\":\"initialize\",\"params\":{}", initialize(version))
        }),
        1 => select(vec!["null", "[]", "1", "\"x\"", "{\"name\":1}", "{\"name\":\"hold\",\"name\":\"echo\"}"])
            .prop_map(|params| format!("\"method\":\"tools/call\",\"params\":{params}")),
    ]
    .boxed()
}

/// A method beside tools, with parameters that are good, or nearly.
fn offer() -> impl Strategy<Value = (&'static str, String)> {
    let all = [
        ("resources/read", "\"uri\":\"a:b\""),
        ("resources/read", "\"uri\":\"t:1\",\"requestState\":\"s\""),
        ("resources/read", "\"uri\":\"t:1\",\"inputResponses\":{\"a\":{}}"),
        ("resources/read", "\"uri\":\"none:\",\"inputResponses\":[]"),
        ("resources/subscribe", "\"uri\":\"t:1\""),
        ("resources/subscribe", "\"uri\":\"t:2\""),
        ("resources/unsubscribe", "\"uri\":\"t:1\""),
        ("prompts/get", "\"name\":\"p\",\"arguments\":{\"n\":\"1\"}"),
        ("prompts/get", "\"name\":\"p\""),
        (
            "completion/complete",
            "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"n\",\"value\":\"\"}",
        ),
        ("completion/complete", "\"ref\":{}"),
        ("subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true}"),
        ("subscriptions/listen", "\"notifications\":{\"promptsListChanged\":true}"),
        (
            "subscriptions/listen",
            "\"notifications\":{\"resourceSubscriptions\":[\"t:1\",\"a:b\",\"t:1\"]}",
        ),
        ("logging/setLevel", "\"level\":\"error\""),
        ("x/y", ""),
        ("notifications/x", ""),
    ];
    select(all.to_vec()).prop_map(|(method, params)| (method, params.to_owned()))
}

fn cursor() -> impl Strategy<Value = String> {
    select(vec![
        "",
        "",
        "",
        "\"cursor\":\"\"",
        "\"cursor\":\"1\"",
        "\"cursor\":\"01\"",
        "\"cursor\":1",
    ])
    .prop_map(str::to_owned)
}

fn arguments() -> impl Strategy<Value = String> {
    select(vec![
        "",
        "\"arguments\":{}",
        "\"arguments\":{\"text\":\"a\\\"\\n\u{e9}\u{2028}\",\"n\":1e999}",
        "\"arguments\":{\"_meta\":{},\"resultType\":\"x\"}",
        "\"arguments\":{\"a\":[[[[[[]]]]]]}",
        "\"arguments\":[]",
        "\"arguments\":null",
    ])
    .prop_map(str::to_owned)
}

fn meta() -> BoxedStrategy<String> {
    let modern = |more: &str| format!("\"_meta\":{{{MODERN}{more}}}");
    prop_oneof![
        6 => Just(modern("")),
        3 => Just(modern(",\"progressToken\":\"t\"")),
        5 => Just(String::new()),
        2 => Just("\"_meta\":{\"progressToken\":9}".to_owned()),
        1 => Just(modern(",\"io.modelcontextprotocol/logLevel\":\"loud\"")),
        1 => Just(modern(",\"progressToken\":{}")),
        1 => Just(modern(",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"}")),
        1 => select(vec![
            "\"_meta\":null",
            "\"_meta\":[]",
            "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}",
            "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7,\"io.modelcontextprotocol/clientCapabilities\":{}}",
            "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2099-01-01\",\"io.modelcontextprotocol/clientCapabilities\":{}}",
            "\"_meta\":{\"progressToken\":1,\"progressToken\":2}",
        ])
        .prop_map(str::to_owned),
    ]
    .boxed()
}
