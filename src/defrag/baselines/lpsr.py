"""LPSR: a partition of the points determines which labels a scorer ranks.

A baseline for fast prediction: unlike trees, it makes any scorer sublinear, but training stays as
expensive as that of the scorer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag._parameters import VERBOSE, Choice, Int, fitted, param
from defrag._progress import progress_bar
from defrag._scratch import Arrays
from defrag.baselines._neighbours import assign_points, route
from defrag.baselines.sleec import centroids
from defrag.classifiers._base import Classifier
from defrag.classifiers._composite import BASE, Wrapping
from defrag.classifiers._support import Cost, Ranker, unit_rows
from defrag.classifiers.one_vs_rest import DiSMEC
from defrag.explain.explainers import Explainer, Noted
from defrag.persistence.fields import Array, Part, Sparse, State
from defrag.persistence.trees import offsets
from defrag.typing import Csr, Floats, Ids, Offsets

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

_MIN_CLUSTER_POINTS = 10
"""Smaller clusters are removed."""

_TOP_K = 5
"""Number of top labels in the objective of the optimised assignment."""

_ASCENT_STEPS = 30
_N_RANKED = 1000
"""Number of labels of the scorer that the optimised assignment considers."""


def _n_clusters(part: Part) -> int:
    return len(part.arrays["label_ptr"]) - 1


def _check_clusters(part: Part) -> None:
    n_clusters = _n_clusters(part)
    if n_clusters < 1:
        part.fail(f"{part.name('label_ptr')} must have at least one cluster, got none")
    n_labels = part.state["n_labels"]
    part.check_csr("label_ptr", "labels", n_rows=n_clusters, n_cols=n_labels)


class LPSR(Wrapping):
    """Label partitioning for sublinear ranking (Weston, Makadia and Yee, 2013).

    The points whose best label is correct are clustered, and each cluster gets a short list of
    labels. For a new point, the scorer ranks only the labels of its cluster. The scorer is
    trained as usual; prediction is faster roughly in proportion to the labels that are left
    out.

    See Also
    --------
    LabelTree : Labels in a tree, which is also fast to train.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import LPSR
    >>> X = np.kron(np.eye(3), np.ones((20, 2)))
    >>> Y = np.repeat([0, 1, 2], 20)
    >>> model = LPSR(cluster_size=20, random_state=0).fit(X, Y)
    >>> model.predict(X[::20]).tolist()
    [0, 1, 2]
    """

    base: Classifier | None = param(
        doc="The scorer. One-vs-rest classifiers and LEML score only the labels of the cluster; "
        "other classifiers rank all labels, and those of the cluster are kept.",
        kind="classifier, default=DiSMEC()",
        default=None,
    )
    cluster_size: int = param(Int(1), "Mean number of points per cluster.", default=150)
    labels_per_cluster: int = param(Int(1), "Maximum number of labels of a cluster.", default=500)
    assignment: str = param(
        Choice(("frequency", "optimised")),
        "The most frequent labels of the points of a cluster, or those chosen from twice as "
        "many by gradient ascent on the published objective, which favours labels that are "
        "relevant and ranked above the other labels of the cluster.",
        default="frequency",
    )
    verbose: int = param(VERBOSE, "Whether to show progress bars on a terminal.", default=0)

    router_: Csr = fitted(
        "csr_array, shape (n_features, n_clusters)", "The centres of the clusters."
    )
    label_ptr_: Offsets = fitted(
        "ndarray of int64, shape (n_clusters + 1,)", "Offsets of the clusters in ``labels_``."
    )
    labels_: Ids = fitted("ndarray of int32", "The labels of each cluster, in increasing order.")

    _state = State(
        BASE,
        Array("label_ptr_", "int64"),
        Array("labels_", "int32"),
        Sparse("router_", "n_features", _n_clusters),
        check=_check_clusters,
        finish=lambda part, model: setattr(model, "rankers_", {}),  # noqa: ARG005 - of the part
    )

    _needs_points = True

    def _learn_last(self, data: tuple[Csr, Csr] | None, seed: int, learnt: Arrays) -> None:  # noqa: ARG002 - nothing is learnt first
        if data is None:
            raise ValueError("the clusters of LPSR are learnt from the points, got none")
        X, Y = data
        n_ranked = min(_N_RANKED if self.assignment == "optimised" else 1, Y.shape[1])
        ranked, _ = self.base_._rank(X, n_ranked, exhaustive=False)
        unit = unit_rows(X, self._threads)
        hits = Y.indices == np.repeat(ranked[:, 0], np.diff(Y.indptr))
        correct = np.unique(np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))[hits])
        n_clusters = max(1, round(X.shape[0] / self.cluster_size))
        fitted = unit[correct] if len(correct) >= n_clusters else unit
        router = centroids(fitted, n_clusters, seed, n_threads=self._threads)
        limits = {"min_size": _MIN_CLUSTER_POINTS, "n_threads": self._threads}
        self.router_, members = assign_points(unit, router, **limits)
        chosen = []
        with progress_bar("assigning labels", enabled=self.verbose > 0) as progress:
            for number, points in enumerate(members):
                chosen.append(self._choose_labels(Y[points], ranked[points]))
                if progress is not None:
                    progress((number + 1) / len(members))
        self.label_ptr_ = offsets(np.array([len(one) for one in chosen]))
        self.labels_ = np.concatenate(chosen)
        self.rankers_: dict[int, Ranker] = {}

    def _default_base(self) -> Classifier:
        return DiSMEC()

    def _choose_labels(self, Y: Csr, ranked: Ids) -> Ids:
        """Return the labels of a cluster, given the labels and rankings of its points."""
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        by_count = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        max_labels = self.labels_per_cluster
        if self.assignment == "optimised" and len(by_count) > max_labels:
            candidates = np.sort(by_count[: 2 * max_labels])
            alpha = optimise_assignment(candidates, Y, ranked)
            by_count = candidates[np.argsort(-alpha, kind="stable")]
        return np.sort(by_count[:max_labels]).astype(np.int32)

    def _ranker(self, c: int) -> Ranker:
        """Return the scorer of the labels of a cluster, created on first use."""
        if c not in self.rankers_:
            self.rankers_[c] = self.base_._restricted(self._labels_of(c))
        return self.rankers_[c]

    def _labels_of(self, c: int) -> Ids:
        return self.labels_[self.label_ptr_[c] : self.label_ptr_[c + 1]]

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        labels = np.full((X.shape[0], k), -1, dtype=np.int32)
        scores = np.zeros((X.shape[0], k), dtype=np.float32)
        cluster_of = route(unit_rows(X, self._threads), self.router_, n_threads=self._threads)
        clusters = np.unique(cluster_of).tolist()
        if len(clusters) == 1:
            return self._ranker(clusters[0])._rank(X, k, exhaustive=exhaustive)
        for c in clusters:
            rows = np.flatnonzero(cluster_of == c)
            labels[rows], scores[rows] = self._ranker(c)._rank(X[rows], k, exhaustive=exhaustive)
        return labels, scores

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:  # noqa: ARG002 - all labels of a cluster are scored
        """Return the explainer of the base, with the cluster of the point held fixed."""
        base = self.base_._explainer(None, labels, self.n_labels_)
        if row is None:
            return base
        own = self._labels_of(int(route(unit_rows(row, 1), self.router_, n_threads=1)[0]))
        outside = (
            "not a label of the point's cluster, so not predicted: the score is that of the base"
        )
        return Noted(base, [() if known else (outside,) for known in np.isin(labels, own)])

    def __getstate__(self) -> Any:
        # The scorers of clusters are created from the base on demand.
        state = dict(super().__getstate__())
        if "rankers_" in state:
            state["rankers_"] = {}
        return state

    def _max_ranked(self) -> int:
        return int(np.diff(self.label_ptr_).max())

    def _fitted_parts(self) -> list[BaseEstimator]:
        rankers = getattr(self, "rankers_", {}).values()
        copies = [one for one in rankers if isinstance(one, Classifier)]
        return super()._fitted_parts() + copies

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of training the base and ranking the training points with it."""
        return self._unfitted_base()._training_cost(X, Y).times(1.2)


