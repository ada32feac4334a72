#!/usr/bin/env bash
# digest_levels.sh [BUILD-DIRECTORY]: the simulator built with -O0 and with -O2 gives the same digests. Builds
# both below BUILD-DIRECTORY (default: build), without DPDK and tests, and runs a few short scenarios in each.
set -euo pipefail
cd "$(dirname "$0")/../.."
below=${1:-build}/digest-levels

for level in 0 2; do
    [ -d "$below/O$level" ] || meson setup "$below/O$level" -Doptimization="$level" -Ddebug=true \
        -Ddpdk=disabled -Dtests=false -Dwerror=false >/dev/null
    ninja -C "$below/O$level" app/sim/sluice-sim >/dev/null
done

differing=0
for name in clean loss1 reorder duplicate corrupt clocks two-jobs relay-restarted planner-killed disk-full jumbo; do
    for level in 0 2; do
        json=$("$below/O$level/app/sim/sluice-sim" "conf/scenarios/$name.yaml" --json 2>/dev/null) || true
        digests[level]=$(grep -o '"digest":"[0-9a-f]*"' <<<"$json" || echo none)
    done
    if [ "${digests[0]}" = none ] || [ "${digests[0]}" != "${digests[2]}" ]; then
        echo "$name: -O0 ${digests[0]}, -O2 ${digests[2]}" >&2
        differing=1
    fi
done
[ "$differing" = 0 ] && echo "digests of -O0 and -O2 are equal"
exit "$differing"
