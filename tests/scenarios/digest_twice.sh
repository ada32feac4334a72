#!/usr/bin/env bash
# digest_twice.sh SLUICE-SIM SCENARIO: two runs of one seed give the same digest, another seed another one.
set -euo pipefail
sim=$1 scenario=$2

digest() {
    local json digest
    json=$("$sim" "$scenario" --json --seed "$1") || true
    digest=$(grep -o '"digest":"[0-9a-f]*"' <<<"$json") || { echo "no digest with seed $1" >&2; exit 1; }
    echo "$digest"
}

first=$(digest 1) second=$(digest 1) other=$(digest 2)
[ "$first" = "$second" ] || { echo "seed 1 twice: $first and $second" >&2; exit 1; }
[ "$first" != "$other" ] || { echo "seeds 1 and 2: both $first" >&2; exit 1; }
echo "$first"
