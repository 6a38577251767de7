"""Scenarios that go wrong in every way that ``tests.fuzz.torture`` counts."""

import os
import signal
import time

from tests.fuzz.torture import Scenario, Tried


def at_three(harm):
    """Return a scenario that tries ten inputs a batch, and does harm in its fourth."""

    def run(batch, _folder):
        if batch == 3:
            harm()
        return Tried(10, 4, "odd" if batch % 2 else "even")

    return Scenario(run, 100)


def answer_wrongly():
    raise AssertionError("two and two is five")


SCENARIOS = {
    "good": at_three(lambda: None),
    "crash": at_three(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "hang": at_three(lambda: time.sleep(1000)),
    "wrong": at_three(answer_wrongly),
}
