#!/usr/bin/env bash
# build.sh ROOT: what scripts/common.sh builds has the options asked for, however the directory was set up before.
set -uo pipefail
directory=$(mktemp -d "${TMPDIR:-/tmp}/sluice-build.XXXXXX") || exit 1
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/scripts"
cp "$1"/scripts/{common.sh,has-options,suite-targets,count-results} "$directory/scripts/" || exit 1
cat >"$directory/meson_options.txt" <<'END'
option('tests', type: 'boolean', value: false)
option('fuzz', type: 'boolean', value: false)
option('dpdk', type: 'feature', value: 'disabled')
END
echo "project('empty', 'c')" >"$directory/meson.build"
. "$directory/scripts/common.sh" # it changes into that directory
wrong=0

# expect WORDS COMMAND…: the command succeeds.
expect() {
    local words=$1
    shift
    "$@" && return
    echo "$words" >&2
    wrong=1
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
project('suites', 'c')
foreach name, suites : {'unit': ['unit'], 'short': ['scenario', 'short'], 'net': ['net'], 'program': []}
  made = custom_target(name, output: name, command: ['touch', '@OUTPUT@'], build_by_default: true)
  if suites.length() > 0
    test(name, find_program('true'), depends: made, suite: suites)
  endif
endforeach
END
expect "suites are not built" build_suites suites unit short -- -Dtests=true
expect "other targets than those of the suites" test "$(cd suites && ls -d unit short net program 2>/dev/null | xargs)" = "short unit"
build_suites suites none -- -Dtests=true >none.out && expect "a suite without tests is built" false
expect "a suite without tests is not told" grep -q "no tests of none" none.out
# A test that came since then is built and run, too; and where nothing runs nothing has passed.
echo "test('new', find_program('true'), depends: custom_target('new', output: 'new', command: ['touch', '@OUTPUT@']), suite: 'unit')" \
    >>meson.build
expect "suites are not built again" build_suites suites unit short -- -Dtests=true
expect "the target of a new test is not built" test -e suites/new
expect "a suite does not pass" run suites unit unit >run.out
expect "two tests, of which two pass" grep -q "^== unit: 2 passed, 0 failed, 0 skipped" run.out
run suites none none >run.out && expect "a suite of which nothing was run passes" false
expect "that nothing was run is not told" grep -q "nothing was run" run.out
[ "$wrong" = 0 ] && echo "build: clean"
exit "$wrong"
