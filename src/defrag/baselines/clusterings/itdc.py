"""ITDC: divisive information-theoretic clustering (Dhillon et al., 2003), of Table 1."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._parameters import Choice, Float, Int, fitted, param
from defrag._progress import progress_bar
from defrag.agglomeration._groups import random_buckets
from defrag.baselines.clusterings._base import Rival, sum_clusters
from defrag.persistence.fields import Number, State
from defrag.trees import largest_ids
from defrag.typing import Csr, Ids, LabelsLike

# --- Mutual information of features and labels, from their joint distribution.
#
# ``joint`` is X^T Y, non-negative and not divided by its sum, ``pooled`` the same, summed by group.
# Sums of v ln v are computed in double precision.


def feature_information(joint: Csr) -> NDArray[np.float64]:
    """Return the contribution of each feature to the mutual information, in nats."""
    total = float(joint.data.sum(dtype=np.float64))
    if total == 0:
        return np.zeros(joint.shape[0])
    by_label = np.bincount(joint.indices, joint.data, minlength=joint.shape[1])
    values = joint.data.astype(np.float64)
    inner = _row_sums(joint, values * np.log(values / by_label[joint.indices]))
    by_feature = _row_sums(joint, values)
    # Row sums of v ln(v * total / (row sum * column sum)).
    return np.asarray((inner - _x_ln_x(by_feature) + by_feature * np.log(total)) / total)


def lost_information(joint: Csr, pooled: Csr) -> float:
    """Return I(labels; features) - I(labels; groups) in nats, the objective of ITDC."""
    total = float(joint.data.sum(dtype=np.float64))
    if total == 0:
        return 0.0
    return max(0.0, (_conditional(joint) - _conditional(pooled)) / total)


def _conditional(table: Csr) -> float:
    """Return the sum of v ln v over the entries of a table minus that over its row sums."""
    values = table.data.astype(np.float64)
    return float(_x_ln_x(values).sum() - _x_ln_x(_row_sums(table, values)).sum())


def _row_sums(table: Csr, values: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    return np.bincount(rows, values, minlength=table.shape[0]).astype(np.float64)


def _x_ln_x(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values * np.log(np.where(values > 0, values, 1.0))


_MIN_SMOOTHING = 2.0**-20


class ITDC(Rival):
    """Group features such that the loss of mutual information with the labels is small.

    A feature is represented by its distribution over the labels, a row of X^T Y. Features move
    to the group whose mean distribution is nearest in Kullback-Leibler divergence, until the
    relative decrease of the loss is below ``tol``. Groups are not balanced, and some may be
    empty.

    See Also
    --------
    defrag.metrics.evaluate_clustering : The objective as a fraction.

    Notes
    -----
    With smoothing, a feature has the same divergence from all groups that share no label with
    it; the others are found by an index from labels to groups. X must be non-negative. Features
    without labels are put into random groups.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import ITDC
    >>> X = np.kron(np.eye(3), np.ones((2, 2)))
    >>> groups = ITDC(n_clusters=3, start="label").fit(X, [0, 0, 1, 1, 2, 2])
    >>> groups.labels_.tolist(), groups.objective_
    ([0, 0, 1, 1, 2, 2], 0.0)
    """

    start: str = param(
        Choice(("random", "label")),
        "Initial groups: random groups of equal size, or, as published, one group for each "
        "label that is the most frequent one of a feature. The latter ends with a larger "
        "loss, especially with many labels. Its largest groups are split at random; if there "
        "are more labels than groups, the labels with the most features are used.",
        default="random",
    )
    smoothing: float = param(
        Float(0.0, open_low=True),
        "Weight of the uniform distribution that is mixed into a group in the first "
        "iteration; halved in every iteration.",
        default=1.0,
    )
    tol: float = param(
        Float(0.0), "Stop when the relative decrease of the loss is below this.", default=1e-3
    )
    max_iter: int = param(Int(1, 2**31 - 1), "Maximum number of iterations.", default=50)

    objective_: float = fitted(
        "float", "Lost mutual information in nats, I(Y; features) - I(Y; groups)."
    )

    _state = State(Number("objective_", Float(0.0)))

    def _find(self, X: Csr, Y: LabelsLike, n_clusters: int, seed: int) -> Ids:
        joint = self._joint(X, Y)
        if self.start == "label":
            labels = start_by_label(joint, n_clusters, seed, self._threads)
        else:
            labels = random_buckets(np.arange(X.shape[1], dtype=np.int32), n_clusters, seed)
        with progress_bar("clustering features", enabled=self.verbose > 0) as progress:
            return self._descend(joint, labels, n_clusters, progress)

    def _descend(self, joint: Csr, labels: Ids, n_clusters: int, progress: Any) -> Ids:
        """Move features to the nearest groups until the loss converges."""
        threads = self._threads
        pooled = sum_clusters(joint, labels, n_clusters, threads)
        best, lost = labels, lost_information(joint, pooled)
        smoothing, rounds = self.smoothing, 0
        while rounds < self.max_iter:
            labels = nearest_groups(joint, pooled, labels, smoothing, threads)
            pooled = sum_clusters(joint, labels, n_clusters, threads)
            before, now = lost, lost_information(joint, pooled)
            rounds += 1
            if progress is not None:
                progress(rounds / self.max_iter)
            # The loss can increase in the first iterations, whose smoothing is strong.
            if now < lost:
                best, lost = labels, now
            if before - now <= self.tol * before and smoothing < self.smoothing:
                break
            smoothing = max(smoothing / 2, _MIN_SMOOTHING)
        self.objective_, self.n_iter_ = lost, rounds
        return best

    def _needs_labels(self) -> bool:
        return True

    _needs_positive = _needs_labels


def nearest_groups(joint: Csr, pooled: Csr, groups: Ids, smoothing: float, n_threads: int) -> Ids:
    """Return the group that is nearest to each feature; those without labels keep theirs.

    The distribution q of a group over the labels is smoothed to (q + a / L) / (1 + a). Of the
    divergence of a feature from it, only the sum of p ln(1 + q L / a) depends on the group:
    the nearest group maximises it, and labels that do not occur in a group add nothing.
    """
    sums = np.asarray(pooled.sum(axis=1, dtype=np.float64))
    share = pooled.data / np.repeat(sums, np.diff(pooled.indptr))
    gains = np.log1p(share * (pooled.shape[1] / smoothing)).astype(np.float32)
    index = sparse.csr_array((gains, pooled.indices, pooled.indptr), shape=pooled.shape).T.tocsr()
    found = _native.best_matches(joint, index, n_best=1, n_threads=n_threads)
    result = groups.copy()
    result[np.diff(found.indptr) > 0] = found.columns
    return result


def start_by_label(joint: Csr, n_clusters: int, seed: int, n_threads: int) -> Ids:
    """Return initial groups by the most frequent label of each feature.

    If there are fewer such labels than groups, the largest groups are split at random; if
    there are more, only the labels with the most features are used. Features without such a
    label are put into random groups.
    """
    n_features, n_labels = joint.shape
    top_label = _most_frequent(joint, np.arange(n_labels, dtype=np.int32), n_threads)
    counts = np.bincount(top_label[top_label >= 0], minlength=n_labels)
    used = np.flatnonzero(counts).astype(np.int32)
    if len(used) > n_clusters:
        used = largest_ids(counts, n_clusters)
        top_label = _most_frequent(joint, used, n_threads)
    else:
        top_label = np.where(top_label >= 0, np.searchsorted(used, top_label), -1)
    counts = np.bincount(top_label[top_label >= 0], minlength=len(used))
    parts = count_parts(counts, n_clusters)
    first = np.cumsum(parts) - parts
    labels = np.empty(n_features, dtype=np.int32)
    order = np.argsort(top_label, kind="stable").astype(np.int32)
    ends = np.searchsorted(top_label[order], np.arange(len(used) + 1))
    for group in range(len(used)):
        members = order[ends[group] : ends[group + 1]]
        labels[members] = first[group] + random_buckets(members, int(parts[group]), seed)
    unassigned = order[: ends[0]]
    labels[unassigned] = random_buckets(unassigned, n_clusters, seed)
    return labels


def count_parts(counts: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Return the number of parts of each group when the largest parts are split repeatedly."""
    parts = np.ones(len(counts), dtype=np.int64)
    largest = [(-float(count), group) for group, count in enumerate(counts)]
    heapq.heapify(largest)
    for _ in range(n_parts - len(counts) if len(counts) else 0):
        _, group = largest[0]
        parts[group] += 1
        heapq.heapreplace(largest, (-float(counts[group] / parts[group]), group))
    return parts


def _most_frequent(joint: Csr, among: Ids, n_threads: int) -> NDArray[np.int64]:
    """Return the position in ``among`` of the most frequent label of each feature, or -1."""
    ones = np.ones(len(among), dtype=np.float32)
    pick = sparse.csr_array(
        (ones, (among, np.arange(len(among)))), shape=(joint.shape[1], len(among))
    )
    found = _native.best_matches(joint, pick, n_best=1, n_threads=n_threads)
    result = np.full(joint.shape[0], -1, dtype=np.int64)
    result[np.diff(found.indptr) > 0] = found.columns
    return result
