//! Quoted by `docs/guide/machine.md`: a byte stream whose messages follow their length.

use mcp_proto::client::{self, CallOptions, Client, ClientEvent};
use mcp_proto::server::{self, Outcome, Registry, Server, ServerEvent};
use mcp_proto::stream::{Connection, Framing, FramingError};
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{
    Action, Binding, Bytes, BytesMut, EraPolicy, Instant, Json, Limits, Machine, ProtocolError,
};

/// Four bytes of length, the highest first, before each message.
struct Lengths {
    max: usize,
    input: BytesMut,
    /// The number of bytes still to come of a message that is too long.
    skipped: usize,
}

const PREFIX: usize = 4;

impl Framing for Lengths {
    fn new(limits: &Limits) -> Self {
        Self { max: limits.max_line_bytes, input: BytesMut::new(), skipped: 0 }
    }

    fn push(&mut self, data: Bytes) {
        let skipped = self.skipped.min(data.len());
        self.skipped -= skipped;
        self.input.extend_from_slice(&data[skipped..]);
    }

    fn next_message(&mut self) -> Option<Result<Bytes, FramingError>> {
        let length = u32::from_be_bytes(*self.input.first_chunk()?) as usize;
        if length > self.max {
            let max = self.max;
            let reason = format!("a message of {length} bytes; Limits::max_line_bytes = {max}");
            let mut beginning = self.input.split_off(PREFIX);
            self.input = beginning.split_off(length.min(beginning.len()));
            self.skipped = length - beginning.len();
            return Some(Err(unframed(beginning, reason)));
        }
        if self.input.len() < PREFIX + length {
            return None;
        }
        let message = self.input.split_to(PREFIX + length).freeze();
        Some(Ok(message.slice(PREFIX..)))
    }

    fn finish(&mut self) -> Option<Result<Bytes, FramingError>> {
        if self.input.is_empty() {
            return None;
        }
        let beginning = self.input.split_off(PREFIX.min(self.input.len()));
        Some(Err(unframed(beginning, "the stream ends within a message".to_owned())))
    }

    fn write(out: &mut BytesMut, text: impl FnOnce(&mut BytesMut)) {
        let start = out.len();
        out.extend_from_slice(&[0; PREFIX]);
        text(out);
        let length = u32::try_from(out.len() - start - PREFIX).unwrap_or(u32::MAX);
        out[start..start + PREFIX].copy_from_slice(&length.to_be_bytes());
    }
}

