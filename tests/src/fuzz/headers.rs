//! Headers against a second reader of values, numbers, arguments and bodies.
//!
//! The plan of a schema is taken as it is; `tests/tests/headers` has the laws of plans. What a plan
//! makes of arguments, what a head says, and whether both agree is found here by other means.

use mcp_proto::headers::{
    BodyError, Declared, EmitError, Entry, HeaderError, HeaderPlan, Integer, Kind, MAX_SAFE,
    MirroredHeaders, Place, decode, encode,
};
use mcp_proto::{Bytes, Json, Limits};

use super::oracle::{self, Object, Shape, Verdict};
use crate::base64;

/// The first byte says what the rest is: bytes of a value, a number, parts with zeros between
/// them (schema, arguments, head), or a head and a body.
///
/// # Panics
///
/// If a value, a number, or the verdict on a head is another than the model's.
pub fn headers(data: &[u8]) {
    let [mode, rest @ ..] = data else { return };
    let mut parts = rest.splitn(3, |byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    match mode % 4 {
        0 => value(rest),
        1 => assert_eq!(Integer::of(&String::from_utf8_lossy(rest)), integer(&lossy(rest))),
        2 => arguments(part(), part(), part()),
        _ => body(part(), part()),
    }
}

fn value(bytes: &[u8]) {
    assert_eq!(decode(bytes).ok().as_deref(), decoded(bytes).as_deref(), "{bytes:?}");
    let text = lossy(bytes);
    let header = encode(&text);
    assert_eq!(header, encoded(&text), "{text:?}");
    assert_eq!(decode(header.as_bytes()).as_deref(), Ok(&*text));
}

fn arguments(schema: &[u8], arguments: &[u8], head: &[u8]) {
    let (Some(schema), Some(text)) = (oracle::json(schema, 128), oracle::json(arguments, 128))
    else {
        return;
    };
    let (Ok(schema), Ok(arguments)) =
        (Json::parse(schema.to_owned()), Json::parse(text.to_owned()))
    else {
        return assert!(schema.is_empty(), "not JSON to one of two readers");
    };
    let Ok(plan) = HeaderPlan::compile(&schema) else { return };
    let fields = fields(head);
    let checked = mirrored(&fields).check_params(&plan, &arguments);
    let emitted = plan.emit(&arguments);
    if let Ok(emitted) = &emitted {
        let sent =
            MirroredHeaders::of(emitted.iter().map(|(name, value)| (*name, value.as_bytes())));
        assert_eq!(sent.check_params(&plan, &arguments), Ok(()), "{text} {emitted:?}");
    }
    let values = plan.entries().iter().map(|entry| argument(text, entry));
    let Some(values) = values.collect::<Option<Vec<_>>>() else { return };
    let mut expected = Ok(());
    let mut headers = Ok(Vec::new());
    for (entry, value) in plan.entries().iter().zip(&values) {
        expected = expected.and_then(|()| check(entry, value, &named(&fields, entry.header())));
        headers = headers.and_then(|mut headers| {
            headers.extend(sent(entry, value)?.map(|value| (entry.header(), value)));
            Ok(headers)
        });
    }
    assert_eq!(checked.map_err(|error| kind(&error)), expected, "{text} {fields:?}");
    let emitted = emitted.map(|headers| {
        headers.into_iter().map(|(name, value)| (name, value.into_owned())).collect()
    });
    assert_eq!(emitted.map_err(|error| refusal(&error)), headers, "{text}");
}

/// A request with this body, at a gateway that knows the tool `t`.
fn body(head: &[u8], body: &[u8]) {
    const SCHEMA: &str = r#"{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}"#;
    let fields = fields(head);
    let schema = Json::parse(SCHEMA).unwrap_or(Json::EMPTY_OBJECT);
    let plan = HeaderPlan::compile(&schema).unwrap_or_default();
    let limits = Limits::default();
    let _ = mirrored(&fields).claim();
    let checked = mirrored(&fields)
        .check_body(&Bytes::copy_from_slice(body), &limits, |tool| (tool == "t").then_some(&plan));
    match oracle::judge(body, &limits) {
        Verdict::Invalid | Verdict::Array(_) | Verdict::Valid(Shape::Response { .. }) => {
            assert!(matches!(checked, Err(BodyError::Message(_))), "passed: {checked:?}");
        }
        Verdict::Valid(Shape::Notification { .. }) => assert_eq!(checked, Ok(())),
        Verdict::Valid(Shape::Request { method, params, .. }) => {
            let Some(expected) = request(&fields, &method, params.as_deref(), &plan) else {
                return;
            };
            let found = checked.map_err(|error| match error {
                BodyError::Message(_) => "Message",
                BodyError::Header(error) => kind(&error),
            });
            assert_eq!(found, expected, "{method} {params:?} {fields:?}");
        }
        Verdict::Either(_) | Verdict::Unknown => {}
    }
}

/// Verdict of a gateway on a request; `None` if there is half a surrogate pair in a key.
fn request(
    fields: &[Field<'_>],
    method: &str,
    params: Option<&str>,
    plan: &HeaderPlan,
) -> Option<Result<(), &'static str>> {
    let params = Object::read(params.unwrap_or("{}"))?;
    let claim = match params.get("_meta").filter(|meta| meta.starts_with('{')) {
        Some(meta) => Object::read(meta)?.get("io.modelcontextprotocol/protocolVersion"),
        None => None,
    };
    let Some(claim) = claim.and_then(oracle::string) else { return Some(Err("Message")) };
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ if method.starts_with("tasks/") => "taskId",
        _ => "",
    };
    let name = params.get(member).filter(|_| !member.is_empty()).and_then(oracle::string);
    let standard = plain(fields, "mcp-protocol-version", &claim)
        .and_then(|()| plain(fields, "mcp-method", method))
        .and_then(|()| match &name {
            None => Ok(()),
            Some(name) => said(&named(fields, "mcp-name"))?
                .ok_or("Missing")
                .and_then(|said| if said == *name { Ok(()) } else { Err("Mismatch") }),
        });
    if method != "tools/call" || name.as_deref() != Some("t") || standard.is_err() {
        return Some(standard);
    }
    let arguments = params.get("arguments").unwrap_or("{}");
    for entry in plan.entries() {
        let value = argument(arguments, entry)?;
        let checked = check(entry, &value, &named(fields, entry.header()));
        if checked.is_err() {
            return Some(checked);
        }
    }
    Some(Ok(()))
}

