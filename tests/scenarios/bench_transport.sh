#!/usr/bin/env bash
# bench_transport.sh SLUICE-SIM SCRIPTS: the table's cells are scenarios that the simulator takes, each row has some, and
# the driver's exit status, result file and --resume are what they should be.
set -uo pipefail
sim=$1 bench=$2/bench failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "$*" >&2; failed=1; }

# transport STATUS WORDS ARGUMENT…
transport() {
    local status=$1 words=$2 found
    shift 2
    "$bench" transport --no-build --sim "$sim" --directory "$work/cells" "$@" >"$work/out" 2>&1
    found=$?
    [ "$found" = "$status" ] && grep -qE -- "$words" "$work/out" ||
        fail "$*: status $found instead of $status, or not '$words' in: $(cat "$work/out")"
}

transport 0 '^transport: [0-9]+ cells' --write-only
rows=$(find "$work/cells" -mindepth 1 -maxdepth 1 -type d | wc -l)
named=$(python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); from transport import table; print(len(table.ROWS))' "$2")
# The random neighbours have no files.
[ "$rows" = $((named - 1)) ] || fail "$rows rows of cells where $named are named"
cells=$(find "$work/cells/jitter" -name '*.yaml' | wc -l)
[ "$cells" = 120 ] || fail "$cells cells in the jitter grid instead of 120"
find "$work/cells" -name '*.yaml' -print0 >"$work/list"
xargs -0 "$sim" --check <"$work/list" || fail "cells that the simulator does not take"

transport 2 'no row or cell' nosuch
transport 0 '^PASS tail/rtt10-5s-loss0 ' --quick --result "$work/result.json" tail/rtt10-5s-loss0
grep -q '"pass": true' "$work/result.json" || fail "no cell passes in the result file"
# What is there already is not run again: with a wrong figure in the file, the cell misses.
sed -Ei 's/"tail RTT": [0-9.]+/"tail RTT": 99/' "$work/result.json"
transport 1 '^MISS tail/rtt10-5s-loss0 +!tail RTT 99 ' --quick --result "$work/result.json" --resume tail/rtt10-5s-loss0
transport 0 '^PASS tail/rtt10-5s-loss0 ' --quick --result "$work/result.json" tail/rtt10-5s-loss0
# What is named next stands beside it, and both are compared with what was before.
cp "$work/result.json" "$work/before.json"
transport 0 '^PASS small/known' --quick --result "$work/result.json" --resume small/known
transport 0 '^compare: 1 cells, 0 newly miss, 0 lose .* 0 in BEFORE alone, 1 in AFTER alone' \
    --compare "$work/before.json" "$work/result.json"
sed -Ei 's/"(value|median)": [0-9.]+/"\1": 9/; s/"pass": true/"pass": false/' "$work/result.json"
transport 1 '^MISS tail/rtt10-5s-loss0 .*!tail RTT' --compare "$work/before.json" "$work/result.json"
exit "$failed"
