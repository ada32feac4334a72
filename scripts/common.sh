# What the scripts of this folder share; sourced, never run. Sets $root and changes into it.
# Plain bash of Debian 12; no script asks a question.

set -u -o pipefail
root=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

say() {
    printf '%s\n' "== $*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# configure DIRECTORY [MESON OPTION…]: sets the directory up when it is new. One that is there gets the options that it
# has otherwise and keeps all others; the compiler stays the one it was set up with.
configure() {
    local directory=$1 how=configure
    shift
    [ -f "$directory/build.ninja" ] || how=setup
    if [ "$how" = setup ] || ! scripts/has-options "$directory" "$@"; then
        mkdir -p "$(dirname "$directory")"
        # One that is older than an option does not know it yet.
        [ "$how" = setup ] || ninja -C "$directory" build.ninja >"$directory.log" 2>&1 || { cat "$directory.log"; return 1; }
        meson "$how" "$directory" "$@" >"$directory.log" 2>&1 || { cat "$directory.log"; return 1; }
        rm -f "$directory.log"
    fi
}

# The clang that builds and fuzzes: version 14 as Debian 12 has it, else the distribution's.
clang_command() {
    command -v clang-14 || command -v clang
}

child=

# attended COMMAND…: the command, which ends with this script.
attended() {
    local status=0
    "$@" &
    child=$!
    wait "$child" || status=$?
    child=
    return "$status"
}

interrupted() {
    [ -z "$child" ] || stop "$child"
    say "interrupted" >&2
    exit "$1"
}
trap 'interrupted 130' INT
trap 'interrupted 143' TERM

# compile DIRECTORY [TARGET…]: all that the directory builds by default, or these. What fails is printed without what
# was compiled before it.
compile() {
    local directory=$1 log=$1/compile.log
    shift
    attended ninja -C "$directory" "$@" >"$log" 2>&1 && return
    if grep -q '^FAILED' "$log"; then sed -n '/^FAILED/,$p' "$log"; else tail -n 20 "$log"; fi
    return 1
}

# build DIRECTORY [MESON OPTION…]: both, everything.
build() {
    configure "$@" && compile "$1"
}

# build_suites DIRECTORY SUITE… -- MESON OPTION…: both, but nothing that these suites do not run.
build_suites() {
    local directory=$1 suites=() targets
    shift
    while [ "$1" != -- ]; do
        suites+=("$1")
        shift
    done
    shift
    # Which targets those are is known once the directory is as new as the sources.
    configure "$directory" "$@" && compile "$directory" build.ninja || return
    mapfile -t targets < <(scripts/suite-targets "$directory" "${suites[@]}")
    [ ${#targets[@]} -gt 0 ] || { echo "$directory has no tests of ${suites[*]}"; return 1; }
    compile "$directory" "${targets[@]}"
}

# What users have, in build: demo runs it, bench measures it.
# shellcheck disable=SC2034 # of who sources this
user_options=(--buildtype=release -Dtests=false -Dwerror=false)

# stop PID…: TERM, then KILL to what is still there after 5 s. Only ever given children of the script.
stop() {
    local pid
    for pid in "$@"; do
        kill -TERM "$pid" 2>/dev/null
    done
    for pid in "$@"; do
        for _ in $(seq 50); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
}

# wait_for SECONDS PID FILE TEXT: until FILE holds a line with TEXT; fails when PID ends or time is up.
wait_for() {
    local seconds=$1 pid=$2 file=$3 text=$4
    for _ in $(seq $((seconds * 20))); do
        grep -qF -- "$text" "$file" 2>/dev/null && return 0
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

# ---- tests ----

# How the build directories of the tests, build-test and build-asan, are made; nothing else may build them otherwise.
plain_options=(-Db_ndebug=false -Dfuzz=false -Ddpdk=enabled)
test_options=(--buildtype=debugoptimized -Doptimization=2 -Ddebug=true -Dc_args= -Db_sanitize=none -Dtests=true -Dwerror=true
    "${plain_options[@]}")
asan_options=(--buildtype=custom -Doptimization=1 -Ddebug=false -Dc_args=-g1 -Dtests=true -Dwerror=true
    -Db_sanitize=address,undefined -Db_lundef=false "${plain_options[@]}")
# Those of compile-check, build-check/COMPILER-TYPE.
check_options=(-Dtests=false -Dwerror=true -Db_sanitize=none "${plain_options[@]}")
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:${UBSAN_OPTIONS:-}

passed=0 failed=0 skipped=0

# run DIRECTORY LOGNAME SUITE…: the suites, their results added to the sums. What failed is printed with the end of
# its output; all of that is in DIRECTORY/meson-logs/LOGNAME.txt. False: something failed, or there was nothing to run.
run() {
    local directory=$1 log=$2 suites=() suite result
    shift 2
    for suite in "$@"; do suites+=(--suite "$suite"); done
    rm -f "$directory/meson-logs/$log.json"
    attended meson test -C "$directory" --no-rebuild --timeout-multiplier "${timeout_multiplier:-4}" --print-errorlogs --logbase "$log" "${suites[@]}" \
        >"$directory/meson-logs/$log.out" 2>&1 || grep -v '  OK  \|^ *$' "$directory/meson-logs/$log.out" | tail -n 80
    result=$(scripts/count-results "$directory/meson-logs/$log.json")
    # shellcheck disable=SC2086 # three numbers
    set -- ${result:-0 0 0}
    say "$log: $1 passed, $2 failed, $3 skipped"
    [ "$3" -eq 0 ] || say "what was skipped, and why: 'SKIP' in $directory/meson-logs/$log.txt"
    if [ $(($1 + $2 + $3)) -eq 0 ]; then
        say "$log: nothing was run"
        set -- 0 1 0
    fi
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    [ "$2" -eq 0 ]
}

# count WORDS COMMAND…: says the words and runs the command, which is one test.
count() {
    say "$1"
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# build_or_count COMMAND DIRECTORY ARGUMENT…: a build that fails is one failed test; what depends on it is not run.
build_or_count() {
    say "building $2"
    "$@" && return 0
    failed=$((failed + 1))
    return 1
}

stages=()

# What a stage is measured by, in hundredths of a second: the wall clock, CPU time of this shell's ended children and of
# theirs, CPU time that the hypervisor gave to others while this machine wanted it. Sets $clock, $cpu and $steal.
read_clocks() {
    local fields
    clock=$((${EPOCHREALTIME/[.,]/} / 10000))
    read -r -a fields <"/proc/$$/stat"
    cpu=$((fields[15] + fields[16]))
    read -r -a fields </proc/stat
    steal=${fields[8]}
}

# stage NAME COMMAND…: the command; what it took is printed by `conclude`.
stage() {
    local name=$1 status=0 clock cpu steal load
    shift
    read_clocks
    local clock_before=$clock cpu_before=$cpu steal_before=$steal
    "$@" || status=$?
    read_clocks
    read -r load _ </proc/loadavg
    stages+=("$(printf '%-24s %4d s wall %5d s CPU %4d s stolen, load %s' "$name" $(((clock - clock_before) / 100)) \
        $(((cpu - cpu_before) / 100)) $(((steal - steal_before) / 100)) "$load")")
    return "$status"
}

# The last lines, and the exit status.
conclude() {
    [ ${#stages[@]} -eq 0 ] || printf '%s\n' "${stages[@]}"
    [ "$skipped" -eq 0 ] || say "$skipped skipped: they want permissions or devices that are not here"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
