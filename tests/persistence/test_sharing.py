"""What a mapped model costs each process: seconds and memory of its own."""

import numpy as np
import pytest
from scipy import sparse

from defrag import DiSMEC, LabelTree
from tests.helpers.processes import run_python

pytestmark = pytest.mark.slow  # every test starts processes

MEASURE = """
import sys, time
import numpy as np
from scipy import sparse
from defrag import load

def private():
    text = open("/proc/self/smaps_rollup").read()
    return int(text.split("Private_Dirty:")[1].split()[0]) / 1024

load(sys.argv[1], mmap=False)  # what is imported on the way
row = sparse.csr_array((np.ones(40, np.float32), np.arange(40, dtype=np.int32), [0, 40]), (1, 4000))
load(sys.argv[1], mmap=False).predict_topk(row)
before, start = private(), time.process_time()
model = load(sys.argv[2], mmap=sys.argv[3] == "mmap")
seconds = time.process_time() - start
model.predict_topk(row)
print(private() - before, seconds)
"""


def problem(n_points, n_labels):
    random = np.random.default_rng(0)
    columns = np.sort(random.integers(0, 4000, (n_points, 40)), axis=1)
    indptr = np.arange(0, columns.size + 1, 40)
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), indptr), (n_points, 4000))
    X.sum_duplicates()
    return X, random.integers(0, n_labels, (n_points, 3)).tolist()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return the files of a small and of a larger model of two families."""
    folder = tmp_path_factory.mktemp("models")
    families = {
        "tree": LabelTree(weight_threshold=0.0, random_state=0),
        "flat": DiSMEC(weight_threshold=0.0, random_state=0),
    }
    for name, model in families.items():
        for size, arguments in (("small", (50, 20)), ("large", (3000, 2000))):
            model.fit(*problem(*arguments)).save(folder / f"{name} {size}")
    return folder


def measure(models, name, how):
    large = models / f"{name} large"
    found = run_python("-c", MEASURE, models / f"{name} small", large, how)
    private, seconds = map(float, found.split())
    return private, seconds, large.stat().st_size / 2**20


@pytest.mark.parametrize(("name", "most"), [("tree", 0.75), ("flat", 0.1)])
def test_most_pages_of_a_mapped_model_are_shared(models, name, most):
    private, seconds, size = measure(models, name, "mmap")
    assert size > 20
    # The pointers and one-byte outputs of a tree are widened in memory; weights are not.
    assert private < most * size + 8
    # Two seconds of CPU for a gigabyte, and room for a busy machine.
    assert seconds < 0.5 + 10 * size / 1024


def test_pages_of_a_copy_are_private(models):
    private, _, size = measure(models, "flat", "copy")
    assert private > 0.9 * size
