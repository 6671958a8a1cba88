//! The cache does what a simple one does, which looks through all that it has.

use mcp_proto::client::{Cache, CacheLimits, CacheTicket, Change, List};
use mcp_proto::{Instant, Json};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;

use super::{at, json, of};

const CONTEXTS: [&str; 3] = ["", "alice", "bob"];

/// Methods, parameters in one spelling, and the URIs in them.
const REQUESTS: [(&str, &str, &str); 8] = [
    ("server/discover", "{}", ""),
    ("tools/list", "{}", ""),
    ("tools/list", r#"{"cursor":"1"}"#, ""),
    ("prompts/list", "{}", ""),
    ("resources/list", "{}", ""),
    ("resources/templates/list", r#"{"cursor":"1"}"#, ""),
    ("resources/read", r#"{"uri":"a:b"}"#, "a:b"),
    ("resources/read", r#"{"uri":"a:b/c"}"#, "a:b/c"),
];

const MAX_ENTRIES: usize = 5;
const MAX_BYTES: usize = 3000;

#[derive(Clone, Debug)]
enum Step {
    Ask { context: usize, request: usize },
    Get(Index),
    Put { ticket: Index, ttl: u64, public: bool, pad: usize },
    Error(Index),
    Change(Change),
    ClearContext(usize),
    Clear,
    Wait(u64),
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn it_does_what_a_simple_cache_does(steps in prop::collection::vec(step(), 0..120)) {
        let mut limits = CacheLimits::default();
        (limits.max_entries, limits.max_bytes) = (MAX_ENTRIES, MAX_BYTES);
        let mut both = Both { cache: Cache::new(limits), model: Model::default(), tickets: Vec::new() };
        for (n, step) in steps.iter().enumerate() {
            both.take(n, step)?;
        }
    }
}

fn config() -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(1000);
    config.rng_seed = RngSeed::Fixed(20_260_728);
    config.failure_persistence = None;
    config
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        8 => (0..3_usize, 0..8_usize).prop_map(|(context, request)| Step::Ask { context, request }),
        8 => index().prop_map(Step::Get),
        8 => (index(), select(vec![0, 3, 1000]), any::<bool>(), select(vec![0, 0, 500, 3000]))
            .prop_map(|(ticket, ttl, public, pad)| Step::Put { ticket, ttl, public, pad }),
        1 => index().prop_map(Step::Error),
        1 => select(vec![
            Change::ListChanged(List::Tools),
            Change::ListChanged(List::Prompts),
            Change::ListChanged(List::Resources),
            Change::ResourceUpdated("a:b".into()),
            Change::ResourceUpdated("a:b/c".into()),
        ]).prop_map(Step::Change),
        1 => (0..3_usize).prop_map(Step::ClearContext),
        1 => Just(Step::Clear),
        2 => (1..4_u64).prop_map(Step::Wait),
    ]
}

struct Both {
    cache: Cache,
    model: Model,
    tickets: Vec<(CacheTicket, Asked)>,
}

/// A ticket of the simple cache.
#[derive(Clone, Copy)]
struct Asked {
    context: usize,
    request: usize,
    /// Time in steps.
    step: usize,
    void: bool,
}

/// Results that are kept, in the order of use.
#[derive(Default)]
struct Model {
    kept: Vec<Kept>,
    now: u64,
}

struct Kept {
    request: usize,
    /// Whose it is; of everyone if `None`.
    context: Option<usize>,
    result: Json,
    stale: Instant,
    asked: usize,
}

impl Both {
    fn take(&mut self, n: usize, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Ask { context, request } => {
                let (method, params, _) = REQUESTS[*request];
                let ticket =
                    self.cache.ticket(&of(CONTEXTS[*context]), method, &json(params)).unwrap();
                let asked = Asked { context: *context, request: *request, step: n, void: false };
                self.tickets.push((ticket, asked));
            }
            Step::Get(index) if !self.tickets.is_empty() => {
                let (ticket, asked) = index.get(&self.tickets);
                let found = self.cache.get(at(self.model.now), ticket).map(|cached| cached.result);
                prop_assert_eq!(found, self.model.get(*asked));
            }
            Step::Put { ticket, ttl, public, pad } if !self.tickets.is_empty() => {
                let (ticket, asked) = self.tickets.swap_remove(ticket.index(self.tickets.len()));
                let scope = if *public { "public" } else { "private" };
                let pad = "p".repeat(*pad);
                let text =
                    format!(r#"{{"n":{n},"pad":"{pad}","ttlMs":{ttl},"cacheScope":"{scope}"}}"#);
                let kept = self.cache.put(at(self.model.now), ticket, &json(&text));
                prop_assert_eq!(kept, self.model.put(asked, json(&text), *ttl, *public));
            }
            Step::Error(index) if !self.tickets.is_empty() => {
                let (ticket, asked) = self.tickets.swap_remove(index.index(self.tickets.len()));
                self.cache.handle_error(ticket);
                let (method, params, _) = REQUESTS[asked.request];
                if params.contains("cursor") {
                    self.drop(|request| REQUESTS[request].0 == method, |_| true);
                }
            }
            Step::Get(_) | Step::Put { .. } | Step::Error(_) => {}
            Step::Change(change) => {
                self.cache.handle_change("s", change);
                let (methods, uri): (&[&str], _) = match change {
                    Change::ResourceUpdated(uri) => (&["resources/read"], Some(uri)),
                    Change::ListChanged(List::Tools) => (&["tools/list"], None),
                    Change::ListChanged(List::Prompts) => (&["prompts/list"], None),
                    Change::ListChanged(_) | _ => {
                        (&["resources/list", "resources/templates/list"], None)
                    }
                };
                self.drop(
                    |request| methods.contains(&REQUESTS[request].0),
                    |kept| uri.is_none_or(|uri| uri.starts_with(REQUESTS[kept.request].2)),
                );
            }
            Step::ClearContext(context) => {
                self.cache.clear_principal(CONTEXTS[*context]);
                self.drop(|_| true, |kept| kept.context == Some(*context));
            }
            Step::Clear => {
                self.cache.clear();
                self.drop(|_| true, |_| true);
            }
            Step::Wait(millis) => self.model.now += millis,
        }
        prop_assert_eq!(self.cache.len(), self.model.kept.len());
        prop_assert_eq!(self.cache.bytes(), self.model.bytes());
        prop_assert!(self.cache.len() <= MAX_ENTRIES && self.cache.bytes() <= MAX_BYTES);
        Ok(())
    }

    /// Voids the tickets for some requests, and drops some of what is kept of them.
    fn drop(&mut self, of: impl Fn(usize) -> bool, is: impl Fn(&Kept) -> bool) {
        for (_, asked) in self.tickets.iter_mut().filter(|(_, asked)| of(asked.request)) {
            asked.void = true;
        }
        self.model.kept.retain(|kept| !(of(kept.request) && is(kept)));
    }
}

impl Model {
    fn get(&mut self, asked: Asked) -> Option<Json> {
        let place = |context| {
            let same = |kept: &Kept| kept.request == asked.request && kept.context == context;
            self.kept.iter().position(|kept| same(kept) && at(self.now) < kept.stale)
        };
        let place = place(Some(asked.context)).or_else(|| place(None))?;
        let kept = self.kept.remove(place);
        let result = kept.result.clone();
        self.kept.push(kept);
        Some(result)
    }

    fn put(&mut self, asked: Asked, result: Json, ttl: u64, public: bool) -> bool {
        let same = |kept: &Kept| {
            kept.request == asked.request && kept.context.is_none_or(|c| c == asked.context)
        };
        if asked.void {
            return false;
        }
        self.kept.retain(|kept| !same(kept) || kept.asked > asked.step);
        if self.kept.iter().any(same) {
            return false;
        }
        let context = (!public).then_some(asked.context);
        let stale = at(self.now + ttl);
        let kept = Kept { request: asked.request, context, result, stale, asked: asked.step };
        if ttl == 0 || kept.bytes() > MAX_BYTES {
            return false;
        }
        self.kept.push(kept);
        while self.kept.len() > MAX_ENTRIES || self.bytes() > MAX_BYTES {
            self.kept.remove(0);
        }
        true
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(Kept::bytes).sum()
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let (_, params, uri) = REQUESTS[self.request];
        let context = self.context.map_or("", |context| CONTEXTS[context]);
        512 + "s".len() + params.len() + uri.len() + context.len() + self.result.as_bytes().len()
    }
}
