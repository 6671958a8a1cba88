//! Laws for all values: nothing is lost on the way, and nothing else is let through.

use mcp_proto::Json;
use mcp_proto::headers::{HeaderPlan, Integer, MAX_SAFE, MirroredHeaders, decode, encode};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn every_text_comes_back_from_its_header(text in texts()) {
        let header = encode(&text);
        prop_assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{}", header);
        prop_assert!(!header.is_empty() && !header.starts_with(' ') && !header.ends_with(' '));
        let read = decode(header.as_bytes());
        prop_assert_eq!(read.as_deref(), Ok(&*text));
        // Whoever forwards it may put blanks around it.
        let padded = format!(" \t{header}\t ");
        let read = decode(padded.as_bytes());
        prop_assert_eq!(read.as_deref(), Ok(&*text));
    }

    #[test]
    fn what_a_header_says_is_said_again_by_another(value in prop::collection::vec(any::<u8>(), 0..40)) {
        let Ok(text) = decode(&value) else { return Ok(()) };
        let header = encode(&text);
        let again = decode(header.as_bytes());
        prop_assert_eq!(again.as_deref(), Ok(&*text));
    }

    #[test]
    fn an_integer_is_the_same_however_it_is_written(
        value in -MAX_SAFE..=MAX_SAFE, shift in 0_usize..30, fraction in 0_usize..30,
    ) {
        let digits = value.unsigned_abs().to_string();
        let sign = if value < 0 { "-" } else { "" };
        let zeros = "0".repeat(fraction);
        prop_assert_eq!(Integer::of(&value.to_string()), Integer::Safe(value));
        let texts = [
            format!("{sign}{digits}.0{zeros}"),
            format!("{sign}{digits}{zeros}e-{fraction}"),
            format!("{sign}0.{}{digits}E+{}", "0".repeat(shift), shift + digits.len()),
        ];
        for text in texts {
            prop_assert_eq!(Integer::of(&text), Integer::Safe(value), "{}", text);
        }
        prop_assert_eq!(Integer::of(&format!("{sign}{digits}.{zeros}1")), Integer::NotWhole);
    }

    #[test]
    fn what_a_client_sends_passes_and_what_was_changed_does_not(
        one in arguments(), other in arguments(),
    ) {
        let plan = plan();
        let (one, other) = (Json::encode(&one).unwrap(), Json::encode(&other).unwrap());
        let sent = plan.emit(&one).unwrap();
        let head = || MirroredHeaders::of(sent.iter().map(|(name, value)| (*name, value.as_bytes())));
        prop_assert_eq!(head().check_params(&plan, &one), Ok(()));
        let same = sent == plan.emit(&other).unwrap();
        prop_assert_eq!(head().check_params(&plan, &other).is_ok(), same, "{} {}", one, other);
        // Neither one header less nor one of them twice.
        for at in 0..sent.len() {
            let mut fewer = sent.clone();
            let field = fewer.remove(at);
            let fields = fewer.iter().map(|(name, value)| (*name, value.as_bytes()));
            prop_assert!(MirroredHeaders::of(fields).check_params(&plan, &one).is_err());
            let fields = sent.iter().chain([&field]).map(|(name, value)| (*name, value.as_bytes()));
            prop_assert!(MirroredHeaders::of(fields).check_params(&plan, &one).is_err());
        }
    }
}

fn plan() -> HeaderPlan {
    super::plan(&json!({
        "s": {"type": "string", "x-mcp-header": "S"},
        "i": {"type": "integer", "x-mcp-header": "I"},
        "b": {"type": "boolean", "x-mcp-header": "B"},
        "o": {"properties": {
            "s": {"type": ["string", "null"], "x-mcp-header": "Os"},
            "i": {"type": "integer", "x-mcp-header": "Oi"},
        }},
    }))
}

/// Arguments of that tool's, mostly as its schema has them.
fn arguments() -> impl Strategy<Value = Value> {
    let string = || prop_oneof![6 => texts().prop_map(Value::from), 1 => odd()];
    let integer = || {
        prop_oneof![
            3 => (-3..3_i64).prop_map(Value::from),
            3 => (-MAX_SAFE..=MAX_SAFE).prop_map(Value::from),
            1 => odd(),
        ]
    };
    let boolean = prop_oneof![6 => any::<bool>().prop_map(Value::from), 1 => odd()];
    (string(), integer(), boolean, string(), integer())
        .prop_map(|(s, i, b, os, oi)| json!({"s": s, "i": i, "b": b, "o": {"s": os, "i": oi}}))
}

/// Values that no header can hold, or only one of another type.
fn odd() -> impl Strategy<Value = Value> {
    select(vec![json!(null), json!([]), json!({"s": "x"}), json!("x"), json!(true)])
}

/// Texts, many of which need a wrapper or look like one.
fn texts() -> impl Strategy<Value = String> {
    let piece = select(vec!["=?base64?", "?=", "=", "?", " ", "\t", "YQ==", "a", "é", "\n", "\0"]);
    prop_oneof![
        any::<String>(),
        "[ -~]{0,12}",
        prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat()),
    ]
}

/// The same cases on every machine, and no files of those that failed.
pub(super) fn cases(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(cases);
    config.rng_seed = RngSeed::Fixed(20_260_728);
    config.failure_persistence = None;
    config
}
