# A Redis server for a test, sourced by the scripts that need one.

# start_redis FOLDER [OPTION...]: starts a server that listens at FOLDER/socket, and sets `redis_pid`.
# If there is no `redis-server`, Debian's is installed as root, or else unpacked under BROKER_DIR, by
# default target/broker, and reused from there.
start_redis() {
  local redis folder=$1 line said=()
  shift
  redis=$(find_redis)
  mkfifo "$folder/log"
  "$redis" --port 0 --unixsocket "$folder/socket" --save "" --dir "$folder" "$@" >"$folder/log" 2>&1 &
  redis_pid=$!
  # Redis says so when it can be reached; what else it says is of interest if it does not.
  exec 3<"$folder/log"
  while IFS= read -r line <&3; do
    said+=("$line")
    [[ ${line,,} != *"ready to accept connections"* ]] || break
  done
  [[ -S $folder/socket ]] || { printf '%s\n' "redis-server has not started:" "${said[@]}"; return 1; }
}

# The path of a server that runs.
find_redis() {
  ((EUID)) || tests/install-package redis-server
  command -v redis-server || unpack_redis
}

# What its packages hold, beside the system: a script that starts it with its libraries.
unpack_redis() {
  local cache package missing=(redis-server)
  cache=$(realpath -m "${BROKER_DIR:-target/broker}")
  if [[ ! -x $cache/redis-server ]]; then
    mkdir -p "$cache"
    for package in $(apt-cache depends redis-server redis-tools | awk '$1 == "Depends:" { print $2 }'); do
      [[ $package == *[\<:]* ]] || dpkg -s "$package" &>/dev/null || missing+=("$package")
    done
    (cd "$cache" && apt-get download -q "${missing[@]}") >&2
    for package in "$cache"/*.deb; do dpkg-deb -x "$package" "$cache"; done
    cat >"$cache/redis-server" <<END
#!/bin/sh
LD_LIBRARY_PATH=\$(echo "$cache"/usr/lib/*-linux-gnu) exec "$cache/usr/bin/redis-server" "\$@"
END
    chmod +x "$cache/redis-server"
  fi
  echo "$cache/redis-server"
}
