//! `Limits::max_endpoint_bytes`: what all clients of a server make it hold together.

use mcp_proto::server::Outcome;
use mcp_proto::{Duration, Json, Limits};

use super::site::{Site, call, get, initialize, of_session, opened, post};
use super::{KIB, MIB, Meter};

const MAX: usize = 8 * MIB;

/// Memory of the rest of a site: connections, sessions, and the test's own view of them.
const SLACK: usize = 3 * MIB;

fn site() -> Site {
    let mut limits = Limits::default();
    limits.max_endpoint_bytes = MAX;
    Site::new(limits)
}

fn long_call(id: usize, length: usize) -> String {
    let padding = "x".repeat(length);
    let params = format!("\"name\":\"hold\",\"arguments\":{{\"x\":\"{padding}\"}}");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{{params}}}}}")
}

fn long_result(length: usize) -> Outcome {
    let text = format!("{{\"content\":[],\"x\":\"{}\"}}", "x".repeat(length));
    Outcome::Complete(Json::parse(text).expect("JSON"))
}

/// New work may bring a server to three quarters of the limit; nothing may be held for this to fit.
fn assert_holds_nothing(site: &mut Site) {
    let session = opened(site);
    // A session and what a request takes beside its message need 8 KiB at most.
    let room = (MAX - MAX / 4) / 2 - 16 * KIB;
    for id in 0..2 {
        let number = site.connect();
        site.write(number, &of_session(&session, &long_call(id, room)));
        assert_eq!(site.take(number), "", "something is still counted");
        site.reset(number);
    }
    assert_eq!(site.owed.len(), 2);
    site.owed.clear();
}

#[test]
fn second_hour_19_answers_kept_for_many_sessions_are_bounded() {
    let meter = Meter::start();
    let mut site = site();
    let mut last = String::new();
    for _ in 0..60 {
        last = opened(&mut site);
        let number = site.connect();
        site.write(number, &of_session(&last, &call(1, "hold")));
        site.progress(0, 1, "begun");
        site.reset(number);
        site.answer(number, long_result(900 * KIB));
    }
    meter.assert_peak("answers kept for many sessions", MAX + 4 * MIB + SLACK);
    assert!(site.lost > 40, "{} are lost", site.lost);
    let number = site.connect();
    let answer = site.ask(number, &get(&last, "Last-Event-ID: 2-1\r\n"));
    assert!(answer.contains("\"result\""), "the newest is kept");
    site.pass(Duration::from_secs(31 * 60));
    assert_holds_nothing(&mut site);
}

#[test]
fn second_hour_19_calls_that_outlive_their_connections_are_bounded() {
    let meter = Meter::start();
    let mut site = site();
    let session = opened(&mut site);
    for id in 0..392 {
        let number = site.connect();
        site.write(number, &of_session(&session, &long_call(id, 100 * KIB)));
        let answer = site.take(number);
        let refused = answer.starts_with("HTTP/1.1 503 ");
        assert!(answer.is_empty() || refused && answer.contains("max_endpoint_bytes"), "{answer}");
        site.reset(number);
    }
    assert!((50..62).contains(&site.owed.len()), "{} are in flight", site.owed.len());
    meter.assert_peak("calls without connections", MAX + SLACK);
    // Who has one answered has room for another one.
    site.answer(0, Outcome::Complete(Json::EMPTY_OBJECT));
    let number = site.connect();
    site.write(number, &of_session(&session, &long_call(1000, 100 * KIB)));
    assert_eq!(site.take(number), "");
    site.owed.clear();
    site.pass(Duration::from_secs(2 * 60 * 60));
    assert_holds_nothing(&mut site);
}