def optimise_assignment(candidates: NDArray[Any], Y: Csr, ranked: Ids) -> NDArray[np.float64]:
    """Return a weight in [0, 1] per candidate label, by projected gradient ascent.

    Maximises the sum over points t of ``1 / |y_t|`` times the sum over its labels y of
    ``alpha_y / R(t, y) * (1 - Phi(sum of alpha_i with R(t, i) < R(t, y)))``, R being the rank
    according to the scorer, and ``Phi(r) = 1 / (1 + exp(5 - r))``.

    - ``candidates``: labels in increasing order.
    - ``ranked``, shape (n_points, n_ranked): the labels of each point, best first.
    """
    place = np.full(Y.shape[1] + 1, -1)
    place[candidates] = np.arange(len(candidates))
    relevant = sparse.csr_array(Y)[:, candidates].toarray() > 0
    sizes = np.maximum(np.diff(Y.indptr), 1)
    lists = []
    for t, columns in enumerate(place[ranked]):
        ranks = np.flatnonzero(columns >= 0)
        gain = relevant[t, columns[ranks]] / ((ranks + 1.0) * sizes[t])
        lists.append((columns[ranks], gain))
    alpha = np.full(len(candidates), 0.5)
    for number in range(_ASCENT_STEPS):
        slope = np.zeros_like(alpha)
        for columns, gain in lists:
            own = alpha[columns]
            phi = 1.0 / (1.0 + np.exp(_TOP_K - (np.cumsum(own) - own)))
            loss = gain * own * phi * (1.0 - phi)
            # A label lowers the gain of all labels that are ranked after it.
            later = np.cumsum(loss[::-1])[::-1] - loss
            np.add.at(slope, columns, gain * (1.0 - phi) - later)
        largest = np.abs(slope).max()
        if largest == 0.0:
            break
        alpha = np.clip(alpha + slope / largest / np.sqrt(number + 1.0), 0.0, 1.0)
    return alpha
