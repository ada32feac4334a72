#!/usr/bin/env bash
# build.sh ROOT: what scripts/common.sh builds has the options asked for, however the directory was set up before.
set -uo pipefail
directory=$(mktemp -d "${TMPDIR:-/tmp}/sluice-build.XXXXXX") || exit 1
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/scripts"
cp "$1"/scripts/{common.sh,has-options,suite-targets} "$directory/scripts/" || exit 1
echo "option('tests', type: 'boolean', value: false)" >"$directory/meson_options.txt"
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
# Of four targets two belong to tests of the suites that are asked for.
cat >meson.build <<'END'
project('suites')
foreach name, suites : {'unit': ['unit'], 'short': ['scenario', 'short'], 'net': ['net'], 'program': []}
  made = custom_target(name, output: name, command: ['touch', '@OUTPUT@'], build_by_default: true)
  if suites.length() > 0
    test(name, find_program('true'), depends: made, suite: suites)
  endif
endforeach
END
expect "suites are not built" build_suites suites unit short -- -Dtests=true
expect "other targets than those of the suites" test "$(cd suites && ls -d unit short net program 2>/dev/null | xargs)" = "short unit"
build_suites suites none -- -Dtests=true && expect "a suite without tests is built" false
[ "$failed" = 0 ] && echo "build: clean"
exit "$failed"
