"""Servers of the fault tests' own: started, stopped, restarted with other settings or another environment, looked into.

As root a server lives in a mount namespace of its own with a small /dev/shm, so that shared memory can be watched, filled
up and seen from outside without the machine's other servers in the way.
"""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import tempfile
import time

import pq

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "lib", "server.sh")
IS_ROOT = os.geteuid() == 0
OWN_SHM = IS_ROOT and shutil.which("unshare") is not None
# What a server may hold in /dev/shm: a pool of the default size for a few scans at once.
MEGABYTE = 1 << 20
SHM_SIZE = "512m"


class Unavailable(Exception):
    """A tool that a row needs is missing here, so the row is not run."""


def need(tool):
    """The path of a program, or Unavailable. A full run installs it where it can."""
    packages = {"strace": "strace", "prlimit": "util-linux", "unshare": "util-linux", "nsenter": "util-linux",
                "cc": "gcc", "mkfifo": "coreutils"}
    found = shutil.which(tool)
    if not found and os.environ.get("FULL") and IS_ROOT and shutil.which("apt-get"):
        subprocess.run(["apt-get", "-y", "install", packages.get(tool, tool)], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
        found = shutil.which(tool)
    if not found:
        raise Unavailable("%s is missing" % tool)
    return found


def need_root():
    if not IS_ROOT:
        raise Unavailable("only root can do it")


def wait_until(condition, seconds, step=0.01):
    """Whether the condition has come true within so many seconds; a value that is true is returned."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > end:
            return found
        time.sleep(step)


def own_namespace():
    """What to put before a command that starts a server; nothing where that cannot be done. It goes with its last process."""
    if not OWN_SHM:
        return []
    mount = "mount -t tmpfs -o mode=1777,size=%s tmpfs /dev/shm && exec \"$@\"" % SHM_SIZE
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", mount, "sh"]


def children_of(parent):
    """The processes that a process has started, by pid, each with what it says of itself."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rpartition(")")[2].split()
            pid = int(path.split("/")[2])
            if int(fields[1]) == parent and fields[0] != "Z":
                with open("/proc/%d/cmdline" % pid, "rb") as file:
                    found[pid] = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except (OSError, ValueError):
            pass  # it has ended meanwhile
    return found


class Server:
    """One server. `settings` go to postgresql.conf."""

    def __init__(self, config, settings=(), parent=None):
        # The server's user must be able to come here.
        self.dir = tempfile.mkdtemp(prefix="fastcsv-faults.", dir=parent or os.environ.get("TMPDIR", "/tmp"))
        os.chmod(self.dir, 0o755)
        env = {name: value for name, value in os.environ.items() if name != "RUST_BACKTRACE"}
        subprocess.run([*own_namespace(), SCRIPT, "start", config, self.dir, *settings], env=env, check=True,
                       stdin=subprocess.DEVNULL)
        self.data = os.path.join(self.dir, "data")
        self.log = os.path.join(self.dir, "log")

    # Processes

    @property
    def pid(self):
        """The postmaster's process."""
        with open(os.path.join(self.data, "postmaster.pid")) as file:
            return int(file.readline())

    def children(self):
        """The server's processes by pid, each with what it says of itself."""
        return children_of(self.pid)

    def workers(self, backend=None):
        """The pids of fastcsv's workers, or of one session's."""
        wanted = "fastcsv worker for PID %s" % (backend or "")
        return [pid for pid, title in self.children().items() if wanted in title]

    def worker_of(self, backend):
        """The session's worker, once it is there."""
        found = wait_until(lambda: self.workers(backend), 10)
        assert found, "no worker has started for PID %s" % backend
        return found[0]

    # What it has and says

    def connect_string(self, database="postgres", user="postgres", options=""):
        return "host=%s port=5432 user=%s dbname=%s %s" % (self.dir, user, database, options)

    def connect(self, **connection):
        return pq.Conn(self.connect_string(**connection))

    def answers(self):
        try:
            self.connect().close()
            return True
        except RuntimeError:
            return False

    def shared_memory(self):
        """The names in the server's own /dev/shm; nothing where it has none of its own. The areas for statistics and the
        like, which PostgreSQL makes when it needs them and keeps, have whole megabytes; ours never have."""
        if not OWN_SHM:
            return []
        found = []
        for entry in os.scandir("/proc/%d/root/dev/shm" % self.pid):
            with contextlib.suppress(FileNotFoundError):
                if entry.stat().st_size % MEGABYTE:
                    found.append(entry.name)
        return sorted(found)

    def temporary_files(self):
        places = ["base/pgsql_tmp/*", "pg_tblspc/*/*/pgsql_tmp/*", "pg_dynshmem/mmap.*"]
        found = [path for place in places for path in glob.glob(os.path.join(self.data, place))]
        return sorted(path for path in found if not path.endswith("mmap.state"))

    def log_size(self):
        return os.path.getsize(self.log)

    def log_since(self, size):
        with open(self.log, "rb") as file:
            file.seek(size)
            return file.read().decode(errors="replace")

    # Stopping and starting

    def pg_ctl(self, *arguments, outer=(), wrapper=(), env=None, check=True):
        """pg_ctl as the server's user; `outer` comes before that user is taken, `wrapper` behind it."""
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if IS_ROOT else []
        clean = ["env", "-i", "PATH=" + os.environ["PATH"], "HOME=" + self.dir, "LANG=C.UTF-8", "TZ=UTC"]
        clean += ["%s=%s" % item for item in (env or {}).items()]
        command = [os.path.join(self.dir, "bin", "pg_ctl"), "-D", self.data, "-l", self.log, "-w", "-t", "60", *arguments]
        result = subprocess.run([*outer, *user, *wrapper, *clean, *command], cwd=self.dir, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, check=False)
        if check and result.returncode != 0:
            raise RuntimeError("pg_ctl %s: %s%s" % (arguments[0], result.stdout, result.stderr))

    def start(self, settings=(), wrapper=(), env=None):
        """Starts the server again, with further settings for this run only, under a wrapper and with an environment."""
        options = " ".join("-c %s=%s" % tuple(setting.split("=", 1)) for setting in settings)
        self.pg_ctl("start", *(["-o", options] if options else []), outer=own_namespace(), wrapper=wrapper, env=env)

    def stop(self, mode="fast", check=True):
        self.pg_ctl("stop", "-m", mode, check=check)

    def restart(self, settings=(), wrapper=(), env=None):
        self.stop()
        self.start(settings, wrapper, env)

    def wait_for_recovery(self, seconds=30):
        assert wait_until(self.answers, seconds, 0.05), "the server does not come back"

    def in_namespace(self, command):
        """A shell command in the server's mount namespace."""
        need_root()
        subprocess.run([need("nsenter"), "-t", str(self.pid), "-m", "sh", "-c", command], check=True,
                       stdin=subprocess.DEVNULL)

    def remove(self):
        subprocess.run([SCRIPT, "stop", self.dir], check=False, stdin=subprocess.DEVNULL)


def crashes(log):
    """What the log says of processes that ended abnormally."""
    return re.findall(r".*(?:PID [0-9]+\) was terminated by signal|PANIC: |terminating any other active server processes).*", log)
