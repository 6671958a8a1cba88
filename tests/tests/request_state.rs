//! A sealed `requestState` comes back as it went, once, in time, with the same request, or not at
//! all.

#![expect(clippy::unwrap_used, clippy::string_slice, reason = "a test ends here, and says why")]

use mcp_proto::request_state::{
    CLOCK_SKEW, DEFAULT_REQUEST_STATE_TTL, MAX_REQUEST_STATE_BYTES, RequestStateCodec,
    RequestStateError, RequestStateKey, StateBinding, UsedNonces, Verified,
};
use mcp_proto::{Duration, ErrorCode, ErrorData, Json, UsageError};
use mcp_tests::base64::SYMBOLS;
use mcp_tests::{base64, fuzz};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

const NOW: Duration = Duration::from_secs(1_785_196_800);
const MILLI: Duration = Duration::from_millis(1);
const NONCE: [u8; 16] = *b"sixteen bytes 01";
const TEA: &str = r#"{"name":"buy","arguments":{"what":"tea","cups":2}}"#;

#[test]
fn a_state_comes_back_as_it_went() {
    let codec = codec();
    for payload in [&b""[..], b"{\"price\":12}", &[0xff; 1000]] {
        let state = codec.mint(NOW, NONCE, &alice(TEA), payload).unwrap();
        let Verified { payload: opened, nonce, expires, .. } =
            codec.verify(NOW, &alice(TEA), &state).unwrap();
        assert_eq!(opened, payload);
        assert_eq!(nonce, NONCE);
        assert_eq!(expires, NOW + DEFAULT_REQUEST_STATE_TTL);
    }
}

/// Made by another program from the table in the documentation; a state outlives an update of the
/// server only as long as these hold.
#[test]
fn the_format_stays_as_it_is() {
    let key: Vec<u8> = (0..32).collect();
    let nonce = core::array::from_fn(|at| 0xf0 | u8::try_from(at).unwrap());
    let codec = RequestStateCodec::new(RequestStateKey::new(7, &key).unwrap());
    let state = codec.mint(NOW, nonce, &alice(TEA), br#"{"price":12}"#).unwrap();
    assert_eq!(
        state,
        "AQAAAAfw8fLz9PX29_j5-vv8_f7_AAABn6YOj8B7InByaWNlIjoxMn3W7vTyaG3tJ4euxcGOpMEff9PfH6QLBia_\
         LbgAPYnl-A"
    );
    let state = codec.mint(NOW, nonce, &StateBinding::new("tools/call", &json(TEA)), b"").unwrap();
    assert_eq!(
        state,
        "AQAAAAfw8fLz9PX29_j5-vv8_f7_AAABn6YOj8CrA09I7gzv0KIP-rBNVQfFRxc61unY-jGO7X2tsk_RuA"
    );
}

#[test]
fn t125_no_bit_can_be_changed() {
    let bytes = base64::decode(&minted());
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let expected = match bit / 8 {
            0 => RequestStateError::Malformed,
            at @ 1..5 => RequestStateError::UnknownKey { id: 1 ^ (1 << (8 * (4 - at) + bit % 8)) },
            _ => RequestStateError::Forged,
        };
        assert_eq!(verify(&base64::encode(&changed)), Err(expected), "bit {bit}");
    }
}

#[test]
fn t125_no_character_can_be_changed_left_out_or_added() {
    let state = minted();
    for at in 0..state.len() {
        for symbol in (0..=0x7f).filter(|symbol| *symbol != state.as_bytes()[at]) {
            let mut changed = state.clone().into_bytes();
            changed[at] = symbol;
            let changed = String::from_utf8(changed).unwrap();
            assert!(verify(&changed).is_err(), "{symbol} at {at}");
        }
        assert!(verify(&state[..at]).is_err(), "cut at {at}");
        assert!(verify(&state[at + 1..]).is_err(), "begins after {at}");
        for symbol in ["A", "_", "=", " ", "\n", "é"] {
            let mut changed = state.clone();
            changed.insert_str(at, symbol);
            assert!(verify(&changed).is_err(), "{symbol} before {at}");
        }
    }
    assert!(verify(&state).is_ok());
}

