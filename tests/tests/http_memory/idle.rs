//! Memory of idle sessions and connections, by the ten thousand.

use mcp_proto::server::{Change, InputRequired, List, Outcome};
use mcp_proto::types::InputRequest;
use mcp_proto::{Duration, Json, Limits};

use super::site::{
    INITIALIZED, Site, call, delete, get, initialize, modern, of_session, post, session_id,
};
use super::{KIB, MIB, Meter};

const SESSIONS: usize = 10_000;

/// As many sessions as there may be, all over one connection.
fn sessions(site: &mut Site) -> Vec<String> {
    let number = site.connect();
    let open = |_| {
        let answer = site.ask(number, &post("", &initialize("2025-11-25", "client")));
        let session = session_id(&answer);
        let answer = site.ask(number, &of_session(&session, INITIALIZED));
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
        session
    };
    (0..SESSIONS).map(open).collect()
}

#[test]
fn an_idle_session_costs_a_kibibyte() {
    let mut meter = Meter::start();
    let mut site = Site::new(Limits::default());
    meter.restart();
    let sessions = sessions(&mut site);
    let names: usize = sessions.iter().map(String::capacity).sum();
    let names = names + sessions.capacity() * size_of::<String>();
    meter.assert_used("sessions after initialize", SESSIONS * 870 + names);
    let bound = SESSIONS * KIB + names;

    let number = site.connect();
    for session in &sessions {
        for id in 0..3 {
            let answer = site.ask(number, &of_session(session, &call(id, "echo")));
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        }
        let answer =
            site.ask(number, &of_session(session, &call("\"a long id, in text\"", "hold")));
        assert_eq!(answer, "", "nobody has answered");
        site.answer(number, Outcome::Complete(Json::EMPTY_OBJECT));
        assert!(site.take(number).starts_with("HTTP/1.1 200 "));
    }
    // What calls need is kept for a moment.
    site.pass(Duration::from_secs(1));
    // Its place in the order in which sessions end comes on top.
    let bound = bound + SESSIONS * KIB / 16;
    meter.assert_used("sessions after calls", bound);

    for _ in 0..20 {
        site.publish(&Change::ListChanged(List::Tools));
        site.publish(&Change::ListChanged(List::Resources));
    }
    site.pass(Duration::from_secs(1));
    meter.assert_used("sessions that were not told of changes", bound + SESSIONS * KIB / 2);

    for session in &sessions {
        let answer = site.ask(number, &delete(session));
        assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    }
    assert_eq!(site.endpoint.sessions(), 0);
    meter.assert_used("no session", names + 64 * KIB);
}

