#!/usr/bin/env bash
# build.sh ROOT: what scripts/common.sh builds has the options asked for, however the directory was set up before.
set -uo pipefail
directory=$(mktemp -d "${TMPDIR:-/tmp}/sluice-build.XXXXXX") || exit 1
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/scripts"
cp "$1"/scripts/{common.sh,has-options} "$directory/scripts/" || exit 1
echo "project('empty')" >"$directory/meson.build"
. "$directory/scripts/common.sh" # it changes into that directory
failed=0

# expect WORDS COMMAND…: the command succeeds.
expect() {
    local words=$1
    shift
    "$@" && return
    echo "$words" >&2
    failed=1
}

meson setup build --buildtype=release >/dev/null || exit 1
expect "a directory set up by hand is not built" build build
expect "no option asked for: the directory's own stay" scripts/has-options build --buildtype=release -Dwerror=false
expect "not built with the options of the tests" build build "${test_options[@]}"
expect "set up by hand, it lacks the options of the tests" scripts/has-options build "${test_options[@]}"
touch -d @0 build/meson-private/coredata.dat
expect "built again" build build "${test_options[@]}"
expect "configured again for nothing" test "$(stat -c %Y build/meson-private/coredata.dat)" = 0
expect "a new directory is not built" build other "${test_options[@]}"
expect "a new directory lacks its options" scripts/has-options other "${test_options[@]}"
[ "$failed" = 0 ] && echo "build: clean"
exit "$failed"
