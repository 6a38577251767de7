"""Properties of whole processes: equal bits, forks, memory, and their end."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from defrag import LabelTree, load
from tests.contract.subject import answer_bits, small_data
from tests.helpers.processes import SANITIZED, environment, run_in_child

DIGEST = """
import hashlib, pathlib, sys, warnings
warnings.simplefilter("ignore")
from tests.contract.subject import file_bytes, subjects
whole = hashlib.sha256()
for subject in subjects():
    whole.update(file_bytes(subject.fitted(), pathlib.Path(sys.argv[1])))
print(whole.hexdigest())
"""
IN_KERNEL = """
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
def test_models_have_same_bits_in_every_process(tmp_path):
    digests = set()
    for hash_seed in ("0", "1", "random"):
        done = subprocess.run(
            [sys.executable, "-c", DIGEST, tmp_path], check=True, capture_output=True, text=True,
            env=environment(PYTHONHASHSEED=hash_seed),
        )  # fmt: skip
        assert "leak" not in done.stderr  # what nanobind says at the end of a process
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.slow
def test_forked_children_fit_and_predict():
    X, Y = small_data()
    model = LabelTree(2, random_state=0, n_jobs=3).fit(X, Y)
    wanted = answer_bits(model)

    def child(_step):
        assert answer_bits(model) == wanted
        assert answer_bits(LabelTree(2, random_state=0, n_jobs=3).fit(X, Y)) == wanted

    for _ in range(20):
        run_in_child(child, seconds=300)


@pytest.mark.slow
@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps freed memory")
def test_memory_does_not_grow(tmp_path):
    X, Y = small_data()
    path, sizes = tmp_path / "model.safetensors", []
    for _ in range(200):
        LabelTree(random_state=0, n_jobs=2).fit(X, Y).save(path)
        load(path).predict_topk(X)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        sizes.append(pages * os.sysconf("SC_PAGESIZE"))
    assert np.median(sizes[-20:]) - np.median(sizes[20:40]) < 2 << 20


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_daemon_threads_do_not_abort_the_process(n_threads, pause):
    command = [sys.executable, "-c", IN_KERNEL.format(n_threads=n_threads, pause=pause)]
    found = subprocess.run(command, capture_output=True, timeout=600, check=False)
    assert (found.returncode, found.stderr) == (0, b"")
