# Shell helpers of the build and test commands: sourced, never run.
# shellcheck shell=bash
set -euo pipefail
umask 022
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
target=${CARGO_TARGET_DIR:-$root/target}
# The PostgreSQL that is built and tested with unless PG_CONFIG says otherwise. Exported for plain cargo commands too.
PG_CONFIG=${PG_CONFIG:-/usr/lib/postgresql/15/bin/pg_config}
export PG_CONFIG PGRX_PG_CONFIG_PATH=$PG_CONFIG
export PYTHONDONTWRITEBYTECODE=1

if [ -t 1 ]; then bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'; else bold='' red='' plain=''; fi

heading() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
say() { printf '%s\n' "$*"; }
die() {
    printf '%s%s%s\n' "$red" "$*" "$plain" >&2
    exit 1
}

# The major version of the PostgreSQL that a pg_config belongs to: 15, 16, ...
pg_major() { "$1" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/'; }

# A server for the rest of the script, stopped and removed when the script ends, however it ends.
# Sets $server to its folder: the socket is there, and bin/ with its programs.
start_server() {
    server=$(mktemp -d "${TMPDIR:-/tmp}/fastcsv.XXXXXX")
    trap 'tests/lib/server.sh stop "$server"' EXIT
    trap 'exit 130' INT TERM
    tests/lib/server.sh start "$1" "$server" "${@:2}"
}

# Results: one line "passed failed name" for each thing that was run, in the file $tally.
start_tally() {
    tally=$(mktemp)
    export tally
}
count() { printf '%s %s %s\n' "$@" >>"$tally"; }

# check NAME COMMAND...: runs a command that counts as one test, and hands on its success or failure.
check() {
    heading "$1"
    local start=$SECONDS
    if "${@:2}"; then
        say "ok ($((SECONDS - start)) s)"
        count 1 0 "$1"
    else
        say "${red}failed$plain: ${*:2}"
        count 0 1 "$1"
        return 1
    fi
}

# counted NAME COMMAND...: runs a command whose last line of output is "N passed, N failed". A command that ends without
# that line, or whose exit status says failure where its count does not, counts as one failure.
counted() {
    local log status=0 passed failed
    log=$(mktemp)
    heading "$1"
    "${@:2}" 2>&1 | tee "$log" || status=$?
    if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]}
    else
        say "$1 printed no count (exit status $status)"
        passed=0 failed=1
    fi
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
    count "$passed" "$failed" "$1"
    rm -f "$log"
}

# Builds the extension for a pg_config and runs everything that needs a server.
build_and_run() {
    local label
    label="PostgreSQL $(pg_major "$1")"
    check "$label: build" .ci/build "$1" || return 0
    .ci/suite "$1" || count 0 1 "$label: the server tests stopped before their end"
}

# Prints the results and their sum as the last line; fails if anything failed or nothing ran.
finish_tally() {
    local status=0
    heading "Results"
    awk '{ p = $1; f = $2; $1 = $2 = ""; printf "%6d passed %4d failed %s\n", p, f, $0; passed += p; failed += f }
        END { printf "\n%d passed, %d failed\n", passed, failed; exit failed > 0 || passed == 0 }' "$tally" || status=$?
    rm -f "$tally"
    return "$status"
}
