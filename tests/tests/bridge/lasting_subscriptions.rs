//! Subscriptions of modern clients, which end only when the client or the server ends them.

use mcp_proto::Limits;
use mcp_proto::client::{Change, List};
use mcp_proto::types::SubscriptionFilter;
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::cells::{self, TRANSPORTS, attach, client};
use super::missed_changes::{TOOLS, acknowledged};
use super::*;

#[test]
fn subscription_has_no_timeout_but_the_calls_beside_it_have() {
    for up in ERAS {
        let mut bridged = quiet(Era::Modern, up);
        let call = |bridged: &mut Bridged, id| {
            bridged.client(&request(id, "tools/call", &modern(json!({"name": "x"}))));
        };
        call(&mut bridged, 1);
        bridged.to_server();
        let filter = json!({"notifications": {"toolsListChanged": true}});
        bridged.client(&request(9, "subscriptions/listen", &modern(filter)));
        let mut meta = json!({});
        if up == Era::Modern {
            let asked = only(bridged.to_server());
            bridged.server(&acknowledged(&asked["id"], json!({"toolsListChanged": true})));
            meta = json!({"io.modelcontextprotocol/subscriptionId": asked["id"]});
        }
        only(bridged.to_client());
        call(&mut bridged, 2);
        for id in [vec![1, 2], vec![3], vec![4]] {
            if id.len() == 1 {
                call(&mut bridged, id[0]);
            }
            bridged.pass(Limits::default().handler_timeout);
            let answers = bridged.to_client();
            let ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
            assert_eq!(ids, id, "{up:?}");
            let changed = json!({"jsonrpc": "2.0", "method": TOOLS, "params": {"_meta": meta}});
            bridged.server(&changed.to_string());
            assert_eq!(only(bridged.to_client())["method"], TOOLS, "{up:?}");
        }
    }
}

#[test]
fn subscription_outlasts_the_timeout_of_handlers_on_each_transport() {
    for down in TRANSPORTS {
        for up in TRANSPORTS {
            for behind in ERAS {
                let world = World::default();
                let bridge = cells::bridged(&world, up, behind);
                let client = client(Era::Modern);
                attach(&world, &client, down, &bridge.catalog());
                let talk = async {
                    let filter = SubscriptionFilter::new().tools_list_changed();
                    let mut subscription = client.subscribe(filter).await.unwrap();
                    world.sleep(Limits::default().handler_timeout * 2).await;
                    client.call_tool("test_trigger_tool_change", &()).await.unwrap();
                    let changed = subscription.changed().await;
                    let expected = Some(Change::ListChanged(List::Tools));
                    assert_eq!(changed, expected, "{down:?} {up:?} {behind:?}");
                };
                world.run(talk).unwrap();
            }
        }
    }
}
