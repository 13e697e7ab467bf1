"""Tools that make system calls fail, and files that change under a reader."""
import contextlib
import os
import re
import subprocess
import tempfile

from server import IS_ROOT, need, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))


@contextlib.contextmanager
def strace(pid, *injections, threads=True, paths=()):
    """System calls of a process (and its threads) that go as `injections` say: `pread64:error=EIO:when=3`; of all files
    or of those named."""
    calls = sorted({injection.split(":")[0] for name in injections for injection in name.split(",")})
    command = [need("strace"), "-qq", *(["-f"] if threads else []), "-p", str(pid), "-e", "trace=" + ",".join(calls)]
    for path in paths:
        command += ["-P", path]
    for injection in injections:
        command += ["-e", "inject=" + injection]
    with tempfile.TemporaryFile() as output:
        tracer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output)
        try:
            assert wait_until(lambda: is_traced(pid, tracer.pid), 10), "strace does not attach: %s" % text_of(output)
            yield lambda: text_of(output)
        finally:
            tracer.terminate()
            tracer.wait()


def limit(pid, resource):
    """Sets a soft limit of a process of the server's: `as=1000000` or `nofile=30`."""
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if IS_ROOT else []
    subprocess.run([*user, need("prlimit"), "--pid", str(pid), "--%s:" % resource], check=True)


def text_of(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def is_traced(pid, tracer):
    """Are all threads of the process traced?"""
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/status" % (pid, thread)) as file:
                if re.search(r"^TracerPid:\t(\d+)", file.read(), re.MULTILINE).group(1) != str(tracer):
                    return False
        return True
    except OSError:
        return False


def shim(folder, name):
    """The shared library made of shims/NAME.c, which the server's user can read."""
    library = os.path.join(folder, name + ".so")
    if not os.path.exists(library):
        source = os.path.join(HERE, "shims", name + ".c")
        subprocess.run([need("cc"), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        os.chmod(library, 0o755)
    return library
