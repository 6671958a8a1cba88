//! Sealed states against whoever has no key, and bindings against a second reader of JSON.

use mcp_proto::request_state::{
    RequestStateCodec, RequestStateError, RequestStateKey, StateBinding,
};
use mcp_proto::{Duration, Json};

use super::oracle::{self, Object};
use crate::base64;

const NOW: Duration = Duration::from_secs(1_785_196_800);
const PARAMS: &str = r#"{"name":"buy","arguments":{"what":"tea"}}"#;
const PAYLOAD: &[u8] = b"{\"price\":12}";

/// The first byte says what the rest is: a text, the bytes of one, changes to a genuine state, a
/// payload, or two JSON values with a zero between them.
///
/// # Panics
///
/// If a state passes that was not minted, one does not that was, or parameters that differ make
/// the same binding.
pub fn request_state(data: &[u8]) {
    let [mode, rest @ ..] = data else { return };
    match mode % 5 {
        0 => text(&String::from_utf8_lossy(rest)),
        1 => text(&base64::encode(rest)),
        2 => text(&base64::encode(&changed(base64::decode(&genuine()), rest))),
        3 => payload(rest),
        _ => values(rest),
    }
}

/// Whoever has no key can only bring back what was minted.
fn text(state: &str) {
    let verified = codec().verify(NOW, &binding("tools/call", PARAMS), state);
    if state == genuine() {
        assert_eq!(verified.map(|verified| verified.payload).as_deref(), Ok(PAYLOAD));
    } else {
        assert!(verified.is_err(), "passed: {state}");
    }
}

/// Three bytes make a change: where, of what kind, and to what.
fn changed(mut bytes: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    let (changes, _) = changes.as_chunks::<3>();
    for [at, kind, value] in changes {
        let at = usize::from(*at).min(bytes.len());
        match (kind % 4, bytes.get_mut(at)) {
            (0, Some(byte)) => *byte ^= *value,
            (1, Some(byte)) => *byte = *value,
            (2, Some(_)) => drop(bytes.remove(at)),
            _ => bytes.insert(at, *value),
        }
    }
    bytes
}

/// Any payload comes back.
fn payload(payload: &[u8]) {
    let here = binding("tools/call", PARAMS);
    let minted = codec().mint(NOW, [1; 16], &here, payload);
    let Ok(state) = minted else {
        assert!(payload.len() > 48 * 1024 - 100, "refused: {minted:?}");
        return;
    };
    let verified = codec().verify(NOW, &here, &state);
    assert_eq!(verified.map(|verified| verified.payload).as_deref(), Ok(payload));
    assert_eq!(base64::encode(&base64::decode(&state)), state);
}

/// Parameters make the same binding if they are the same value, however they are spelt.
fn values(data: &[u8]) {
    let mut texts = data.splitn(2, |byte| *byte == 0).filter_map(|text| oracle::json(text, 100));
    let (Some(one), other) = (texts.next(), texts.next()) else { return };
    for (method, around) in
        [("tools/call", ["{\"name\":\"x\",\"arguments\":", "}"]), ("other/method", ["", ""])]
    {
        let wrap = |json: &str| around.join(json);
        let Some(value) = Value::read(&wrap(one), method == "other/method") else { return };
        let here = binding(method, &wrap(one));
        if let Some(spelling) = Value::read(one, false).map(|value| value.spelt_otherwise()) {
            assert!(same(&here, &binding(method, &wrap(&spelling))), "{one} and {spelling}");
        }
        let Some(other) = other else { continue };
        let Some(second) = Value::read(&wrap(other), method == "other/method") else { return };
        let equal = same(&here, &binding(method, &wrap(other)));
        assert_eq!(equal, value == second, "{one} and {other}");
    }
}

fn same(here: &StateBinding, there: &StateBinding) -> bool {
    let minted = codec().mint(NOW, [1; 16], here, PAYLOAD).unwrap_or_default();
    match codec().verify(NOW, there, &minted) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error, RequestStateError::Forged);
            false
        }
    }
}

/// A JSON value as far as a binding tells values apart.
#[derive(PartialEq, Debug)]
enum Value {
    /// A number, a literal, or a string with half a surrogate pair: what stands there.
    Token(String),
    String(String),
    Array(Vec<Self>),
    /// By key; those that stand twice in the order of the text.
    Object(Vec<(String, Self)>),
}

impl Value {
    /// `None` if a key has half a surrogate pair; `salient` leaves out what no binding holds.
    fn read(json: &str, salient: bool) -> Option<Self> {
        Some(match json.as_bytes().first()? {
            b'{' => {
                let object = Object::read(json)?;
                let mut members = object
                    .members()
                    .filter(|(key, _)| {
                        !salient || !["_meta", "inputResponses", "requestState"].contains(key)
                    })
                    .map(|(key, value)| Some((key.to_owned(), Self::read(value, false)?)))
                    .collect::<Option<Vec<_>>>()?;
                members.sort_by(|(a, _), (b, _)| a.cmp(b));
                Self::Object(members)
            }
            b'[' => {
                let elements = oracle::elements(json);
                let elements = elements.iter().map(|element| Self::read(element, false));
                Self::Array(elements.collect::<Option<_>>()?)
            }
            b'"' => match oracle::string(json) {
                Some(string) => Self::String(string),
                None => Self::Token(json.to_owned()),
            },
            _ => Self::Token(json.to_owned()),
        })
    }

    /// The same value, with other keys first, blanks, and nothing but escapes.
    fn spelt_otherwise(&self) -> String {
        match self {
            Self::Token(token) => token.clone(),
            Self::String(string) => escaped(string),
            Self::Array(elements) => {
                let elements: Vec<_> = elements.iter().map(Self::spelt_otherwise).collect();
                format!("[ {}\n]", elements.join(" ,\t"))
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by(|(a, _), (b, _)| b.cmp(a));
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| format!("{} : {}", escaped(key), value.spelt_otherwise()))
                    .collect();
                format!("{{\r{} }}", members.join("\n, "))
            }
        }
    }
}

fn escaped(string: &str) -> String {
    let units: Vec<_> = string.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{}\"", units.concat())
}

fn binding(method: &str, params: &str) -> StateBinding {
    let params = Json::parse(params.to_owned());
    assert!(params.is_ok(), "not JSON");
    StateBinding::new(method, &params.unwrap_or(Json::EMPTY_OBJECT))
}

fn genuine() -> String {
    let binding = binding("tools/call", PARAMS);
    codec().mint(NOW, [1; 16], &binding, PAYLOAD).unwrap_or_default()
}

fn codec() -> RequestStateCodec {
    match RequestStateKey::new(1, &[1; 32]) {
        Ok(key) => RequestStateCodec::new(key),
        #[expect(clippy::panic, reason = "a key of 32 bytes is a key")]
        Err(error) => panic!("{error}"),
    }
}