/// A header that is never wrapped.
fn plain(fields: &[Field<'_>], name: &str, expected: &str) -> Result<(), &'static str> {
    match *named(fields, name) {
        [] => Err("Missing"),
        [value] => match visible(value) {
            None => Err("NotDecodable"),
            Some(text) if text == expected => Ok(()),
            Some(_) => Err("Mismatch"),
        },
        _ => Err("Repeated"),
    }
}

type Field<'a> = (&'a str, &'a [u8]);

/// One field a line, `name:value`. Names must be tokens, so none has a control character.
fn fields(head: &[u8]) -> Vec<Field<'_>> {
    let lines = head.split(|byte| *byte == b'\n');
    let field = |line| {
        let at = <[u8]>::iter(line).position(|byte| *byte == b':')?;
        let name = str::from_utf8(line.get(..at)?).ok()?;
        let is_plain = !name.bytes().any(|byte| byte.is_ascii_control());
        is_plain.then_some((name, line.get(at + 1..)?))
    };
    lines.filter_map(field).collect()
}

fn mirrored<'a>(fields: &[Field<'a>]) -> MirroredHeaders<'a> {
    MirroredHeaders::of(fields.iter().copied())
}

fn named<'a>(fields: &[Field<'a>], name: &str) -> Vec<&'a [u8]> {
    let same = |field: &&Field<'_>| field.0.eq_ignore_ascii_case(name);
    fields.iter().filter(same).map(|field| field.1).collect()
}

