//! Server-sent events: any bytes in any pieces, beside a second reader; and what is written is
//! read.

use mcp_proto::Bytes;
use mcp_proto::frame::sse::{self, Event, Incoming};
use mcp_tests::fuzz;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

/// The same cases on every machine, and no files of those that failed.
fn cases(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(cases);
    config.rng_seed = RngSeed::Fixed(9112);
    config.failure_persistence = None;
    config
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn t064_streams_in_pieces_are_read_as_a_whole(
        stream in stream(), sizes in sizes(), max in prop_oneof![Just(usize::MAX), 0_usize..60],
    ) {
        fuzz::sse_pieces(max, &stream, &sizes);
    }

    #[test]
    fn small_limits_are_met_in_any_pieces(
        stream in stream(), limit in 0_u8..50, pattern in any::<u8>(),
    ) {
        fuzz::sse(&[&[limit, pattern][..], &stream].concat());
    }

    #[test]
    fn what_is_written_is_read(messages in prop::collection::vec(message(), 0..6), sizes in sizes()) {
        let mut stream = Vec::new();
        let mut expected = Vec::new();
        let mut last = None;
        for (kind, id, data) in &messages {
            let without_ends = |text: &[u8]| -> Bytes {
                let blank = |byte: &u8| if b"\r\n\0".contains(byte) { b' ' } else { *byte };
                text.iter().map(blank).collect()
            };
            match kind {
                0 => sse::comment(&mut stream),
                1 => {
                    sse::retry(id.len() as u64, &mut stream);
                    expected.push(Incoming::Retry(id.len() as u64));
                }
                2 => {
                    sse::priming(id, &mut stream);
                    last = Some(without_ends(id.as_bytes()));
                    expected.push(event(b"", last.as_ref()));
                }
                3 => {
                    sse::message(None, data, &mut stream);
                    expected.push(event(&without_ends(data), last.as_ref()));
                }
                _ => {
                    sse::message(Some(id), data, &mut stream);
                    last = Some(without_ends(id.as_bytes()));
                    expected.push(event(&without_ends(data), last.as_ref()));
                }
            }
        }
        prop_assert_eq!(fuzz::sse_pieces(usize::MAX, &stream, &sizes), expected);
    }
}

fn event(data: &[u8], id: Option<&Bytes>) -> Incoming {
    let name = Bytes::from_static(b"message");
    Incoming::Event(Event { name, data: Bytes::copy_from_slice(data), id: id.cloned() })
}

/// Parts of a byte order mark, and of what is not UTF-8.
const ODDITIES: &[&[u8]] =
    &[b"\xEF", b"\xEF\xBB", b"\xEF\xBB\xBF", b"\xff", b"\0", b" ", b":", b"x"];

/// Lines of all kinds, with all kinds of ends, and now and then anything.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => select(&["\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r", "\n\r"][..])
            .prop_map(|end| end.as_bytes().to_vec()),
        6 => select(&[
            "data: a", "data:a", "data", "data:", "data:  {\"a\":1} ", "data: \u{2028}\u{e9}", "Data: a", "id: 1", "id:2",
            "id", "id:", "id: \0", "idea: x", "event: message", "event: ping", "event:", "event", "retry: 5",
            "retry: 5a", "retry:99999999999999999999", "retry", ": comment", ":", "unknown: x", "\u{feff}",
        ][..]).prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
        1 => select(ODDITIES).prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn message() -> impl Strategy<Value = (u8, String, Vec<u8>)> {
    (0_u8..6, ".{0,5}", prop::collection::vec(any::<u8>(), 0..40))
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..30, 1..6)
        .prop_filter("pieces of no bytes come to no end", |sizes| {
            sizes.iter().any(|size| *size > 0)
        })
}
