//! Sessions over HTTP whose clients have ended without a DELETE, at the limit of connections.

use std::sync::{Arc, Mutex};

use mcp_proto::{Duration, Limits, http};
use mcp_tests::bridge::site::{INITIALIZE, INITIALIZED, VirtualSite as Site};
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::cells::bounded;

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;

/// A call that waits for an answer of the client's model.
pub(super) const CALL: &str = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{
    "name":"test_sampling","arguments":{"prompt":"x"}}}"#;

/// A call that takes a moment, and whose stream has events before the answer.
const WORK: &str = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{
    "name":"test_tool_with_progress","_meta":{"progressToken":"p"}}}"#;

const PING: &str = r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#;

const A_SECOND: Duration = Duration::from_secs(1);

/// The cancellation of this call.
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#;

/// Longer than one step of this call, and shorter than two of them.
const A_MOMENT: Duration = Duration::from_millis(75);

/// Longer than a call takes, and shorter than `Limits::replay_timeout`.
const WHILE_KEPT: Duration = Duration::from_secs(20);

#[test]
fn idle_session_that_was_used_least_recently_gives_way_to_a_further_client() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let bridge = bounded(&world, 4, &opened);
    let site = Site::new(&world, bridge.catalog(), http::Config::default());
    let talk = async {
        let connected = site.open().await;
        let mut stream = site.get(&connected, None);
        stream.read(&site);
        let initialize = INITIALIZE.replace("roots", "sampling");
        let calling = site.ask(None, &initialize).await.session.unwrap();
        site.ask(Some(&calling), INITIALIZED).await;
        let mut call = site.post(Some(&calling), CALL);
        call.until(&site, "sampling/createMessage").await;
        let (mut earlier, mut used) = (site.open().await, site.open().await);
        for count in 5..70 {
            assert!(lists_tools(&site, &used).await);
            let next = site.open().await;
            assert_eq!(*opened.lock().unwrap(), count);
            assert!(!lists_tools(&site, &earlier).await);
            (earlier, used) = (used, next);
        }
        // The sessions that are left have a stream or a call.
        let mut streams = [&earlier, &used].map(|session| site.get(session, None));
        for stream in &mut streams {
            stream.read(&site);
        }
        let refused = site.ask(None, INITIALIZE).await;
        assert!(refused.text.contains("BridgeConfig::max_upstreams = 4 "), "{}", refused.text);
        assert_eq!(refused.session, None);
        for session in [&connected, &calling, &earlier, &used] {
            assert!(lists_tools(&site, session).await);
        }
        // Without its stream, a client can be one that has ended.
        let [stream, _other] = streams;
        drop(stream);
        site.open().await;
        assert!(!lists_tools(&site, &earlier).await && lists_tools(&site, &used).await);
    };
    world.run(talk).unwrap();
}

#[test]
fn session_with_an_answer_that_nobody_has_read_keeps_its_place() {
    let (world, opened) = (World::default(), Arc::default());
    let bridge = bounded(&world, 1, &opened);
    let site = Site::new(&world, bridge.catalog(), http::Config::default());
    let talk = async {
        let session = site.open().await;
        let event = cut_call(&site, &session).await;
        world.sleep(WHILE_KEPT).await;
        let refused = site.ask(None, INITIALIZE).await;
        assert!(refused.text.contains("BridgeConfig::max_upstreams = 1 "), "{}", refused.text);
        let mut resumed = site.get(&session, Some(&event));
        resumed.until(&site, r#""text":"done""#).await;
        drop(resumed);
        let next = site.open().await;
        assert!(!lists_tools(&site, &session).await);
        // The answer is not kept for ever.
        cut_call(&site, &next).await;
        world.sleep(Limits::default().replay_timeout + WHILE_KEPT).await;
        let cancels = site.open().await;
        assert!(!lists_tools(&site, &next).await);
        // A cancelled call has no answer, only progress that nobody has read.
        cut_call(&site, &cancels).await;
        world.sleep(A_MOMENT).await;
        site.ask(Some(&cancels), CANCEL).await;
        world.sleep(A_SECOND).await;
        site.open().await;
        assert!(!lists_tools(&site, &cancels).await);
    };
    world.run(talk).unwrap();
}

/// The bridge forwards neither a ping nor a GET.
#[test]
fn each_message_of_a_client_is_a_use_of_its_session() {
    let (world, opened) = (World::default(), Arc::default());
    let bridge = bounded(&world, 3, &opened);
    let site = Site::new(&world, bridge.catalog(), http::Config::default());
    let talk = async {
        let [pings, reads, lists] = [site.open().await, site.open().await, site.open().await];
        for session in [&pings, &reads, &lists] {
            world.sleep(A_SECOND).await;
            assert!(lists_tools(&site, session).await);
        }
        world.sleep(A_SECOND).await;
        assert!(site.ask(Some(&pings), PING).await.text.contains(r#""result":{}"#));
        site.get(&reads, None).read(&site);
        site.open().await;
        assert!(lists_tools(&site, &pings).await && lists_tools(&site, &reads).await);
        assert!(!lists_tools(&site, &lists).await);
    };
    world.run(talk).unwrap();
}

/// Begins a call, and loses its stream. Returns the id of the last event.
async fn cut_call(site: &Site, session: &str) -> String {
    let mut call = site.post(Some(session), WORK);
    call.until(site, "notifications/progress").await;
    let (_, event) = call.text.rsplit_once("id: ").unwrap();
    event.lines().next().unwrap().to_string()
}

/// Returns whether the session is there.
async fn lists_tools(site: &Site, session: &str) -> bool {
    let text = site.ask(Some(session), LIST).await.text;
    let is_there = text.contains("test_simple_text");
    assert!(is_there || text.contains("no session with this `Mcp-Session-Id`"), "{text}");
    is_there
}
