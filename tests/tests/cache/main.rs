//! Tests of the cache: the results that are kept, for which clients, and until when.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod law;
mod model;
mod wired;

use mcp_proto::client::{Cache, CacheContext, CacheLimits, Cached, Change, List};
use mcp_proto::types::CacheScope;
use mcp_proto::{Duration, Instant, Json};

const DAY: u64 = 24 * 60 * 60 * 1000;

/// Every method that the specification names, and some that it does not.
#[test]
fn only_results_that_the_specification_lets_be_kept_have_tickets() {
    let mut cache = Cache::default();
    for (method, params, kept) in [
        ("server/discover", "{}", true),
        ("tools/list", "{}", true),
        ("tools/list", r#"{"cursor":""}"#, true),
        ("prompts/list", "{}", true),
        ("resources/list", "{}", true),
        ("resources/templates/list", "{}", true),
        ("resources/read", r#"{"uri":"a:b"}"#, true),
        ("resources/read", "{}", false),
        ("resources/read", r#"{"uri":1}"#, false),
        ("resources/read", r#"{"uri":"a:b","uri":"a:c"}"#, false),
        ("resources/read", r#"{"uri":"a:b","inputResponses":{}}"#, false),
        ("resources/read", r#"{"uri":"a:b","requestState":"s"}"#, false),
        ("resources/read", r#"{"uri":"a:b","request\u0053tate":"s"}"#, false),
        ("tools/list", "[]", false),
        ("tools/call", r#"{"name":"a"}"#, false),
        ("prompts/get", r#"{"name":"a"}"#, false),
        ("completion/complete", "{}", false),
        ("initialize", "{}", false),
        ("ping", "{}", false),
        ("Tools/List", "{}", false),
    ] {
        let ticket = cache.ticket(&of(""), method, &json(params));
        assert_eq!(ticket.is_some(), kept, "{method} {params}");
    }
}

/// T10: what a server says wrongly about caching costs a request, and not the result.
#[test]
fn t010_a_result_is_fresh_for_what_its_hints_say() {
    for (hints, fresh_ms) in [
        (r#""resultType":"complete","ttlMs":1000,"cacheScope":"private""#, 1000),
        (r#""ttlMs":1000"#, 1000),
        (r#""ttlMs":1000,"cacheScope":"""#, 1000),
        (r#""ttlMs":1000,"cacheScope":7"#, 1000),
        (r#""ttlMs":1500.75"#, 1500),
        (r#""ttlMs":1e3"#, 1000),
        (r#""ttlMs":86400001"#, DAY),
        (r#""ttlMs":1e300"#, DAY),
        (r#""ttlMs":0"#, 0),
        (r#""ttlMs":-1"#, 0),
        (r#""ttlMs":-1e300"#, 0),
        (r#""ttlMs":1e999"#, 0),
        (r#""ttlMs":"1000""#, 0),
        (r#""ttlMs":null"#, 0),
        (r#""ttlMs":{}"#, 0),
        (r#""ttlMs":1000,"ttlMs":5000"#, 0),
        (r#""cacheScope":"public""#, 0),
        (r#""resultType":"input_required","ttlMs":1000"#, 0),
        (r#""resultType":"other","ttlMs":1000"#, 0),
        (r#""resultType":7,"ttlMs":1000"#, 0),
        ("", 0),
    ] {
        let mut cache = Cache::default();
        let result = json(&format!("{{{hints}}}"));
        let ticket = cache.ticket(&of(""), "tools/list", &json("{}")).unwrap();
        assert_eq!(cache.put(at(7), ticket, &result), fresh_ms > 0, "{hints}");
        let cached = get(&mut cache, at(7), "", "tools/list", "{}");
        assert_eq!(cached.as_ref().map(|cached| &cached.result), (fresh_ms > 0).then_some(&result));
        let Some(cached) = cached else { continue };
        assert_eq!((cached.received, cached.fresh_until), (at(7), at(7 + fresh_ms)), "{hints}");
        // "now < t_received + ttlMs"
        let last = Instant::from_micros((7 + fresh_ms) * 1000 - 1);
        assert_eq!(get(&mut cache, last, "", "tools/list", "{}"), Some(cached), "{hints}");
        assert_eq!(get(&mut cache, at(7 + fresh_ms), "", "tools/list", "{}"), None, "{hints}");
    }
}

#[test]
fn a_request_is_its_method_and_parameters_as_values_and_no_meta() {
    let mut cache = Cache::default();
    let kept = r#"{"uri":"a:b","x":{"y":1,"z":"é"},"_meta":{"progressToken":1}}"#;
    put(&mut cache, "", "resources/read", kept, "public");
    for (method, params, same) in [
        ("resources/read", r#"{ "x":{"z":"\u00e9", "y":1}, "\u0075ri":"a:b" }"#, true),
        ("resources/read", r#"{"uri":"a:b","x":{"y":1,"z":"é"},"_meta":{"other":2}}"#, true),
        ("resources/read", r#"{"uri":"a:b","x":{"y":1.0,"z":"é"}}"#, false),
        ("resources/read", r#"{"uri":"a:b","x":{"y":1,"z":"é","_meta":1}}"#, false),
        ("resources/read", r#"{"uri":"a:b"}"#, false),
        ("resources/read", r#"{"uri":"a:B","x":{"y":1,"z":"é"}}"#, false),
        ("resources/list", kept, false),
    ] {
        let found = get(&mut cache, at(0), "", method, params);
        assert_eq!(found.is_some(), same, "{method} {params}");
    }
    // The first page has no cursor, and an empty one is a cursor.
    put(&mut cache, "", "tools/list", "{}", "public");
    assert_eq!(get(&mut cache, at(0), "", "tools/list", r#"{"cursor":""}"#), None);
}

#[test]
fn what_is_private_does_not_cross_principals_and_what_is_public_does() {
    let mut cache = Cache::default();
    put(&mut cache, "alice", "tools/list", "{}", "private");
    put(&mut cache, "alice", "prompts/list", "{}", "public");
    for (context, method, scope) in [
        ("alice", "tools/list", Some(CacheScope::Private)),
        ("bob", "tools/list", None),
        ("", "tools/list", None),
        ("alice", "prompts/list", Some(CacheScope::Public)),
        ("bob", "prompts/list", Some(CacheScope::Public)),
        ("", "prompts/list", Some(CacheScope::Public)),
    ] {
        let found = get(&mut cache, at(0), context, method, "{}");
        assert_eq!(found.map(|cached| cached.scope), scope, "{context} {method}");
    }
    // A server that keeps to itself what it gave everyone does so for all.
    put(&mut cache, "bob", "prompts/list", "{}", "private");
    assert_eq!(get(&mut cache, at(0), "alice", "prompts/list", "{}"), None);
    // Whoever asked by themselves is given what everyone is given since.
    put(&mut cache, "bob", "prompts/list", "{}", "public");
    assert_eq!(cache.len(), 2);
    cache.clear_principal("alice");
    assert_eq!(get(&mut cache, at(0), "alice", "tools/list", "{}"), None);
    assert!(get(&mut cache, at(0), "alice", "prompts/list", "{}").is_some());
    cache.clear();
    assert_eq!((cache.len(), cache.bytes()), (0, 0));
}

#[test]
fn a_change_drops_what_it_concerns() {
    let requests = [
        ("server/discover", "{}"),
        ("tools/list", "{}"),
        ("tools/list", r#"{"cursor":"2"}"#),
        ("prompts/list", "{}"),
        ("resources/list", "{}"),
        ("resources/templates/list", "{}"),
        ("resources/read", r#"{"uri":"file:///a"}"#),
        ("resources/read", r#"{"uri":"file:///a/b"}"#),
        ("resources/read", r#"{"uri":"file:///ab"}"#),
        ("resources/read", r#"{"uri":"file:///"}"#),
    ];
    let updated = |uri: &str| Change::ResourceUpdated(uri.into());
    for (change, dropped) in [
        (Change::ListChanged(List::Tools), &[1, 2][..]),
        (Change::ListChanged(List::Prompts), &[3]),
        (Change::ListChanged(List::Resources), &[4, 5]),
        (updated("file:///a"), &[6, 9]),
        (updated("file:///a/b"), &[6, 7, 9]),
        (updated("file:///a#c"), &[6, 9]),
        (updated("file:///abc"), &[9]),
        (updated("http://a"), &[]),
    ] {
        let mut cache = Cache::default();
        for (n, (method, params)) in requests.iter().enumerate() {
            let scope = if n % 2 == 0 { "public" } else { "private" };
            put(&mut cache, "alice", method, params, scope);
        }
        cache.handle_change("s", &change);
        let mut gone = Vec::new();
        for (n, (method, params)) in requests.iter().enumerate() {
            if get(&mut cache, at(0), "alice", method, params).is_none() {
                gone.push(n);
            }
        }
        assert_eq!(gone, dropped, "{change:?}");
        assert_eq!(cache.len(), requests.len() - dropped.len(), "{change:?}");
    }
}

#[test]
fn results_of_another_server_or_variant_are_others() {
    let mut cache = Cache::default();
    put(&mut cache, "alice", "tools/list", "{}", "public");
    let other = CacheContext::new("t", "alice");
    for (context, is_found) in
        [(of("bob"), true), (other.clone(), false), (of("alice").variant("v"), false)]
    {
        let ticket = cache.ticket(&context, "tools/list", &json("{}")).unwrap();
        assert_eq!(cache.get(at(0), &ticket).is_some(), is_found);
    }
    // A change concerns all variants, and one server.
    let ticket = cache.ticket(&of("alice").variant("v"), "tools/list", &json("{}")).unwrap();
    assert!(cache.put(at(0), ticket, &result("public")));
    let ticket = cache.ticket(&other, "tools/list", &json("{}")).unwrap();
    assert!(cache.put(at(0), ticket, &result("private")));
    cache.handle_change("s", &Change::ListChanged(List::Tools));
    assert_eq!(cache.len(), 1);
    cache.clear_server("s");
    assert_eq!(cache.len(), 1);
    cache.clear_server("t");
    assert_eq!((cache.len(), cache.bytes()), (0, 0));
}

#[test]
fn a_stale_result_is_given_to_those_who_want_one() {
    let mut cache = Cache::default();
    put(&mut cache, "", "tools/list", "{}", "public");
    let ticket = cache.ticket(&of(""), "tools/list", &json("{}")).unwrap();
    let second = Duration::from_secs(1);
    assert_eq!(cache.get(at(10_000), &ticket), None);
    assert!(cache.get_stale(at(10_999), &ticket, second).is_some());
    assert_eq!(cache.get_stale(at(11_000), &ticket, second), None);
    cache.handle_change("s", &Change::ListChanged(List::Tools));
    assert_eq!(cache.get_stale(at(10_999), &ticket, second), None);
}

#[test]
fn a_result_says_what_is_left_of_its_time() {
    let mut cache = Cache::default();
    put(&mut cache, "", "tools/list", "{}", "public");
    let cached = get(&mut cache, at(0), "", "tools/list", "{}").unwrap();
    for (now, left) in [(0, 10_000), (1, 9_999), (9_999, 1), (10_000, 0), (20_000, 0)] {
        let text = cached.result_at(at(now));
        let expected =
            format!(r#"{{"resultType":"complete","cacheScope":"public","ttlMs":{left}}}"#);
        assert_eq!(text.as_str(), expected);
    }
}

#[test]
fn what_was_asked_before_a_change_is_not_kept_after_it() {
    let mut cache = Cache::default();
    for (method, params, change, kept) in [
        ("tools/list", "{}", Change::ListChanged(List::Tools), false),
        ("tools/list", "{}", Change::ListChanged(List::Prompts), true),
        ("resources/read", r#"{"uri":"a:b"}"#, Change::ResourceUpdated("a:b".into()), false),
    ] {
        let ticket = cache.ticket(&of(""), method, &json(params)).unwrap();
        cache.handle_change("s", &change);
        assert_eq!(cache.put(at(0), ticket, &result("public")), kept, "{method} {change:?}");
    }
    let ticket = cache.ticket(&of("alice"), "tools/list", &json("{}")).unwrap();
    cache.clear_principal("alice");
    assert!(!cache.put(at(0), ticket, &result("private")));
    // Of two results of the same request, that of the later one stays, whichever comes first.
    let first = cache.ticket(&of(""), "tools/list", &json("{}")).unwrap();
    let second = cache.ticket(&of(""), "tools/list", &json("{}")).unwrap();
    assert!(cache.put(at(0), second, &result("private")));
    assert!(!cache.put(at(1), first, &result("public")));
    assert_eq!(get(&mut cache, at(1), "", "tools/list", "{}").unwrap().received, at(0));
}

#[test]
fn an_error_for_a_cursor_drops_all_pages() {
    let mut cache = Cache::default();
    let page = |n: usize| format!(r#"{{"cursor":"{n}"}}"#);
    put(&mut cache, "", "tools/list", "{}", "private");
    put(&mut cache, "", "tools/list", &page(1), "private");
    put(&mut cache, "", "prompts/list", "{}", "private");
    let first = cache.ticket(&of(""), "tools/list", &json("{}")).unwrap();
    cache.handle_error(first);
    assert_eq!(cache.len(), 3);
    let second = cache.ticket(&of(""), "tools/list", &json(&page(2))).unwrap();
    cache.handle_error(second);
    assert_eq!(cache.len(), 1);
    assert!(get(&mut cache, at(0), "", "prompts/list", "{}").is_some());
}

#[test]
fn a_result_takes_the_place_of_another_even_if_it_is_not_kept() {
    for answer in [r#"{"ttlMs":0}"#, r#"{"resultType":"input_required","ttlMs":9}"#, "{}", "[]"] {
        let mut cache = Cache::default();
        put(&mut cache, "", "tools/list", "{}", "public");
        let ticket = cache.ticket(&of(""), "tools/list", &json("{}")).unwrap();
        assert!(!cache.put(at(0), ticket, &json(answer)));
        assert_eq!((cache.len(), cache.bytes()), (0, 0), "{answer}");
    }
}

#[test]
fn what_has_not_been_used_for_longest_goes_first() {
    let mut limits = CacheLimits::default();
    limits.max_entries = 3;
    let mut cache = Cache::new(limits);
    let page = |n: usize| format!(r#"{{"cursor":"{n}"}}"#);
    for n in 0..3 {
        put(&mut cache, "", "tools/list", &page(n), "private");
    }
    assert!(get(&mut cache, at(0), "", "tools/list", &page(0)).is_some());
    put(&mut cache, "", "tools/list", &page(3), "private");
    let kept: Vec<bool> =
        (0..4).map(|n| get(&mut cache, at(0), "", "tools/list", &page(n)).is_some()).collect();
    assert_eq!(kept, [true, false, true, true]);
}

#[test]
fn a_result_that_is_too_large_is_not_kept_and_drops_no_other() {
    let mut limits = CacheLimits::default();
    limits.max_bytes = 2000;
    let mut cache = Cache::new(limits);
    put(&mut cache, "", "prompts/list", "{}", "private");
    let large = json(&format!(r#"{{"ttlMs":9,"tools":["{}"]}}"#, "t".repeat(2000)));
    let ticket = cache.ticket(&of(""), "tools/list", &json("{}")).unwrap();
    assert!(!cache.put(at(0), ticket, &large));
    assert_eq!(cache.len(), 1);
    let mut limits = CacheLimits::default();
    limits.max_entries = 0;
    let mut none = Cache::new(limits);
    let ticket = none.ticket(&of(""), "tools/list", &json("{}")).unwrap();
    assert!(!none.put(at(0), ticket, &result("public")));
    assert!(none.is_empty());
}

#[test]
fn logs_do_not_show_whose_results_are_kept() {
    let mut cache = Cache::default();
    put(&mut cache, "secret", "resources/read", r#"{"uri":"secret:"}"#, "private");
    let ticket = cache.ticket(&of("secret"), "resources/read", &json(r#"{"uri":"secret:"}"#));
    assert!(!format!("{cache:?} {ticket:?}").contains("secret"));
}

/// Has a result that is fresh for 10 s kept at the epoch.
fn put(cache: &mut Cache, context: &str, method: &str, params: &str, scope: &str) {
    let ticket = cache.ticket(&of(context), method, &json(params)).unwrap();
    assert!(cache.put(at(0), ticket, &result(scope)), "{method} {params}");
}

fn get(
    cache: &mut Cache,
    now: Instant,
    context: &str,
    method: &str,
    params: &str,
) -> Option<Cached> {
    let ticket = cache.ticket(&of(context), method, &json(params)).unwrap();
    cache.get(now, &ticket)
}

/// Somebody who asks the server `s`.
fn of(principal: &str) -> CacheContext {
    CacheContext::new("s", principal)
}

fn result(scope: &str) -> Json {
    json(&format!(r#"{{"resultType":"complete","ttlMs":10000,"cacheScope":"{scope}"}}"#))
}

fn json(text: &str) -> Json {
    Json::parse(text.to_owned()).unwrap()
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}
