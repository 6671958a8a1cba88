# Sourced by `run`: clients, with a server in the same process, and alone with a server of this project
# in another.

libraries=(mcp-tokio rmcp)

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
  client_table "Instructions per call of a client and a server of one library, in one process." memory "${loads[@]}"
  client_table "Instructions per call of a client over stdio; the server is mcp-tokio's." stdio "${loads[@]}"
  client_table "Instructions per call of a client over HTTP, with one call in flight." http "legacy 1" "modern 1"

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
}

# client_table TITLE PLACE LOAD...
client_table() {
  local place=$2 library load
  echo && sentence "$1" && echo
  shift 2
  printf '| |' && printf ' %s |' "${@/ /, }" && echo
  printf '|---|' && printf -- '--:|%.0s' "$@" && echo
  for library in "${libraries[@]}"; do
    printf '| %s |' "${label[$library]}"
    for load in "$@"; do
      printf ' %s |' "$(number "${found["client-instructions $library $place $load"]}")"
    done
    echo
  done
}

# client LIBRARY PLACE ERA IN_FLIGHT CALLS
client() {
  local server=()
  [[ $2 == memory ]] || server=("$built/mcp-server" "$2")
  timeout 600 "${pin[@]}" "${under[@]}" "$built/clients" "$1" "$3" "$4" "$5" "$2" "${server[@]}"
}
