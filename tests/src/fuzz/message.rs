//! `message::parse` and `Json::parse` against `serde_json`, and `MessageReader` against
//! `message::parse`.

use mcp_proto::message::{self, Incoming, Message, MessageReader, RequestId};
use mcp_proto::types::CallToolResult;
use mcp_proto::{Bytes, Json, Limits};
use serde_json::Value;
use serde_json::value::RawValue;

use super::oracle::{self, Shape, Verdict};

/// A JSON text, perhaps.
///
/// # Panics
///
/// If `serde_json` disagrees about it.
pub fn message(data: &[u8]) {
    let mut shallow = Limits::default();
    (shallow.max_depth, shallow.max_id_bytes) = (3, 8);
    // A key that `serde_json` reserves is refused, although the text is JSON.
    let may_be_refused = data.windows(9).any(|part| part == b"private::");
    if !may_be_refused {
        json(data);
    }
    for limits in [Limits::default(), shallow] {
        if !may_be_refused {
            parse(data, &limits);
        }
        alike(data, &limits);
    }
}

/// The most places at which a text is changed.
const PLACES: usize = 12;

/// A reader that has read a text twice returns for this text, and for texts that differ from it in
/// one place, what `parse` returns.
fn alike(data: &[u8], limits: &Limits) {
    let mut reader = MessageReader::new();
    read(&mut reader, data, limits);
    read(&mut reader, data, limits);
    read(&mut reader, data, limits);
    for at in (0..data.len()).step_by(data.len() / PLACES + 1) {
        let (before, after) = data.split_at(at);
        let rest = after.get(1..).unwrap_or_default();
        for part in [&b"\""[..], b"}", b"]", b",", b"7", b" ", b"\\", b"{}", b"\xff", b""] {
            // The original text comes in between, so that the reader does not adapt.
            read(&mut reader, &[before, part, rest].concat(), limits);
            read(&mut reader, data, limits);
            read(&mut reader, &[before, part, after].concat(), limits);
            read(&mut reader, data, limits);
        }
    }
}

/// Reads a text with a reader and without.
///
/// # Panics
///
/// If the results differ.
pub fn read(reader: &mut MessageReader, text: &[u8], limits: &Limits) {
    let text = Bytes::copy_from_slice(text);
    let expected = format!("{:?}", message::parse(&text, limits));
    let read = format!("{:?}", reader.read(&text, limits));
    assert_eq!(read, expected, "{}", text.escape_ascii());
}

/// Both readers accept the same texts.
fn json(data: &[u8]) {
    let theirs = oracle::json(data, 128);
    let ours = Json::parse(Bytes::copy_from_slice(data));
    assert_eq!(ours.as_ref().ok().map(Json::as_str), theirs, "{}", data.escape_ascii());
    if let Ok(json) = ours {
        let decoded = json.decode::<Value>();
        // `serde_json` builds no values deeper than 127.
        if oracle::depth(json.as_str()) < 128 {
            let theirs = serde_json::from_slice::<Value>(data).ok();
            let lossy = json.decode_lossy::<Value>().ok();
            assert_eq!(decoded.ok(), theirs);
            // `serde_json` refuses half a surrogate pair.
            let has_half = json.as_str().to_ascii_lowercase().contains(r"\ud");
            assert!(lossy == theirs || theirs.is_none() && has_half, "{}", data.escape_ascii());
        }
        assert_eq!(json.detach(), json);
        let result = CallToolResult::from_json(&json).map_err(|error| error.to_string());
        let usual = json.decode_lossy::<CallToolResult>().map_err(|error| error.to_string());
        assert_eq!(result, usual, "{}", data.escape_ascii());
        beside_long_text(json.as_str());
    }
}

/// The members of an object are decoded beside a long text as they are usually.
fn beside_long_text(json: &str) {
    let Some(rest) = json.trim_start().strip_prefix('{') else { return };
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    let text = format!("{{\"long\":\"{}\"{comma}{rest}", "x".repeat(LONG));
    let Ok(json) = Json::parse(text) else { return };
    let decoded = json.decode_arguments::<Value>().ok();
    assert!(decoded == json.decode_lossy::<Value>().ok(), "{rest}");
}

