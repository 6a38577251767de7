"""Python processes that begin with the package imported, for tests that start many of them.

Importing numpy, scipy, scikit-learn and typer takes more than a second of the processor, which is
most of what a short command costs. A server imports them once and forks for each process. The
program that ``program`` writes takes the place of ``sys.executable``: it passes its arguments,
folder, environment, and standard streams to the server, passes on signals, and ends as the forked
process does. Whatever it does not know, it leaves to Python itself.

Tests of what happens while an interpreter starts, or of processes as the children of their parent,
start Python itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helpers.processes import environment

STREAMS = (0, 1, 2)
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

LAUNCHER = """#!{python} -IS
import json, os, select, signal, socket, sys
option, *arguments = sys.argv[1:] or [""]
try:
    streams_are_open = all(os.fstat(stream) for stream in {streams})
except OSError:
    streams_are_open = False
if option not in ("-c", "-m") or not arguments or not streams_are_open:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
signal.pthread_sigmask(signal.SIG_BLOCK, {forwarded})
passed_on = [one for one in {forwarded} if signal.getsignal(one) != signal.SIG_IGN]
request = {{
    "program": sys.argv[0], "option": option, "arguments": arguments, "folder": os.getcwd(),
    "environment": dict(os.environ), "ignored": sorted({{*{forwarded}}} - {{*passed_on}}),
}}
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [b"s"], {streams})
server.sendall(json.dumps(request).encode() + b"\\n")
answers = server.makefile()
process = int(answers.readline())
open("/proc/self/comm", "w").write(str(process))
# A signal that comes just before a blocking call does not interrupt it, but is written to the pipe.
woken, wake = os.pipe()
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
for number in passed_on:
    signal.signal(number, lambda number, _: None)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {forwarded})
while server not in select.select([server, woken], [], [])[0]:
    for number in os.read(woken, 64):
        os.kill(process, number)
code = int(answers.readline())
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@contextlib.contextmanager
def warm_program():
    """Start a server; give the path of a program that does what ``sys.executable`` does."""
    with tempfile.TemporaryDirectory(prefix="warm") as folder:
        address, launcher = str(Path(folder) / "socket"), Path(folder) / "python"
        forwarded = tuple(map(int, FORWARDED))
        launcher.write_text(
            LAUNCHER.format(
                python=sys.executable, streams=STREAMS, forwarded=forwarded, address=address
            )
        )
        launcher.chmod(0o700)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen(64)
            server = subprocess.Popen(
                [sys.executable, "-m", __name__, str(listener.fileno())],
                stdin=subprocess.PIPE,  # held open: the server ends when this process does
                pass_fds=[listener.fileno()],
                # A server of one thread, as a fork loses all others.
                env=environment(OPENBLAS_NUM_THREADS="1"),
                start_new_session=True,
            )
        with server:
            yield str(launcher)


def forked_process(launched):
    """Return the number of the forked process, after which its program has named itself."""
    return int(Path(f"/proc/{launched}/comm").read_text(encoding="ascii"))


class Server:
    """Forks a process for each connection, and tells what has become of it."""

    def __init__(self, listener):
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ, sys.exit)
        self.selector.register(listener, selectors.EVENT_READ, self.start)
        self.listener = listener
        self.request = None

    def run(self):
        """Serve until standard input ends; return in forked processes, with their requests."""
        while self.request is None:
            for key, _ in self.selector.select():
                key.data()
                if self.request is not None:
                    break
        self.selector.close()
        self.listener.close()
        return self.request

    def start(self):
        connection = self.listener.accept()[0]
        streams, line = [], b""
        with contextlib.suppress(ConnectionResetError):
            _, streams, _, _ = socket.recv_fds(connection, 1, len(STREAMS))
            with connection.makefile("rb") as file:
                line = file.readline()
        if len(streams) < len(STREAMS) or not line.endswith(b"\n"):  # the program was killed
            for stream in streams:
                os.close(stream)
            connection.close()
            return
        process = os.fork()
        if not process:
            connection.close()
            self.request = json.loads(line), streams
            return
        for stream in streams:
            os.close(stream)
        with contextlib.suppress(BrokenPipeError):  # killed by now, which is seen below
            connection.sendall(b"%d\n" % process)
        ended = os.pidfd_open(process)
        self.selector.register(
            ended, selectors.EVENT_READ, lambda: self.finish(process, ended, connection)
        )
        # Only its end can come: the program was killed.
        self.selector.register(
            connection, selectors.EVENT_READ, lambda: os.kill(process, signal.SIGKILL)
        )

    def finish(self, process, ended, connection):
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        self.selector.unregister(ended)
        self.selector.unregister(connection)
        os.close(ended)
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(b"%d\n" % code)
        connection.close()


def become(request, streams):
    """Make this process what Python would be with these arguments, and run the program."""
    for number in FORWARDED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    for number, stream in zip(STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    open_streams()
    sys.executable = request["program"]
    what, *arguments = request["arguments"]
    if request["option"] == "-m":
        sys.path[0] = request["folder"]
        sys.argv = [what, *arguments]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = ""
        sys.argv = ["-c", *arguments]
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - from a test


def open_streams():
    """Open the standard streams as Python does when it starts."""
    buffering = 0 if os.environ.get("PYTHONUNBUFFERED") else -1
    for number, (name, mode) in enumerate((("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb"))):
        before = getattr(sys, name)
        file = open(number, mode, -1 if name == "stdin" else buffering, closefd=False)  # noqa: SIM115 - for good
        text = io.TextIOWrapper(
            file,
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=name == "stderr" or os.isatty(number),
            write_through=not buffering,
        )
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def main():
    """Import what processes need, and serve."""
    from defrag.cli.app import VERBS, import_verb  # noqa: PLC0415 - in the server only

    for verb in VERBS:
        import_verb(verb)
    for module in ("defrag.lab.runs", "defrag.lab", "defrag.serving.app", "uvicorn"):
        with contextlib.suppress(ImportError):  # of an extra
            importlib.import_module(module)
    gc.collect()
    gc.freeze()  # so that forked processes need not copy what is here
    become(*Server(socket.socket(fileno=int(sys.argv[1]))).run())


if __name__ == "__main__":
    main()
