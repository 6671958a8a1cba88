# Sourced by `run`: the servers over HTTP, each with one call in flight on each connection.

http_servers=(floor fixed own tower async-std rmcp-json rmcp-session)
rmcp=${label[rmcp]}
declare -A http_label=(
  [floor]='floor'
  [fixed]='hyper, a fixed answer'
  [own]='mcp-tokio'
  [tower]='mcp-tokio, `tower`, behind hyper'
  [async-std]='mcp-async-std'
  [rmcp-json]="$rmcp, JSON, no sessions, behind hyper"
  [rmcp-session]="$rmcp, sessions, SSE, behind hyper"
)
declare -A http_command=(
  [floor]="$built/floor-http"
  [fixed]="$built/fixed-http"
  [own]="$cache/mcp-tokio http --listen 127.0.0.1:0"
  [own-with-report]="$built/mcp-http own"
  [tower]="$built/mcp-http tower"
  [async-std]="$cache/mcp-async-std http --listen 127.0.0.1:0"
  [rmcp-json]="$built/rmcp-http json"
  [rmcp-session]="$built/rmcp-http session"
)
# What `load-http` is told to be as a legacy client.
declare -A http_legacy=(
  [floor]=stateless
  [fixed]=stateless
  [own]=session
  [own-with-report]=session
  [tower]=session
  [async-std]=session
  [rmcp-json]=stateless
  [rmcp-session]=session
)
sessions=10000 connections=2000
wrk_seconds=1
# The second CPU there is; the servers have the first.
wrk_cpu=$(taskset -cp $$ | sed 's/.*: //; y/,/\n/' | sed 's/^\([0-9]*\)-\([0-9]*\)$/seq \1 \2/e' | sed -n 2p)

measure_http() {
  local server era
  for server in "${http_servers[@]}"; do
    for era in legacy modern; do
      found["http-instructions $server $era"]=$(
        per_call count_http_instructions "$server" "$era" "$(http_call "$server")"
      )
    done
  done
  http_table "instructions per call over HTTP" http-instructions legacy modern
  compare_http http-instructions legacy modern
  http_table "the same, that of rmcp's JSON being 1" http-instructions-to-rmcp legacy modern

  if command -v strace >/dev/null; then
    for server in own tower async-std rmcp-json rmcp-session; do
      for era in legacy modern; do
        found["http-writes $server $era"]=$(per_call count_http_writes "$server" "$era" echo)
      done
    done
    for server in own-with-report tower; do
      for era in legacy modern; do
        found["http-writes ${server%-with-report} $era-progress"]=$(
          per_call count_http_writes "$server" "$era" report
        )
      done
    done
    http_table "writes per answer over HTTP" http-writes \
      legacy modern legacy-progress modern-progress
  fi

  for server in own tower async-std rmcp-session; do
    found["http-memory $server session"]=$(http_bytes sessions "$sessions" "$server")
    found["http-memory $server connection"]=$(http_bytes connections "$connections" "$server")
  done
  http_table "resident bytes per idle" http-memory session connection

  [[ -n $quick ]] || measure_wrk
}

# The servers take turns, so that what else the machine does hits all of them.
measure_wrk() {
  local round server load
  local loads=("legacy 16" "legacy 64" "modern 16" "modern 64")
  if ! command -v wrk >/dev/null; then
    echo $'\nwrk is not installed, so CPU time over HTTP is not measured.'
    return
  elif [[ -z $wrk_cpu ]]; then
    echo $'\nThere is no CPU for wrk beside that of the servers.'
    return
  fi
  for ((round = 0; round < rounds; round++)); do
    for load in "${loads[@]}"; do
      for server in fixed own tower rmcp-json rmcp-session; do
        load_http "$server" wrk "$(http_era "$server" "${load% *}")" "$(http_call "$server")" \
          "${load#* }" "$wrk_seconds" "$wrk_cpu" "$here/post.lua" >"$scratch/load"
        value_of cpu_us_per_call >>"$scratch/wrk $server $load"
      done
    done
  done
  for server in fixed own tower rmcp-json rmcp-session; do
    for load in "${loads[@]}"; do
      found["http-cpu $server $load"]=$(median "$scratch/wrk $server $load")
    done
  done
  http_table "CPU time per call over HTTP, µs" http-cpu "${loads[@]}"
  compare_http http-cpu "${loads[@]}"
  http_table "the same, that of rmcp's JSON being 1" http-cpu-to-rmcp "${loads[@]}"
}

