//! A recorded conversation.
//!
//! In: the lines of a file of `mcp record`, or of `MCP_WIRE=1`: `C>` and `S>` over a byte stream,
//! `1>` and `1<` over HTTP. Out: each message of the client, and the messages of the server up to
//! the next.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;

use mcp_tokio::Json;

use crate::failure::Failure;
use crate::message::{Message, decoded, is_same_id};

/// The messages of a recording.
pub(crate) struct Recording {
    exchanges: Vec<Exchange>,
    /// The places of the exchanges with equal requests, by what is compared.
    alike: BTreeMap<RequestKey, AlikeExchanges>,
}

/// The parts of a request that are compared: the method, and the decoded parameters, except those
/// of a message that opens a connection.
type RequestKey = (String, Option<String>);

/// The places of exchanges with equal requests.
struct AlikeExchanges {
    unused: VecDeque<usize>,
    last: usize,
}

/// A message of the client, and its replies.
pub(crate) struct Exchange {
    pub(crate) method: String,
    /// The parameters, without `_meta`.
    pub(crate) params: Json,
    id: Option<Json>,
    token: Option<Json>,
    /// The messages of the server, the response to this message among them.
    replies: Vec<Message>,
}

impl Recording {
    /// Fails if the file cannot be read, or has no messages.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let text = fs::read(path)
            .map_err(|error| Failure::usage(format!("{shown} cannot be read: {error}")))?;
        // Between the lines of MCP_WIRE=1 may be those of a server, in another encoding.
        let recording = Self::parse(&String::from_utf8_lossy(&text));
        if recording.exchanges.is_empty() {
            return Err(Failure::usage(format!("{shown} has no message of a client"))
                .advice("a recording is a file of `mcp record`, or what MCP_WIRE=1 has shown"));
        }
        Ok(recording)
    }

    fn parse(text: &str) -> Self {
        let mut recording = Self { exchanges: Vec::new(), alike: BTreeMap::new() };
        // The data of the last event in each direction of a connection.
        let mut events = BTreeMap::<&str, String>::new();
        for line in text.lines() {
            let Some((mark, message)) = line.split_once(' ') else { continue };
            // The blank after the colon of an event's field is optional.
            let message = if let Some(data) = message.strip_prefix("data:") {
                let event = events.entry(mark).or_default();
                // The message of an event may have several lines, and an event may be cut off.
                let is_whole = Message::parse(data.as_bytes()).is_ok();
                if is_whole || !event.trim_start().starts_with('{') {
                    event.clear();
                }
                event.push_str(data);
                event
            } else {
                events.remove(mark);
                message
            };
            let Ok(message) = Message::parse(message.as_bytes()) else { continue };
            events.remove(mark);
            match mark.trim_end_matches(['<', '>']) {
                "C" => recording.add_of_client(&message),
                "S" => recording.add_of_server(message),
                number if number.parse::<u64>().is_err() => {}
                _ if mark.ends_with('>') => recording.add_of_client(&message),
                _ => recording.add_of_server(message),
            }
        }
        recording
    }

    fn add_of_client(&mut self, message: &Message) {
        // The new client sends its own responses to the server.
        let Some(method) = message.method() else { return };
        let (params, at) = (message.params(), self.exchanges.len());
        let alike = self.alike.entry(request_key(&method, &params));
        let alike = alike.or_insert_with(|| AlikeExchanges { unused: VecDeque::new(), last: at });
        alike.unused.push_back(at);
        alike.last = at;
        self.exchanges.push(Exchange {
            method,
            params,
            id: message.get("id").cloned(),
            token: message.progress_token(),
            replies: Vec::new(),
        });
    }

    /// Adds a response to its request. Any other message, and an error without an id, is added to
    /// the last message of the client.
    fn add_of_server(&mut self, message: Message) {
        let id = message.id().filter(|_| !message.has("method"));
        let of_id = |exchange: &&mut Exchange| match (id, &exchange.id) {
            (Some(id), Some(own)) => is_same_id(id, own),
            (Some(_), None) => false,
            (None, _) => true,
        };
        if let Some(exchange) = self.exchanges.iter_mut().rev().find(of_id) {
            exchange.replies.push(message);
        }
    }

    /// The requests that were answered, except those that open a connection or a subscription.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&Exchange, &Message)> {
        // The answer to a subscription only says that it has ended.
        let is_call =
            |it: &&Exchange| !is_opening(&it.method) && it.method != "subscriptions/listen";
        let calls = self.exchanges.iter().filter(is_call);
        calls.filter_map(|exchange| Some((exchange, exchange.response()?)))
    }

    /// The version of the server.
    pub(crate) fn version(&self) -> Option<String> {
        let result = |method: &str| {
            let mut openings = self.exchanges.iter().filter(|it| it.method == method);
            openings.find_map(|exchange| exchange.response()?.get("result")).map(decoded)
        };
        let version = match result("initialize") {
            Some(result) => result.get("protocolVersion").cloned(),
            None => result("server/discover")?.pointer("/supportedVersions/0").cloned(),
        };
        Some(version?.as_str()?.to_owned())
    }

    /// Returns the replies to a message of a client, with its id and its progress token. They are
    /// those of the first unused exchange with the same request, otherwise those of the last one. A
    /// request that was not recorded is refused, except for `ping`.
    pub(crate) fn answer(&mut self, message: &Message) -> VecDeque<Message> {
        if message.is_response() {
            return VecDeque::new();
        }
        let id = message.id();
        let Some(method) = message.method().filter(|_| id.is_some() || !message.has("id")) else {
            let error = Message::error(id, -32600, "the message is not a JSON-RPC request");
            return VecDeque::from([error]);
        };
        let alike = self.alike.get_mut(&request_key(&method, &message.params()));
        let at = alike.map(|alike| alike.unused.pop_front().unwrap_or(alike.last));
        if let Some(exchange) = at.and_then(|at| self.exchanges.get(at)) {
            let token = message.progress_token();
            // A notification gets no response.
            let replies = exchange.replies.iter().filter(|it| id.is_some() || it.has("method"));
            return replies.map(|reply| exchange.renamed(reply, id, token.as_ref())).collect();
        }
        id.map(|id| self.refusal(&method, id)).into_iter().collect()
    }

    /// The answer to a request that was not recorded.
    fn refusal(&self, method: &str, id: &Json) -> Message {
        if method == "ping" {
            return Message::empty_result(id);
        }
        let mut recorded = self.alike.range((method.to_owned(), None)..);
        if recorded.next().is_some_and(|((recorded, _), _)| recorded == method) {
            let text = format!("the recording has no {method} with these parameters");
            return Message::error(Some(id), -32602, &text);
        }
        Message::error(Some(id), -32601, &format!("the recording has no {method}"))
    }
}

