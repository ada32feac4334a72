#!/usr/bin/env bash
# scaled_matrix.sh ROOT: the scaled matrix of conf/data is what scripts/scale-matrix makes, one that keeps the limit comes out as it is,
# and what is no square matrix is refused.
set -u
cd "$1" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

scripts/scale-matrix conf/data/aws15_cross_mbps.csv 70 >"$scratch/scaled.csv" || exit 1
diff conf/data/aws15_cross_scaled_mbps.csv "$scratch/scaled.csv" || exit 1

printf 'from\\to,a,b\na,0,9.25\nb,4.00,0\n' >"$scratch/small.csv"
scripts/scale-matrix "$scratch/small.csv" 10 | diff "$scratch/small.csv" - || exit 1
printf 'from\\to,a,b\na,0,6.66\nb,4.00,0\n' | diff - <(scripts/scale-matrix "$scratch/small.csv" 6.666) || exit 1

printf 'from\\to,a,b\na,0,9.25\n' >"$scratch/short.csv"
for arguments in "$scratch/short.csv 70" "$scratch/missing.csv 70" "$scratch/small.csv" "$scratch/small.csv x"; do
    # shellcheck disable=SC2086
    if scripts/scale-matrix $arguments >"$scratch/out" 2>"$scratch/error"; then
        echo "scale-matrix $arguments: was accepted"
        exit 1
    fi
    grep -q '^usage: ' "$scratch/error" || { echo "scale-matrix $arguments: no usage"; exit 1; }
done
