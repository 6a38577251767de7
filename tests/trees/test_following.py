"""Label trees with the shape of another one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from defrag import Focused, LabelTree, TextClassifier, load_dataset
from defrag.agglomeration import Hybrid
from defrag.baselines import Parabel
from defrag.classifiers._following import follow_tree
from tests.helpers.bits import bits
from tests.oracles.label_trees import flat_tree


def leaves_of(tree):
    return [
        tree.order[tree.begin[node] : tree.end[node]].tolist()
        for node in np.argsort(tree.begin, kind="stable")
        if not tree.n_children[node]
    ]


def follow(tree, vectors, numbers=None, seen=None, max_leaf_size=2):
    seen = np.arange(len(vectors)) if seen is None else np.array(seen)
    numbers = np.arange(int(tree.order.max()) + 1) if numbers is None else np.array(numbers)
    rows = np.asarray(vectors, dtype=np.float32)
    rows = sparse.csr_array(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
    return follow_tree(
        tree, numbers.astype(np.int32), rows, seen.astype(np.int32),
        max_leaf_size=max_leaf_size, seed=0, n_jobs=1,
    )  # fmt: skip


TREE = flat_tree([[[0, 1], [2, 3]], [[4, 5], [6, 7]]])
VECTORS = np.kron(np.eye(4), np.ones((2, 1)))


def test_the_same_labels_give_the_same_tree():
    assert bits(follow(TREE, VECTORS)) == bits(TREE)


def test_new_labels_go_to_the_nearest_leaf():
    vectors = np.vstack([VECTORS, [[0, 1, 0.9, 0], [0, 0.1, 0.2, 1], [0, 0, 0, 0]]])
    found = follow(TREE, vectors)
    assert leaves_of(found) == [[0, 1, 10], [2, 3, 8], [4, 5], [6, 7, 9]]


def test_removed_labels_leave_no_empty_nodes():
    found = follow(TREE, VECTORS[[0, 2, 3]], seen=[0, 2, 3])
    assert leaves_of(found) == [[0], [2, 3]]
    assert found.n_children.tolist() == [2, 0, 0]
    assert leaves_of(follow(TREE, VECTORS[:1], seen=[0])) == [[0]]


def test_labels_may_have_other_ids():
    numbers = [1, 3, 5, 7, 2, -1, 4, 6]
    found = follow(TREE, VECTORS[[0, 4, 1, 6, 2, 7, 3]], numbers, seen=[1, 2, 3, 4, 5, 6, 7])
    assert leaves_of(found) == [[1, 3], [5, 7], [2], [4, 6]]


def test_a_leaf_that_grows_too_large_is_split():
    vectors = np.vstack([VECTORS, [[1, 0, 0, 0.01 * i] for i in range(7)]])
    found = follow(TREE, vectors)
    leaves = leaves_of(found)
    assert leaves[-3:] == [[2, 3], [4, 5], [6, 7]]
    assert sorted(label for leaf in leaves[:-3] for label in leaf) == [0, 1, *range(8, 15)]
    assert max(map(len, leaves)) <= 2
    # Nodes are numbered breadth first, with consecutive labels, as the model file demands.
    inner = np.flatnonzero(found.n_children)
    assert found.first_child[inner].tolist() == np.append(
        1, 1 + np.cumsum(found.n_children[inner])[:-1]
    ).tolist()  # fmt: skip
    for node in inner:
        children = range(found.first_child[node], found.first_child[node] + found.n_children[node])
        assert found.begin[children[0]] == found.begin[node]
        assert found.end[children[-1]] == found.end[node]


@pytest.fixture(scope="module")
def data():
    train = load_dataset("debian").train
    return train.X[:3000], train.Y[:3000]


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [LabelTree(random_state=0), Focused(LabelTree(2), random_state=0), Parabel(2, random_state=0)],
)
def test_fewer_predictions_change(data, model):
    X, Y = data
    first = clone(model).fit(X[:2800], Y[:2800])
    before = first.predict_topk(X[:500])[0]

    def share_changed(**options):
        after = clone(model).fit(X, Y, **options).predict_topk(X[:500])[0]
        return np.mean([len(set(b) - set(a)) for a, b in zip(before, after, strict=True)])

    assert share_changed(shape=first) < 0.8 * share_changed()


def test_shape_that_does_not_fit_is_refused(data):
    X, Y = data[0][:300], data[1][:300]
    two = LabelTree(2, random_state=0).fit(X, Y)
    for model, shape, message in (
        (LabelTree(1), two, "shape must be a LabelTree with 1 trees, got LabelTree with 2"),
        (Parabel(), two, "shape must be a fitted Parabel or the file of one, got LabelTree"),
        (LabelTree(), LabelTree(), "shape must be a fitted LabelTree or the file of one"),
        (Focused(Parabel(1)), Focused(LabelTree()).fit(X, Y), "shape must be a Parabel with 1"),
        (Focused(LabelTree()), Focused(Hybrid), "shape must be a fitted Focused"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y, shape=shape)
    again = LabelTree(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="with 1 trees"):
        again.fit(X, Y, shape=two)
    # Nothing is left of a shape that was refused.
    twin = LabelTree(random_state=0).fit(X, Y)
    assert (again.predict_topk(X)[1] == twin.predict_topk(X)[1]).all()


def test_classifier_of_texts_follows_a_shape(tmp_path):
    words = ["sort", "merge", "matrix", "vector", "disk", "file"]
    texts = [f"{words[i % 6]} {words[(i + i // 6) % 6]} text" for i in range(36)]
    labels = [[words[i % 6], words[(i + 1) % 6]] for i in range(36)]
    model = TextClassifier(LabelTree(2, max_leaf_size=2), random_state=0).fit(texts, labels)
    again = clone(model).fit(texts, labels, shape=model)
    assert (again.predict_topk(texts)[1] == model.predict_topk(texts)[1]).all()
    model.save(tmp_path / "old.safetensors")
    more = clone(model).fit(
        [*texts, "a new text", "new merge"], [*labels, ["a new one"], ["a new one", "sort"]],
        shape=tmp_path / "old.safetensors",
    )  # fmt: skip
    assert "a new one" in more.classes_
    assert more.predict_topk(["a new text"], k=1)[0].tolist() == [["a new one"]]
    with pytest.raises(ValueError, match="shape must be a fitted TextClassifier or the file"):
        clone(model).fit(texts, labels, shape=model.base_)
