# Sourced: long work that says how far it is, on a terminal and, a line a minute, in a pipe.

# ninja with these arguments. In a pipe its output is shown where it fails.
run_ninja() {
  if [ -t 1 ]; then
    ninja "$@"
    return
  fi
  local log status=0 seconds=0 pid
  log=$(mktemp)
  NINJA_STATUS='[%f of %t] ' ninja "$@" >"$log" 2>&1 &
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    [ $((seconds % 60)) -ne 0 ] || echo "build: $(grep -o '^\[[0-9]* of [0-9]*\]' "$log" | tail -1) after $((seconds / 60)) min"
  done
  wait $pid || status=$?
  [ $status -eq 0 ] || grep -v '^\[[0-9]* of [0-9]*\] \(Building\|Linking\|Generating\)' "$log"
  rm -f "$log"
  return $status
}
