# clients.bash, to be sourced: the official SDKs' clients, and the servers of ours that they are to
# use. Whoever sources it defines
#   try MODE LABEL CLIENT... -- SERVER...
# which runs one client against one server, and calls `report`. The clients are installed under
# INTEROP_DIR, by default target/interop, and reused from there.

source "$(dirname "${BASH_SOURCE[0]}")/packages.bash"
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
source "$(dirname "${BASH_SOURCE[0]}")/programs.bash"

install_clients() {
  mkdir -p "$cache"
  install_node typescript
  install_python python python/requirements.txt
  install_python python-v1 python/requirements-v1.txt
  install_crate rmcp
}

# check_all NAME SERVER...
check_all() {
  local mode
  for mode in legacy auto pinned; do check_typescript "$mode" "$@"; done
  check_typescript_v1 legacy "$@"
  for mode in legacy auto pinned; do check_python "$mode" "$@"; done
  check_python_v1 legacy "$@"
  for mode in initialize discover auto; do check_rmcp "$mode" "$@"; done
}

# check_one_per_era NAME SERVER...
check_one_per_era() {
  check_typescript pinned "$@"
  check_typescript_v1 legacy "$@"
}

# check_CLIENT MODE NAME SERVER...
check_typescript() {
  start try "$1" "$2, typescript $(npm_version typescript client) $1" \
    node "$cache/typescript/modern.mjs" "$1" -- "${@:3}"
}

check_typescript_v1() {
  start try "$1" "$2, typescript $(npm_version typescript sdk) $1" \
    node "$cache/typescript/v1.mjs" "$1" -- "${@:3}"
}

check_python() {
  start try "$1" "$2, python $(pip_version python/requirements.txt) $1" \
    "$cache/python/bin/python" -B "$interop/python/modern.py" "$1" -- "${@:3}"
}

check_python_v1() {
  start try "$1" "$2, python $(pip_version python/requirements-v1.txt) $1" \
    "$cache/python-v1/bin/python" -B "$interop/python/v1.py" -- "${@:3}"
}

check_rmcp() {
  start try "$1" "$2, rmcp $(crate_version rmcp) $1" \
    "$cache/rmcp/debug/interop-rmcp" "$1" -- "${@:3}"
}
