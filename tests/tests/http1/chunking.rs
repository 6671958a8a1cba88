//! Chunking never matters: any split of any bytes gives the same.

use mcp_proto::Limits;
use mcp_tests::fuzz;
use proptest::prelude::*;

use crate::cases;
use crate::generate::{bytes, mutated, stream};
use crate::payloads::{BODIES, HEADS};

#[test]
fn what_is_refused_does_not_depend_on_pieces() {
    for (_, text, _) in HEADS.iter().chain(BODIES) {
        for size in [2, 3, 5, 11, 17] {
            fuzz::http1_pieces(&Limits::default(), text.as_bytes(), &[size]);
        }
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn requests_in_pieces_are_the_same_requests(stream in stream(), sizes in sizes()) {
        fuzz::http1_pieces(&Limits::default(), &bytes(&stream), &sizes);
    }

    #[test]
    fn almost_requests_in_pieces_are_the_same(stream in mutated(), sizes in sizes()) {
        fuzz::http1_pieces(&Limits::default(), &stream, &sizes);
    }

    #[test]
    fn small_limits_are_met_in_any_pieces(
        stream in mutated(), choice in any::<u8>(), pattern in any::<u8>(),
    ) {
        fuzz::http1(&[&[choice, pattern][..], &stream].concat());
    }

    #[test]
    fn garbage_in_pieces_is_the_same_garbage(
        garbage in prop::collection::vec(any::<u8>(), 0..200), sizes in sizes(),
    ) {
        fuzz::http1_pieces(&Limits::default(), &garbage, &sizes);
    }
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..30, 1..6)
        .prop_filter("pieces of no bytes come to no end", |sizes| {
            sizes.iter().any(|size| *size > 0)
        })
}
