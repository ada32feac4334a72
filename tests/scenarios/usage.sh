#!/usr/bin/env bash
# usage.sh SLUICE-SIM: exit statuses, and that a broken expectation is told with file and line.
set -uo pipefail
sim=$1 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS WORDS ARGUMENT…: runs the simulator; WORDS must be in what it prints.
expect() {
    local status=$1 words=$2 out found
    shift 2
    out=$("$sim" "$@" 2>&1)
    found=$?
    if [ "$found" != "$status" ] || ! grep -qF -- "$words" <<<"$out"; then
        echo "$*: status $found instead of $status, or not '$words' in: $out" >&2
        failed=1
    fi
}

cat >"$work/good.yaml" <<'END'
name: good
nodes: [a, b]
links: {default: {owd: 1ms}}
jobs: [{name: j, source: a, to: all, size: 100KB}]
expect: {completed: true, verified: 1}
END
sed 's/verified: 1/verified: 2/' "$work/good.yaml" >"$work/unmet.yaml"
sed 's/owd: 1ms/owd: fast/' "$work/good.yaml" >"$work/wrong.yaml"
sed 's/^expect.*/limit: 1s/; s/^nodes.*/nodes: {a: {}, b: {absent: true}}/' "$work/good.yaml" >"$work/limit.yaml"

expect 0 "completed in" "$work/good.yaml"
expect 0 '"completed":true' "$work/good.yaml" --json
expect 0 "" "$work/good.yaml" --check
expect 2 "$work/wrong.yaml:3:" --check "$work/wrong.yaml" "$work/good.yaml"
expect 2 "none.yaml" "$work/good.yaml" "$work/none.yaml" --check
expect 2 "usage:" "$work/good.yaml" "$work/limit.yaml"
expect 0 "usage:" --help
expect 1 "$work/unmet.yaml:5: expected verified == 2, found 1" "$work/unmet.yaml"
expect 1 "limit of virtual time" "$work/limit.yaml"
expect 2 "$work/wrong.yaml:3:" "$work/wrong.yaml"
expect 2 "usage:"
expect 2 "expected a number" "$work/good.yaml" --seed many
expect 2 "none.yaml" "$work/none.yaml"
expect 0 "completed in" "$work/wrong.yaml" --set links.default.owd=2ms --set 'expect={verified: 1}'
expect 2 "$work/good.yaml:3: links.default: unknown key" "$work/good.yaml" --set links.default.los=1%
expect 2 "expected PATH=VALUE" "$work/good.yaml" --set seed
expect 2 "takes no scenario file" "$work/good.yaml" --random 1
expect 2 "go with --random" "$work/good.yaml" --draw 1
expect 2 "not that many draws" --random 5 --draw 5
expect 0 "name: random-9-1" --random 2 --seed 9 --print
"$sim" --random 200 --seed 9 --check || failed=1
expect 0 "name: hosts-9-1" --random-hosts 2 --seed 9 --print
"$sim" --random-hosts 200 --seed 9 --check || failed=1
# A row for each step of 10 ms in which there was data, with all columns filled.
expect 0 "completed in" "$work/good.yaml" --trace "$work/trace.csv" --set measure.step=10ms
awk -F, 'NR == 1 && $0 != "time_s,edge,rate_bps,sent_bps,delivered_bps,queue_ms,rtt_ms,lost,dropped" { exit 1 }
         NR > 1 && (NF != 9 || $2 != "a>b" || $1 <= last || $7 <= 0) { exit 1 }
         NR > 1 { last = $1; sent += $4 / 100 }
         END { if (NR < 3 || sent < 800000 || sent > 1000000) exit 1 }' "$work/trace.csv" ||
    { head -3 "$work/trace.csv" >&2; failed=1; }
expect 1 "No such file" "$work/good.yaml" --trace "$work/none/trace.csv"
expect 2 "--trace goes with a scenario file" --random 1 --trace "$work/trace.csv"
# Too short to have a steady rate: both are misses, and told as such.
expect 1 "0 of 2 draws reach 0.900 of what they can, 0.0 % (asked: 95.0 %), 0 do not end, 0 stood still: miss" --random 2 --seed 3 --set 'jobs[0].size=1KB'
expect 1 '"draws":2,"draws_ok":0,"draws_unended":0,"draws_stuck":0,"ok":false' --random 2 --seed 3 --set 'jobs[0].size=1KB' --json
expect 1 "1 do not end, 0 stood still: miss" --random 1 --seed 3 --set limit=1s
expect 0 "L  ok" --random 1 --seed 3 --draw 0 --set 'links.default.loss=0%'
# A drawn scenario that is printed and run as a file is the same run.
"$sim" --random 3 --seed 2 --draw 1 --print >"$work/drawn.yaml"
drawn=$("$sim" --random 3 --seed 2 --draw 1 --set 'jobs[0].size=1MB' --json 2>&1 | grep -o '"digest":"[^"]*"')
file=$("$sim" "$work/drawn.yaml" --set 'jobs[0].size=1MB' --json 2>&1 | grep -o '"digest":"[^"]*"')
if [ -z "$drawn" ] || [ "$drawn" != "$file" ]; then
    echo "a draw has $drawn, its scenario as a file $file" >&2
    failed=1
fi
exit "$failed"
