//! The tour shows what it has shown: `tour.txt`, which `UPDATE=1` writes anew.

#[path = "../examples/tour/main.rs"]
#[expect(dead_code, reason = "it has a `main`")]
mod tour;

use std::time::Duration;
use std::{env, fs};

#[tokio::test]
async fn the_tour_shows_both_eras_over_pipes_and_over_http() {
    let mut out = Vec::new();
    let shown = tour::show(&mut out);
    tokio::time::timeout(Duration::from_secs(30), shown).await.unwrap().unwrap();
    let shown = String::from_utf8(out).unwrap();

    for what in ["\"initialize\"", "\"server/discover\"", "POST /mcp", "(legacy)", "(modern)"] {
        assert!(shown.contains(what), "{what} is not in\n{shown}");
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tour.txt");
    if env::var_os("UPDATE").is_some() {
        fs::write(golden, &shown).unwrap();
    }
    let expected = fs::read_to_string(golden).unwrap();
    assert!(shown == expected, "it is not what {golden} says:\n{shown}");
}
