# packages.bash, to be sourced: installs the official SDKs, and what is built on them, into the folder
# `cache`, and reuses what is there. A FOLDER is relative to this one and, once installed, to `cache`.

interop=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(realpath -m "${INTEROP_DIR:-$interop/../../target/interop}")

# install_node FOLDER
# The modules are copied because they find their packages from where they lie.
install_node() {
  mkdir -p "$cache/$1"
  find "$interop/$1" -maxdepth 1 \( -name '*.json' -o -name '*.mjs' \) -exec cp -t "$cache/$1" {} +
  is_installed "$1" "$1/package-lock.json" && return
  npm --prefix "$cache/$1" ci --no-audit --no-fund --loglevel=error >&2
  set_installed "$1" "$1/package-lock.json"
}

# install_python VENV LIST
install_python() {
  is_installed "$@" && return
  python3 -m venv --clear "$cache/$1"
  "$cache/$1/bin/pip" install --quiet --disable-pip-version-check \
    --requirement "$interop/$2" >&2
  set_installed "$@"
}

# install_crate FOLDER
# All of them share a target folder: they have most of their dependencies in common.
install_crate() {
  (cd "$interop" && cargo build --quiet --locked --manifest-path "$1/Cargo.toml" --target-dir "$cache/rmcp")
}

# is_installed WHERE LIST: is what the cache has there made from this very list of packages?
is_installed() {
  cmp -s "$interop/$2" "$cache/$1/installed"
}

set_installed() {
  cp "$interop/$2" "$cache/$1/installed"
}

# npm_version FOLDER PACKAGE
npm_version() {
  node -p "require('$interop/$1/package.json').dependencies['@modelcontextprotocol/$2']"
}

# pip_version LIST
pip_version() {
  sed -n 's/^mcp==//p' "$interop/$1"
}

# crate_version FOLDER
crate_version() {
  sed -n 's/^rmcp = .*"=\([^"]*\)".*/\1/p' "$interop/$1/Cargo.toml"
}