#[test]
fn second_hour_19_bodies_that_never_end_are_bounded() {
    let mut meter = Meter::start();
    let mut site = site();
    let request = post("", &long_call(1, 4 * MIB - 200));
    meter.restart();
    let mut refused = 0;
    for _ in 0..250 {
        let number = site.connect();
        site.write(number, &request[..200 * KIB]);
        let answer = site.take(number);
        assert!(answer.is_empty() || answer.contains("-32603"), "{answer}");
        refused += usize::from(answer.starts_with("HTTP/1.1 503 "));
    }
    assert!(refused > 210, "{refused} are refused");
    meter.assert_peak("bodies that never end", MAX + 2 * MIB + SLACK);
    // Small requests have room.
    let number = site.connect();
    let answer = site.ask(number, &super::site::modern(1, "tools/call", "\"name\":\"echo\""));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    site.pass(Duration::from_secs(60));
    assert_holds_nothing(&mut site);
}

/// A request with a head of 30 KiB.
fn with_long_head(request: &[u8]) -> Vec<u8> {
    let request = String::from_utf8_lossy(request).into_owned();
    let long = format!("X-Long: {}\r\nContent-Type", "x".repeat(30 * KIB));
    request.replacen("Content-Type", &long, 1).into_bytes()
}

#[test]
fn heads_of_bodies_that_never_end_are_bounded() {
    let mut meter = Meter::start();
    let mut site = site();
    let request = with_long_head(&post("", &long_call(1, 1000)));
    meter.restart();
    let mut refused = 0;
    for _ in 0..1000 {
        let number = site.connect();
        site.write(number, &request[..request.len() - 1000]);
        let answer = site.take(number);
        assert!(answer.is_empty() || answer.contains("-32603"), "{answer}");
        refused += usize::from(answer.starts_with("HTTP/1.1 503 "));
    }
    assert!(refused > 700, "{refused} are refused");
    meter.assert_peak("heads of bodies that never end", MAX + 2 * MIB + SLACK);
    site.pass(Duration::from_secs(60));
    assert_holds_nothing(&mut site);
}

#[test]
fn heads_that_calls_keep_are_bounded() {
    let meter = Meter::start();
    let mut limits = Limits::default();
    limits.max_endpoint_bytes = MAX;
    let mut site = Site::keeping_heads(limits);
    let session = opened(&mut site);
    for id in 0..1000 {
        let number = site.connect();
        site.write(number, &with_long_head(&of_session(&session, &call(id, "hold"))));
        let answer = site.take(number);
        assert!(answer.is_empty() || answer.contains("max_endpoint_bytes"), "{answer}");
        site.reset(number);
    }
    meter.assert_peak("heads that calls keep", MAX + 2 * MIB + SLACK);
    assert!((100..250).contains(&site.owed.len()), "{} are in flight", site.owed.len());
    site.owed.clear();
    site.pass(Duration::from_secs(2 * 60 * 60));
    assert_holds_nothing(&mut site);
}

#[test]
fn second_hour_19_replay_gives_way_to_requests() {
    let _meter = Meter::start();
    let mut site = site();
    for _ in 0..12 {
        let session = opened(&mut site);
        let number = site.connect();
        site.write(number, &of_session(&session, &call(1, "hold")));
        site.reset(number);
        site.answer(number, long_result(600 * KIB));
    }
    assert_eq!(site.lost, 0);
    let session = opened(&mut site);
    let number = site.connect();
    site.write(number, &of_session(&session, &long_call(1, 2 * MIB)));
    assert_eq!(site.take(number), "", "it is in flight");
    assert!((1..5).contains(&site.lost), "{} are lost", site.lost);
}

fn subscribe(id: usize, length: usize) -> String {
    let uri = format!("test:{id:0length$}");
    let params = format!("{{\"uri\":\"{uri}\"}}");
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"resources/subscribe\",\"params\":{params}}}"
    )
}