# count_http_WHAT CALLS SERVER ERA CALL
count_http_instructions() {
  local under=("${callgrind[@]}")
  load_http "$2" calls "$(http_era "$2" "$3")" "$4" "$1"
  sed -n 's/^totals: //p' "$scratch/callgrind"
}

# With -D the server is the child of `load-http`, which is to end it.
count_http_writes() {
  local under=("${strace[@]}" -D)
  load_http "$2" calls "$(http_era "$2" "$3")" "$4" "$1"
  sum_of_writes
}

# http_bytes WHAT COUNT SERVER
http_bytes() {
  load_http "$3" "$1" "$2" >"$scratch/load"
  value_of bytes
}

# http_era SERVER legacy|modern
http_era() {
  [[ $2 == legacy ]] && echo "${http_legacy[$1]}" || echo modern
}

# The call whose answer `load-http` is to expect, where nothing is reported.
http_call() {
  [[ $1 == fixed ]] && echo fixed || echo echo
}

# load_http SERVER ARGUMENT...
load_http() {
  (
    ulimit -n "$(ulimit -Hn)"
    exec timeout 600 taskset -c "$cpu" "$built/load-http" "${@:2}" \
      -- "${under[@]}" ${http_command[$1]}
  )
}

# compare_http METRIC LOAD...: finds METRIC-to-rmcp.
compare_http() {
  local metric=$1 server load
  shift
  for server in "${http_servers[@]}"; do
    for load in "$@"; do
      [[ -n ${found["$metric $server $load"]-} ]] || continue
      found["$metric-to-rmcp $server $load"]=$(
        quotient "${found["$metric $server $load"]}" "${found["$metric rmcp-json $load"]}"
      )
    done
  done
}

# http_table TITLE METRIC LOAD...
http_table() {
  local title=$1 metric=$2 server load value
  shift 2
  echo
  printf '| %s |' "$title" && printf ' %s |' "${@/[ -]/, }" && echo
  printf '|---|' && printf -- '--:|%.0s' "$@" && echo
  for server in "${http_servers[@]}"; do
    [[ -n ${found["$metric $server $1"]-} ]] || continue
    printf '| %s |' "${http_label[$server]}"
    for load in "$@"; do
      value=${found["$metric $server $load"]-}
      printf ' %s |' "$([[ -z $value ]] && echo – || number "$value")"
    done
    echo
  done
}

show_http_limits() {
  local server era
  [[ -n ${found["http-instructions own legacy"]-} ]] || return 0
  echo $'\n| limit over HTTP | at most | | |\n|---|--:|--:|---|'
  show_http_limit http-instructions "own legacy" 24000
  show_http_limit http-instructions "own modern" 32000
  show_http_limit http-instructions "tower legacy" 35000
  show_http_limit http-instructions "tower modern" 42000
  for server in own tower; do
    for era in legacy modern legacy-progress modern-progress; do
      show_http_limit http-writes "$server $era" 1
    done
  done
}

# show_http_limit METRIC LOAD MOST
show_http_limit() {
  local value=${found["$1 $2"]-} verdict=ok what=${2#* }
  [[ -n $value ]] || return 0
  if awk -v "a=$value" -v "most=$3" 'BEGIN { exit a <= most }'; then
    verdict=exceeded exceeded=$((exceeded + 1))
  fi
  echo "| ${1#http-}, ${http_label[${2% *}]}, ${what/-/, } |" \
    "$(number "$3") | $(number "$value") | $verdict |"
}
