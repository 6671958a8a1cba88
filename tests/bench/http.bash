# Sourced by `run`: servers over HTTP, each with one call in flight on each connection.

http_servers=(floor-http fixed own tower rmcp-json rmcp-session)
label+=(
  [floor-http]=floor
  [fixed]='hyper, a fixed answer'
  [own]='mcp-tokio'
  [own-1]='mcp-tokio, one worker'
  [own-2]='mcp-tokio, two workers'
  [fixed-1]='hyper, a fixed answer, one worker'
  [fixed-2]='hyper, a fixed answer, two workers'
  [tower]='mcp-tokio, `tower`, behind hyper'
  [rmcp-json]="$rmcp, JSON, no sessions, behind hyper"
  [rmcp-session]="$rmcp, sessions, SSE, behind hyper"
)
command+=(
  [floor-http]="$built/floor-http"
  [fixed]="$built/fixed-http"
  [own]="$built/mcp-server http"
  [fixed-1]="$built/fixed-http 1"
  [fixed-2]="$built/fixed-http 2"
  [own-1]="$built/mcp-server http 1"
  [own-2]="$built/mcp-server http 2"
  [tower]="$built/mcp-server tower"
  [rmcp-json]="$built/rmcp-server json"
  [rmcp-session]="$built/rmcp-server session"
)
sessions=10000 connections=2000
wrk_seconds=1
cpus=$(taskset -cp $$ | sed 's/.*: //')
# The second CPU there is; the servers have the first.
wrk_cpu=$(sed 'y/,/\n/' <<<"$cpus" | sed 's/^\([0-9]*\)-\([0-9]*\)$/seq \1 \2/e' | sed -n 2p)

measure_http() {
  local server era
  for server in "${http_servers[@]}"; do
    for era in legacy modern; do
      find_counts http- "$server $era" calls "$server" "$era"
    done
  done
  settle
  table "Instructions per call over HTTP." http-instructions http_servers legacy modern
  table "Allocations per call over HTTP." http-allocations http_servers legacy modern

  local count turning=(own tower rmcp-session)
  for server in "${turning[@]}"; do
    for count in 1 16; do
      find_counts http- "$server turns-$count" load_http "$server" turns "$count"
    done
    find_counts http- "$server gateway-16" load_http "$server" gateway 16
  done
  settle
  table "Instructions per call in so many sessions, which take turns; with *gateway*, on one connection." \
    http-instructions turning turns-1 turns-16 gateway-16

  local writers=(own tower rmcp-json rmcp-session)
  for server in "${writers[@]}"; do
    for era in legacy modern; do
      find_writes http- "$server $era" calls "$server" "$era"
    done
  done
  for era in legacy modern; do
    find_writes http- "own $era-progress" reports own "$era"
    find_writes http- "tower $era-progress" reports tower "$era"
  done
  settle
  table "Writes per answer over HTTP; with *progress*, a notification precedes it." http-writes writers \
    legacy modern legacy-progress modern-progress

  local idle=(own tower rmcp-session)
  for server in "${idle[@]}"; do
    load_http "$server" sessions "$sessions" >"$scratch/load"
    found["http-memory $server session"]=$(value_of bytes)
    load_http "$server" connections "$connections" >"$scratch/load"
    found["http-memory $server connection"]=$(value_of bytes)
  done
  table "Resident bytes per idle session, and per idle connection after a call." http-memory idle session connection

  measure_many
  [[ -n $quick ]] || measure_wrk
  [[ -n $quick ]] || measure_listeners
}

# What a call or a change costs beside many.
measure_many() {
  # What is opened before the calls or changes varies by as much as hundreds of them cost.
  local count own=(own) few=100 many=4100
  for count in 0 1000; do
    find_counts http- "own pending-$count" pending own "$count"
  done
  settle
  find_quotient pending-growth "http-instructions own pending-1000" "http-instructions own pending-0"
  for count in 0 1000 10000; do
    find_counts http- "own idle-$count" load_http own idle "$count"
  done
  settle
  find_quotient idle-growth "http-instructions own idle-10000" "http-instructions own idle-0"
  few=2 many=6
  for count in 1000 10000; do
    find_counts http- "own listeners-$count" load_http own listeners "$count"
    settle
    for metric in http-instructions http-allocations; do
      found["$metric own listener-$count"]=$(quotient "${found["$metric own listeners-$count"]}" "$count")
    done
  done
  table "Instructions per call in a session with so many pending requests." http-instructions own \
    pending-0 pending-1000
  table "Instructions per change of a list that nobody listens to, with so many idle connections." http-instructions own \
    idle-0 idle-1000 idle-10000
  table "Instructions per listener of a change, with so many of them." http-instructions own listener-1000 listener-10000
  table "Allocations per listener of a change." http-allocations own listener-1000 listener-10000
}