#[test]
fn t125_base64_has_one_spelling() {
    // With 0, 1 and 2 bits to spare in the last symbol.
    for payload in [&b"12"[..], b"123", b"1"] {
        let state = codec().mint(NOW, NONCE, &alice(TEA), payload).unwrap();
        let padding = "=".repeat((4 - state.len() % 4) % 4);
        let last = state.chars().last().unwrap();
        let symbol = SYMBOLS.iter().position(|s| char::from(*s) == last).unwrap();
        let spare = [0, 0, 4, 2][state.len() % 4];
        assert_eq!(symbol & ((1 << spare) - 1), 0, "spare bits are zero");
        let mut spellings = vec![
            format!("{state}="),
            format!("{state}=="),
            format!(" {state}"),
            format!("{state}\n"),
            format!("{}\r\n{}", &state[..64], &state[64..]),
        ];
        if !padding.is_empty() {
            spellings.push(format!("{state}{padding}"));
        }
        for trailing in 1..1 << spare {
            let other = char::from(SYMBOLS[symbol | trailing]);
            spellings.push(format!("{}{other}", &state[..state.len() - 1]));
        }
        for spelling in spellings {
            assert_eq!(verify(&spelling), Err(RequestStateError::Malformed), "{spelling}");
        }
        assert!(verify(&state).is_ok());
    }
    let state = codec().mint(NOW, [0xff; 16], &alice(TEA), &[0, 0xfb, 0xef, 0xbe]).unwrap();
    let standard = state.replace('-', "+").replace('_', "/");
    assert!(standard.contains('+') && standard.contains('/'), "it has both symbols");
    assert_eq!(verify(&standard), Err(RequestStateError::Malformed));
    assert!(verify(&state).is_ok());
}

#[test]
fn t125_a_state_expires_when_it_says() {
    let codec = codec().ttl(Duration::from_millis(1500));
    let state = codec.mint(NOW, NONCE, &alice(TEA), b"").unwrap();
    let at = |time| codec.verify(time, &alice(TEA), &state).map(drop);
    let end = NOW + Duration::from_millis(1500);
    assert_eq!(at(NOW), Ok(()));
    assert_eq!(at(end.saturating_sub(Duration::from_nanos(1))), Ok(()));
    assert_eq!(at(end), Err(RequestStateError::Expired));
    assert_eq!(at(Duration::MAX), Err(RequestStateError::Expired));
    // Nothing is said of the time of a state that is not genuine.
    let other = StateBinding::new("tools/call", &json(TEA));
    assert_eq!(codec.verify(end, &other, &state), Err(RequestStateError::Forged));
}

#[test]
fn t125_a_state_does_not_outlive_the_ttl_of_who_reads_it() {
    let hour = Duration::from_secs(3600);
    let state = codec().ttl(hour).mint(NOW, NONCE, &alice(TEA), b"").unwrap();
    let at = |time| codec().verify(time, &alice(TEA), &state).map(drop);
    let from = (NOW + hour).saturating_sub(DEFAULT_REQUEST_STATE_TTL + CLOCK_SKEW);
    assert_eq!(at(NOW), Err(RequestStateError::ExpiresTooLate));
    assert_eq!(at(from.saturating_sub(MILLI)), Err(RequestStateError::ExpiresTooLate));
    assert_eq!(at(from), Ok(()));
    assert_eq!(at(NOW + hour), Err(RequestStateError::Expired));
}

#[test]
fn servers_whose_clocks_differ_a_little_share_states() {
    let state = minted();
    let at = |time| codec().verify(time, &alice(TEA), &state).map(drop);
    assert_eq!(at(NOW.saturating_sub(CLOCK_SKEW)), Ok(()));
    assert_eq!(at(NOW.saturating_sub(CLOCK_SKEW + MILLI)), Err(RequestStateError::ExpiresTooLate));
}

#[test]
fn times_and_lives_without_end_are_times_and_lives() {
    let codec = codec().ttl(Duration::MAX);
    let state = codec.mint(NOW, NONCE, &alice(TEA), b"").unwrap();
    assert!(codec.verify(Duration::ZERO, &alice(TEA), &state).is_ok());
    assert!(codec.verify(NOW, &alice(TEA), &state).is_ok());
    assert_eq!(codec.verify(Duration::MAX, &alice(TEA), &state), Err(RequestStateError::Expired));
    let state = codec.mint(Duration::MAX, NONCE, &alice(TEA), b"").unwrap();
    assert!(codec.verify(NOW, &alice(TEA), &state).is_ok());
}

