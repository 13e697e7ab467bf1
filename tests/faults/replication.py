"""What was loaded is there, all or nothing, after crashes and on other servers. Rows 52 and 53."""
import os
import random
import shutil
import signal
import subprocess
import time

import pq
from harness import LOAD, RECORDS, row
from server import IS_ROOT, Server, own_namespace, wait_until


def amcheck(t, server=None):
    """Nothing is wrong in tables and indexes, and each row is in each index."""
    server = server or t.server
    program = os.path.join(server.dir, "bin", "pg_amcheck")
    if not os.path.exists(program):
        return
    command = [program, "-h", server.dir, "-U", "postgres", "--install-missing", "--heapallindexed", "postgres"]
    result = subprocess.run(command, capture_output=True, text=True, env={}, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@row("52", "the server dies in the middle of a load, and recovers to no row or all", operations=(LOAD,))
def crashes(t):
    t.restarts = True
    t.control.must("CREATE INDEX t_id ON t (id); CREATE INDEX t_name ON t (name)")
    for turn in range(100 if t.is_full else 1):
        session = t.open()
        session.start(t.sql())
        time.sleep(random.random() * 0.8)
        if turn % 2 == 0:
            os.kill(t.server.pid, signal.SIGKILL)
            pids = [other.pid for other in t.sessions]
            gone = lambda: not any(os.path.exists("/proc/%d" % pid) for pid in pids) and not t.server.workers()
            if not wait_until(gone, 5):
                for pid in pids:
                    if os.path.exists("/proc/%d" % pid):
                        os.kill(pid, signal.SIGKILL)
            time.sleep(0.3)
        else:
            t.server.stop("immediate")
        session.wait()
        t.server.start()
        t.server.wait_for_recovery()
        for other in t.sessions:
            other.close()
        t.sessions.clear()
        t.control = t.session = t.open()
        rows = int(t.control.value("SELECT count(*) FROM t"))
        assert rows in (0, RECORDS), "%d rows after the crash" % rows
        assert int(t.control.value("SET enable_seqscan = off; SELECT count(*) FROM t WHERE id > 0")) == rows
        amcheck(t)
        t.control.must("TRUNCATE t")
    t.control.must("DROP INDEX t_id, t_name")


@row("53", "logical decoding sees every row that was loaded, and none that was rolled back", operations=(LOAD,))
def logical(t):
    t.session.must("CREATE PUBLICATION p FOR TABLE t")
    t.session.must("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
    t.session.must("BEGIN")
    t.session.must(t.sql())
    t.session.must("ROLLBACK")
    t.session.must(t.sql())
    peek = "SELECT count(*), count(*) FILTER (WHERE get_byte(data, 0) = ascii('I')) FROM" \
           " pg_logical_slot_get_binary_changes('s', NULL, NULL, 'proto_version', '1', 'publication_names', 'p')"
    _, inserts = t.session.must(peek)["rows"][0]
    t.session.must("SELECT pg_drop_replication_slot('s')")
    t.session.must("DROP PUBLICATION p")
    assert inserts == str(RECORDS), "%s rows were decoded" % inserts


@row("53", "a subscriber and a standby have exactly the rows that were loaded", operations=(LOAD,), quick=())
def replicas(t):
    standby = Standby(t)
    subscriber = Server(os.environ["FASTCSV_PG_CONFIG"])
    try:
        there = subscriber.connect()
        there.must("CREATE TABLE t (id int, name text, x float8)")
        t.session.must("CREATE PUBLICATION p FOR TABLE t")
        there.must("CREATE SUBSCRIPTION s CONNECTION 'host=%s user=postgres dbname=postgres' PUBLICATION p" % t.server.dir)
        t.start_at_gate()
        t.cancel()
        t.session.wait()
        t.open_gate()
        t.expect_rows(t.session.exec(t.sql()))
        expected = t.session.must("SELECT count(*), sum(hashtext(s::text)) FROM t s")["rows"]
        same = lambda conn: conn.must("SELECT count(*), sum(hashtext(s::text)) FROM t s")["rows"] == expected
        assert wait_until(lambda: same(there), 30, 0.2), "the subscriber has other rows"
        here = standby.connect()
        assert wait_until(lambda: same(here), 30, 0.2), "the standby has other rows"
        here.must("SET fastcsv.min_parallel_size = 0")
        outcome = here.exec("SELECT fastcsv_copy('t', '%s')" % t.file)
        t.expect_error(outcome, "25006")
        assert here.must("SELECT count(*) FROM f OFFSET 0")["rows"] == [[str(RECORDS)]]
        assert here.must("SELECT path FROM fastcsv_last_run()")["rows"] == [["parallel"]]
        there.must("DROP SUBSCRIPTION s")
    finally:
        t.session.exec("DROP PUBLICATION p")
        subscriber.remove()
        standby.remove()


class Standby:
    """A physical standby of a test's server, in a folder beside it."""

    def __init__(self, t):
        self.primary = t.server
        self.dir = os.path.join(t.server.dir, "standby")
        self.data = os.path.join(self.dir, "data")
        os.mkdir(self.dir)
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if IS_ROOT else []
        if user:
            shutil.chown(self.dir, "postgres", "postgres")
        self.user = user
        self.run("pg_basebackup", "-h", self.primary.dir, "-U", "postgres", "-D", self.data, "-R", "-c", "fast")
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a") as file:
            file.write("unix_socket_directories = '%s'\n" % self.dir)
        self.run("pg_ctl", "-D", self.data, "-l", os.path.join(self.dir, "log"), "-w", "start", outer=own_namespace())

    def run(self, program, *arguments, outer=(), check=True):
        command = [*outer, *self.user, "env", "-i", "LANG=C.UTF-8", os.path.join(self.primary.dir, "bin", program), *arguments]
        subprocess.run(command, check=check, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def connect(self):
        return pq.Conn("host=%s port=5432 user=postgres dbname=postgres" % self.dir)

    def remove(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop", check=False)
        shutil.rmtree(self.dir, ignore_errors=True)
