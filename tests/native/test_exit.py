"""The interpreter exits in peace while a daemon thread is inside a kernel."""

import subprocess
import sys

import pytest

PROGRAM = """
import threading, time
import numpy as np
from scipy import sparse
from defrag import _native

X = sparse.csr_array(np.ones((400, 300), dtype=np.float32))
inside = threading.Event()

def work():
    while True:
        inside.set()
        _native.multiply(X, X.T.tocsr(), n_threads={n_threads})

threading.Thread(target=work, daemon=True).start()
inside.wait()
time.sleep({pause})
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_daemon_threads_do_not_abort_the_process(n_threads, pause):
    command = [sys.executable, "-c", PROGRAM.format(n_threads=n_threads, pause=pause)]
    found = subprocess.run(command, capture_output=True, timeout=600, check=False)
    assert (found.returncode, found.stderr) == (0, b"")
