"""Training on a matrix that is mapped from files."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from defrag import DiSMEC, Focused, LabelTree
from defrag.baselines import Parabel
from defrag.classifiers._support import is_mapped, unit_rows
from tests.data import make_data
from tests.helpers.bits import bits

X, Y = make_data()


def mapped(X, folder):
    parts = {"data": X.data, "indices": X.indices.astype(np.int32), "indptr": X.indptr}
    for name, array in parts.items():
        np.save(folder / f"{name}.npy", array)
    arrays = tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in parts)
    return sparse.csr_array(arrays, shape=X.shape)


@pytest.mark.parametrize("model", [LabelTree(2, random_state=0), DiSMEC(random_state=0),
                                   Parabel(random_state=0), Focused(random_state=0)])  # fmt: skip
def test_mapped_data_give_same_model(model, tmp_path):
    model.fit(X, Y).save(tmp_path / "a")
    model.fit(mapped(X, tmp_path), Y).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_unit_rows_of_a_mapped_matrix_stay_in_files(tmp_path, monkeypatch):
    monkeypatch.setattr("defrag.classifiers._support._MAPPED_ROWS_AT_A_TIME", 50)
    found = unit_rows(mapped(X, tmp_path), 1)
    assert is_mapped(found.data)
    assert is_mapped(found.indices)
    assert bits(found) == bits(unit_rows(X, 1))
    assert unit_rows(mapped(X[:0], tmp_path), 1).shape == (0, X.shape[1])


# The peak of anonymous memory while points are prepared: the kernel keeps only a peak that
# counts mapped pages too, so that this one is sampled.
MEASURE = """
import re, sys, threading, time
import numpy as np
from pathlib import Path
from scipy import sparse
from defrag import DiSMEC
from defrag._validation import check_features

def anonymous():
    text = Path("/proc/self/status").read_text()
    return 1024 * int(re.search("RssAnon:[^0-9]*([0-9]+) kB", text).group(1))

names = ("data", "indices", "indptr")
X = sparse.csr_array(tuple(np.load(f"{name}.npy", mmap_mode="r") for name in names),
                     shape=(200_000, 1000))
Y = sparse.csr_array((np.ones(8, np.float32), np.zeros(8, np.int32),
                      np.minimum(np.arange(200_001), 8)), shape=(200_000, 1))
model = DiSMEC(random_state=0)
model._units().prepare(check_features(model, X[:9], reset=True), Y[:9])
before, peak, done = anonymous(), 0, threading.Event()

def sample():
    global peak
    while not done.is_set():
        peak = max(peak, anonymous())
        time.sleep(0.002)

watcher = threading.Thread(target=sample)
watcher.start()
data = model._units().prepare(check_features(model, X, reset=True), Y)
done.set()
watcher.join()
print(peak - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc of Linux")
def test_preparing_mapped_points_takes_little_memory(tmp_path):
    nnz = 60 * 200_000
    np.save(tmp_path / "data.npy", np.ones(nnz, np.float32))
    np.save(tmp_path / "indices.npy", np.tile(np.arange(0, 960, 16, dtype=np.int32), 200_000))
    np.save(tmp_path / "indptr.npy", np.arange(0, nnz + 1, 60, dtype=np.int32))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 8 * nnz / 4  # a copy of the points has 8 bytes per non-zero
