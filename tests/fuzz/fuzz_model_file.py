"""Load broken model files; nothing but a model that works or a ModelFormatError may come out."""

import json
import random
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone

from defrag import load
from defrag.baselines import ITDC
from defrag.exceptions import ModelFormatError
from tests.helpers.model_drafts import (
    Draft,
    X,
    Y,
    small_agglomerated,
    small_defrag,
    small_dismec,
    small_forest,
    small_hybrid,
    small_label_tree,
    small_leml,
    small_lpsr,
    small_rare,
    small_sleec,
)

NASTY = [
    None, True, False, -1, 0, 1, 2, 7, 127, 255, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1,
    2**63, -(2**63), 10**30, 0.5, 1e308, -0.0, float("nan"), float("inf"), "", "x", "I32", "F64",
    "ids", "strings", "numbers", "parabel", "tree", "\ud800",
    "sum", "mean", "given", "hybrid", "defrag", [], {}, [0], [0, 0], [2**62, 4], [[]],
    {"a": 1},
]  # fmt: skip
NASTY_BYTES = [0, 1, 127, 128, 255]


def unsealed(data):
    """Return a model file without checksums, which would refuse most changes by themselves."""
    return Draft(data).to_bytes()


def small_models(folder):
    """Return the bytes of small files; the first is a clustering with every optional array.

    The others are classifiers: of label ids, of classes, with int8 weights, agglomerated, flat,
    embeddings, a partition, forests, and with imputation before and re-ranking after it.
    """
    model = clone(small_defrag()).fit(X[:, :6])  # few bytes, so that all can be changed
    model.feature_names_in_ = np.array(list("aäbcde"), dtype=object)
    rival = ITDC(n_clusters=3, random_state=0).fit(X[:, :6], Y)
    bare = small_defrag(unseen="drop", scale=None)
    for i, one in enumerate((model, small_hybrid(), bare, rival)):
        one.save(folder / str(i))
        yield unsealed((folder / str(i)).read_bytes())
    letters = np.array([["a", "bö", "c"][row[0] % 3] for row in Y])
    trees = small_label_tree(n_trees=2)
    classes = clone(small_label_tree()).fit(X[:, :4], letters)
    for one, options in (
        (trees, {"label_names": list("abcdefghij")}),
        (classes, {"vocabulary": list("wxyz")}),
        (classes, {"weights": "int8"}),
        (small_agglomerated(), {"weights": "float16"}),
        (small_dismec(), {}),
        (small_dismec(), {"weights": "int8"}),
        (small_leml(), {}),
        (small_sleec(), {}),
        (small_lpsr(), {}),
        (small_rare(), {}),
        (small_forest(), {}),
        (small_forest(), {"weights": "int8"}),
    ):
        one.save(folder / "classifier", **options)
        yield unsealed((folder / "classifier").read_bytes())


def loaded(path, data):
    """Return the model in a file of these bytes, or None if the file is refused in one line."""
    path.unlink(missing_ok=True)  # a disk takes fifty times as long to overwrite
    path.write_bytes(data)
    start = time.process_time()  # the machine may be busy
    try:
        return load(path, mmap=len(data) % 2 == 0)
    except ModelFormatError as error:
        message = str(error)
        assert "\n" not in message, data
        assert message.isprintable(), data
        return None
    finally:
        assert time.process_time() - start < 1.0, data


def survives(path, data):
    """Load and use one input; tell whether it was a model."""
    model = loaded(path, data)
    if model is None:
        return False
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_  # or the plain array would raise a warning
    if hasattr(model, "predict_topk"):
        _predict(model, data)
        return True
    features = np.tile(X, (1, 1 + model.n_features_in_ // 12))[:, : model.n_features_in_]
    pooled = model.transform(features)
    assert pooled.shape == (len(features), model.n_clusters_), data
    assert np.isfinite(pooled.data).all(), data
    if getattr(model, "tree_", None) is not None:
        assert len(model.tree_.leaf_of_items()) == len(model.tree_.order), data
    return True


def _predict(model, data):
    """Use a classifier; a file may say that there are billions of labels and features."""
    n_features = model.n_features_in_
    points = X[:, : min(n_features, 12)]
    points = sparse.csr_array(points)
    points.resize((len(X), n_features))
    labels, scores = model.predict_topk(points, k=3)
    assert labels.shape == scores.shape == (len(X), 3), data
    assert np.isfinite(scores).all(), data
    assert labels.max() < model.n_labels_, data
    if model.n_labels_ <= 1000:
        assert model.predict(points).shape[0] == len(X), data
        assert len(model.classes_) == model.n_labels_, data
    for names in (model.label_names_, model.vocabulary_):
        assert names is None or all(isinstance(name, str) for name in names), data


def inputs(seeds, n_inputs, seed=0):
    """Yield n broken files, the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for _ in range(n_inputs):
        data = rng.choice(seeds)
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            data = rng.choice([_flip, _cut, _edit_json, _edit_array])(rng, data)
        yield data


def _flip(rng, data):
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng, data):
    begin = rng.randint(0, len(data))
    end = min(len(data), begin + rng.choice([1, 2, 4, 8, 100]))
    piece = rng.choice([b"", data[begin:end] * 2, bytes(rng.choice([1, 8])), b"9", b'"', b"}"])
    return data[:begin] + piece + data[end:]


def _take_apart(data):
    try:
        return Draft(data)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None  # broken too badly by the mutation before


def _edit_json(rng, data):
    draft = _take_apart(data)
    if draft is None:
        return data[: rng.randint(0, len(data))]
    holder = rng.choice([draft.header, draft.description])
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            break
        key = rng.choice(keys)
        if isinstance(holder[key], (dict, list)) and rng.random() < 0.9:
            holder = holder[key]
            continue
        if isinstance(holder, dict) and rng.random() < 0.2:
            holder[rng.choice(["", "x", "scale", "tree/order", "state"])] = holder.pop(key)
        else:
            holder[key] = rng.choice(NASTY)
        break
    return draft.to_bytes()


def _edit_array(rng, data):
    draft = _take_apart(data)
    if draft is None or len(draft.payload) < 8:
        return data
    width = rng.choice([1, 4, 8])
    place = rng.randrange(len(draft.payload) // width) * width
    value = rng.choice([-1, 0, 1, 3, 8, 12, 127, 2**31 - 1, 2**63 - 1, -(2**63), 2**52])
    draft.payload[place : place + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
    try:
        return draft.to_bytes()
    except (ValueError, TypeError):
        return json.dumps(str(draft.header)).encode()


def fuzz(folder, n_inputs, seed=0):
    """Load n broken files; return how many of them were refused."""
    folder = Path(folder)
    seeds = list(small_models(folder))
    return sum(not survives(folder / "x", data) for data in inputs(seeds, n_inputs, seed))
