# The commands of daily work; `just` lists them. `.ci/run` is all that must hold.

_list:
    @just --list --unsorted

# Everything that needs nothing but Rust; arguments go to cargo
test *ARGS:
    cargo test --workspace --locked {{ARGS}}

# Format, clippy and words
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    tests/words/run

# One fuzz target for some seconds; needs nightly and cargo-fuzz
fuzz TARGET="server_stdio" SECONDS="60":
    cargo +nightly fuzz run {{TARGET}} -- -max_total_time={{SECONDS}}

# Compare the public API with its snapshot; `just api --update` writes the snapshot
api *ARGS:
    tests/api/run {{ARGS}}

# Costs of a call: instructions, writes, memory; needs valgrind and strace
bench *ARGS="--quick --stdio":
    tests/bench/run {{ARGS}}

# All of CI, or the steps that are named; `just ci --list` prints the names
[positional-arguments]
ci *STEPS:
    .ci/run "$@"
