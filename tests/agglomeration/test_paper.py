"""The formulas of the paper as printed, beside an oracle that was written from its text."""

import numpy as np
import pytest
from scipy import sparse

from defrag import Defrag, Fiat, Refrag
from defrag.agglomeration.certificate import certificate
from defrag.baselines import Parabel
from defrag.trees import scale_vectors, split_freely
from tests.data import make_data
from tests.oracles import paper

BASE = Parabel(1, max_leaf_size=5)


X, Y = make_data(n=120)
# Not unit rows.
X = sparse.csr_array(X * np.random.default_rng(0).uniform(0.5, 2, (120, 1)), dtype=np.float32)


def dense(matrix):
    return matrix.toarray().astype(np.float64)


@pytest.mark.parametrize(
    ("mode", "oracle"), [("paper", paper.fiat), ("missing", paper.fiat_as_meant)]
)
def test_fiat_is_as_printed_and_as_meant(mode, oracle):
    groups = Defrag(random_state=3).fit(X)
    assert (groups.max_cluster_size, groups.representation, groups.sample_points) == (8, "x", 0.25)
    fiat = Fiat(mode, agglomeration=groups, prefit=True).fit(X)
    rows = dense(X)
    if mode == "missing":
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    C = paper.pseudo_co_occurrence(rows, groups.labels_)
    wanted = [oracle(C, x) for x in dense(X)]
    np.testing.assert_allclose(fiat.transform(X).toarray(), wanted, rtol=1e-6)
    (layout, _), *others = Fiat(mode, random_state=0).fit(X).co_occurrence_.blocks
    assert not others
    assert np.bincount(layout.groups).max() <= 8


def test_refrag_is_as_printed():
    model = Refrag(BASE, co_occurrence="paper", gamma=0.02, propensity_weight=0, random_state=0)
    model.fit(X, Y)
    groups = Defrag(random_state=0).fit(X).labels_
    C = paper.pseudo_co_occurrence(dense(X), groups)
    prototypes = paper.prototypes(C, dense(X), dense(Y))
    np.testing.assert_allclose(model.prototypes_.toarray(), prototypes, rtol=1e-6)
    assert model.alpha_ == 0.8
    model.set_params(candidates=8)
    labels, scores = model.base_.predict_topk(X, 8)
    found, values = model.predict_topk(X, 8)
    for row, x in enumerate(dense(X)):
        wanted = {
            label: paper.refrag(b, x, prototypes[label], alpha=0.8, gamma=0.02)
            for label, b in zip(labels[row], scores[row], strict=True) if b > 0
        }  # fmt: skip
        ranked = [place for place, label in enumerate(found[row]) if label in wanted]
        sums = np.array([wanted[found[row, place]] for place in ranked])
        assert (np.diff(sums) <= 0).all()
        logs = 1 - 1 / values[row, ranked].astype(np.float64)  # of scores 1 / (1 - log)
        # Equal up to a constant of the row, since the best label has the best score of the base.
        gaps = 0.8 * (logs - logs[0]) - (sums - sums[0])
        assert np.abs(gaps).max() <= 1e-6 * np.abs(sums).max()
    with pytest.raises(ValueError, match=r"widen of Refrag must be 0 with .*'paper', got 3"):
        Refrag(BASE, co_occurrence="paper", gamma=1, propensity_weight=0, widen=3).fit(X, Y)
    one = model.explain(X[[0]])
    assert one.score == pytest.approx(float(model.predict_topk(X[[0]], 1)[1][0, 0]), rel=1e-5)


def test_xy_has_the_papers_share_of_labels():
    groups = Defrag("xy", min_labels=1, sample_labels=0.3)
    wanted = paper.head_vectors(dense(X), dense(Y), points=0.25, labels=0.3)
    seen = wanted.any(axis=1)  # others have vectors from all points, which the paper does not say
    assert seen.sum() > 40
    found = dense(groups._vectors(X, Y))[seen]
    np.testing.assert_allclose(found[:, : wanted.shape[1]], wanted[seen], rtol=1e-6)
    assert not found[:, wanted.shape[1] :].any()


def test_unbalanced_ndcg_split_is_that_of_the_oracle():
    Z = np.random.default_rng(1).uniform(0.1, 1, (40, 25))
    items = scale_vectors(sparse.csr_array(np.float32(Z)), split="ndcg", threshold=0, n_threads=1)
    for first, second in ((0, 1), (7, 30), (12, 5)):
        for rounds in (1, 2, 5):
            side, _ = split_freely(items, first, second, max_iter=rounds)
            wanted = paper.ndcg_split(np.float32(Z), first, second, rounds=rounds)
            assert side.tolist() == wanted.tolist()
    X = sparse.random_array((200, 100), density=0.1, rng=np.random.default_rng(0), format="csr")
    free = Defrag(split="ndcg-unbalanced", sample_points=1.0, random_state=0).fit(X)
    sizes = np.bincount(free.labels_)
    assert sizes.sum() == 100
    assert 1 <= sizes.min() < sizes.max() <= 8
    empty = Defrag(split="ndcg-unbalanced", max_cluster_size=2).fit(np.zeros((5, 5)))
    assert np.bincount(empty.labels_).tolist() == [2, 2, 1]
    with pytest.raises(ValueError, match=r"split='ndcg-unbalanced' of Defrag requires n_clusters"):
        Defrag(split="ndcg-unbalanced", n_clusters=9).fit(X)


def test_theorem_holds_and_its_simplification_does_not():
    # Two features in one cluster, one point with each, and weights of a and -a: any tied weight
    # changes the scores by at least a sqrt(2), and the w0 of the simplification is 2 a^2.
    X, a = np.eye(2), 0.1
    found = certificate(X, [0, 0], np.array([a, -a]))
    err = np.sqrt(2 * (0.5**2 + 0.5**2))
    assert found.change == pytest.approx(a * np.sqrt(2))
    assert found.change <= a * np.sqrt(2) * err + 1e-12
    assert found.change > 5 * (2 * a**2) * err
