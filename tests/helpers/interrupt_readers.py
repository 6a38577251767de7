"""Interrupt the command while it reads a FIFO, at many instants, and see how it leaves.

A process of its own, because it forks: ``python -m tests.helpers.interrupt_readers FOLDER``.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from itertools import chain

from typer.main import get_command

from defrag import cli
from defrag.cli import app
from defrag.io import files

TEXT = b"2 3 2\n0 0:1 1:2\n1 2:3\n"
ANSWER = (130, b"defrag: error: interrupted\n")
PATIENCE_SECONDS = 60
WATCHED = {files.__file__, contextlib.__file__, os.__file__}
"""Where a file is opened, read and closed."""

app.app = get_command(app.app)  # made once: what comes before the verb is not the matter here


def run_command():
    """Run the command, in a child that was forked for it."""
    sys.argv = ["defrag", "convert", "pipe", "out"]
    try:
        cli.main()
    except SystemExit as left:
        sys.stderr.flush()
        os._exit(left.code)
    finally:
        os._exit(99)


def trial(prepare, interrupt=None):
    """Run the command, ``prepare`` inside it and ``interrupt`` outside; give how it left."""
    said, speaker = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(speaker, 2)
        prepare()
        run_command()
    os.close(speaker)
    # Whoever does not answer would wait for more text for ever.
    killer = threading.Timer(PATIENCE_SECONDS, os.kill, (child, signal.SIGKILL))
    killer.start()
    with contextlib.ExitStack() as stack:
        if interrupt:
            pipe = stack.enter_context(open("pipe", "wb", buffering=0))  # noqa: PTH123 - waits
            pipe.write(TEXT)
            interrupt(child)
        _, status = os.waitpid(child, 0)
    killer.cancel()
    with open(said, "rb") as stream:  # noqa: PTH123 - a descriptor
        return os.waitstatus_to_exitcode(status), stream.read()


def by_the_clock():
    """Send the signal some microseconds after the FIFO was opened."""
    for microseconds in range(0, 1000, 20):

        def interrupt(child, wait=microseconds * 1e-6):
            end = time.perf_counter() + wait
            while time.perf_counter() < end:
                pass
            os.kill(child, signal.SIGINT)

        yield f"after {microseconds} us", trial(lambda: None, interrupt)


def interrupt_at(n):
    """Send the signal to this process at the n-th line that is run from opening to writing."""
    opener = files.open_nonblocking
    writer = files.atomic_writer.__wrapped__.__code__
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if frame.f_code is writer:  # what is read has been read
            sys.settrace(None)
            return None
        if seen < n and frame.f_code.co_filename in WATCHED:
            seen += event in {"line", "return"}
        if seen == n:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGINT)
        return trace

    def open_and_trace(path, flags):
        descriptor = opener(path, flags)
        with open(path, "wb") as pipe:  # noqa: PTH123 - as the others
            pipe.write(TEXT)
        frame = sys._getframe()
        while (frame := frame.f_back) and frame.f_code.co_name != "convert":
            frame.f_trace = trace
        sys.settrace(trace)
        return descriptor

    files.open_nonblocking = open_and_trace


def line_by_line():
    """Send the signal at every line that is run, from the opening on."""
    for n in range(1, 10_000):
        left = trial(lambda n=n: interrupt_at(n))
        if left == (0, b""):  # there are fewer lines
            os.remove("out")  # noqa: PTH107 - in the folder it stands in
            return
        yield f"at line {n}", left


def between_look_and_call():
    """Let another thread receive the signal, which ends no system call of the main thread.

    So it is with a signal that comes after Python's last look and before the call.
    """

    def prepare():
        threading.Thread(target=time.sleep, args=(PATIENCE_SECONDS,), daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    def interrupt(child):
        time.sleep(0.3)  # until it waits for more text; any other instant would do no harm
        os.kill(child, signal.SIGINT)

    yield "while it waits", trial(prepare, interrupt)


def main(folder):
    os.chdir(folder)
    with contextlib.suppress(SystemExit):
        app.app(["convert", "nothing", "out"])  # some modules are read by the first command only
    os.mkfifo("pipe")
    n_trials = 0
    for instant, left in chain(by_the_clock(), line_by_line(), between_look_and_call()):
        n_trials += 1
        assert left == ANSWER, (instant, left)
        assert os.listdir() == ["pipe"], instant  # noqa: PTH208 - the folder it stands in
    sys.stdout.write(f"{n_trials} interrupts")


if __name__ == "__main__":
    main(sys.argv[1])
