"""Python processes that begin with the package imported, for tests that start many of them.

Importing numpy, scipy, scikit-learn and typer takes more than a second of the processor, which is
most of what a short command costs: `make test` would take two minutes longer. A server imports them
once and forks for each process. The program that `warm_program` writes takes the place of
``sys.executable``: it passes its arguments, folder, environment and standard streams to the server,
passes on signals, and ends as the forked process does.

Tests of what happens while an interpreter starts, or of processes as the children of their parent,
start Python itself.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import select
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
import json, os, signal, socket, sys
option, *arguments = sys.argv[1:] or [""]
try:
    streams_are_open = all(os.fstat(stream) for stream in {streams})
except OSError:
    streams_are_open = False
if option not in ("-c", "-m") or not arguments or not streams_are_open:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
signal.pthread_sigmask(signal.SIG_BLOCK, {forwarded})
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [b"s"], {streams})
request = (sys.argv[0], option, arguments, os.getcwd(), dict(os.environ))
server.sendall(json.dumps(request).encode() + b"\\n")
# A signal that comes just before a blocking call does not interrupt it.
server.settimeout(0.1)
def answer():
    line = b""
    while not line.endswith(b"\\n"):
        try:
            line += server.recv(1) or sys.exit("the server of processes has ended")
        except TimeoutError:
            pass
    return int(line)
process = answer()
open("/proc/self/comm", "w").write(str(process))
for number in {forwarded}:
    signal.signal(number, lambda number, _: os.kill(process, number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {forwarded})
code = answer()
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


def next_request(listener):
    """Fork for each connection until standard input ends; return in the processes to run."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forked processes leave nothing behind
    while True:
        if 0 in select.select([0, listener], [], [])[0]:
            sys.exit()
        connection = listener.accept()[0]
        if os.fork():
            connection.close()
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listener.close()
        try:
            streams = socket.recv_fds(connection, 1, len(STREAMS))[1]
            with connection.makefile("rb") as file:
                request = json.loads(file.readline())
        except (OSError, ValueError):  # the program was killed
            os._exit(1)
        process = os.fork()
        if not process:
            connection.close()
            return request, streams
        for stream in streams:
            os.close(stream)
        watch(process, connection)


def watch(process, connection):
    """Tell the program how its process ends; kill the process if the program is killed."""
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(b"%d\n" % process)
        ended = os.pidfd_open(process)
        if ended not in select.select([ended, connection], [], [])[0]:
            os.kill(process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.sendall(b"%d\n" % code)
    os._exit(0)


def become(request, streams):
    """Make this process what Python would be with these arguments, and run the program."""
    program, option, (what, *arguments), folder, variables = request
    for number in FORWARDED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in zip(STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    open_streams()
    sys.executable = program
    if option == "-m":
        sys.path[0] = folder
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
    become(*next_request(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
