# programs.bash, to be sourced: builds examples of the adapters, and the program `mcp`.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=$(realpath -m "${CARGO_TARGET_DIR:-$repo/target}")
# Those of all programs. Each set of features is a build of its own, which takes minutes.
features=mcp-tokio/cli,mcp-tokio/sign,mcp-tokio/tower,mcp-async-std/sign,mcp-tests/sign

# build [EXAMPLE...]: `mcp` and the examples. Without an example, cargo chooses other features of the crates
# below: `everything` is always among them.
build() {
  (cd "$repo" && cargo build --quiet --release --locked --target-dir "$target" --features "$features" \
    --package mcp-tokio --package mcp-async-std --package mcp-tests \
    --bin mcp $(printf -- '--example %s ' everything "$@"))
}

# find_mcp: sets `mcp` to the program that MCP names, or else to one that it builds.
find_mcp() {
  mcp=${MCP:-$(program mcp)}
  [[ -n ${MCP:-} ]] || build
}

# program NAME: its path.
program() {
  if [[ $1 == mcp ]]; then echo "$target/release/mcp"; else echo "$target/release/examples/$1"; fi
}
