#!/usr/bin/env bash
# A first look at a graphics processor: is it exact, and how fast? It needs nothing but the release
# program.
#
#   tools/gpu/measure.sh PROGRAM [BACKEND [SECONDS]]
#
# BACKEND is gpu, or as in cuda:0 or opencl:1. A step that would not end within SECONDS (480) is
# left out, and a line says so. Each step prints its line when it ends, so that a run that is cut off has
# printed something. Lines of JSON are those of `queens bench`.
set -euo pipefail
queens=${1:?usage: measure.sh PROGRAM [BACKEND [SECONDS]]}
backend=${2:-gpu}
limit=${3:-480}

left() { echo $((limit - SECONDS)); }
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
# A number of a line of JSON.
field() { sed -E "s/.*\"$2\":\"?([0-9.e+-]+).*/\1/" <<<"$1"; }
# Whether a count that takes so many seconds, and half as many again, ends in time.
fits() { awk -v seconds="$1" -v left="$(left)" 'BEGIN { exit !(1.5 * seconds < left) }'; }

say "$("$queens" --version | tr '\n' ' ')"
"$queens" bench --list | sed 's/^/        /'
if command -v nvidia-smi >/dev/null; then
  fields=name,driver_version,clocks.sm,clocks.max.sm,power.limit
  say "$(nvidia-smi --query-gpu=$fields --format=csv,noheader)"
fi

# Sets the total of N and the seconds that it took.
count() {
  begun=$EPOCHREALTIME
  total=$("$queens" count "$1" --method halves --backend "$backend" --quiet)
  took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')
}
sample() { "$queens" bench --backend "$backend" --n "$1" --sample-ms "$2" --json; }

for n in 16 17 18 19 20; do
  seconds=$(field "$(sample "$n" 300)" board_seconds)
  if ! fits "$seconds"; then
    say "N = $n: left out, $seconds s"
    continue
  fi
  count "$n"
  expected=$("$queens" count "$n" --method halves --backend "${PROCESSOR:-portable}" --quiet)
  if [ "$total" != "$expected" ]; then
    say "N = $n: WRONG, $total and not $expected"
    exit 1
  fi
  say "N = $n: $total, exact, $took s with the start of the program"
done

for n in 20 22 24 26; do
  [ "$(left)" -gt 60 ] || { say "N = $n: not measured"; continue; }
  line=$(sample "$n" 5000)
  say "$line"
  # The pairs that the join looks up, and the share of each kernel.
  awk -v n="$n" -v units="$(field "$line" multiprocessors)" -v join="$(field "$line" join_lists)" \
    -v lanes="$(field "$line" kernel_lanes)" -v rate="$(field "$line" solutions_per_second)" \
    -v each="$(field "$line" lanes_per_solution)" 'BEGIN {
      printf "        N = %d: %.3g solutions/s, %.1f pairs a solution; ", n, rate, each
      printf "the join alone %.4g pairs/s", lanes / join
      printf ", %.1f a nanosecond and multiprocessor\n", lanes / join / units / 1e9 }'
done

for n in 22 23 24; do
  seconds=$(field "$(sample "$n" 1000)" board_seconds)
  if ! fits "$seconds"; then
    say "Q($n): left out, $seconds s"
    continue
  fi
  count "$n"
  say "Q($n) = $total in $took s"
done
say "end"
