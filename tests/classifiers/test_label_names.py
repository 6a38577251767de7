"""Names of labels: forms of lists, scorers, sequences that label ids index."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from defrag import Defrag, Focus, LabelTree
from defrag._names import Names
from defrag._validation import check_labels
from defrag.io import write_xmc
from defrag.metrics import precision
from defrag.metrics.scorers import label_lists, scorer
from tests.data import make_data

LISTS = [["b", "a"], ["c"], [], ["a", "a"]]


@pytest.mark.parametrize(
    "Y",
    [
        LISTS,
        tuple(map(tuple, LISTS)),
        [set(row) for row in LISTS],
        [np.array(row, dtype=str) for row in LISTS],
        pd.Series(LISTS),
        pd.Series([np.array(row, dtype=object) for row in LISTS]),
    ],
)
def test_lists_of_names_are_labels(Y):
    labels = check_labels(Y, n_rows=4, names=True)
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.matrix.toarray().tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert labels.multilabel
    assert not labels.dense


def test_arrays_of_names_are_labels():
    for kind in (str, object):
        labels = check_labels(np.array([["b", "a"], ["c", "a"]], dtype=kind), n_rows=2, names=True)
        assert labels.matrix.toarray().tolist() == [[1, 1, 0], [1, 0, 1]]


def test_names_need_a_model_with_names(tmp_path):
    with pytest.raises(ValueError, match="Y must contain label ids here, got label names"):
        write_xmc(tmp_path / "a.txt", np.eye(4), LISTS)
    with pytest.raises(ValueError, match="Y must contain label ids here, got label names"):
        precision(LISTS, np.zeros((4, 1), dtype=int))


def test_labels_of_other_data_get_columns_of_the_model():
    labels = check_labels([["b", "x"], ["a"], ["w"]], n_rows=3, names=True)
    known = np.array(["a", "b", "c"], dtype=object)
    moved = labels.in_columns_of(known)
    assert moved.toarray().tolist() == [[0, 1, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0]]


def test_scorers_and_clusterings_take_names():
    X, Y = make_data(n=90, d=20, n_labels=9, seed=5)
    # The order of names is not that of ids.
    lists = label_lists([[f"{(7 * label) % 9} {label}" for label in row.indices] for row in Y])
    rank = {label: place for place, label in enumerate(sorted(range(9), key=lambda j: 7 * j % 9))}
    moved = label_lists([[rank[label] for label in row.indices] for row in Y])
    for name in ("P@1", "nDCG@3", "R@3"):
        model = LabelTree(random_state=0)
        by_name = cross_val_score(model, X, lists, cv=3, scoring=scorer(name))
        assert by_name.tolist() == cross_val_score(
            model, X, moved, cv=3, scoring=scorer(name)
        ).tolist()  # fmt: skip
        assert by_name.min() > 0
    groups = Defrag("xy", random_state=0, max_cluster_size=4)
    assert (groups.fit(X, list(lists)).labels_ == groups.fit(X, list(moved)).labels_).all()
    assert Focus(random_state=0).fit(X, list(lists)).transform(X).shape == X.shape


def test_ids_index_names():
    names = Names.of(["ant", "bee", "cat"])
    assert names[np.array([[2, 0], [1, -1]])].tolist() == [["cat", "ant"], ["bee", ""]]
    assert names[[0, 2]].tolist() == ["ant", "cat"]
    assert names[np.zeros((0, 3), dtype=int)].shape == (0, 3)
    assert (names[-1], names[:2], len(names)) == ("cat", ["ant", "bee"], 3)
    assert names == ["ant", "bee", "cat"]
    assert names != ["ant", "bee"]
    assert repr(names) == "<3 strings>"
    for bad in ([3], [-2], [0.5], np.array([True])):
        with pytest.raises(IndexError, match="label ids"):
            names[bad]


def test_classes_that_are_strings_are_names_too():
    model = LabelTree(random_state=0).fit(np.eye(4), ["x", "y", "x", "y"])
    assert model.predict_topk(np.eye(4), k=1, names=True)[0].ravel().tolist() == list("xyxy")
    model = LabelTree(random_state=0).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="has no label names"):
        model.predict_topk(np.eye(4), names=True)
    model.label_names_ = ["zero", "one"]
    assert model.predict_topk(np.eye(4), k=1, names=True)[0][1, 0] == "one"
