"""Model files of every kind; what comes out of a broken one is a model that works, or one error."""

import functools
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.base import clone

from defrag import TextClassifier, TextVectorizer, Thesaurus, load
from defrag.exceptions import ModelFormatError
from defrag.text.ranker import n_weights
from tests.contract.subject import OTHER, STRANGE, small_data, subjects, text_subjects
from tests.fuzz.broken import broken_models
from tests.helpers import model_drafts as drafts
from tests.helpers.model_drafts import Draft, X, Y

N_ROWS = 6
MOST_LABELS = 1000
TEXTS = [*OTHER[0][:2], *STRANGE[:9], "sort the matrix"]


def clustering_with_names():
    """Fit few features, so that every byte of the file can be changed; every array is there."""
    model = clone(drafts.small_defrag()).fit(X[:, :6])
    model.feature_names_in_ = np.array(list("aäbcde"), dtype=object)
    return model


def tree_of_classes():
    letters = np.array([["a", "bö", "c"][row[0] % 3] for row in Y])
    return clone(drafts.small_label_tree()).fit(X[:, :4], letters)


def texts_with_names():
    """Fit a model whose labels have names, with a ranker of arbitrary weights."""
    texts, labels = OTHER
    names = sorted({name for row in labels for name in row})
    thesaurus = Thesaurus.of({"id": name, "name": [name, "matrix"]} for name in [*names, "x"])
    model = TextClassifier(random_state=0).fit(texts, labels, thesaurus=thesaurus)
    weights = np.random.default_rng(0).normal(size=n_weights(15))
    model.naming_ = replace(model.naming_, use="added", weights=weights)
    return model


VARIANTS = {
    "clustering with names": (clustering_with_names, {}),
    "clustering without scale": (lambda: drafts.small_defrag(unseen="drop", scale=None), {}),
    "trees with label names": (
        lambda: drafts.small_label_tree(n_trees=2), {"label_names": list("abcdefghij")}
    ),
    "tree of classes": (tree_of_classes, {"vocabulary": list("wxyz")}),
    "tree of int8": (tree_of_classes, {"weights": "int8"}),
    "agglomerated of float16": (drafts.small_agglomerated, {"weights": "float16"}),
    "flat": (drafts.small_dismec, {}),
    "flat of int8": (drafts.small_dismec, {"weights": "int8"}),
    "imputed and re-ranked": (drafts.small_rare, {}),
    "forest of int8": (drafts.small_forest, {"weights": "int8"}),
    "texts with names": (texts_with_names, {}),
}  # fmt: skip
KINDS = {
    **{str(one): (one.fitted, {}) for one in subjects()},
    **{str(one): (functools.partial(one.fit, *OTHER), {}) for one in text_subjects()},
}
"""Every estimator of the registry."""


@functools.cache
def good(name):
    """Return the bytes of a small model, without checksums, which would refuse most changes."""
    make, options = (VARIANTS | KINDS)[name]
    with tempfile.TemporaryDirectory() as folder:
        make().save(Path(folder) / "model", **options)
        return Draft((Path(folder) / "model").read_bytes()).to_bytes()


def is_model(path, data):
    """Load and use a file of these bytes; tell whether it was a model, or refused in one line."""
    path.unlink(missing_ok=True)  # a disk takes fifty times as long to overwrite
    path.write_bytes(data)
    start = time.process_time()  # the machine may be busy
    refusal = ""
    try:
        model = load(path, mmap=len(data) % 2 == 0)
    except ModelFormatError as error:
        refusal = str(error)
    assert time.process_time() - start < 1.0, data
    if refusal:
        assert refusal.isprintable(), data
        return False
    if isinstance(model, (TextClassifier, TextVectorizer)):
        _use_on_texts(model, data)
    else:
        _use(model, data)
    return True


def _use_on_texts(model, data):
    try:
        if hasattr(model, "predict_topk"):
            rows, scores = model.predict_topk(TEXTS, k=3)
        else:
            rows = model.transform(TEXTS)
            scores = rows.data
    except (ImportError, ValueError) as error:  # a stemmer that does not exist, features of extra
        if not str(error).startswith(("stemmer", "this model was trained with")):
            raise AssertionError(data) from error
        return
    assert rows.shape[0] == len(TEXTS), data
    assert np.isfinite(scores).all(), data


def _use(model, data):
    """Ask about a few points; a file may say that there are billions of labels and features."""
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_  # or a plain matrix would raise a warning
    rows = small_data()[0][1 : N_ROWS + 1].copy()
    rows.resize((N_ROWS, model.n_features_in_))
    if not hasattr(model, "predict_topk"):
        found = model.transform(rows)
        assert found.shape == (N_ROWS, getattr(model, "n_clusters_", model.n_features_in_)), data
        assert np.isfinite(found.data).all(), data
        if getattr(model, "tree_", None) is not None:
            assert len(model.tree_.leaf_of_items()) == len(model.tree_.order), data
        return
    labels, scores = model.predict_topk(rows, k=3)
    assert labels.shape == scores.shape == (N_ROWS, min(3, model.n_labels_)), data
    assert np.isfinite(scores).all(), data
    assert labels.max(initial=-1) < model.n_labels_, data
    if model.n_labels_ <= MOST_LABELS:
        assert model.predict(rows).shape[0] == N_ROWS, data
        assert len(model.classes_) == model.n_labels_, data
    for names in (model.label_names_, model.vocabulary_):
        assert names is None or all(isinstance(name, str) for name in names), data


def fuzz(folder, name, n_files, seed=0):
    """Load broken files of a kind; return how many of them were refused."""
    files = broken_models([good(name)], n_files, f"{seed} {name}")
    return sum(not is_model(folder / "x", data) for data in files)