#[test]
fn subscriptions_of_many_sessions_are_bounded() {
    // The URIs are so short that no request counts by itself.
    for (sessions, count, length) in [(20, 250, 3500), (200, 1000, 4)] {
        let meter = Meter::start();
        let mut site = site();
        let mut refused = 0;
        let mut last = String::new();
        for _ in 0..sessions {
            last = opened(&mut site);
            let number = site.connect();
            for id in 0..count {
                let answer = site.ask(number, &of_session(&last, &subscribe(id, length)));
                let is_refused = answer.starts_with("HTTP/1.1 503 ");
                let is_full = answer.contains("-32603") && answer.contains("max_endpoint_bytes");
                assert!(
                    if is_refused { is_full } else { answer.contains("\"result\"") },
                    "{answer}"
                );
                refused += usize::from(is_refused);
            }
            site.reset(number);
        }
        assert!(refused > sessions * count / 3, "{refused} are refused");
        meter.assert_peak("subscriptions of many sessions", MAX / 2 + SLACK);
        // Requests still have room.
        let number = site.connect();
        site.write(number, &of_session(&last, &long_call(1, MIB)));
        assert_eq!(site.owed.len(), 1, "{}", site.take(number));
        site.owed.clear();
        site.pass(Duration::from_secs(2 * 60 * 60));
        assert_holds_nothing(&mut site);
    }
}

#[test]
fn sessions_of_clients_with_long_names_leave_room_for_requests() {
    let meter = Meter::start();
    let mut site = site();
    let mut refused = 0;
    for n in 0..500 {
        let number = site.connect();
        let name = format!("{n}{}", "n".repeat(15 * KIB));
        let answer = site.ask(number, &post("", &initialize("2025-11-25", &name)));
        let is_refused = answer.starts_with("HTTP/1.1 503 ");
        assert_eq!(is_refused, answer.contains("max_endpoint_bytes"), "{answer}");
        refused += usize::from(is_refused);
        site.reset(number);
    }
    assert!((200..400).contains(&refused), "{refused} are refused");
    meter.assert_peak("sessions of clients with long names", MAX / 2 + SLACK);
    // Other clients open sessions, and their requests have room.
    let session = opened(&mut site);
    let number = site.connect();
    site.write(number, &of_session(&session, &long_call(1, MIB)));
    assert_eq!(site.owed.len(), 1, "{}", site.take(number));
    site.owed.clear();
    site.pass(Duration::from_secs(2 * 60 * 60));
    assert_holds_nothing(&mut site);
}

#[test]
fn refused_session_forwards_no_request() {
    let mut limits = Limits::default();
    limits.max_endpoint_bytes = 16 * KIB;
    for (length, is_refused) in [(KIB, false), (9 * KIB, true)] {
        let mut site = Site::forwarding(limits.clone());
        let number = site.connect();
        let name = "n".repeat(length);
        let answer = site.ask(number, &post("", &initialize("2025-11-25", &name)));
        assert_eq!(answer.starts_with("HTTP/1.1 503 "), is_refused, "{answer}");
        assert_eq!(site.owed.is_empty(), is_refused);
    }
}

#[test]
fn events_for_clients_that_do_not_read_are_bounded() {
    let meter = Meter::start();
    let mut site = site();
    let numbers: Vec<_> = (0..40)
        .map(|_| {
            let session = opened(&mut site);
            let number = site.connect();
            site.write(number, &of_session(&session, &call(1, "hold")));
            site.connections.get_mut(&number).expect("a client").reads = false;
            number
        })
        .collect();
    let message = "x".repeat(4 * KIB);
    for at in 0..numbers.len() {
        (0..250).for_each(|step| site.progress(at, step, &message));
    }
    meter.assert_peak("events for clients that do not read", MAX + SLACK);
    assert!(site.lost > 8000, "{} are lost", site.lost);
    // The answers still have room, and a client that reads gets its answer.
    for number in numbers {
        site.answer(number, long_result(10 * KIB));
        site.wake(number);
        let answer = site.take(number);
        assert!(answer.contains("notifications/progress") && answer.contains("\"result\""));
        site.reset(number);
    }
    site.pass(Duration::from_secs(2 * 60 * 60));
    assert_holds_nothing(&mut site);
}

/// Keeps an answer of this many bytes for a client that may come back.
fn keep_answer(site: &mut Site, length: usize) {
    let session = opened(site);
    let number = site.connect();
    site.write(number, &of_session(&session, &call(1, "hold")));
    site.reset(number);
    site.answer(number, long_result(length));
}

