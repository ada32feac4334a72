#!/usr/bin/env bash
# bench_probe_test.sh SLUICE-PROBE SLUICE-SIM SCRIPTS: a table of few cells, what is missed in it, and the exit status.
set -uo pipefail
probe=$1 sim=$2 scripts=$3 failed=0

# expect STATUS WORDS ARGUMENT…
expect() {
    local status=$1 words=$2 out found
    shift 2
    out=$("$scripts/bench" probe --program "$probe" --sim "$sim" "$@" 2>&1)
    found=$?
    if [ "$found" != "$status" ] || ! grep -qF -- "$words" <<<"$out"; then
        echo "$*: status $found instead of $status, or not '$words' in: $out" >&2
        failed=1
    fi
}

expect 0 "1 cells: every asked figure reached" --estimator kite2 --runs 3 --cells 'hops/two alike/cbr'
expect 1 "bench: 1 cells: 2 missed" --estimator kite2 --runs 3 --cells 'T1/50%/1ms'
# An estimator against itself, with the bytes that it takes anyway, is not worse.
expect 0 "smallest error in 1 of 1 comparisons" --estimator kite2 --runs 3 --cells 'rivals/kite2/cbr:50%/1ms'
expect 0 "T2/50%/1ms" --list
expect 2 "no cell matches" --cells 'T9/*'
exit "$failed"
