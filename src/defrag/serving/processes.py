"""Forked processes that take signals one at a time."""

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
"""Ends processes whose clients have others to go to."""

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, RETIRE}
"""What parents block, and wait for by ``sigtimedwait``, so that no handler interrupts them."""


def fork(work: Callable[[], None]) -> int:
    """Run a function in a forked process, and return its id.

    The process sees SIGTERM and RETIRE as by default, and neither SIGINT nor SIGHUP, which a
    terminal sends to all processes: the parent decides what they mean.
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
    except BaseException:  # noqa: BLE001 - of this process, which ends here
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
    return 0
