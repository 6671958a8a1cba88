# checks.bash, to be sourced: runs checks, several at once, and counts what came of them. The first
# line that a check prints is `LABEL: VERDICT`, and the verdict is `ok`, or what is wrong.

results=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$results"' EXIT
checks=0 passed=0 failed=0

# Whoever has checks that mostly wait says how many may run at once.
at_once=1

# start COMMAND...: runs a check, in a shell of its own, as soon as there is room.
start() {
  while (($(jobs -rp | wc -l) >= at_once)); do wait -n || true; done
  checks=$((checks + 1))
  "$@" >"$results/$checks" 2>&1 &
}

# sum_up: prints and counts what came of the checks, in their order; is false if one has failed, or if
# there was none.
sum_up() {
  local number first
  wait
  for ((number = 1; number <= checks; number++)); do
    cat "$results/$number"
    read -r first <"$results/$number" || true
    if [[ $first == *': ok' ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done
  echo "$passed passed, $failed failed"
  ((passed > 0 && failed == 0))
}

# report LABEL VERDICT FILE...: says what came of a check; of one that failed it shows the files.
report() {
  local file
  echo "$1: $2"
  [[ $2 == ok ]] || for file in "${@:3}"; do sed "s/^/  $(basename "$file"): /" "$file"; done
}
