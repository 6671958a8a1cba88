//! More of the same than anybody needs.

use mcp_proto::server::Outcome;
use mcp_proto::{Duration, Json, Limits};

use super::site::{INITIALIZED, Site, call, get, initialize, modern, of_session, post, session_id};
use super::{KIB, MIB, Meter};

#[test]
fn who_only_opens_sessions_is_forgotten_after_a_minute() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let open = post("", &initialize("2025-11-25", "client"));
    for round in 0..3 {
        for client in 0..4000 {
            let number = site.connect();
            // Every other one is gone before it is answered.
            site.connections.get_mut(&number).expect("a client").reads = client % 2 == 0;
            site.write(number, &open);
            site.reset(number);
        }
        assert!(site.endpoint.sessions() >= 2000, "round {round}: {}", site.endpoint.sessions());
        site.pass(Duration::from_secs(61));
        assert_eq!(site.endpoint.sessions(), 0, "round {round}");
    }
    meter.assert_peak("sessions that are only opened", 8 * MIB);
    meter.assert_used("nothing", 64 * KIB);
}

#[test]
fn thousands_of_requests_in_a_row() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let number = site.connect();
    let session = session_id(&site.ask(number, &post("", &initialize("2025-11-25", "c"))));
    let legacy = of_session(&session, &call(1, "echo"));
    let line = [modern(1, "tools/call", "\"name\":\"echo\""), legacy].concat();
    let (mut all, mut answers) = (0, 0);
    let requests = line.repeat(500);
    for _ in 0..20 {
        all += site.write(number, &requests);
        answers += site.take(number).matches("HTTP/1.1 200 OK").count();
    }
    assert_eq!((all, answers), (20 * requests.len(), 20 * 1000));
    // Behind a request that waits nothing is read after the first few.
    site.write(number, &modern(2, "tools/call", "\"name\":\"hold\""));
    let mut read = 0;
    for _ in 0..20 {
        read += site.write(number, &requests);
    }
    assert!((64 * KIB..=128 * KIB).contains(&read), "{read} bytes are read ahead");
    assert_eq!(site.take(number), "");
    meter.assert_peak("requests in a row", 2 * requests.len() + 2 * MIB);
    site.answer(number, Outcome::Complete(Json::EMPTY_OBJECT));
    assert!(site.take(number).matches("HTTP/1.1 200 OK").count() > 100, "they are answered");
}

#[test]
fn equal_ids_of_many_clients_are_different_requests() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let mut clients = Vec::new();
    for _ in 0..100 {
        let number = site.connect();
        let session = session_id(&site.ask(number, &post("", &initialize("2025-11-25", "c"))));
        site.ask(number, &of_session(&session, INITIALIZED));
        site.ask(number, &of_session(&session, &call(7, "hold")));
        clients.push(number);
        let number = site.connect();
        site.ask(number, &modern(7, "tools/call", "\"name\":\"hold\""));
        clients.push(number);
    }
    assert_eq!(site.owed.len(), 200);
    for (n, number) in clients.iter().enumerate() {
        let text = format!("{{\"content\":[],\"n\":{n}}}");
        let result = Json::parse(text).expect("JSON");
        site.answer(*number, Outcome::Complete(result));
        let answer = site.take(*number);
        assert!(answer.contains(&format!("\"n\":{n}}}")), "{answer}");
        assert!(clients.iter().all(|other| site.connections[other].read.is_empty()));
    }
    meter.assert_peak("equal ids", 4 * MIB);
}

#[test]
fn guesses_find_nothing_and_leave_nothing() {
    let mut meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let number = site.connect();
    let session = session_id(&site.ask(number, &post("", &initialize("2025-11-25", "c"))));
    site.ask(number, &of_session(&session, INITIALIZED));
    site.ask(number, &of_session(&session, "{}"));
    meter.restart();
    for n in 0..10_000_u128 {
        let guess = format!("{:032x}", n.wrapping_mul(0x1234_5678_9ABC_DEF1_2345_6789));
        for request in [of_session(&guess, &call(1, "echo")), get(&guess, "Last-Event-ID: 1-1\r\n")]
        {
            let answer = site.ask(number, &request);
            assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        }
        let number = site.connect();
        for event in [format!("{}-{n}", n + 2), format!("0-{}", n + 1), format!("{n}"), "1-".into()]
        {
            let answer = site.ask(number, &get(&session, &format!("Last-Event-ID: {event}\r\n")));
            assert!(answer.starts_with("HTTP/1.1 400 "), "{event}: {answer}");
        }
        site.reset(number);
    }
    assert_eq!(site.endpoint.sessions(), 1);
    meter.assert_used("after guesses", 16 * KIB);
}
