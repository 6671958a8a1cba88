//! Chunking never matters: any split of any bytes gives the same.

use mcp_proto::Limits;
use mcp_tests::fuzz;
use proptest::prelude::*;

use crate::cases;
use crate::generate::{response, with_faults};

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn responses_in_pieces_are_the_same_responses(
        responses in prop::collection::vec(response(), 1..4), methods in any::<u8>(), sizes in sizes(),
    ) {
        fuzz::http1_client_pieces(&Limits::default(), methods, &responses.join(&b"\0\0"[..]), &sizes);
    }

    #[test]
    fn almost_responses_in_pieces_are_the_same(
        response in with_faults(response()), methods in any::<u8>(), sizes in sizes(),
    ) {
        fuzz::http1_client_pieces(&Limits::default(), methods, &response, &sizes);
    }

    #[test]
    fn small_limits_are_met_in_any_pieces(
        response in with_faults(response()), choices in any::<[u8; 3]>(),
    ) {
        fuzz::http1_client(&[&choices[..], &response].concat());
    }
}

#[test]
fn second_hour_27_a_tiny_bound_is_met_in_any_pieces() {
    for bytes in [0, 1, 4, 8, 63] {
        let mut limits = Limits::default();
        limits.max_head_bytes = bytes;
        for response in ["HTTP/2.0 200 OK\r\n\r\n", "HTXP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200"] {
            fuzz::http1_client_pieces(&limits, 0, response.as_bytes(), &[1, 2]);
        }
    }
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..30, 1..6)
}
