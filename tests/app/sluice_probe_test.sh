#!/usr/bin/env bash
# sluice_probe_test.sh SLUICE-PROBE: what is wrong on its command line, and small cells of each estimator.
set -uo pipefail
probe=$1 failed=0

# expect STATUS WORDS ARGUMENT…: WORDS must be in what it prints.
expect() {
    local status=$1 words=$2 out found
    shift 2
    out=$("$probe" "$@" 2>&1)
    found=$?
    if [ "$found" != "$status" ] || ! grep -qF -- "$words" <<<"$out"; then
        echo "$*: status $found instead of $status, or not '$words' in: $out" >&2
        failed=1
    fi
}

expect 0 "estimators: " --help
expect 2 "--speed: no such option" --speed 3
expect 2 "--capacity fast: expected RATE" --capacity fast
expect 2 "--capacity : expected RATE" --capacity
expect 2 "--cross poisson:50: expected KIND:AMOUNT" --cross poisson:50
expect 2 "--cross pois:50%: expected KIND:AMOUNT" --cross pois:50%
expect 2 "--step 1s:1Gbps: expected TIME:RATE" --step 2s:2Gbps --step 1s:1Gbps
expect 2 "--estimator magic: expected NAME" --estimator magic
expect 2 "--next-hop : expected no more of these" --next-hop --next-hop --next-hop --next-hop
common=(--runs 3 --json --rtt 100us)
for estimator in yaz pathload pathchirp kite2; do
    expect 0 '"share_value":1,' --estimator "$estimator" --cross poisson:50% "${common[@]}"
done
expect 0 '"share_at-least":1,' --estimator kite2 "${common[@]}"
expect 0 '"share_none":1,' --estimator capacity --cross onoff:50% --queue 5ms "${common[@]}"
expect 0 '"share_none":1,' --estimator rtt "${common[@]}"
expect 0 '"reason_budget":1,' --estimator pathload --bytes 1MB "${common[@]}"
expect 0 '"steps":3,' --estimator kite2 --continuous --limit 3s --capacity 2Gbps --step 1s:7Gbps "${common[@]}"
expect 0 '"w_bps":' --estimator kite2 --imix --cross cbr:3Gbps --next-hop --capacity 5Gbps --queue 1MB --each "${common[@]}"
expect 0 '"cross_added_loss":0,' --estimator kite2 --cross cbr:10% --harm --loss 1% --jitter 1us --late 5% --behind \
    --batch 32 --noise 100ns --sender-noise 100ns --granularity 10ns --skew -100ppm --shaper 5Gbps/200KB "${common[@]}"
expect 0 '"open":0.0000,"rate":' --pairs 4 --sites 2 --keep 1 --coarse 20% --fine 20% --limit 2s --load 0%
expect 2 "--pairs: 2 to" --pairs 1
exit "$failed"