#[test]
fn second_hour_27_a_session_that_was_used_costs_a_kibibyte() {
    const SESSIONS: usize = 2000;
    let mut meter = Meter::start();
    let mut site = Site::new(Limits::default());
    meter.restart();
    let number = site.connect();
    let mut names = 0;
    for _ in 0..SESSIONS {
        let open = initialize("2025-03-26", "client");
        let session = session_id(&site.ask(number, &post("", &open)));
        names += session.capacity() + size_of::<String>();
        site.ask(number, &of_session(&session, INITIALIZED));
        let batch = format!("[{},{}]", call(1, "echo"), call(2, "echo"));
        let answer = site.ask(number, &of_session(&session, &batch));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        // A call that asks its client, whose answer comes on another connection.
        let other = site.connect();
        site.ask(other, &of_session(&session, &call(3, "hold")));
        let request: InputRequest = serde_json::from_str(r#"{"method":"roots/list"}"#).unwrap();
        site.answer(other, Outcome::InputRequired(InputRequired::new("a", request)));
        let asked = site.take(other);
        assert!(asked.contains("roots/list"), "{asked}");
        let roots = r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#;
        let answer = site.ask(number, &of_session(&session, roots));
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
        site.answer(other, Outcome::Complete(Json::EMPTY_OBJECT));
        site.take(other);
        site.reset(other);
        // A stream of its own that was left.
        let reader = site.connect();
        site.ask(reader, &get(&session, ""));
        site.reset(reader);
    }
    site.pass(Duration::from_secs(61));
    meter.assert_used("sessions that were used and left", SESSIONS * KIB + names + 64 * KIB);
}

#[test]
fn there_is_room_for_so_many_sessions_and_one_more_ends_the_one_idle_for_longest() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let sessions = sessions(&mut site);
    site.pass(Duration::from_secs(1));
    let number = site.connect();
    let open = post("", &initialize("2025-11-25", "client"));
    for _ in 0..1000 {
        let answer = site.ask(number, &open);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    assert_eq!(site.endpoint.sessions(), SESSIONS);
    // Others are served: those who have a session, and those who need none.
    meter.assert_peak("sessions, and one more", 16 * MIB);
    let mut live = sessions.iter().filter(|session| {
        site.ask(number, &of_session(session, &call(1, "echo"))).starts_with("HTTP/1.1 200 ")
    });
    let last = live.next_back().expect("a session");
    assert_eq!(live.count() + 1, SESSIONS - 1000);
    let answer = site.ask(number, &modern(1, "tools/call", "\"name\":\"echo\""));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    site.ask(number, &delete(last));
    let answer = site.ask(number, &open);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    site.pass(Duration::from_secs(30 * 60));
    assert_eq!(site.endpoint.sessions(), 0, "all were idle for too long");
}

#[test]
fn an_idle_connection_costs_four_kibibytes() {
    type Served = fn(&mut Site, usize);
    let kinds: [(&str, Served); 7] = [
        ("fresh", |_, _| {}),
        ("after a modern call", |site, number| {
            site.ask(number, &modern(1, "tools/call", "\"name\":\"echo\""));
        }),
        ("after a legacy call", |site, number| {
            let session = session_id(&site.ask(number, &post("", &initialize("2025-11-25", "c"))));
            site.ask(number, &of_session(&session, &call(1, "echo")));
            site.ask(number, &delete(&session));
        }),
        ("after a stream", |site, number| {
            let other = site.connect();
            let session = session_id(&site.ask(other, &post("", &initialize("2025-11-25", "c"))));
            site.ask(other, &of_session(&session, INITIALIZED));
            site.ask(number, &get(&session, ""));
            site.publish(&Change::ListChanged(List::Tools));
            let long = "x".repeat(100_000);
            site.ask(other, &of_session(&session, &call(1, "hold")));
            site.progress(0, 1, &long);
            site.ask(other, &[]);
            site.ask(number, &[]);
            site.answer(other, Outcome::Complete(Json::EMPTY_OBJECT));
            let third = site.connect();
            site.ask(third, &delete(&session));
            assert!(site.take(number).ends_with("0\r\n\r\n"), "the stream has ended");
            site.reset(other);
            site.reset(third);
        }),
        ("after a long body", |site, number| {
            let long = format!("\"name\":\"echo\",\"arguments\":{{\"a\":\"{}\"}}", "x".repeat(MIB));
            site.ask(number, &modern(1, "tools/call", &long));
        }),
        ("after a long head in pieces", |site, number| {
            let field = format!("X-Long: {}\r\n", "x".repeat(20_000));
            for piece in post(&field, INITIALIZED).chunks(1000) {
                site.write(number, piece);
            }
        }),
        ("in a head that has begun", |site, number| {
            site.write(number, b"POST /mcp HTTP/1.1\r\nHost: local");
        }),
    ];
    let mut meter = Meter::start();
    for (what, serve) in kinds {
        let mut site = Site::new(Limits::default());
        let count = if what.starts_with("after a ") { 200 } else { 10_000 };
        // What all share is there before they come.
        let first = site.connect();
        serve(&mut site, first);
        site.reset(first);
        meter.restart();
        for _ in 0..count {
            let number = site.connect();
            serve(&mut site, number);
            site.take(number);
            assert!(!site.connections[&number].closed, "{what}");
        }
        meter.assert_used(&format!("{count} connections {what}"), count * 4 * KIB);
    }
}
