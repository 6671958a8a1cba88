//! A server that has read what the client wrote, and says what fits to it, or nearly.
//!
//! In: the client's lines. Out: lines to answer, to tell and to ask, as many kinds of each as a
//! client tells apart.

use std::collections::VecDeque;

use super::super::oracle::{self, Object};

/// A request that the server has read.
#[derive(Clone, Debug)]
pub(in super::super) struct Read {
    pub(in super::super) id: String,
    pub(in super::super) method: String,
    pub(in super::super) params: String,
}

/// Memory of the server.
#[derive(Default)]
pub(in super::super) struct Hostile {
    /// The requests that it has not answered, oldest first.
    open: VecDeque<Read>,
    /// Some that it has.
    answered: VecDeque<Read>,
    steps: u32,
}

const OFFERS: &str = r#""capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}}"#;
const FORM: &str = r#""method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}"#;
const URL: &str = r#""method":"elicitation/create","params":{"mode":"url","message":"pay","url":"https://example.com","elicitationId":"e"}"#;
const SAMPLING: &str =
    r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}"#;
const SAMPLING_TOOLS: &str =
    r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}"#;
const ROOTS: &str = r#""method":"roots/list""#;
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

impl Hostile {
    /// The client wrote a line.
    pub(in super::super) fn read(&mut self, line: &str) {
        let Some(object) = Object::read(line) else { return };
        let method = object.get("method").and_then(oracle::string);
        let (Some(id), Some(method)) = (object.get("id"), method) else { return };
        let params = object.get("params").unwrap_or("{}").to_owned();
        self.open.push_back(Read { id: id.to_owned(), method, params });
        if self.open.len() > 16 {
            self.open.pop_front();
        }
    }

    /// It is another server.
    pub(in super::super) fn start(&mut self) {
        self.answered.extend(self.open.drain(..));
    }

    /// A response, and the request that it is to.
    pub(in super::super) fn answer(&mut self, which: u8, manner: u8) -> (String, Option<Read>) {
        let (at, count) = (usize::from(which & 0x3F), self.open.len());
        let (read, first) = match which >> 6 {
            0 => (self.open.remove(at % count.max(1)), true),
            1 => (self.open.remove(count.saturating_sub(1 + at % count.max(1))), true),
            2 => (self.answered.get(at % self.answered.len().max(1)).cloned(), false),
            // Without being forgotten, and perhaps again.
            _ => (self.open.get(at % count.max(1)).cloned(), false),
        };
        let Some(read) = read else {
            return (format!("{{\"jsonrpc\":\"2.0\",\"id\":{at},\"result\":{{}}}}"), None);
        };
        let text = response(&read, manner);
        if first {
            self.answered.push_front(read.clone());
            self.answered.truncate(4);
        }
        (text, Some(read))
    }

    /// A notification.
    pub(in super::super) fn tell(&mut self, n: u8) -> String {
        self.steps += 1;
        let which = usize::from(n >> 5);
        let id = |read: Option<&Read>| read.map_or("1".to_owned(), |read| read.id.clone());
        let listens = |read: &&Read| read.method == "subscriptions/listen";
        let any = id(self.open.get(which % self.open.len().max(1)));
        let listen = id(self.open.iter().filter(listens).nth(which % 2));
        let meta = format!("\"_meta\":{{\"{SUBSCRIPTION_ID}\":{listen}}}");
        let steps = self.steps;
        let (method, params) = match n & 0x1F {
            0..4 => {
                let progress = format!("\"progressToken\":{any},\"progress\":{steps}");
                ("notifications/progress", progress + ",\"total\":9,\"message\":\"m\"")
            }
            4 => ("notifications/progress", format!("\"progressToken\":{any},\"progress\":-1")),
            5 => ("notifications/progress", "\"progressToken\":[]".to_owned()),
            6 => ("notifications/message", "\"level\":\"error\",\"data\":{}".to_owned()),
            7 => ("notifications/message", "\"level\":1".to_owned()),
            8 => ("notifications/tools/list_changed", meta),
            9 => ("notifications/prompts/list_changed", String::new()),
            10 => ("notifications/resources/list_changed", meta),
            11 => ("notifications/resources/updated", format!("\"uri\":\"t:1\",{meta}")),
            12 => ("notifications/resources/updated", "\"uri\":\"t:2\"".to_owned()),
            13 => ("notifications/resources/updated", "\"uri\":2".to_owned()),
            14 | 15 => {
                let honoured = "\"notifications\":{\"toolsListChanged\":true}";
                ("notifications/subscriptions/acknowledged", format!("{honoured},{meta}"))
            }
            16 => ("notifications/subscriptions/acknowledged", meta),
            17 => ("notifications/cancelled", format!("\"requestId\":{listen}")),
            18 => ("notifications/cancelled", format!("\"requestId\":\"s{}\"", which % 4)),
            19 => ("notifications/cancelled", format!("\"requestId\":{any}")),
            20 => ("notifications/elicitation/complete", "\"elicitationId\":\"e\"".to_owned()),
            21 => ("notifications/elicitation/complete", String::new()),
            22 => ("notifications/x", "\"a\":[]".to_owned()),
            23 => ("notifications/initialized", String::new()),
            24 => ("notifications/tasks", format!("{},{meta}", task("k1", (n >> 5) + 1))),
            _ => ("notifications/roots/list_changed", meta),
        };
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{{params}}}}}")
    }
}

