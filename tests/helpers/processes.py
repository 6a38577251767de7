"""Python processes that see the package ``tests``, and forks in which a crash ends no test."""

import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

SANITIZED = "ASAN_OPTIONS" in os.environ
ROOT = Path(__file__).resolve().parents[2]


def environment(**more):
    """Return the environment of a child that can import ``tests``."""
    folders = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), **more}


def run_python(*arguments, timeout=300, cwd=None, **variables):
    """Run Python as a process of its own, on one thread, and return its standard output."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment(**{"OPENBLAS_NUM_THREADS": "1", **variables}), cwd=cwd,
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_in_child(function, *arguments, seconds=600, gigabytes=2.0):
    """Run a function in a forked process; raise an AssertionError if it fails there.

    The function takes ``step``, which it calls with a word before whatever may crash, and its
    arguments. The child may take so much memory beyond what the parent has.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads that are idle
        child = os.fork()
    if not child:
        os.close(reader)
        _run(function, arguments, writer, gigabytes)
    os.close(writer)
    said, status = _wait(child, reader, seconds)
    os.close(reader)
    steps, _, report = said.partition("\0")
    last = steps.rstrip("\n").rpartition("\n")[2]
    assert status is not None, f"still running after {seconds} s, at {last}"
    code = os.waitstatus_to_exitcode(status)
    assert code >= 0, f"died of {signal.Signals(-code).name} at {last}"
    assert code == 0, f"at {last}:\n{report}"
    return steps.splitlines()


def _run(function, arguments, writer, gigabytes):
    """Run the function, and leave without the handlers of the parent."""
    code = 1
    try:
        if not SANITIZED:  # whose shadow is larger than any limit
            limit_memory(int(gigabytes * 2**30))
        function(lambda word: os.write(writer, f"{word}\n".encode()), *arguments)
        code = 0
    except BaseException:  # noqa: BLE001 - the parent raises it again
        os.write(writer, b"\0" + traceback.format_exc()[-20_000:].encode())
    finally:
        os._exit(code)


def limit_memory(n_bytes):
    """Let this process take so much memory beyond what it has."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = size + n_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _wait(child, reader, seconds):
    """Read until the child ends; kill it when the time is over."""
    said, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([reader], [], [], left)[0]:
            block = os.read(reader, 65_536)
            if not block:
                return said.decode(errors="replace"), os.waitpid(child, 0)[1]
            said += block
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return said.decode(errors="replace"), None
