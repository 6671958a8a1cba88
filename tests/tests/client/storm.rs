//! Much at once on a bad pipe: every call ends, as it should, and nothing is anybody's fault.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use mcp_proto::client::CallError;
use mcp_proto::server::Progress;
use mcp_proto::types::{
    CallToolResult, ElicitAction, ElicitRequestFormParams, ElicitResult, RequestedSchema,
};
use mcp_service::testing::{Network, Pair};
use mcp_service::{Client, Context, Interrupt};
use serde_json::{Value, json};

use crate::bench::{Log, MINUTE, WAYS, registry};

const SEEDS: u64 = 25;
const CALLS: u64 = 24;

#[test]
fn whatever_happens_at_once_every_call_ends_as_it_should() {
    for way in WAYS {
        for seed in 0..SEEDS {
            let mut pair = way.pair(registry(busy)).network(Network::rough()).seed(seed);
            let (client, faults) = (pair.client(), Log::default());
            let noted = faults.clone();
            client.on_fault(move |error| noted.note(error.to_string()));
            let clock = pair.clock();
            client.on_form(move |form| {
                let (clock, millis) = (clock.clone(), form.message.parse().unwrap());
                async move {
                    clock.sleep(Duration::from_millis(millis)).await;
                    ElicitResult::new(ElicitAction::Decline)
                }
            });
            let mut dice = Dice(seed);
            let fates: Vec<Fate> =
                (0..CALLS).map(|_| Fate::new(&mut dice, &client, &pair)).collect();
            let outcomes = pair.run(All(fates));
            for (wanted, outcome) in outcomes {
                let is_it = match (wanted, &outcome) {
                    (Wanted::Answer, Some(Ok(result))) => {
                        result.content[0].as_text() == Some("done")
                    }
                    (Wanted::TimedOut, Some(Err(CallError::TimedOut)))
                    | (Wanted::Nothing, None) => true,
                    _ => false,
                };
                assert!(is_it, "{way:?}, {seed}: {wanted:?}, {outcome:?}\n{}", pair.wire());
            }
            pair.run(client.ping()).unwrap();
            pair.run(client.close());
            assert_eq!(faults.take(), [""; 0], "{way:?}, {seed}\n{}", pair.wire());
        }
    }
}

/// Takes its time, tells of progress, and asks as often as it is told to.
async fn busy(given: Value, context: Context) -> Result<&'static str, Interrupt> {
    let millis = Duration::from_millis(given["millis"].as_u64().unwrap());
    context.sleep(millis).await;
    context.progress(Progress::new(1.0));
    for round in 0..given["asks"].as_u64().unwrap() {
        let form =
            ElicitRequestFormParams::new(given["thinks"].to_string(), RequestedSchema::new());
        context.elicit(&format!("round-{round}"), form)?;
    }
    context.progress(Progress::new(2.0));
    Ok("done")
}

/// Required end of a call.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Answer,
    TimedOut,
    /// It is dropped.
    Nothing,
}

type Outcome = Option<Result<CallToolResult, CallError>>;

/// A call and what is to come of it.
struct Fate {
    wanted: Wanted,
    future: Option<Pin<Box<dyn Future<Output = Outcome>>>>,
    outcome: Outcome,
}

impl Fate {
    fn new(dice: &mut Dice, client: &Client, pair: &Pair) -> Self {
        let (begins, millis, asks) = (dice.roll(500), dice.roll(300), dice.roll(3));
        let given = json!({ "millis": millis, "asks": asks, "thinks": dice.roll(200) });
        let call = client.call_tool("t", &given);
        let call = if dice.roll(2) == 0 { call.on_progress(|_| ()) } else { call };
        let (wanted, call, dies) = match dice.roll(4) {
            // It takes no longer than that, with 50 ms for each way there and back.
            0 | 1 => (Wanted::Answer, call.timeout(MINUTE), None),
            // And no less than that.
            2 => {
                let call = call.timeout(Duration::from_millis(dice.roll(millis.max(1))));
                (Wanted::TimedOut, call.max_total(Duration::from_millis(millis)), None)
            }
            _ => (Wanted::Nothing, call.timeout(MINUTE), Some(dice.roll(millis.max(1)))),
        };
        let clock = pair.clock();
        let future = async move {
            clock.sleep(Duration::from_millis(begins)).await;
            match dies {
                None => Some(call.await),
                Some(dies) => {
                    let dies = clock.sleep(Duration::from_millis(dies));
                    Until { call: Box::pin(call), dies: Box::pin(dies) }.await
                }
            }
        };
        Self { wanted, future: Some(Box::pin(future)), outcome: None }
    }
}

/// A call, for as long as something else lasts.
struct Until<C, D> {
    call: Pin<Box<C>>,
    dies: Pin<Box<D>>,
}

impl<T, C: Future<Output = T>, D: Future> Future for Until<C, D> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Option<T>> {
        if self.dies.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        self.call.as_mut().poll(context).map(Some)
    }
}

/// All of them at once.
struct All(Vec<Fate>);

impl Future for All {
    type Output = Vec<(Wanted, Outcome)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let mut pending = false;
        for fate in &mut self.0 {
            let Some(future) = &mut fate.future else { continue };
            match future.as_mut().poll(context) {
                Poll::Ready(outcome) => (fate.future, fate.outcome) = (None, outcome),
                Poll::Pending => pending = true,
            }
        }
        if pending {
            return Poll::Pending;
        }
        Poll::Ready(self.0.drain(..).map(|fate| (fate.wanted, fate.outcome)).collect())
    }
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}
