#!/usr/bin/env bash
# digest_levels.sh BUILD BUILD: the simulators of two build directories give the same digests of a few short scenarios.
set -euo pipefail
cd "$(dirname "$0")/../.."

differing=0
for name in clean loss1 reorder duplicate corrupt clocks two-jobs relay-restarted planner-killed disk-full jumbo; do
    digests=()
    for build in "$1" "$2"; do
        json=$(timeout 120 "$build/app/sim/sluice-sim" "conf/scenarios/$name.yaml" --json 2>/dev/null) || true
        digests+=("$(grep -o '"digest":"[0-9a-f]*"' <<<"$json" || echo none)")
    done
    if [ "${digests[0]}" = none ] || [ "${digests[0]}" != "${digests[1]}" ]; then
        echo "$name: $1 ${digests[0]}, $2 ${digests[1]}" >&2
        differing=1
    fi
done
[ "$differing" = 0 ] && echo "digests of $1 and $2 are equal"
exit "$differing"