/// A request to the client.
pub(in super::super) fn ask(n: u8) -> String {
    let id = format!("\"s{}\"", n >> 3 & 3);
    let input = match n & 7 {
        0 => "\"method\":\"ping\"",
        1 => ROOTS,
        2 => SAMPLING,
        3 => FORM,
        4 => URL,
        5 => SAMPLING_TOOLS,
        6 => "\"method\":\"sampling/createMessage\",\"params\":{}",
        _ => "\"method\":\"tools/list\"",
    };
    let ask = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{input}}}");
    match n >> 5 {
        6 => format!("[{ask}]"),
        7 => format!("[{ask},{{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}}]"),
        _ => ask,
    }
}

/// A response to a request, in one of many manners.
pub(in super::super) fn response(read: &Read, manner: u8) -> String {
    let Read { id, method, params } = read;
    let body = match (&**method, id.starts_with('"')) {
        ("initialize", _) => initialized(manner),
        ("server/discover", true) => discovered(manner),
        _ => answered(method, params, manner),
    };
    let (body, manner) = (body.as_str(), manner >> 4);
    match manner {
        12 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body},\"error\":{{}}}}"),
        13 if !id.starts_with('"') => {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id}.0,{body}}}")
        }
        14 if !id.starts_with('"') => {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",{body}}}")
        }
        15 if body.starts_with("\"error") => format!("{{\"jsonrpc\":\"2.0\",{body}}}"),
        _ => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}"),
    }
}

fn initialized(manner: u8) -> String {
    let version = match manner & 0x0F {
        1 | 2 => "2025-03-26",
        3 => "2025-06-18",
        4 => "2024-11-05",
        5 => "2026-07-28",
        6 => "1999-01-01",
        7 => return "\"error\":{\"code\":-32601,\"message\":\"what?\"}".to_owned(),
        8 => return "\"error\":{\"code\":-32022,\"message\":\"modern\"}".to_owned(),
        9 => return "\"result\":{}".to_owned(),
        10 => return "\"result\":[]".to_owned(),
        11 => return "\"result\":{\"protocolVersion\":\"2025-11-25\"}".to_owned(),
        _ => "2025-11-25",
    };
    let server = "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}";
    format!("\"result\":{{\"protocolVersion\":\"{version}\",{OFFERS},{server}}}")
}

fn discovered(manner: u8) -> String {
    let error = |code: i64, data: &str| {
        format!("\"error\":{{\"code\":{code},\"message\":\"no\",\"data\":{data}}}")
    };
    let supported = match manner & 0x0F {
        0..3 => "\"2026-07-28\"",
        3 => "\"2025-11-25\",\"2026-07-28\"",
        4 => "\"2025-11-25\"",
        5 => "",
        6 => "\"2099-01-01\"",
        7 => return error(-32601, "{}"),
        8 => return error(-32022, "{\"supported\":[\"2026-07-28\"],\"requested\":\"\"}"),
        9 => return error(-32022, "{\"supported\":[\"2025-11-25\"]}"),
        10 => return error(-32022, "{\"supported\":[\"2099-01-01\"]}"),
        11 => return error(-32022, "[]"),
        12 => return error(-32021, "{}"),
        13 => return "\"result\":{}".to_owned(),
        _ => return "\"result\":[]".to_owned(),
    };
    let cache = "\"ttlMs\":0,\"cacheScope\":\"public\"";
    let first = "\"resultType\":\"complete\"";
    format!("\"result\":{{{first},\"supportedVersions\":[{supported}],{OFFERS},{cache}}}")
}

