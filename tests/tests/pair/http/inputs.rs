//! Requests for input whose call is over.

use std::future::pending;

use mcp_proto::client::CallError;
use mcp_proto::types::ElicitResult;
use serde_json::json;

use super::site::{ERAS, SECOND, pair, take};
use crate::recorder::Notes;

#[test]
fn what_is_asked_for_a_call_that_is_over_is_dropped() {
    for negotiation in ERAS {
        for ends in [Ends::Dropped, Ends::TimedOut, Ends::Broken] {
            let (mut pair, ..) = pair(negotiation);
            let (client, notes) = (pair.client(), Notes::default());
            let log = notes.clone();
            client.on_form(move |_| {
                let gone = Gone(log.clone());
                async move {
                    let _gone = gone;
                    pending::<ElicitResult>().await
                }
            });
            let mut call = client.call_tool("ask", &json!({})).max_total(20 * SECOND);
            assert!(pair.poll(&mut call).is_pending());
            pair.pass(SECOND);
            match ends {
                Ends::Dropped => drop(call),
                Ends::TimedOut => assert_eq!(pair.run(call), Err(CallError::TimedOut)),
                Ends::Broken => {
                    // A modern call goes on by being called again: nothing is out meanwhile.
                    pair.restart();
                    pair.refuse(60 * SECOND);
                    pair.cut();
                    assert!(pair.run(call).is_err());
                }
            }
            pair.pass(SECOND);
            assert_eq!(take(&notes), ["gone"], "{negotiation:?}, {ends:?}");
        }
    }
}

/// End of a call.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Dropped,
    TimedOut,
    Broken,
}

/// Notes when it is dropped.
struct Gone(Notes);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("gone".to_owned());
    }
}
