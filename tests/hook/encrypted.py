"""Clients whose connection is encrypted: there, nobody can look at what comes next without taking it."""

import os
import shutil
import socket
import subprocess

from common import Place, compare
import clients
import psqls
import sql


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Encrypted(Place):
    """A place that is come to by TLS."""

    def conninfo(self, user=None, database="postgres"):
        return super().conninfo(user, database) + " sslmode=require"


def run(checks, libraries):
    checks.prefix = "encrypted: "
    if shutil.which("openssl") is None or not checks.wants(""):
        print("openssl is not there; encrypted connections are not tested")
        return
    key, certificate = (os.path.join(libraries.server.data, name) for name in ("server.key", "server.crt"))
    subprocess.run(
        ["openssl", "req", "-new", "-x509", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    os.chmod(key, 0o600)
    owner = os.stat(libraries.server.data)
    for path in (key, certificate):
        os.chown(path, owner.st_uid, owner.st_gid)
    port = free_port()
    libraries.server.restart(["ssl=on", "listen_addresses=127.0.0.1", "port=%d" % port])
    place = Encrypted("127.0.0.1", str(port), "postgres", folder=libraries.folder)
    session = place.session(True)
    checks.equal("the session", session.value("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"), "t")
    session.close()
    files = place.usual_files()
    for name, script, taken in sql.scripts(files):
        if "client" in name or name == "a file":
            compare(checks, place, name, script, taken)
    clients.run(checks, place)
    os.environ["PGSSLMODE"] = "require"
    psqls.run(checks, place)
    del os.environ["PGSSLMODE"]