measure_listeners() {
  local round count own=(own)
  for ((round = 0; round < rounds; round++)); do
    for count in 1000 10000; do
      load_http own listeners "$count" 5 >"$scratch/load"
      note "listener-cpu own $count" cpu_us
    done
  done
  find_median "listener-cpu own 1000"
  find_median "listener-cpu own 10000"
  find_quotient listener-cpu-growth "listener-cpu own 10000" "listener-cpu own 1000"
  table "CPU time per listener of a change, µs." listener-cpu own 1000 10000
}

# The servers take turns, so that what else the machine does hits all of them.
measure_wrk() {
  local round server load
  local wrk_loads=("legacy 16" "legacy 64" "modern 16" "modern 64")
  local wrk_servers=(floor-http fixed own tower rmcp-json rmcp-session)
  if [[ -z $wrk_cpu ]]; then
    echo $'\nThere is no CPU for wrk beside that of the servers.'
    return
  fi
  for ((round = 0; round < rounds; round++)); do
    for load in "${wrk_loads[@]}"; do
      for server in "${wrk_servers[@]}"; do
        wrk_load "$server" $load >"$scratch/load"
        note "http-cpu $server $load" cpu_us_per_call
      done
    done
    measure_workers
  done
  for server in "${wrk_servers[@]}"; do
    for load in "${wrk_loads[@]}"; do
      find_median "http-cpu $server $load"
    done
  done
  for load in "${wrk_loads[@]}"; do
    for server in floor-http own tower rmcp-json rmcp-session; do
      find_quotient "http-cpu-to-fixed $server $load" "http-cpu $server $load" \
        "http-cpu fixed $load"
    done
    for server in own tower; do
      find_quotient "http-cpu-to-rmcp $server $load" "http-cpu $server $load" \
        "http-cpu rmcp-json $load"
    done
  done
  for era in legacy modern; do
    for server in fixed own; do
      find_median "http-cpu $server-1 $era 16"
      find_median "http-cpu $server-2 $era 16"
      find_quotient "two-workers $server $era" "http-cpu $server-2 $era 16" \
        "http-cpu $server-1 $era 16"
    done
    find_quotient "two-workers-to-fixed $era" "two-workers own $era" "two-workers fixed $era"
  done
  table "CPU time of the server per call over HTTP, µs." http-cpu wrk_servers "${wrk_loads[@]}"
  wrk_servers=(floor-http own tower rmcp-json rmcp-session)
  table "These CPU times over that of hyper with a fixed answer." http-cpu-to-fixed wrk_servers \
    "${wrk_loads[@]}"
  local workers=(fixed-1 fixed-2 own-1 own-2)
  table "CPU time per call over HTTP with one worker thread and with two, µs." http-cpu workers \
    "legacy 16" "modern 16"
}

# One worker, and two, on both CPUs.
measure_workers() {
  local pin=(taskset -c "$cpus") server era
  for era in legacy modern; do
    for server in fixed-1 fixed-2 own-1 own-2; do
      wrk_load "$server" "$era" 16 >"$scratch/load"
      note "http-cpu $server $era 16" cpu_us_per_call
    done
  done
}

# wrk_load SERVER ERA CONNECTIONS
wrk_load() {
  load_http "$1" wrk "$(http_era "$1" "$2")" "$(http_call "$1")" "$3" "$wrk_seconds" "$wrk_cpu" \
    "$here/post.lua"
}

# calls SERVER ERA CALLS
calls() { load_http "$1" calls "$(http_era "$1" "$2")" "$(http_call "$1")" "$3"; }

# reports SERVER ERA CALLS
reports() { load_http "$1" calls "$(http_era "$1" "$2")" report "$3"; }

# pending SERVER COUNT CALLS
pending() { load_http "$1" pending "$2" "$3"; }

# What `load-http` is to be as a legacy client: the others have no sessions.
http_era() {
  case $2-$1 in
    modern-*) echo modern ;;
    legacy-floor-http | legacy-fixed* | legacy-rmcp-json) echo stateless ;;
    *) echo session ;;
  esac
}

# The call whose answer `load-http` is to expect.
http_call() { [[ $1 == fixed* ]] && echo fixed || echo echo; }

# load_http SERVER ARGUMENT...
load_http() {
  (
    ulimit -n "$(ulimit -Hn)"
    exec timeout 600 "${pin[@]}" "$built/load-http" "${@:2}" \
      -- "${under[@]}" ${command[$1]}
  )
}