#[test]
fn t125_a_state_is_good_for_its_request_alone() {
    let cases = [
        ("tools/call", TEA, r#"{"name":"sell","arguments":{"what":"tea","cups":2}}"#),
        ("tools/call", TEA, r#"{"name":"buy","arguments":{"what":"gold","cups":2}}"#),
        ("tools/call", TEA, r#"{"name":"buy","arguments":{"what":"tea","cups":2.0}}"#),
        ("tools/call", TEA, r#"{"name":"buy","arguments":{"what":"tea","cups":"2"}}"#),
        ("tools/call", TEA, r#"{"name":"buy","arguments":{"what":"tea"}}"#),
        ("tools/call", TEA, r#"{"name":"buy","arguments":{"what":"tea","cups":2,"cups":2}}"#),
        ("tools/call", TEA, r#"{"name":"buy","name":"buy","arguments":{"what":"tea","cups":2}}"#),
        ("tools/call", TEA, r#"{"name":"buy"}"#),
        ("tools/call", TEA, "[]"),
        // What is not there differs from what is empty.
        ("tools/call", r#"{"name":"buy"}"#, r#"{"name":"buy","arguments":{}}"#),
        ("tools/call", r#"{"name":"buy"}"#, r#"{"name":"buy","arguments":null}"#),
        ("prompts/get", r#"{"name":"a"}"#, r#"{"name":"b"}"#),
        ("prompts/get", r#"{"name":"a","arguments":{"b":"c"}}"#, r#"{"name":"a"}"#),
        ("resources/read", r#"{"uri":"file:///a"}"#, r#"{"uri":"file:///b"}"#),
        ("resources/read", r#"{"uri":"file:///a"}"#, "{}"),
        ("other/method", r#"{"a":1}"#, r#"{"a":2}"#),
        ("other/method", r#"{"a":1}"#, r#"{"a":1,"b":1}"#),
        ("other/method", r#"{"a":[{"_meta":1}]}"#, r#"{"a":[{"_meta":2}]}"#),
    ];
    for (method, here, there) in cases {
        let [here, there] = [here, there].map(|params| StateBinding::new(method, &json(params)));
        assert_eq!(moved(&here, &there), Err(RequestStateError::Forged), "{method}");
        assert_eq!(moved(&there, &here), Err(RequestStateError::Forged), "{method}");
        assert_eq!(moved(&here, &here), Ok(()), "{method}");
    }
}

#[test]
fn t125_a_state_is_good_for_its_method_alone() {
    let methods = ["tools/call", "prompts/get", "tools/cal", "l", ""];
    for here in methods {
        for there in methods {
            // `tools/call` and `prompts/get` bind the same parameters.
            let [one, other] = [here, there].map(|method| StateBinding::new(method, &json(TEA)));
            assert_eq!(moved(&one, &other).is_ok(), here == there, "{here} and {there}");
        }
    }
}

#[test]
fn t125_a_state_is_good_for_its_principal_alone() {
    let request = || StateBinding::new("tools/call", &json(TEA));
    let hash = [1; 32];
    let principals: [Option<&[u8]>; 6] =
        [None, Some(b""), Some(b"alice"), Some(b"alic"), Some(b"\0"), Some(&hash)];
    let bindings = principals.map(|principal| match principal {
        None => request(),
        Some(principal) => request().principal(principal),
    });
    for (here, one) in bindings.iter().enumerate() {
        for (there, other) in bindings.iter().enumerate() {
            let expected = if here == there { Ok(()) } else { Err(RequestStateError::Forged) };
            assert_eq!(
                moved(one, other),
                expected,
                "{:?}, {:?}",
                principals[here],
                principals[there]
            );
        }
    }
    let last = request().principal("mallory").principal("alice");
    assert_eq!(moved(&alice(TEA), &last), Ok(()), "the last one counts");
}

#[test]
fn a_client_may_write_its_request_anew() {
    for again in [
        r#"{"arguments":{"cups":2,"what":"tea"},"name":"buy"}"#,
        "{ \"name\" : \"buy\" ,\n\"arguments\" : { \"what\":\"tea\", \"cups\": 2 } }",
        r#"{"n\u0061me":"\u0062uy","arguments":{"what":"t\u0065a","cups":2}}"#,
        r#"{"_meta":{"progressToken":2},"name":"buy","arguments":{"what":"tea","cups":2}}"#,
        r#"{"name":"buy","arguments":{"what":"tea","cups":2},"requestState":"x","inputResponses":{}}"#,
        r#"{"name":"buy","arguments":{"what":"tea","cups":2},"task":{"ttl":1}}"#,
    ] {
        assert_eq!(moved(&alice(TEA), &alice(again)), Ok(()), "{again}");
    }
    let other = |params| StateBinding::new("other/method", &json(params));
    let again = r#"{"\u005fmeta":{},"requestState":"x","b":[],"a":1,"inputResponses":{}}"#;
    assert_eq!(moved(&other(r#"{"a":1,"b":[],"_meta":1}"#), &other(again)), Ok(()));
}

#[test]
fn parameters_as_deep_as_they_come_can_be_bound() {
    let deep = |depth: usize, inside: &str| {
        let (open, close) = ("{\"a\":".repeat(depth), "}".repeat(depth));
        Json::parse(format!("{{\"name\":\"x\",\"arguments\":{open}{inside}{close}}}")).unwrap()
    };
    let one = StateBinding::new("tools/call", &deep(127, "1"));
    let other = StateBinding::new("tools/call", &deep(127, "2"));
    assert_eq!(moved(&one, &one), Ok(()));
    assert_eq!(moved(&one, &other), Err(RequestStateError::Forged));
    // Deeper than any message: made by the application.
    let mut value = serde_json::json!(1);
    for _ in 0..500 {
        value = serde_json::json!([value]);
    }
    let one = StateBinding::new("tools/call", &Json::encode(&value).unwrap());
    let other = StateBinding::new("tools/call", &Json::encode(&[value]).unwrap());
    assert_eq!(moved(&one, &one), Ok(()));
    assert_eq!(moved(&one, &other), Err(RequestStateError::Forged));
}

#[test]
fn t125_a_state_that_was_used_is_refused() {
    let mut used = UsedNonces::new(2);
    let verified = |nonce: u8, at: Duration| {
        let state = codec().mint(at, [nonce; 16], &alice(TEA), b"").unwrap();
        codec().verify(at, &alice(TEA), &state).unwrap()
    };
    let [one, two, three] = [1, 2, 3].map(|nonce| verified(nonce, NOW));
    assert_eq!(used.spend(NOW, &one), Ok(()));
    assert_eq!(used.spend(NOW, &one), Err(RequestStateError::Replayed));
    assert_eq!(used.spend(NOW, &two), Ok(()));
    // Forgetting one of them would let it be used again.
    assert_eq!(used.spend(NOW, &three), Err(RequestStateError::Full { capacity: 2 }));
    assert_eq!(
        used.spend(one.expires.saturating_sub(MILLI), &one),
        Err(RequestStateError::Replayed)
    );
    assert_eq!(
        used.spend(one.expires.saturating_sub(MILLI), &two),
        Err(RequestStateError::Replayed)
    );
    // Then they expire, and there is room.
    let end = one.expires;
    assert_eq!(used.spend(end, &one), Err(RequestStateError::Expired));
    let [four, five] = [4, 5].map(|nonce| verified(nonce, end));
    assert_eq!(used.spend(end, &four), Ok(()));
    assert_eq!(used.spend(end, &five), Ok(()));
    // A clock that is set back does not bring back what was forgotten.
    assert_eq!(used.spend(NOW, &one), Err(RequestStateError::Expired));
    assert_eq!(used.spend(NOW, &four), Err(RequestStateError::Replayed));
    assert_eq!(UsedNonces::new(0).spend(NOW, &one), Err(RequestStateError::Full { capacity: 0 }));
}

#[test]
fn t126_what_an_earlier_key_sealed_is_good_until_the_key_goes() {
    let binding = alice(TEA);
    let before = RequestStateCodec::new(key(1));
    let old = before.mint(NOW, NONCE, &binding, b"old").unwrap();
    let rotated = RequestStateCodec::new(key(2)).accept(key(1)).unwrap();
    assert_eq!(rotated.verify(NOW, &binding, &old).unwrap().payload, &b"old"[..]);

    let young = rotated.mint(NOW, NONCE, &binding, b"young").unwrap();
    assert_eq!(before.verify(NOW, &binding, &young), Err(RequestStateError::UnknownKey { id: 2 }));
    let prepared = before.accept(key(2)).unwrap();
    assert_eq!(prepared.verify(NOW, &binding, &young).unwrap().payload, &b"young"[..]);

    let after = RequestStateCodec::new(key(2));
    assert_eq!(after.verify(NOW, &binding, &old), Err(RequestStateError::UnknownKey { id: 1 }));
    assert_eq!(after.verify(NOW, &binding, &young).unwrap().payload, &b"young"[..]);
}

#[test]
fn t126_the_id_of_a_key_is_not_the_key() {
    let other = RequestStateKey::new(1, &[9; 32]).unwrap();
    let forged = RequestStateCodec::new(other).mint(NOW, NONCE, &alice(TEA), b"").unwrap();
    assert_eq!(verify(&forged), Err(RequestStateError::Forged));
    // Nor does the state of one key pass for that of another.
    let both = RequestStateCodec::new(key(1)).accept(key(2)).unwrap();
    let mut bytes = base64::decode(&minted());
    bytes[4] = 2;
    let renamed = base64::encode(&bytes);
    assert_eq!(both.verify(NOW, &alice(TEA), &renamed), Err(RequestStateError::Forged));
}

#[test]
fn keys_are_long_and_have_ids_of_their_own() {
    for bytes in [0, 31] {
        let short = RequestStateKey::new(1, &vec![1; bytes]).map(drop);
        assert_eq!(short, Err(UsageError::ShortKey { bytes }));
    }
    // All of a longer key counts.
    let [one, other] = [1, 2].map(|last| {
        let secret = [[7; 100].as_slice(), &[last]].concat();
        RequestStateCodec::new(RequestStateKey::new(1, &secret).unwrap())
    });
    let state = one.mint(NOW, NONCE, &alice(TEA), b"").unwrap();
    assert!(one.verify(NOW, &alice(TEA), &state).is_ok());
    assert_eq!(other.verify(NOW, &alice(TEA), &state), Err(RequestStateError::Forged));
    let twice = RequestStateCodec::new(key(1)).accept(key(1)).map(drop);
    assert_eq!(twice, Err(UsageError::DuplicateKey { id: 1 }));
    let twice = codec().accept(key(2)).unwrap().accept(key(2)).map(drop);
    assert_eq!(twice, Err(UsageError::DuplicateKey { id: 2 }));
}

#[test]
fn keys_are_not_printed() {
    let secret = *b"!the secret of this small test!!";
    let codec = RequestStateCodec::new(RequestStateKey::new(77, &secret).unwrap());
    let printed = format!("{codec:?}{codec:#?}");
    assert!(printed.contains("RequestStateKey(77)"), "{printed}");
    // As numbers a secret would be a list of them.
    assert!(!printed.contains("secret") && !printed.contains("33,"), "{printed}");
}

#[test]
fn the_longest_payload_makes_the_longest_state() {
    let mint = |bytes| codec().mint(NOW, NONCE, &alice(TEA), &vec![b'x'; bytes]);
    let Err(UsageError::RequestStateTooLong { payload, max }) = mint(MAX_REQUEST_STATE_BYTES)
    else {
        panic!("minted")
    };
    assert_eq!(payload, MAX_REQUEST_STATE_BYTES);
    assert_eq!(mint(max + 1), Err(UsageError::RequestStateTooLong { payload: max + 1, max }));
    let state = mint(max).unwrap();
    assert_eq!(state.len(), MAX_REQUEST_STATE_BYTES);
    assert!(verify(&state).is_ok());
    assert_eq!(verify(&format!("{state}A")), Err(RequestStateError::TooLong));
}

#[test]
fn a_peer_does_not_learn_why() {
    let refusals = [
        RequestStateError::TooLong,
        RequestStateError::Malformed,
        RequestStateError::UnknownKey { id: 1 },
        RequestStateError::Forged,
        RequestStateError::Expired,
        RequestStateError::ExpiresTooLate,
        RequestStateError::Replayed,
        RequestStateError::Full { capacity: 1 },
        RequestStateError::Payload,
    ];
    let answer = ErrorData::from(RequestStateError::Forged);
    assert_eq!(answer.code, ErrorCode::INVALID_PARAMS);
    for (at, refusal) in refusals.iter().enumerate() {
        assert_eq!(ErrorData::from(*refusal), answer);
        let text = refusal.to_string();
        assert!(text.starts_with("params: `requestState` "), "{text}");
        assert!(refusals[..at].iter().all(|other| other.to_string() != text), "{text}");
    }
}

#[test]
fn a_payload_of_another_type_is_told_from_a_forgery() {
    let state = codec().mint(NOW, NONCE, &alice(TEA), br#"{"price":12}"#).unwrap();
    let verified = verify(&state).unwrap();
    assert_eq!(verified.decode::<serde_json::Value>().unwrap()["price"], 12);
    assert_eq!(verified.decode::<Vec<u8>>(), Err(RequestStateError::Payload));
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn what_is_minted_is_verified(
        payload in proptest::collection::vec(any::<u8>(), 0..300),
        nonce: [u8; 16],
        secret: [u8; 32],
        id: u32,
        seconds in 0..1_u64 << 40,
        waited in 0..600_u64,
        principal in proptest::option::of(".{0,20}"),
    ) {
        let now = Duration::from_secs(seconds);
        let codec = RequestStateCodec::new(RequestStateKey::new(id, &secret).unwrap());
        let mut binding = StateBinding::new("tools/call", &json(TEA));
        if let Some(principal) = principal {
            binding = binding.principal(principal);
        }
        let state = codec.mint(now, nonce, &binding, &payload).unwrap();
        prop_assert!(state.bytes().all(|symbol| SYMBOLS.contains(&symbol)));
        let verified = codec.verify(now + Duration::from_secs(waited), &binding, &state).unwrap();
        prop_assert_eq!(&verified.payload, &payload);
        prop_assert_eq!(verified.nonce, nonce);
        prop_assert_eq!(verified.expires, now + DEFAULT_REQUEST_STATE_TTL);
        prop_assert_eq!(base64::encode(&base64::decode(&state)), state);
    }

    #[test]
    fn t125_no_change_passes(
        at: Index, until: Index, instead in proptest::collection::vec(any::<u8>(), 0..8),
    ) {
        let state = minted();
        let bytes = base64::decode(&state);
        let (at, until) = (at.index(bytes.len()), until.index(bytes.len()));
        let (at, until) = (at.min(until), at.max(until));
        let changed = [&bytes[..at], &instead, &bytes[until..]].concat();
        prop_assert_eq!(verify(&base64::encode(&changed)).is_ok(), changed == bytes);
    }

    #[test]
    fn no_text_is_a_state(text in ".{0,200}", noise in "[A-Za-z0-9_-]{80,120}") {
        prop_assert!(verify(&text).is_err());
        prop_assert!(verify(&noise).is_err());
        let named = format!("AQAAAAE{noise}");
        prop_assert!(verify(&named).is_err());
    }

    #[test]
    fn any_bytes_hold_the_properties_of_the_fuzz_target(
        mode in 0..5_u8, data in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        fuzz::request_state(&[&[mode], &*data].concat());
    }
}

/// The same cases on every machine, and no files of those that failed.
fn cases(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(cases);
    config.rng_seed = RngSeed::Fixed(20_260_728);
    config.failure_persistence = None;
    config
}

fn key(id: u8) -> RequestStateKey {
    RequestStateKey::new(id.into(), &[id; 32]).unwrap()
}

fn codec() -> RequestStateCodec {
    RequestStateCodec::new(key(1))
}

fn json(text: &str) -> Json {
    Json::parse(text.to_owned()).unwrap()
}

fn alice(params: &str) -> StateBinding {
    StateBinding::new("tools/call", &json(params)).principal("alice")
}

fn minted() -> String {
    codec().mint(NOW, NONCE, &alice(TEA), b"{\"price\":12}").unwrap()
}

fn verify(state: &str) -> Result<Verified, RequestStateError> {
    codec().verify(NOW, &alice(TEA), state)
}

/// Verifies for one request a state that was minted for another.
fn moved(here: &StateBinding, there: &StateBinding) -> Result<(), RequestStateError> {
    let state = codec().mint(NOW, NONCE, here, b"").unwrap();
    codec().verify(NOW, there, &state).map(drop)
}
