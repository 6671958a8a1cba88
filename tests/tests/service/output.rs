//! Bytes on their way out.

use mcp_service::Drive;
use serde_json::{Value, json};

use crate::bench::{Bench, answer};

#[test]
fn output_is_written_in_pieces() {
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    bench.call(1);
    bench.call(2);
    let expected = format!("{}\n{}\n", answer(1, "done"), answer(2, "done"));
    let mut written = Vec::new();
    for count in [1, 2, 3, 5, 8, 13].into_iter().cycle() {
        let output = bench.service.output();
        if output.is_empty() {
            break;
        }
        let count = count.min(output.len());
        written.extend_from_slice(&output[..count]);
        bench.service.handle_written(count);
    }
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

#[test]
fn writing_nothing_or_too_much_does_no_harm() {
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    bench.service.handle_written(1);
    bench.call(1);
    bench.service.handle_written(0);
    bench.service.handle_written(usize::MAX);
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn nothing_is_handled_while_a_mebibyte_waits_and_another_is_read_ahead() {
    let mut bench =
        Bench::new(
            |text: Value, _| async move { text["text"].as_str().unwrap_or_default().to_owned() },
        );
    let text = "x".repeat(100 * 1024);
    let mut id = 0;
    while bench.service.wants_read() {
        id += 1;
        bench.call_with(id, &json!({"text": text}));
    }
    assert!((21..=22).contains(&id), "{id}");
    let (mut answers, mut rounds) = (0, 0);
    loop {
        let text = bench.text();
        if text.is_empty() {
            break;
        }
        assert!(text.len() <= 1024 * 1024 + 101 * 1024, "{}", text.len());
        answers += text.matches('\n').count();
        rounds += 1;
        bench.turn();
    }
    assert!(rounds > 1, "all was handled at once");
    assert_eq!(answers, usize::try_from(id).unwrap());
    assert!(bench.service.wants_read());
}
