//! No tool is executed twice for one call, over all eras, bindings, faults and stored verdicts.

use mcp_tests::fuzz;
use proptest::prelude::*;

use super::cases;

/// Settings, then steps: tools are called, and something breaks.
fn script(breaks: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let settings = prop::collection::vec(any::<u8>(), 8);
    let tool = prop::sample::select(&[0_u8, 1, 2, 5, 10][..]);
    let time = prop::sample::select(&[21_u8, 22][..]);
    let step = prop_oneof![
        4 => (tool, any::<u8>()),
        2 => (prop::sample::select(breaks), any::<u8>()),
        2 => (time, any::<u8>()),
    ];
    (settings, prop::collection::vec(step, 1..20)).prop_map(|(mut bytes, steps)| {
        bytes.extend(steps.into_iter().flat_map(|(op, n)| [op, n]));
        bytes
    })
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn second_hour_01_no_tool_is_executed_twice_over_a_pipe(data in script(&[23, 24, 25])) {
        fuzz::pair(&data);
    }

    #[test]
    fn second_hour_01_no_tool_is_executed_twice_over_http(data in script(&[23, 25, 27, 28, 29, 30, 31, 31])) {
        fuzz::pair_http(&data);
    }
}