/// Answer to a call; a list gets pages.
fn answered(method: &str, params: &str, manner: u8) -> String {
    let result = |members: &str| format!("\"result\":{{{members}}}");
    let required = |members: &str| result(&format!("\"resultType\":\"input_required\",{members}"));
    let page = "\"tools\":[1],\"prompts\":[1],\"resources\":[],\"resourceTemplates\":[{}]";
    let kind = manner >> 4;
    match manner & 0x0F {
        13 if kind > 0 && method == "tools/call" => {
            result(&format!("\"resultType\":\"task\",{}", task(&format!("k{}", kind % 2), kind)))
        }
        low if method == "tasks/get" && low < 12 => {
            let id =
                Object::read(params).and_then(|all| all.get("taskId").and_then(oracle::string));
            let other = if kind == 11 { "other".to_owned() } else { id.unwrap_or_default() };
            result(&format!("\"resultType\":\"complete\",{}", task(&other, low)))
        }
        0 if method.ends_with("/list") && kind == 1 => {
            let hint = "\"ttlMs\":1000,\"cacheScope\":\"private\"";
            result(&format!("\"resultType\":\"complete\",{page},{hint}"))
        }
        0 if method == "resources/read" && kind == 1 => {
            let hint = "\"ttlMs\":1000,\"cacheScope\":\"public\"";
            result(&format!("\"resultType\":\"complete\",\"contents\":[],{hint}"))
        }
        0 if method.ends_with("/list") => {
            result(&format!("\"resultType\":\"complete\",{page},\"nextCursor\":\"c\""))
        }
        0 | 1 if method.ends_with("/list") => result(&format!("{page},\"nextCursor\":null")),
        0 => result("\"resultType\":\"complete\",\"content\":[]"),
        1 => result(&format!("\"said\":{params}")),
        2 => required(&format!("\"inputRequests\":{{\"a\":{{{FORM}}},\"b\":{{{URL}}}}}")),
        3 => required(&format!("\"inputRequests\":{{\"a\":{{{ROOTS}}}}},\"requestState\":\"s\"")),
        4 => required("\"requestState\":\"s\\n\""),
        5 => required(&format!("\"inputRequests\":{{\"a\":{{{SAMPLING}}},\"r\":{{{ROOTS}}}}}")),
        6 => required(&format!("\"inputRequests\":{{\"a\":{{{FORM}}},\"a\":{{{FORM}}}}}")),
        7 => required("\"inputRequests\":{\"a\":{}}"),
        8 => required(&format!("\"inputRequests\":{{\"a\":{{{SAMPLING_TOOLS}}}}}")),
        9 => "\"error\":{\"code\":-32603,\"message\":\"no\"}".to_owned(),
        10 => {
            "\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{\"supported\":[]}}".to_owned()
        }
        11 => "\"error\":{\"code\":-32021,\"message\":\"no\"}".to_owned(),
        12 => "\"result\":[]".to_owned(),
        13 => result("\"resultType\":\"task\""),
        14 => result("\"resultType\":7"),
        _ => required(""),
    }
}

/// Members of a task.
fn task(id: &str, state: u8) -> String {
    let state = match state {
        1 | 2 => "\"status\":\"completed\",\"result\":{\"content\":[]}".to_owned(),
        3 => format!("\"status\":\"input_required\",\"inputRequests\":{{\"a\":{{{FORM}}}}}"),
        4 => format!(
            "\"status\":\"input_required\",\"inputRequests\":{{\"a\":{{{ROOTS}}},\"b\":{{{URL}}}}}"
        ),
        5 => "\"status\":\"failed\",\"error\":{\"code\":-1,\"message\":\"no\"}".to_owned(),
        6 => "\"status\":\"cancelled\"".to_owned(),
        7 => "\"status\":\"completed\"".to_owned(),
        8 => "\"status\":\"input_required\"".to_owned(),
        9 => "\"status\":\"working\",\"statusMessage\":\"m\"".to_owned(),
        _ => "\"status\":\"working\"".to_owned(),
    };
    let time = "2026-01-01T00:00:00Z";
    let times = format!("\"createdAt\":\"{time}\",\"lastUpdatedAt\":\"{time}\"");
    format!("\"taskId\":\"{id}\",{state},{times},\"ttlMs\":5000,\"pollIntervalMs\":200")
}
