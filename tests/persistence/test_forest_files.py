"""Forests in model files: they come back with the same bits, and broken ones are refused."""

import numpy as np
import pytest

from defrag import load
from defrag.persistence import describe
from tests.helpers.model_drafts import (
    inside,
    item,
    put,
    refuse,
    small_craftml,
    small_forest,
    small_pfastrexml,
)

FITTED = {"fastxml": small_forest, "pfastrexml": small_pfastrexml, "craftml": small_craftml}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return the bytes of a forest in every type of weights."""
    path = tmp_path_factory.mktemp("stored") / "model"
    files = {}
    for kind, fitted in FITTED.items():
        for weights, suffix in (("float32", ""), ("int8", " int8")):
            fitted().save(path, weights=weights)
            files[kind + suffix] = path.read_bytes()
    return files


@pytest.mark.parametrize("kind", FITTED)
def test_large_arrays_stay_mapped(tmp_path, kind):
    FITTED[kind]().save(tmp_path / "a")
    model = load(tmp_path / "a")
    forest = model.forest_
    large = [forest.slots, forest.weights, forest.outputs, forest.values]
    if kind == "pfastrexml":
        large += [model.prototypes_.slots, model.prototypes_.values]
    if kind == "craftml":
        large.append(forest.children)
    for array in large:
        assert not array.flags.writeable


def test_describe_counts_trees_of_a_forest(tmp_path):
    model = small_forest()
    model.save(tmp_path / "a")
    found = describe(tmp_path / "a")
    assert found["kind"] == "fastxml"
    assert found["trees"] == 2
    assert found["nodes"] == len(model.forest_.n_children)
    assert found["weights"] == len(model.forest_.weights)


def shape(counts, trees=None):
    """Set the numbers of children and the sizes of the nodes of a file."""

    def change(draft):
        draft.put("n_children", np.uint8(counts))
        draft.put("tree_ptr", np.int64([0, len(counts)] if trees is None else trees))

    return change


BROKEN = {
    "no trees": (put("tree_ptr", lambda a: a[:0]), "'tree_ptr' must run from 0"),
    "a tree without nodes": (put("tree_ptr", lambda a: np.append(a, a[-1])), "each tree a node"),
    "no nodes at all": (shape([], [0]), "each tree a node, got no tree"),
    "trees overlap": (item("tree_ptr", 1, 2**40), "tree_ptr' must not decrease"),
    "trees end late": (item("tree_ptr", -1, 10**6), "'tree_ptr' must run from 0 to"),
    "one child": (shape([2, 1, 0]), "'n_children' must be in|0 or at least 2, got 1 at 1"),
    "three children": (item("n_children", 0, 3), r"'n_children' must be in \[0, 3\)"),
    "too many children": (shape([2, 2, 0]), r"nodes of tree 0 but the root \(2\), got 4"),
    "too few children": (shape([0, 0, 0]), r"nodes of tree 0 but the root \(2\), got 0"),
    "children of another tree": (shape([2, 2, 0, 0, 0, 0], [0, 3, 6]), "of tree 0 but the root"),
    "a node its own child": (shape([0, 2, 2, 0, 0]), "children after their parent, got 1 at 1"),
    "a cycle": (shape([0, 0, 2, 2, 0]), "children after their parent"),
    "features fall": (item("features", 1, 0), "'features' must increase, got 0 after 0"),
    "feature negative": (item("features", 0, -1), r"'features' must be in \[0, 12\), got -1"),
    "feature out of range": (item("features", -1, 12), r"'features' must be in \[0, 12\), got 12"),
    "slot out of range": (item("slots", 0, 60000), r"'slots' must be in \[0, \d+\), got 60000"),
    "slots fall": (item("slots", slice(0, 2), [3, 2]), "'slots' must increase within a run"),
    "slots repeat": (item("slots", slice(0, 2), [3, 3]), "'slots' must increase within a run"),
    "row beyond the end": (item("sizes", 0, 65535), "'slots' must have"),
    "scales unasked": (put("scales", np.ones(3, np.float32)), "'scales' is allowed only .* int8"),
    "labels fall": (item("labels", 0, 5), "'labels' must increase"),
    "label out of range": (item("labels", -1, 10), r"'labels' must be in \[0, 10\), got 10"),
    "label negative": (item("labels", 0, -1), r"'labels' must be in \[0, 10\), got -1"),
    "leaf beyond the end": (item("leaf_sizes", 0, 65535), "'outputs' must have"),
    "output out of range": (item("outputs", 0, 10), r"'outputs' must be in \[0, 10\), got 10"),
    "outputs repeat": (item("outputs", 1, 0), "'outputs' must increase within a run"),
    "value negative": (item("values", 0, -0.5), "'values' must be finite and >= 0, got -0.5"),
    "value above one": (item("values", 0, 1.5), "'values' must be at most 1, got 1.5"),
}


BROKEN_CENTROIDS = {
    "one child": (shape([2, 1, 0]), "0 or at least 2, got 1 at 1"),
    "a cycle": (shape([0, 0, 2, 2, 0]), "children after their parent"),
    "child out of range": (item("children", 0, 3), "children of their node, got 3 at 0"),
    "children fall": (item("children", slice(0, 2), [2, 1]), "increase within a node|of their"),
    "slot out of range": (item("slots", -1, 40), r"'slots' must be in \[0, 40\), got 40"),
    "slots fall": (item("slots", slice(0, 2), [39, 0]), "must increase within a node, got slot 0"),
    "slots too wide": (put("slots", lambda a: a.astype(np.int32)), "must be uint16 for 40 buckets"),
    "row beyond the end": (item("sizes", 0, 65535), "'slots' must have"),
    "no buckets": (inside("state", n_buckets=0), "n_buckets"),
    "too many buckets": (inside("state", n_buckets=2**31), "n_buckets"),
    "buckets too few": (inside("state", n_buckets=2), r"'slots' must be in \[0, 2\)"),
    "nothing kept": (inside("state", n_kept=0), "n_kept"),
    "leaf beyond the end": (item("leaf_sizes", 0, 65535), "'outputs' must have"),
    "value above one": (item("values", 0, 1.5), "'values' must be at most 1, got 1.5"),
}


BROKEN_PROTOTYPES = {
    "prototype beyond the end": (item("prototypes/sizes", 0, 65535), "prototypes/slots' must have"),
    "slot out of range": (item("prototypes/slots", 0, 12), r"slots' must be in \[0, 12\), got 12"),
    "slots fall": (item("prototypes/slots", slice(0, 2), [3, 2]), "must increase within a run"),
    "slots of another type": (
        put("prototypes/slots", lambda a: a.astype(np.int32)),
        "slots' must be uint16 like those of the trees, got int32",
    ),
    "value too large": (item("prototypes/weights", 1, 1e30), r"must be at most 1e\+12 in size"),
    "scales unasked": (put("prototypes/scales", np.ones(10, np.float32)), "is allowed only with"),
    "weight above one": (item("label_weights", 0, 2.0), "'label_weights' must be at most 1, got 2"),
}


BROKEN_INT8 = [
    (item("weights", 0, -128), r"'weights' must be in \[-127, 128\), got -128"),
    (item("scales", 0, 1e38), "'scales' must be at most .* in size"),
    (put("scales", None), "'scales' is required with weights of int8"),
]

CASES = [
    *((kind, *case) for kind in ("fastxml", "pfastrexml") for case in BROKEN.values()),
    *(("craftml", *case) for case in BROKEN_CENTROIDS.values()),
    *(("pfastrexml", *case) for case in BROKEN_PROTOTYPES.values()),
    *(("fastxml int8", *case) for case in BROKEN_INT8),
]


@pytest.mark.parametrize(("which", "change", "message"), CASES)
def test_broken_forest_is_refused_by_name(tmp_path, stored, which, change, message):
    refuse(tmp_path, stored[which], change, message)
