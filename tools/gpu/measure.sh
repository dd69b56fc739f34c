#!/usr/bin/env bash
# Measures a graphics processor: is it exact, and how fast? It needs nothing but the release program.
#
#   tools/gpu/measure.sh PROGRAM [BACKEND [SECONDS]]
#
# BACKEND is gpu, or as in cuda:0 or opencl:1. It prints the table of docs/GPU.md. A step that would
# not end within SECONDS (540) is left out, and a line says so; a step that lasts longer than
# expected is stopped. Each line is printed when it is known, so a run that is cut off has printed
# something. The exit code is 1 if a count is wrong.
set -euo pipefail
queens=${1:?usage: measure.sh PROGRAM [BACKEND [SECONDS]]}
backend=${2:-gpu}
limit=${3:-540}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

left() { echo $((limit - SECONDS)); }
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
# A number of a line of JSON.
field() { sed -E "s/.*\"$2\":\"?([0-9.e+-]+).*/\1/" <<<"$1"; }
# Whether what takes so many seconds, and half as many again, ends in time.
fits() { awk -v seconds="$1" -v left="$(left)" 'BEGIN { exit !(1.5 * seconds + 5 < left) }'; }
sample() { timeout "$(left)" "$queens" bench --backend "$backend" --n "$1" --sample-ms "$2" --json; }
wrong() { say "WRONG: $*"; exit 1; }

"$queens" --version
"$queens" bench --list
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit --format=csv,noheader
  # The clock while it counts.
  nvidia-smi --query-gpu=clocks.sm --format=csv,noheader,nounits --loop=5 >"$here/clocks" &
  trap 'kill %1; rm -rf "$here"' EXIT
fi

# The fastest loop of the processor.
loop=$("$queens" bench --list | grep -v : | tail -1)
say "single tasks: by the device and by the processor, $loop"
# Parts of a few tasks from all over each plan. `merge` compares what was counted twice.
for part in 24:2001/40000 24:31000/40000 25:50001/99991 26:700001/1300000 27:3000001/5000000 28:1000001/5000000 28:4000001/5000000; do
  n=${part%:*} shard=${part#*:}
  [ "$(left)" -gt 360 ] || { say "N = $n, part $shard: left out"; continue; }
  for by in "$backend" "$loop"; do
    timeout "$(left)" "$queens" count "$n" --method colours --backend "$by" --shard "$shard" --quiet \
      --ledger "$here/$n-${shard%/*}-${by%:*}.db" >/dev/null || wrong "N = $n, part $shard, by $by"
  done
  code=0
  "$queens" merge --into "$here/merged-$n-${shard%/*}.db" "$here/$n-${shard%/*}-"*.db >/dev/null 2>"$here/merged" || code=$?
  # 13 says that the other tasks are missing.
  [ $code = 0 ] || [ $code = 13 ] || { cat "$here/merged"; wrong "N = $n, part $shard: the two counts differ"; }
  say "N = $n, part $shard: $(sed -n 's/.*[;:] \(.* counted twice.*\)/\1/p' "$here/merged")"
done

say "| N | how | seconds of the whole board | solutions/s | placements/s | a clock and multiprocessor |"
say "|---:|---|---:|---:|---:|---:|"
for n in 20 22 24 26 27 28; do
  [ "$(left)" -gt 40 ] || { say "N = $n: left out"; continue; }
  line=$(sample "$n" 2000) || { say "N = $n: no sample"; continue; }
  seconds=$(field "$line" board_seconds)
  awk -v n="$n" -v seconds="$seconds" -v rate="$(field "$line" solutions_per_second)" \
    -v slow="$(field "$line" slowest_per_second)" -v fast="$(field "$line" fastest_per_second)" \
    -v placements="$(field "$line" placements_per_second)" -v clock="$(field "$line" clock_mhz)" \
    -v units="$(field "$line" multiprocessors)" -v at="$SECONDS" 'BEGIN {
      printf "%4d s  | %d | five samples | %.4g (%.4g to %.4g) | %.3g | %.3g | %.3g |\n", at, n, seconds,
        seconds * rate / fast, seconds * rate / slow, rate, placements,
        clock ? placements / clock / 1e6 / units : 0 }'
  # Whole boards, if there is time.
  [ "$n" -le 24 ] && fits "$seconds" || continue
  begun=$EPOCHREALTIME
  total=$(timeout "$(left)" "$queens" count "$n" --method colours --backend "$backend" --quiet) ||
    wrong "N = $n was not counted"
  # `count` compares its total with the published one.
  awk -v n="$n" -v a="$begun" -v b="$EPOCHREALTIME" -v total="$total" -v at="$SECONDS" 'BEGIN {
    printf "%4d s  | %d | whole: %s | %.2f, with the start of the program | %.3g | | |\n", at, n, total, b - a, total / (b - a) }'
done
[ -s "$here/clocks" ] && say "clock while counting, MHz: $(sort -n "$here/clocks" | sed -n '1p;$p' | tr '\n' ' ')"
say "end"