/// The length of a long text: objects of more than 64 KiB are decoded without `serde_json`.
const LONG: usize = 65 * 1024;

fn parse(data: &[u8], limits: &Limits) {
    let parsed = message::parse(&Bytes::copy_from_slice(data), limits);
    let verdict = oracle::judge(data, limits);
    let shown = data.escape_ascii();
    match (&verdict, parsed) {
        (_, Err(malformed)) => {
            assert!(
                !matches!(verdict, Verdict::Valid(_) | Verdict::Array(_)),
                "refused with {malformed:?} though {verdict:?}: {shown}"
            );
            if let Some(id) = malformed.id {
                assert!(oracle::json(id.as_str().as_bytes(), 0).is_some(), "{id}: {shown}");
                assert!(oracle::id_value(id.as_str()).is_some(), "{id} is no id: {shown}");
                assert!(id.as_str().len() <= limits.max_id_bytes, "{shown}");
            }
            assert!(!malformed.error.to_string().is_empty());
        }
        (Verdict::Array(_), Ok(Incoming::Batch(_))) | (Verdict::Unknown, Ok(_)) => {}
        (Verdict::Valid(shape) | Verdict::Either(shape), Ok(Incoming::Message(message))) => {
            agree(shape, &message, data);
        }
        #[expect(clippy::panic, reason = "this is how a fuzz target says no")]
        (_, Ok(accepted)) => panic!("accepted as {accepted:?} though {verdict:?}: {shown}"),
    }
}

/// Checks that the message equals its text, and the reading of `serde_json`.
fn agree(shape: &Shape, message: &Message, data: &[u8]) {
    let value: Option<Value> = serde_json::from_slice(data).ok();
    let read = match message {
        Message::Request(request) => {
            assert_eq!(request.size, data.len());
            let params = request.params.json();
            same_params(params, value.as_ref());
            Shape::Request {
                id: request.id.as_str().to_owned(),
                method: request.method.name().to_owned(),
                params: written(shape, params),
            }
        }
        Message::Notification(notification) => {
            let params = notification.params.json();
            same_params(params, value.as_ref());
            Shape::Notification {
                method: notification.method.name().to_owned(),
                params: written(shape, params),
            }
        }
        Message::Response(response) => {
            let result = response.body.as_ref().ok().map(|result| result.as_str().to_owned());
            Shape::Response { id: response.id.as_ref().map(RequestId::to_string), result }
        }
        #[expect(clippy::panic, reason = "a kind of message that this file does not know")]
        other => panic!("{other:?}"),
    };
    assert_eq!(&read, shape, "{}", data.escape_ascii());
    if let (Shape::Request { method, .. } | Shape::Notification { method, .. }, Some(value)) =
        (shape, &value)
    {
        assert_eq!(value.get("method").and_then(Value::as_str), Some(method.as_str()));
        assert_eq!(value.get("id").is_some(), matches!(shape, Shape::Request { .. }));
    }
}

/// Parameters that were left out read as `{}`.
fn written(shape: &Shape, params: &Json) -> Option<String> {
    let (Shape::Request { params: written, .. } | Shape::Notification { params: written, .. }) =
        shape
    else {
        return None;
    };
    let absent = written.is_none() && params.as_str() == "{}";
    (!absent).then(|| params.as_str().to_owned())
}

/// `message` is the whole text as a value, unless it holds what no value can.
fn same_params(params: &Json, message: Option<&Value>) {
    assert!(serde_json::from_str::<&RawValue>(params.as_str()).is_ok());
    match message.map(|message| message.get("params")) {
        Some(Some(value)) => assert_eq!(params.decode::<Value>().ok().as_ref(), Some(value)),
        Some(None) => assert_eq!(params.as_str(), "{}"),
        None => {}
    }
}
