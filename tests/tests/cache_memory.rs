//! Law 5 for the cache of a client: it allocates no more than [`CacheLimits`] say, whatever a
//! server sends and however often it is asked.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use mcp_proto::client::{Cache, CacheContext, CacheLimits, Change};
use mcp_proto::{Bytes, Instant, Json};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// For what the thread of the test harness allocates meanwhile, in bytes.
const OTHERS: usize = 4096;

/// The allocator counts for the whole process, so there is one test. A result is part of a large
/// buffer, as it is when it arrives.
#[test]
fn what_is_kept_is_within_its_bounds() {
    for (max_entries, max_bytes, pad) in
        [(usize::MAX, 1 << 20, 0), (usize::MAX, 1 << 20, 10_000), (64, 1 << 20, 100), (64, 0, 0)]
    {
        let start = ALLOCATOR.current_usage();
        let mut limits = CacheLimits::default();
        (limits.max_entries, limits.max_bytes) = (max_entries, max_bytes);
        let mut cache = Cache::new(limits);
        for n in 0..3000 {
            let params = json(format!(r#"{{"uri":"a:{n}","_meta":{{"n":{n}}}}}"#).into());
            let context = CacheContext::new("s", format!("{}", n % 3));
            let context = context.variant(format!("{}", n % 7));
            let ticket = cache.ticket(&context, "resources/read", &params).unwrap();
            let result = part_of_a_buffer(pad);
            cache.put(Instant::ZERO, ticket, &result);
            if n % 5 == 0 {
                cache.handle_change("s", &Change::ResourceUpdated(format!("a:{}", n / 2)));
            }
        }
        assert_eq!(cache.is_empty(), max_bytes == 0);
        let used = ALLOCATOR.current_usage() - start;
        assert!(used <= max_bytes + OTHERS, "{used} bytes for {max_bytes}, {} kept", cache.len());
        assert!(cache.len() <= max_entries && cache.bytes() <= max_bytes);
        // And it is not much less either: what is counted is there.
        assert!(max_entries < 1000 || used * 3 > max_bytes, "{used} bytes of {max_bytes}");
        cache.clear();
        let left = ALLOCATOR.current_usage() - start;
        assert!(left <= OTHERS, "{left} bytes of nothing");
    }
}

fn part_of_a_buffer(pad: usize) -> Json {
    let result = format!(r#"{{"ttlMs":1000,"pad":"{}"}}"#, "p".repeat(pad));
    json((result + &" ".repeat(20_000)).into())
}

fn json(text: Bytes) -> Json {
    Json::parse(text).unwrap()
}
