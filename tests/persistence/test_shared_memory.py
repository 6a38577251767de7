"""Processes that map one model share it: what a process has of its own is bounded."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from defrag import DiSMEC, LabelTree
from defrag._native import FlatWeights, LabelTreeArrays, LabelTreeWeights
from defrag.classifiers.label_tree import TrainedTree

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
import re, sys
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
before = private()
model = load(sys.argv[2])
labels, _ = predict(model)
assert (labels >= 0).all()
print(private() - before)
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


@pytest.mark.parametrize("kind", ["tree", "flat"])
@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_mapped_model_takes_little_private_memory(weights, kind, files):
    path = files / f"{weights} {kind}"
    if weights == "float32":
        assert path.stat().st_size > MODEL_BYTES
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(files / f"small {kind}"), str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Features of trees of int8, and their sizes, are restored from bytes.
    restored = 6 * len(large_tree(0).weights.features) if path.name == "int8 tree" else 0
    assert int(done.stdout) < OWN_BYTES + restored