/// Combined value of the headers of one name.
fn said(values: &[&[u8]]) -> Result<Option<String>, &'static str> {
    match values {
        [] => Ok(None),
        [value] => decoded(value).map(Some).ok_or("NotDecodable"),
        _ => Err("Repeated"),
    }
}

/// The JSON text of an entry's argument, `"null"` if there is none; `None` if there is half a
/// surrogate pair in a key on its way.
fn argument(arguments: &str, entry: &Entry) -> Option<String> {
    let mut at = arguments;
    for step in entry.path() {
        if !at.starts_with('{') {
            return Some("null".into());
        }
        at = Object::read(at)?.get(step).unwrap_or("null");
    }
    Some(at.to_owned())
}

fn wants_integer(entry: &Entry, value: &str) -> bool {
    let integer =
        matches!(entry.declared(), Declared::Exact(Kind::Integer) | Declared::Union(Kind::Integer));
    integer && value.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Checks that the headers of an entry match its argument.
fn check(entry: &Entry, value: &str, headers: &[&[u8]]) -> Result<(), &'static str> {
    let said = said(headers)?;
    if value == "null" || value.starts_with(['{', '[']) {
        return if said.is_some() { Err("Unexpected") } else { Ok(()) };
    }
    let expected = if value.starts_with('"') {
        oracle::string(value).ok_or("NotUnicode")?
    } else {
        value.to_owned()
    };
    if !wants_integer(entry, value) {
        let said = said.ok_or("Missing")?;
        return if said == expected { Ok(()) } else { Err("Mismatch") };
    }
    let number = |text: &str, place| match (integer(text), place) {
        (Integer::OutOfRange, Place::Header) => Err("OutOfRange in the header"),
        (Integer::OutOfRange, Place::Body) => Err("OutOfRange in the body"),
        (Integer::NotWhole, Place::Header) => Err("NotWhole in the header"),
        (Integer::NotWhole, Place::Body) => Err("NotWhole in the body"),
        (integer, _) => Ok(integer),
    };
    let expected = number(value, Place::Body)?;
    let said = number(&said.ok_or("Missing")?, Place::Header)?;
    if said == expected { Ok(()) } else { Err("Mismatch") }
}

/// The header of an argument.
fn sent(entry: &Entry, value: &str) -> Result<Option<String>, &'static str> {
    if value == "null" || value.starts_with(['{', '[']) {
        return Ok(None);
    }
    if value.starts_with('"') {
        return oracle::string(value).map(|text| Some(encoded(&text))).ok_or("NotUnicode");
    }
    if !wants_integer(entry, value) {
        return Ok(Some(value.to_owned()));
    }
    match integer(value) {
        Integer::Safe(value) => Ok(Some(value.to_string())),
        Integer::OutOfRange => Err("OutOfRange"),
        Integer::NotWhole | Integer::NotANumber => Err("NotWhole"),
    }
}

/// The header of a text.
fn encoded(text: &str) -> String {
    let marks = text.starts_with("=?base64?") && text.ends_with("?=");
    let blanks = text.is_empty() || text.trim_matches(' ').len() < text.len();
    if marks || blanks || text.chars().any(|c| !(' '..='~').contains(&c)) {
        format!("=?base64?{}?=", standard(text.as_bytes()))
    } else {
        text.to_owned()
    }
}

/// The text of a header, `None` if it is none.
fn decoded(value: &[u8]) -> Option<String> {
    let text = visible(value)?;
    let marks = text.starts_with("=?base64?") && text.ends_with("?=") && text.len() >= 11;
    let Some(payload) = text.get(9..text.len().saturating_sub(2)).filter(|_| marks) else {
        return Some(text);
    };
    let url_safe = payload.trim_end_matches('=').replace('+', "-").replace('/', "_");
    let bytes = base64::decode(&url_safe);
    // There is one spelling, and this is it or not.
    String::from_utf8(bytes).ok().filter(|text| standard(text.as_bytes()) == payload)
}

