#!/usr/bin/env bash
# usage.sh ROOT: the scripts' exit statuses, and that what is missing or wrong is told in one line.
set -uo pipefail
cd "$1" || exit 1
python=$(python3 -c "import sys; print(sys.executable)")
failed=0

# expect STATUS WORDS COMMAND…: one line of output that holds WORDS.
expect() {
    local status=$1 words=$2 out found
    shift 2
    out=$("$@" 2>&1)
    found=$?
    if [ "$found" != "$status" ] || [ "$(wc -l <<<"$out")" != 1 ] || ! grep -qF -- "$words" <<<"$out"; then
        echo "$*: status $found instead of $status, or not one line with '$words' in: $out" >&2
        failed=1
    fi
}

# Without any PATH there is no testpmd either, whatever is installed.
expect 1 "goodput needs dpdk-testpmd (Debian's package dpdk-dev)" \
    env PATH=/nowhere "$python" scripts/bench goodput --no-build
expect 1 "usage: install-dependencies [bench|debian]" scripts/install-dependencies everything
expect 1 "usage: compile-check [all]" scripts/compile-check some
expect 1 "usage: compile-check [all]" scripts/compile-check all some
expect 1 "usage: test-debian 12|13 [gcc|clang]" scripts/test-debian
expect 1 "usage: test-debian 12|13 [gcc|clang]" scripts/test-debian 11
expect 1 "usage: test-debian 12|13 [gcc|clang]" scripts/test-debian 13 tcc
expect 1 "usage: test [sanitizers]; longer runs are scripts/test-long" scripts/test some
expect 1 "usage: test [sanitizers]; longer runs are scripts/test-long" scripts/test sanitizers some
expect 1 "usage: test-long [flakes N [SUITE…]]" scripts/test-long flakes
expect 1 "usage: test-long [flakes N [SUITE…]]" scripts/test-long flakes 0
expect 1 "usage: test-long [flakes N [SUITE…]]" scripts/test-long flakes 3 everything
expect 1 "usage: test-long [flakes N [SUITE…]]" scripts/test-long 3
[ "$failed" = 0 ] && echo "usage: clean"
exit "$failed"