fn unframed(beginning: BytesMut, reason: String) -> FramingError {
    let error = ProtocolError::InvalidFrame { reason: reason.into() };
    FramingError { beginning: beginning.freeze(), error }
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

#[test]
fn conversations_of_both_eras_are_the_same_wherever_bytes_are_cut() {
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let discover =
        format!(r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{{{META}}}}}"#);
    let greet = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"greet",{META}}}}}"#
    );
    for script in [vec![initialize, initialized, list], vec![&discover, &greet]] {
        let input: Vec<u8> = script.iter().flat_map(|text| framed(text)).collect();
        let whole = serve(&[&input]);
        assert_eq!(whole.len(), 2);
        assert!(whole[1].starts_with(r#"{"jsonrpc":"2.0","id":1,"result":{"#), "{whole:?}");
        for at in 1..input.len() {
            let (head, tail) = input.split_at(at);
            assert_eq!(serve(&[head, tail]), whole, "cut at {at}");
        }
        let bytes: Vec<_> = input.chunks(1).collect();
        assert_eq!(serve(&bytes), whole);
    }
}

#[test]
fn client_calls_a_server_of_either_era() {
    for (era_policy, version) in
        [(EraPolicy::LegacyOnly, "2025-11-25"), (EraPolicy::ModernOnly, "2026-07-28")]
    {
        let registry = registry();
        let mut config = server::Config::default();
        config.era_policy = era_policy;
        let mut server: Connection<Server, Lengths> =
            Connection::server(registry.declaration(), config);
        let config = client::Config::new(Implementation::new("app", "1.0.0"));
        let mut client: Connection<Client, Lengths> = Connection::client(config);
        let now = Instant::ZERO;
        client.handle_opened(now);
        let params = Json::parse(r#"{"name":"greet"}"#).unwrap();
        let call = |it: &mut Client| it.call(now, "tools/call", params, CallOptions::default());
        client.with(now, call).unwrap();
        let result = loop {
            match client.poll_action().expect("the server has answered") {
                Action::Transmit(bytes) => {
                    server.handle_bytes(now, bytes);
                    for answer in answers(&mut server, &registry) {
                        client.handle_bytes(now, answer);
                    }
                }
                Action::Event(ClientEvent::Response { result, .. }) => break result.unwrap(),
                Action::Event(_) => {}
                Action::Close => panic!("closed"),
            }
        };
        assert_eq!(client.machine().server().unwrap().version.as_str(), version);
        assert!(result.as_str().contains("hello"), "{result:?}");
    }
}

#[test]
fn message_that_is_too_long_is_answered_by_its_id_and_skipped() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{}"}}"#, "x".repeat(2000));
    let ping = r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#;
    let input = [framed(&long), framed(ping)].concat();
    for size in [100, input.len()] {
        let answers = serve(&input.chunks(size).collect::<Vec<_>>());
        assert_eq!(answers.len(), 2);
        let reason = format!("a message of {} bytes; Limits::max_line_bytes = 1000", long.len());
        assert!(answers[0].contains("-32600") && answers[0].contains(&reason), "{answers:?}");
        assert!(answers[1].contains(r#""id":8"#), "{answers:?}");
    }
    assert!(serve(&[&input])[0].contains(r#""id":7"#));
}

#[test]
fn end_within_a_message_is_answered() {
    let request = framed(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{}}"#);
    for end in 1..request.len() {
        let answers = serve(&[&request[..end]]);
        assert_eq!(answers.len(), 1);
        assert!(answers[0].contains("the stream ends within a message"), "{answers:?}");
    }
    assert!(serve(&[&request[..request.len() - 1]])[0].contains(r#""id":7"#));
}

fn framed(text: &str) -> Vec<u8> {
    let mut out = BytesMut::new();
    Lengths::write(&mut out, |out| out.extend_from_slice(text.as_bytes()));
    out.to_vec()
}

/// Texts that a server answers to these chunks and the end of the stream.
fn serve(chunks: &[&[u8]]) -> Vec<String> {
    let registry = registry();
    let mut config = server::Config::default();
    config.limits.max_line_bytes = 1000;
    let mut server: Connection<Server, Lengths> =
        Connection::server(registry.declaration(), config);
    let mut said = Lengths::new(&Limits::default());
    for chunk in chunks {
        server.handle_bytes(Instant::ZERO, Bytes::copy_from_slice(chunk));
        for bytes in answers(&mut server, &registry) {
            said.push(bytes);
        }
    }
    server.handle_eof(Instant::ZERO);
    for bytes in answers(&mut server, &registry) {
        said.push(bytes);
    }
    let texts = core::iter::from_fn(|| said.next_message());
    texts.map(|text| String::from_utf8(text.unwrap().to_vec()).unwrap()).collect()
}

fn answers(
    server: &mut Connection<Server, Lengths>,
    registry: &Registry<fn() -> CallToolResult>,
) -> Vec<Bytes> {
    let mut sent = Vec::new();
    while let Some(action) = server.poll_action() {
        match action {
            Action::Transmit(bytes) => sent.push(bytes),
            Action::Event(ServerEvent::Request(request)) => {
                let result = registry.handler(request.handler).unwrap()();
                let outcome = Outcome::Complete(Json::encode(&result).unwrap());
                let now = Instant::ZERO;
                server.with(now, |server| server.respond(now, request.reply, outcome));
            }
            Action::Event(_) | Action::Close => {}
        }
    }
    sent
}

fn registry() -> Registry<fn() -> CallToolResult> {
    let mut registry = Registry::new(Implementation::new("greeter", "1.0.0"));
    let tool = Tool::new("greet", Json::parse(r#"{"type":"object"}"#).unwrap());
    registry.add_tool(tool, (|| CallToolResult::text("hello")) as fn() -> _).unwrap();
    registry
}