#[test]
fn a_server_goes_on_while_another_one_holds_the_replay_of_their_budget() {
    let _meter = Meter::start();
    let mut holder = site();
    for _ in 0..12 {
        keep_answer(&mut holder, 600 * KIB);
    }
    let mut other = holder.sibling();
    let session = opened(&mut other);
    let number = other.connect();
    other.write(number, &of_session(&session, &long_call(1, 2 * MIB)));
    assert_eq!(other.owed.len(), 1, "the request is served");
    let echo = super::site::modern(1, "tools/call", "\"name\":\"echo\"");
    let number = other.connect();
    assert!(other.ask(number, &echo).starts_with("HTTP/1.1 200 "));
    assert_eq!(holder.lost, 0);
    let number = holder.connect();
    assert!(holder.ask(number, &echo).starts_with("HTTP/1.1 200 "));
    assert!((1..5).contains(&holder.lost), "{} are lost", holder.lost);
}

#[test]
fn replay_that_is_kept_for_ever_is_bounded() {
    let _meter = Meter::start();
    let mut limits = Limits::default();
    limits.max_endpoint_bytes = MAX;
    limits.replay_timeout = Duration::MAX;
    let mut site = Site::new(limits);
    for _ in 0..20 {
        keep_answer(&mut site, 600 * KIB);
    }
    assert!((6..10).contains(&site.lost), "{} are lost", site.lost);
    let session = opened(&mut site);
    for id in 1..40 {
        let number = site.connect();
        site.write(number, &of_session(&session, &call(id, "hold")));
        site.reset(number);
        site.answer(number, long_result(KIB));
    }
    let number = site.connect();
    let oldest = site.ask(number, &get(&session, "Last-Event-ID: 2-0\r\n"));
    assert!(oldest.starts_with("HTTP/1.1 4"), "{oldest}");
}

/// A linear congruential generator: the order is as good as any.
struct Random(usize);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % bound
    }
}

/// A law: whatever happens, once all is over nothing is counted.
#[test]
fn second_hour_19_nothing_is_counted_once_all_is_over() {
    let _meter = Meter::start();
    for seed in 0..20 {
        let mut site = site();
        let mut random = Random(seed);
        let mut sessions = vec![opened(&mut site)];
        for id in 0..200 {
            let session = sessions[random.below(sessions.len())].clone();
            let length = [10, 5 * KIB, 100 * KIB, 2 * MIB][random.below(4)];
            match random.below(9) {
                0 => sessions.push(opened(&mut site)),
                1..4 => {
                    let number = site.connect();
                    let request = if random.below(2) == 0 {
                        of_session(&session, &long_call(id, length))
                    } else {
                        let padding = "x".repeat(length);
                        let params =
                            format!("\"name\":\"hold\",\"arguments\":{{\"x\":\"{padding}\"}}");
                        super::site::modern(id, "tools/call", &params)
                    };
                    let end = request.len() - random.below(2) * random.below(request.len());
                    site.write(number, &request[..end]);
                }
                4..6 if !site.owed.is_empty() => {
                    let number = site.connections.keys().copied().next_back().unwrap_or(0);
                    site.answer(number, long_result(length));
                }
                6 => {
                    let numbers: Vec<_> = site.connections.keys().copied().collect();
                    if let Some(number) = numbers.get(random.below(numbers.len().max(1))) {
                        site.reset(*number);
                    }
                }
                7 => {
                    let number = site.connect();
                    site.write(number, &get(&session, "Last-Event-ID: 1-1\r\n"));
                }
                _ => site.pass(Duration::from_secs(random.below(20) as u64)),
            }
        }
        let numbers: Vec<_> = site.connections.keys().copied().collect();
        for number in numbers {
            site.reset(number);
        }
        site.owed.clear();
        site.pass(Duration::from_secs(2 * 60 * 60));
        assert_holds_nothing(&mut site);
    }
}