/// Returns whether a message with this method opens a connection: its parameters describe the
/// client.
fn is_opening(method: &str) -> bool {
    ["initialize", "server/discover"].contains(&method)
}

fn request_key(method: &str, params: &Json) -> RequestKey {
    (method.to_owned(), (!is_opening(method)).then(|| decoded(params).to_string()))
}

impl Exchange {
    fn response(&self) -> Option<&Message> {
        self.id.as_ref()?;
        self.replies.iter().find(|reply| reply.is_response())
    }

    /// A reply with the id and the progress token of another request.
    fn renamed(&self, reply: &Message, id: Option<&Json>, token: Option<&Json>) -> Message {
        let reply = reply.clone();
        match (id, token, &self.token) {
            (Some(id), ..) if reply.is_response() => reply.with("id", id),
            (_, Some(token), Some(own))
                if reply.progress_of().is_some_and(|it| is_same_id(&it, own)) =>
            {
                reply.with_progress_of(token)
            }
            _ => reply,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_equal_requests_come_in_order_among_many_others() {
        let call = |id: usize, name: usize| {
            format!("{{\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{name}\"}}}}")
        };
        let exchange = |id: usize| {
            let call = call(id, id % 1000);
            format!("C> {call}\nS> {{\"id\":{id},\"result\":{{\"n\":{id}}}}}\n")
        };
        let text: String = (0..3000).map(exchange).collect();
        let mut recording = Recording::parse(&text);
        for expected in [999, 1999, 2999, 2999] {
            let answers = answer(&mut recording, &call(7, 999));
            assert_eq!(answers, [format!("{{\"id\":7,\"result\":{{\"n\":{expected}}}}}")]);
        }
    }

    const STDIO: &str = r#"# A conversation.
! open
C> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7}}}
@ 0.1s
S> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
S> {"jsonrpc":"2.0","id":1,"result":{"n":1}}
C> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
S> {"jsonrpc":"2.0","id":2,"result":{"n":2}}
"#;

    fn answer(recording: &mut Recording, message: &str) -> Vec<String> {
        let message = Message::parse(message.as_bytes()).unwrap_or_default();
        let text = |reply: &Message| serde_json::to_string(reply).unwrap();
        recording.answer(&message).iter().map(text).collect()
    }

    #[test]
    fn equal_requests_get_successive_answers_then_the_last() {
        let mut recording = Recording::parse(STDIO);
        let call = r#"{"id":"x","method":"tools/call","params":{"_meta":{"progressToken":"t"},"name":"a"}}"#;
        let first = answer(&mut recording, call);
        assert_eq!(first.len(), 2);
        assert!(first[0].contains(r#""progressToken":"t""#), "{first:?}");
        assert!(first[1].contains(r#""id":"x""#) && first[1].contains(r#"{"n":1}"#), "{first:?}");
        for _ in 0..2 {
            assert!(answer(&mut recording, call)[0].contains(r#"{"n":2}"#));
        }
    }

    #[test]
    fn requests_that_were_not_recorded_are_refused() {
        let mut recording = Recording::parse(STDIO);
        for (message, code) in [
            (r#"{"id":1,"method":"tools/call","params":{"name":"b"}}"#, "-32602"),
            (r#"{"id":1,"method":"tools/list"}"#, "-32601"),
        ] {
            assert!(answer(&mut recording, message)[0].contains(code), "{message}");
        }
        assert!(answer(&mut recording, r#"{"method":"notifications/x"}"#).is_empty());
    }

    #[test]
    fn conversations_over_http_are_read() {
        let recording = Recording::parse(concat!(
            "1> POST /mcp HTTP/1.1\n",
            "1> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{}}\n",
            "1< HTTP/1.1 200 OK\n",
            "1< data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n",
            "1> {\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}\n",
            "1< data: {\"cut off\n",
            "1< data:{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n",
            "1> {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"prompts/list\"}\n",
            "1< data: no message\n",
            "1< data: {\"jsonrpc\":\"2.0\",\n",
            "1< data: \"id\":5,\"result\":\n",
            "1< data: {}}\n",
            "2> {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}\n",
            "2< {\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"no\"},\"id\":null}\n",
        ));
        assert_eq!(recording.version().as_deref(), Some("2025-11-25"));
        let calls: Vec<_> = recording.calls().map(|(call, _)| call.method.as_str()).collect();
        assert_eq!(calls, ["ping", "prompts/list", "tools/list"]);
    }
}
