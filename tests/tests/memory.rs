//! Law 5: everything is bounded, whatever a peer sends. Here it is measured.
//!
//! The driver reads chunks of 64 KiB, takes all actions after each, and reads no more while
//! `wants_read()` is false. The application keeps the replies that it owes, and nothing else. The
//! peak of all that is allocated beyond the start must stay below [`bound`], beside what the test holds by itself.

#![expect(clippy::print_stdout, reason = "the peak is worth knowing")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_proto::server::{Config, Outcome, Reply, ServerEvent};
use mcp_proto::stdio::Connection;
use mcp_proto::{Action, Bytes, Instant, Json, Limits, Machine};
use mcp_tests::fuzz;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The allocator counts for the whole process: one test at a time, from its first allocation on.
static ALONE: Mutex<()> = Mutex::new(());

const CHUNK: usize = 64 * 1024;
const MIB: usize = 1024 * 1024;

/// What a server may allocate under these limits.
///
/// A line is held once as it comes and once more while the buffer grows to twice its size, and
/// what a message says (a method, a version) may stand in the answer, in the answer's data and in
/// the bytes to be written: eight times the longest line. A chunk may be full of the shortest
/// messages, each of which is answered with a sentence: each of its bytes makes 300 at most, as
/// messages and as bytes to be written. A request in flight is its id and its progress token, each
/// twice, and a kilobyte of book-keeping. A batch in flight holds its answers, and those of its
/// bytes that were short and wrong have made sixteen each.
fn bound(limits: &Limits) -> usize {
    8 * limits.max_line_bytes
        + 300 * CHUNK.min(limits.max_line_bytes)
        + limits.max_in_flight * (4 * limits.max_token_bytes + 1024)
        + 16 * limits.max_in_flight_bytes
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_line_bytes = MIB;
    limits.max_in_flight_bytes = MIB / 4;
    limits
}

#[test]
fn a_line_that_never_ends() {
    let alone = alone();
    let start = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"".to_owned();
    measure(&alone, limits(), [start].into_iter().chain((0..640).map(|_| "x".repeat(CHUNK))));
}

#[test]
fn brackets_up_to_the_limit_of_a_line() {
    let alone = alone();
    let mut limits = Limits::default();
    limits.max_in_flight_bytes = 0;
    let lines = (0..256).map(|_| "[".repeat(CHUNK));
    measure(&alone, limits, lines.chain(["\n".to_owned()]));
}

#[test]
fn an_endless_stream_of_garbage() {
    let alone = alone();
    measure(&alone, limits(), (0..200).map(|_| "x\n[\n{}\n\"\n{\"id\":1}\n".repeat(500)));
}

#[test]
fn names_that_are_as_long_as_a_line() {
    let alone = alone();
    let long = "n".repeat(MIB / 2);
    let lines = [
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{long}\"}}\n"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{long}\",\"method\":\"ping\"}}\n"),
        modern(1, "tools/call", &format!("\"name\":\"{long}\"")),
        modern(1, "tools/list", "").replace("2026-07-28", &long),
        initialize(&long),
        initialize("2025-11-25").replace("\"c\"", &format!("\"{long}\"")),
    ];
    measure(&alone, limits(), lines.iter().cycle().take(18).cloned());
}

#[test]
fn requests_with_ids_and_parameters_of_every_size() {
    let alone = alone();
    let lines = (0..2000_usize).map(|n| {
        let id = format!("\"{n}{}\"", "i".repeat(n % 1100));
        let params = format!("\"name\":\"hold\",\"arguments\":{{\"a\":\"{}\"}}", "p".repeat(n * 3));
        modern(id, "tools/call", &params)
    });
    measure(&alone, limits(), lines);
}

#[test]
fn ten_thousand_requests_that_are_never_answered() {
    let alone = alone();
    measure(&alone, limits(), (0..10_000).map(|n| modern(n, "tools/call", "\"name\":\"hold\"")));
}

