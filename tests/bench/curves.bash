# Sourced by `run`: curves of what a call costs beside many. They are drawn by `curves.awk`.

# PLOT | TITLE | WHAT IS COUNTED | ITS NUMBERS
plots='flight|calls in flight|stdio|1 4 16 64
size|bytes of the message|stdio|10 1000 100000 1000000 10000000
tools|tools of the server|stdio|10 100 1000 10000
sessions|other sessions|HTTP|1 10 100 1000
connections|other connections|HTTP|1 10 100 1000
listeners|listeners of a change, for each|HTTP|1 10 100 1000 10000'
drawn=(mcp-server rmcp-server)

measure_curves() {
  local plot title transport points point server few many
  declare -Ag label+=([mcp-http]=mcp-tokio [rmcp-http]=$rmcp)
  declare -Ag command+=([mcp-http]="$built/mcp-server http" [rmcp-http]="$built/rmcp-server session")
  while IFS='|' read -r plot title transport points; do
    for server in "${drawn[@]}"; do
      for point in $points; do
        few=100 many=500
        ((point < 100000)) && [[ $plot != listeners ]] || few=2 many=6
        [[ $plot-$server != listeners-rmcp-server ]] || continue
        TOOLS=$([[ $plot == tools ]] && echo "$point") \
          find_counts "$plot-" "$server $point" "curve_$plot" "$server" "$point"
      done
    done
    settle
  done <<<"$plots"
  by_listener
  points_of_curves | awk -v "ours=${label[mcp-server]}" -v "theirs=$rmcp" -f "$here/curves.awk" >"$scratch/curves.svg"
  while IFS='|' read -r plot title transport points; do
    [[ $plot != listeners ]] || drawn=(mcp-server)
    table "Instructions per call over $transport, by the number of $title." "$plot-instructions" drawn $points
  done <<<"$plots"
}

# The loads; each is `curve_PLOT SERVER POINT CALLS`.
curve_flight() { load "$1" legacy "$2" "$3"; }
curve_size() { load "$1" legacy 1 --message "$2" "$3"; }
curve_tools() { load "$1" legacy 1 "$3"; }
curve_sessions() { load_http "${1/server/http}" beside sessions "$2" "$3"; }
curve_connections() { load_http "${1/server/http}" beside connections "$2" "$3"; }
curve_listeners() { load_http "${1/server/http}" listeners "$2" "$3"; }

# What was counted for a change, by listener.
by_listener() {
  local point key
  for point in $(sed -n 's/^listeners|.*|//p' <<<"$plots"); do
    key="listeners-instructions mcp-server $point"
    found["$key"]=$(quotient "${found["$key"]}" "$point")
  done
}

# PLOT|TITLE|TRANSPORT|SERVER|POINT|INSTRUCTIONS, by lines
points_of_curves() {
  local plot title transport points server point value
  while IFS='|' read -r plot title transport points; do
    for server in "${drawn[@]}"; do
      for point in $points; do
        value=${found["$plot-instructions $server $point"]-}
        [[ -z $value ]] || echo "$plot|$title|$transport|$server|$point|$value"
      done
    done
  done <<<"$plots"
}
