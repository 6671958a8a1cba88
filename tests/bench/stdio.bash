# Sourced by `run`: servers over stdio.

servers=(floor mcp-tokio mcp-tokio-socket rmcp)
large=(floor mcp-server rmcp-server)
peers=(mcp-server rmcp-server)
declare -A label=(
  [floor]=floor
  [mcp-tokio]=mcp-tokio
  [mcp-tokio-socket]='mcp-tokio, on sockets'
  [mcp-server]=mcp-tokio
  [rmcp]=$rmcp
  [rmcp-server]=$rmcp
)
declare -A command=(
  [floor]="$built/floor"
  [mcp-tokio]="$built/mcp-server stdio"
  [mcp-tokio-socket]="$built/mcp-server stdio"
  [mcp-server]="$built/mcp-server stdio"
  [rmcp]="$built/rmcp-server stdio"
  [rmcp-server]="$built/rmcp-server stdio"
)
loads=("legacy 1" "legacy 64" "modern 1" "modern 64")
huge=$((64 * 1000 * 1000))

measure_stdio() {
  local server load
  for server in "${servers[@]}"; do
    for load in "${loads[@]}"; do
      find_counts '' "$server $load" load "$server" $load
    done
  done
  settle
  table "Instructions per call over stdio." instructions servers "${loads[@]}"
  table "Allocations per call over stdio." allocations servers "${loads[@]}"

  for server in "${servers[@]}"; do
    for load in "legacy 64" "modern 64"; do
      find_writes '' "$server $load" load "$server" $load
    done
  done
  settle
  table "Writes per reply, with 64 calls in flight." writes servers "legacy 64" "modern 64"

  measure_large
  [[ -n $quick ]] || measure_time
}

# Long answers, of servers that take messages of any size.
measure_large() {
  local server kind few=2 many=6
  for server in mcp-server rmcp-server; do
    for kind in items report; do
      find_counts '' "$server $kind" load "$server" legacy 1 --request "$kind"
    done
  done
  settle
  for kind in items report; do
    find_quotient "instructions-to-rmcp $kind" "instructions mcp-server $kind" \
      "instructions rmcp-server $kind"
  done
  table "Instructions per call: 10,000 structured items (2 MB), and 1,000 progress notifications before the answer." instructions peers items report

  for server in "${large[@]}"; do
    load "$server" legacy 1 --message "$huge" 3 >"$scratch/load"
    found["peak $server first"]=$(quotient "$(value_of first_peak_mb)" "$((huge / 1000000))")
    found["peak $server fourth"]=$(quotient "$(value_of peak_mb)" "$((huge / 1000000))")
    found["resident $server after"]=$(value_of resident_mb)
  done
  table "Peak memory over the size of a message, when messages of 64 MB are echoed one after the other." \
    peak large first fourth
  table "Resident memory after them, MB." resident large after
}

# The servers take turns, so that what else the machine does hits all of them.
measure_time() {
  local round server load kind
  local timed_servers=(floor mcp-tokio rmcp)
  for ((round = 0; round < rounds; round++)); do
    for load in "${loads[@]}"; do
      for server in "${timed_servers[@]}"; do
        load "$server" $load "$timed" >"$scratch/load"
        note "cpu $server $load" cpu_us_per_call
        note "speed $server $load" calls_per_s
      done
    done
    for server in mcp-server rmcp-server; do
      load "$server" legacy 1 --request read 40 >"$scratch/load"
      note "cpu $server read" cpu_us_per_call
      load "$server" legacy 1 --message 1000000 40 >"$scratch/load"
      note "cpu $server 1-MB" cpu_us_per_call
      load "$server" legacy 1 --message "$huge" 3 >"$scratch/load"
      note "cpu $server 64-MB" cpu_us_per_call
    done
    for server in "${large[@]}"; do
      start "$server" legacy 41 >"$scratch/load"
      note "start $server answer" start_us
    done
  done
  for load in "${loads[@]}"; do
    for server in "${timed_servers[@]}"; do
      find_median "cpu $server $load"
      find_median "speed $server $load"
    done
  done
  for kind in read 1-MB 64-MB; do
    for server in mcp-server rmcp-server; do
      find_median "cpu $server $kind"
    done
    find_quotient "cpu-to-rmcp $kind" "cpu mcp-server $kind" "cpu rmcp-server $kind"
  done
  for server in "${large[@]}"; do
    find_median "start $server answer"
  done
  find_quotient start-to-rmcp "start mcp-server answer" "start rmcp-server answer"
  find_quotient floor-start-to-rmcp "start floor answer" "start rmcp-server answer"
  table "CPU time per call over stdio, µs." cpu timed_servers "${loads[@]}"
  table "Calls per second over stdio, client and server on one CPU." speed timed_servers "${loads[@]}"
  table "CPU time per call, µs: a resource of 1 MB is read, and 1 MB or 64 MB are echoed." cpu peers \
    read 1-MB 64-MB
  table "Time from the start of a server to its first answer, µs." start large answer
}

# load SERVER ERA IN_FLIGHT [OPTION...] CALLS
load() {
  local stream=()
  [[ $1 != *-socket ]] || stream=(--socket)
  timeout 600 "${pin[@]}" "$built/load" "$2" "${@: -1}" "$3" "${stream[@]}" "${@:4:$#-4}" \
    -- "${under[@]}" ${command[$1]}
}

# start SERVER ERA ROUNDS
start() {
  timeout 600 "${pin[@]}" "$built/load" start "$2" "$3" -- ${command[$1]}
}