#[test]
fn the_shortest_requests_with_the_longest_answers() {
    let alone = alone();
    measure(&alone, limits(), (0..5000).map(|_| modern(1, "server/discover", "")));
}

#[test]
fn a_batch_of_a_million() {
    let alone = alone();
    let elements = (0..64).map(|_| "1,".repeat(MIB / 64));
    let start = initialize("2025-03-26") + "[";
    let mut limits = limits();
    limits.max_line_bytes = 4 * MIB;
    measure(&alone, limits, [start].into_iter().chain(elements).chain(["1]\n".to_owned()]));
}

#[test]
fn batches_that_wait_for_one_answer_each() {
    let alone = alone();
    let wrong = ",{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"nope\"}".repeat(199);
    let batches = (0..300).map(|n| {
        let hold =
            modern(n, "tools/call", "\"name\":\"hold\"").replace("io.modelcontextprotocol", "x");
        format!("[{}{wrong}]\n", hold.trim())
    });
    let mut limits = limits();
    limits.max_line_bytes = 16 * 1024;
    limits.max_in_flight = 200;
    measure(&alone, limits, [initialize("2025-03-26")].into_iter().chain(batches));
}

type Alone = MutexGuard<'static, ()>;

fn alone() -> Alone {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Feeds a server, and looks at the peak.
fn measure(_alone: &Alone, limits: Limits, text: impl Iterator<Item = String>) {
    let declaration = fuzz::registry().declaration();
    let bound = bound(&limits);
    let mut config = Config::default();
    config.limits = limits;
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let mut server = Connection::server(declaration, config);
    let mut owed: Vec<Reply> = Vec::new();
    // What the test itself allocates: a piece of text, and the bytes that are not fed yet.
    let (mut unread, mut outside) = (Vec::new(), 0);
    for piece in text {
        unread.extend_from_slice(piece.as_bytes());
        outside = outside.max(2 * (unread.capacity() + piece.capacity()));
        while unread.len() >= CHUNK {
            let rest = unread.split_off(CHUNK);
            feed(&mut server, std::mem::replace(&mut unread, rest), &mut owed);
        }
    }
    feed(&mut server, unread, &mut owed);
    let held = owed.len();
    for reply in owed.drain(..) {
        server.respond(Instant::ZERO, reply, Outcome::Complete(Json::EMPTY_OBJECT));
        drain(&mut server, &mut Vec::new());
    }
    server.handle_eof(Instant::ZERO);
    drain(&mut server, &mut owed);
    let peak = ALLOCATOR.peak_usage() - before;
    println!("peak {:.1} MiB of {:.1}, {held} held", mib(peak), mib(bound));
    assert!(peak <= bound + outside, "peak {:.1} MiB of {:.1}", mib(peak), mib(bound));
    drop((server, owed));
    let left = ALLOCATOR.current_usage().saturating_sub(before);
    assert!(left < MIB, "{left} bytes are never freed");
}

fn feed(server: &mut Connection, chunk: Vec<u8>, owed: &mut Vec<Reply>) {
    assert!(server.wants_read(), "all actions are taken");
    server.handle_bytes(Instant::ZERO, Bytes::from(chunk));
    drain(server, owed);
}

fn drain(server: &mut Connection, owed: &mut Vec<Reply>) {
    while let Some(action) = server.poll_action() {
        if let Action::Event(ServerEvent::Request(request)) = action {
            owed.push(request.reply);
        }
    }
}

fn modern(id: impl std::fmt::Display, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}{comma}\
         \"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
         \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}\n"
    )
}

fn initialize(version: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"open\",\"method\":\"initialize\",\"params\":{{\
         \"protocolVersion\":\"{version}\",\"capabilities\":{{}},\
         \"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}}}\n"
    )
}

#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn mib(bytes: usize) -> f64 {
    bytes as f64 / MIB as f64
}
