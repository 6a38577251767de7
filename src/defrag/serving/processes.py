"""Forked processes that receive signals synchronously."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RETIRE", "SIGNALS", "fork"]

RETIRE = signal.SIGUSR1
"""Signal to exit after the clients have moved to other processes."""

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, RETIRE}
"""Signals that parents block and receive by ``sigtimedwait``, without handlers."""


def fork(work: Callable[[], None]) -> int:
    """Run a function in a forked process, and return its id.

    The process has the default handlers of SIGTERM and RETIRE. It ignores SIGINT and SIGHUP,
    which a terminal sends to all processes: the parent handles them.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGCHLD, RETIRE):
            signal.signal(number, signal.SIG_DFL)
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - the forked process ends here
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
    return 0
