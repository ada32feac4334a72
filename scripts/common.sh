# What the scripts of this folder share; sourced, never run. Sets $root and changes into it.
# Plain bash of Debian 12; no script asks a question.

set -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

say() {
    printf '%s\n' "== $*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# build DIRECTORY [MESON OPTION…]: sets the directory up when it is new, then compiles it.
build() {
    local directory=$1
    shift
    if [ ! -f "$directory/build.ninja" ]; then
        meson setup "$directory" "$@" >"$directory.log" 2>&1 || { cat "$directory.log"; return 1; }
        rm -f "$directory.log"
    fi
    ninja -C "$directory" >"$directory/compile.log" 2>&1 || { cat "$directory/compile.log"; return 1; }
}

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
