//! Sessions over HTTP whose clients have ended without a DELETE, at the limit of connections.

use std::sync::{Arc, Mutex};

use mcp_proto::http;
use mcp_tests::bridge::site::{INITIALIZE, INITIALIZED, VirtualSite as Site};
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::cells::bounded;

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;

/// A call that waits for an answer of the client's model.
pub(super) const CALL: &str = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{
    "name":"test_sampling","arguments":{"prompt":"x"}}}"#;

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

/// Returns whether the session is there.
async fn lists_tools(site: &Site, session: &str) -> bool {
    let text = site.ask(Some(session), LIST).await.text;
    let is_there = text.contains("test_simple_text");
    assert!(is_there || text.contains("no session with this `Mcp-Session-Id`"), "{text}");
    is_there
}
