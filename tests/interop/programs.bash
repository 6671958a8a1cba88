# programs.bash, to be sourced: builds examples of the adapters, and the program `mcp`. PROGRAMS names a
# folder that has them already; see `programs`.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=$(realpath -m "${CARGO_TARGET_DIR:-$repo/target}")

# build [EXAMPLE...]: `mcp` and the examples, as the tests with all features build them: each set of
# features, and each profile, is a build of its own, which takes minutes. Without an example, cargo
# chooses other features of the crates below: `everything` is always among them.
build() {
  [[ -z ${PROGRAMS:-} ]] || return 0
  (cd "$repo" && cargo build --quiet --locked --target-dir "$target" --workspace --all-features \
    --bin mcp $(printf -- '--example %s ' everything "$@"))
}

# find_mcp: sets `mcp` to the program that MCP names, or else to one that it builds.
find_mcp() {
  mcp=${MCP:-$(program mcp)}
  [[ -n ${MCP:-} ]] || build
}

# program NAME: its path.
program() {
  if [[ -n ${PROGRAMS:-} ]]; then
    echo "$PROGRAMS/$1"
  elif [[ $1 == mcp ]]; then
    echo "$target/debug/mcp"
  else
    echo "$target/debug/examples/$1"
  fi
}
