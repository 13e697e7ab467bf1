#!/usr/bin/env bash
# A throwaway PostgreSQL server for tests, the demo and the benchmarks.
#
#   server.sh start PG_CONFIG DIR [NAME=VALUE]...   DIR must not exist yet, or be empty; settings go to postgresql.conf
#   server.sh stop DIR                              stops the server and removes DIR
#
# The server runs from a copy of the PostgreSQL that PG_CONFIG describes (PostgreSQL finds its files relative to its
# executable), so an extension installed by DIR/bin/pg_config is seen by this server alone, no root is needed for it,
# and the machine's own PostgreSQL stays as it is. It listens on the socket DIR/.s.PGSQL.5432 and nowhere else.
# Everything it writes is in DIR: bin and lib (the copy's programs and libraries), data, log.
set -euo pipefail
umask 022

# PostgreSQL refuses to run as root. The environment is a bare one, because a server started with RUST_BACKTRACE set
# puts a Rust backtrace into every error, and settings such as TZ or LC_ALL reach what it prints.
as_server() {
    # A PostgreSQL that is not the machine's own has its own libpq, beside its extensions.
    local run=(env -i "PATH=$PATH" "LD_LIBRARY_PATH=$dir/lib" "HOME=$dir" LANG=C.UTF-8 TZ=UTC "$@")
    if [ "$(id -u)" = 0 ]; then
        run=(setpriv --reuid=postgres --regid=postgres --init-groups "${run[@]}")
    fi
    (cd "$dir" && "${run[@]}")
}

# Copies the programs, libraries and shared files to $dir/pg, each at its place relative to the others.
copy_postgres() {
    local config=$1 bin lib share root part
    bin=$("$config" --bindir) lib=$("$config" --pkglibdir) share=$("$config" --sharedir)
    root=$bin
    until [[ $lib/ == "$root"/* && $share/ == "$root"/* ]]; do root=${root%/*}; done
    for part in "$bin" "$lib" "$share"; do
        mkdir -p "$dir/pg${part#"$root"}"
        cp -rL "$part/." "$dir/pg${part#"$root"}"
    done
    ln -s "$dir/pg${bin#"$root"}" "$dir/bin"
    ln -s "$dir/pg${lib#"$root"}" "$dir/lib"
}

start() {
    local config=$1
    shift
    mkdir -p "$dir"
    copy_postgres "$config"
    chmod 755 "$dir"
    [ "$(id -u)" != 0 ] || chown postgres: "$dir"
    as_server "$dir/bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >"$dir/initdb.log"
    {
        # Nothing here has to survive a power cut, and some containers have a small /dev/shm.
        printf "%s\n" "listen_addresses = ''" "unix_socket_directories = '$dir'" "fsync = off"
        printf "%s\n" "$@"
    } >>"$dir/data/postgresql.conf"
    if ! as_server "$dir/bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 start >/dev/null; then
        cat "$dir/log" >&2
        return 1
    fi
}

stop() {
    local pid
    if [ -f "$dir/data/postmaster.pid" ]; then
        pid=$(head -n 1 "$dir/data/postmaster.pid")
        as_server "$dir/bin/pg_ctl" -D "$dir/data" -w -t 30 -m fast stop >/dev/null ||
            as_server kill -QUIT "$pid" || true
    fi
    rm -rf "$dir"
}

usage() {
    sed -n 's/^#   /usage: /p' "$0" >&2
    exit 2
}

case "${1-}" in
start) [ $# -ge 3 ] || usage; dir=$3; start "$2" "${@:4}" ;;
stop) [ $# = 2 ] || usage; dir=$2; stop ;;
*) usage ;;
esac
