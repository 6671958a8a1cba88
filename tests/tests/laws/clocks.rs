//! Clocks that begin anywhere, stand still, or jump, in the middle of every golden conversation.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::PathBuf;

use mcp_proto::{Duration, Instant};
use mcp_tests::transcript::{self, Transcript};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A time whose next century can be told.
const LATE: Instant = Instant::from_micros(u64::MAX / 2);

fn transcripts() -> impl Iterator<Item = Transcript> {
    transcript::files().unwrap().into_iter().map(|path| Transcript::load(&path).unwrap())
}

/// The conversations whose streams are not opened again: the script of the others opens them at a
/// time of its own, whether the client wants that or not.
fn of_one_stream() -> Vec<Transcript> {
    let opens_once = |path: &PathBuf| !fs::read_to_string(path).unwrap().contains("! reopen");
    let files = transcript::files().unwrap().into_iter().filter(opens_once);
    files.map(|path| Transcript::load(&path).unwrap()).collect()
}

/// Checks that no conversation breaks a law with this clock.
fn assert_laws(transcripts: &[Transcript], what: &str, jump: impl Fn(usize, Instant) -> Instant) {
    let broken = transcripts.iter().filter_map(|it| it.keeps_laws_in_jumps(&jump).err());
    let broken: Vec<String> = broken.collect();
    assert!(broken.is_empty(), "{what}: {} conversations\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn a_conversation_does_not_depend_on_the_epoch_of_the_clock() {
    let starts = [Instant::from_micros(1), Instant::ZERO + DAY, Instant::ZERO + 10_000 * DAY, LATE];
    for start in starts {
        let failed = transcripts().filter_map(|it| it.play_from(start).err());
        let failed: Vec<String> = failed.map(|failure| failure.to_string()).collect();
        assert!(failed.is_empty(), "{start}: {} differ\n{}", failed.len(), failed.join("\n"));
    }
}

#[test]
fn a_clock_may_stand_still() {
    let transcripts = of_one_stream();
    for at in [Instant::ZERO, LATE, Instant::from_micros(u64::MAX - 1), Instant::NEVER] {
        assert_laws(&transcripts, "still", |_, _| at);
    }
}

#[test]
fn a_clock_may_jump() {
    let transcripts = of_one_stream();
    let hour = Duration::from_secs(60 * 60);
    let end = Instant::from_micros(u64::MAX - 3_600_000_000);
    let earlier = |now: Instant| {
        let micros = u64::try_from(hour.as_micros()).unwrap();
        Instant::from_micros(now.as_micros().saturating_sub(micros))
    };
    for every in 1..4 {
        for offset in 0..every {
            let is_due = |step: usize| step % every == offset;
            assert_laws(
                &transcripts,
                "a day",
                |step, now| if is_due(step) { now + DAY } else { now },
            );
            assert_laws(&transcripts, "back", |step, now| match step {
                0 => now + DAY,
                _ if is_due(step) => earlier(now),
                _ => now,
            });
            assert_laws(&transcripts, "there and back", |step, now| {
                if is_due(step) { now + DAY } else { earlier(now) }
            });
            assert_laws(&transcripts, "the end", |step, now| if is_due(step) { end } else { now });
            assert_laws(
                &transcripts,
                "never",
                |step, now| if is_due(step) { Instant::NEVER } else { now },
            );
        }
    }
}
