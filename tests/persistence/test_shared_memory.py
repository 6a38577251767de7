"""Processes that map one model share it: what a process has of its own is bounded."""

from pathlib import Path

import numpy as np
import pytest

from defrag import DiSMEC, LabelTree
from defrag._native import FlatWeights, LabelTreeArrays, LabelTreeWeights
from defrag.classifiers.label_tree import TrainedTree
from tests.helpers.processes import run_python

pytestmark = [
    pytest.mark.slow,  # every test starts a process
    pytest.mark.skipif(
        not Path("/proc/self/smaps_rollup").exists(), reason="needs the memory map of Linux"
    ),
]

MODEL_BYTES, OWN_BYTES = 45_000_000, 10_000_000
N_LEAVES, N_FEATURES = 256, 50_000

# Everything is imported and used once before the model is loaded.
MEASURE = """
import re, sys, time
import numpy as np
from pathlib import Path
from scipy import sparse
from defrag import load

def private():
    text = Path("/proc/self/smaps_rollup").read_text()
    return sum(int(kb) for kb in re.findall(r"Private_Dirty: +([0-9]+) kB", text)) * 1024

def predict(model):
    columns = np.arange(0, model.n_features_in_, max(1, model.n_features_in_ // 40))
    entries = np.ones(len(columns), np.float32), columns, [0, len(columns)]
    row = sparse.csr_array(entries, shape=(1, model.n_features_in_))
    return model.predict_topk(row, k=5)

predict(load(sys.argv[1]))
load(sys.argv[1], mmap=False)
before, start = private(), time.process_time()
model = load(sys.argv[2], mmap=sys.argv[3] == "mapped")
seconds = time.process_time() - start
labels, _ = predict(model)
assert (labels >= 0).all()
print(private() - before, seconds)
"""


def large_tree(seed):
    """Make a tree of a root and leaves of 100 labels with about 1.5 million features in all."""
    draw = np.random.default_rng(seed)
    n_labels = 100 * N_LEAVES
    begin = np.arange(0, n_labels, 100, dtype=np.int32)
    tree = LabelTreeArrays(
        first_child=np.append(1, np.zeros(N_LEAVES)).astype(np.int32),
        n_children=np.append(N_LEAVES, np.zeros(N_LEAVES)).astype(np.int32),
        begin=np.append(0, begin).astype(np.int32),
        end=np.append(n_labels, begin + 100).astype(np.int32),
        order=np.arange(n_labels, dtype=np.int32),
    )
    features = [
        np.flatnonzero(draw.random(N_FEATURES) < (0.9 if node == 0 else 0.12))
        for node in range(N_LEAVES + 1)
    ]
    counts = [len(one) for one in features]
    sizes = draw.integers(1, 9, sum(counts))
    ends = np.cumsum(sizes)
    outputs = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
    weights = LabelTreeWeights(
        feature_ptr=np.append(0, np.cumsum(counts)).astype(np.int64),
        features=np.concatenate(features).astype(np.int32),
        entry_ptr=np.append(0, ends).astype(np.int64),
        outputs=outputs.astype(np.uint16),
        weights=draw.standard_normal(ends[-1], dtype=np.float32),
        bias_ptr=np.append([0, N_LEAVES], N_LEAVES + begin + 100).astype(np.int64),
        bias=np.full(N_LEAVES + n_labels, -1, dtype=np.float32),
    )
    return TrainedTree(tree, weights)


def large_flat_weights(seed):
    """Make one-vs-rest classifiers of 40,000 labels with about 150 weights per feature."""
    draw = np.random.default_rng(seed)
    n_labels = 40_000
    sizes = draw.integers(100, 200, N_FEATURES)
    ends = np.cumsum(sizes)
    outputs = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
    return FlatWeights(
        labels=np.arange(n_labels, dtype=np.int32),
        feature_ptr=np.append(0, ends).astype(np.int64),
        outputs=(outputs * (n_labels // 200)).astype(np.uint16),
        weights=draw.standard_normal(ends[-1], dtype=np.float32),
        bias=np.full(n_labels, -1, dtype=np.float32),
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    rows = np.eye(9, dtype=np.float32)
    tree, flat = LabelTree(random_state=0).fit(rows, np.eye(9)), DiSMEC().fit(rows, np.eye(9))
    tree.save(folder / "small tree")
    flat.save(folder / "small flat")
    tree.trees_, flat.weights_ = [large_tree(0)], large_flat_weights(0)
    tree.n_labels_, flat.n_labels_ = 100 * N_LEAVES, len(flat.weights_.labels)
    for name, model in (("tree", tree), ("flat", flat)):
        model.n_features_in_, model.dense_answers_ = N_FEATURES, False
        for weights in ("float32", "float16", "int8"):
            model.save(folder / f"{weights} {name}", weights=weights)
    return folder


def measured(files, kind, weights, how="mapped"):
    """Return the bytes that a process has of its own for a model, and the seconds of loading it."""
    path = files / f"{weights} {kind}"
    found = run_python("-c", MEASURE, files / f"small {kind}", path, how, timeout=600)
    own, seconds = found.split()
    return int(own), float(seconds), path.stat().st_size


@pytest.mark.parametrize("kind", ["tree", "flat"])
@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_mapped_model_takes_little_private_memory(weights, kind, files):
    own, seconds, size = measured(files, kind, weights)
    if weights == "float32":
        assert size > MODEL_BYTES
    # Features of trees of int8, and their sizes, are restored from bytes.
    restored = 6 * len(large_tree(0).weights.features) if (kind, weights) == ("tree", "int8") else 0
    assert own < OWN_BYTES + restored
    # Two seconds of CPU for a gigabyte, and room for a busy machine.
    assert seconds < 0.5 + 10 * size / 2**30


def test_pages_of_a_copy_are_private(files):
    own, _, size = measured(files, "flat", "float32", "copy")
    assert own > 0.9 * size
