//! A client of either era, which answers what it is asked.

use mcp_proto::Era;
use mcp_proto::server::Config;
use mcp_service::Catalog;
use serde_json::{Value, json};

use crate::bench::{Bench, Hands};

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A client that has opened its connection.
pub(crate) struct Client {
    pub(crate) bench: Bench,
    era: Era,
    capabilities: Value,
    hands: Option<Hands>,
    ids: u32,
}

impl Client {
    /// A client that can be asked anything.
    pub(crate) fn new(era: Era, catalog: impl Into<Catalog>) -> Self {
        let elicitation = json!({"form": {}, "url": {}});
        let all = json!({"elicitation": elicitation, "sampling": {}, "roots": {}});
        Self::that_can(era, all, catalog, Config::default())
    }

    /// One with these capabilities.
    pub(crate) fn that_can(
        era: Era,
        capabilities: Value,
        catalog: impl Into<Catalog>,
        config: Config,
    ) -> Self {
        let bench = Bench::serving(catalog, config);
        let mut client = Self { bench, era, capabilities, hands: None, ids: 0 };
        match era {
            Era::Modern => {}
            Era::Legacy => {
                let info = json!({"name": "c", "version": "1"});
                let capabilities = client.capabilities.clone();
                let version = "2025-11-25";
                client.request("initialize", json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}));
                client.notify("notifications/initialized", &json!({}));
                assert_eq!(client.out().len(), 1);
            }
        }
        client
    }

    /// Has handlers run elsewhere.
    pub(crate) fn spawning(mut self) -> Self {
        self.hands = Some(self.bench.spawn_by_hand());
        self
    }

    /// Sends a request and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u32 {
        self.ids += 1;
        let params = self.envelope(params);
        self.say(json!({"id": self.ids, "method": method, "params": params}));
        self.ids
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.say(json!({"method": method, "params": params}));
    }

    /// Answers a request of the server's.
    pub(crate) fn respond(&mut self, id: &Value, result: &Value) {
        self.say(json!({"id": id, "result": result}));
    }

    /// Messages that the server has sent.
    pub(crate) fn out(&mut self) -> Vec<Value> {
        if let Some(hands) = &self.hands {
            hands.poll();
            while hands.wakes() > 0 {
                hands.poll();
            }
        }
        self.bench.turn();
        self.bench.out().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Sends a request; returns the one message that comes back, without what the era adds.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.request(method, params);
        let [message]: [Value; 1] = self.out().try_into().unwrap();
        plain(message)
    }

    /// Sends a request and answers whatever input it needs; returns what comes of it, without what
    /// the era adds.
    pub(crate) fn converse(
        &mut self,
        method: &str,
        params: &Value,
        mut answer: impl FnMut(&str, &Value) -> Value,
    ) -> Value {
        let mut id = self.request(method, params.clone());
        loop {
            let messages = self.out();
            assert!(!messages.is_empty(), "nothing comes of it");
            for mut message in messages {
                let input = &message["result"]["inputRequests"];
                if let Some(method) = message["method"].as_str() {
                    let answer = answer(method, &message["params"]);
                    self.respond(&message["id"], &answer);
                } else if input.is_object() {
                    assert_eq!(message["result"]["resultType"], "input_required");
                    let mut again = params.clone();
                    for (key, input) in input.as_object().unwrap() {
                        let method = input["method"].as_str().unwrap();
                        again["inputResponses"][key] = answer(method, &input["params"]);
                    }
                    if let Some(state) = message["result"].get_mut("requestState") {
                        again["requestState"] = state.take();
                    }
                    id = self.request(method, again);
                } else {
                    assert_eq!(message["id"], id);
                    return plain(message);
                }
            }
        }
    }

    fn envelope(&self, mut params: Value) -> Value {
        if self.era == Era::Modern {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        params
    }

    fn say(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.bench.line(&message.to_string());
    }
}

/// A response without its id and what the modern era adds.
pub(crate) fn plain(mut response: Value) -> Value {
    let members = response.as_object_mut().unwrap();
    members.remove("jsonrpc");
    members.remove("id");
    if let Some(result) = response["result"].as_object_mut() {
        for key in ["resultType", "_meta", "ttlMs", "cacheScope"] {
            result.remove(key);
        }
    }
    if response["result"].is_null() {
        response.as_object_mut().unwrap().remove("result");
    }
    response
}

/// Response of a tool that returns a text.
pub(crate) fn text(text: &str) -> Value {
    json!({"result": {"content": [{"type": "text", "text": text}]}})
}

/// An error as it arrives.
pub(crate) fn error(code: i32, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}
