# Sourced by `run`: clients, with a server in the same process, and alone with a server of this project
# in another.

libraries=(mcp-tokio rmcp)
in_memory=("${libraries[@]/%/ memory}")
over_stdio=("${libraries[@]/%/ stdio}")
over_http=("${libraries[@]/%/ http}")
for place in memory stdio http; do
  label+=(["mcp-tokio $place"]=mcp-tokio ["rmcp $place"]=$rmcp)
done

measure_clients() {
  local library place load round
  for library in "${libraries[@]}"; do
    for load in "${loads[@]}"; do
      find_counts client- "$library memory $load" client "$library" memory $load
      find_counts client- "$library stdio $load" client "$library" stdio $load
    done
    for load in "legacy 1" "modern 1"; do
      find_counts client- "$library http $load" client "$library" http $load
    done
  done
  settle
  for load in "${loads[@]}"; do
    find_quotient "client-instructions-to-rmcp memory $load" \
      "client-instructions mcp-tokio memory $load" "client-instructions rmcp memory $load"
  done
  table "Instructions per call of a client and a server of one library, in one process." \
    client-instructions in_memory "${loads[@]}"
  table "Instructions per call of a client over stdio; the server is mcp-tokio's." \
    client-instructions over_stdio "${loads[@]}"
  table "Instructions per call of a client over HTTP; the server is mcp-tokio's." \
    client-instructions over_http "legacy 1" "modern 1"
  table "Allocations per call of a client over stdio." client-allocations over_stdio "${loads[@]}"
  table "Allocations per call of a client over HTTP." client-allocations over_http "legacy 1" "modern 1"

  [[ -z $quick ]] || return 0
  for ((round = 0; round < rounds; round++)); do
    for load in "legacy 64" "modern 64"; do
      for library in "${libraries[@]}"; do
        client "$library" http $load 2000 >"$scratch/load"
        note "client-cpu $library http $load" cpu_us_per_call
      done
    done
  done
  for load in "legacy 64" "modern 64"; do
    for library in "${libraries[@]}"; do
      find_median "client-cpu $library http $load"
    done
    find_quotient "client-cpu-to-rmcp http $load" "client-cpu mcp-tokio http $load" \
      "client-cpu rmcp http $load"
  done
  table "CPU time per call of a client over HTTP, µs." client-cpu over_http "legacy 64" "modern 64"
}

# client LIBRARY PLACE ERA IN_FLIGHT CALLS
client() {
  local server=()
  [[ $2 == memory ]] || server=("$built/mcp-server" "$2")
  timeout 600 "${pin[@]}" "${under[@]}" "$built/clients" "$1" "$3" "$4" "$5" "$2" "${server[@]}"
}