/// The text of bytes that a header may have.
fn visible(value: &[u8]) -> Option<String> {
    let text = str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    text.chars().all(|c| c == '\t' || (' '..='~').contains(&c)).then(|| text.to_owned())
}

/// Base64 with padding, in the standard alphabet.
fn standard(bytes: &[u8]) -> String {
    let mut text = base64::encode(bytes).replace('-', "+").replace('_', "/");
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// A number by the places of its digits: none but zeros may stand behind the point, and none
/// before the sixteen places in front of it.
fn integer(text: &str) -> Integer {
    let starts = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if !starts
        || text.ends_with([' ', '\t', '\r', '\n'])
        || oracle::json(text.as_bytes(), 1).is_none()
    {
        return Integer::NotANumber;
    }
    let magnitude = text.trim_start_matches('-').to_ascii_lowercase();
    let (mantissa, exponent) = magnitude.split_once('e').unwrap_or((&magnitude, "0"));
    let whole = mantissa.split_once('.').map_or(mantissa, |(whole, _)| whole);
    let huge = if exponent.starts_with('-') { i128::from(i64::MIN) } else { i128::from(i64::MAX) };
    let exponent = exponent.trim_start_matches('+').parse().unwrap_or(huge);
    let first = i128::try_from(whole.len()).unwrap_or(0) + exponent - 1;
    let (mut value, mut fraction, mut large) = (0_i64, false, false);
    for (digit, place) in mantissa.bytes().filter(u8::is_ascii_digit).zip(places(first)) {
        match (digit - b'0', place) {
            (0, _) => {}
            (_, ..0) => fraction = true,
            (digit, 0..16) => {
                let power = u32::try_from(place).map_or(0, |place| 10_i64.pow(place));
                value += i64::from(digit) * power;
            }
            _ => large = true,
        }
    }
    match (fraction, large || value > MAX_SAFE) {
        (true, _) => Integer::NotWhole,
        (false, true) => Integer::OutOfRange,
        (false, false) => Integer::Safe(if text.starts_with('-') { -value } else { value }),
    }
}

/// From this one on down.
fn places(first: i128) -> impl Iterator<Item = i128> {
    std::iter::successors(Some(first), |place| place.checked_sub(1))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn kind(error: &HeaderError) -> &'static str {
    match error {
        HeaderError::Missing { .. } => "Missing",
        HeaderError::Repeated { .. } => "Repeated",
        HeaderError::Mismatch { .. } => "Mismatch",
        HeaderError::Unexpected { .. } => "Unexpected",
        HeaderError::NotDecodable { .. } => "NotDecodable",
        HeaderError::OutOfRange { place, .. } => match place {
            Place::Header => "OutOfRange in the header",
            Place::Body => "OutOfRange in the body",
        },
        HeaderError::NotWhole { place, .. } => match place {
            Place::Header => "NotWhole in the header",
            Place::Body => "NotWhole in the body",
        },
        HeaderError::NotUnicode { .. } => "NotUnicode",
        HeaderError::Unvalidated { .. } => "Unvalidated",
        other => unknown(other),
    }
}

fn refusal(error: &EmitError) -> &'static str {
    match error {
        EmitError::OutOfRange { .. } => "OutOfRange",
        EmitError::NotWhole { .. } => "NotWhole",
        EmitError::NotUnicode { .. } => "NotUnicode",
        EmitError::NotPlain { .. } => "NotPlain",
        other => unknown(other),
    }
}

#[expect(clippy::panic, reason = "the model is to be told of what it does not know")]
fn unknown(error: &impl std::fmt::Debug) -> ! {
    panic!("{error:?}")
}
