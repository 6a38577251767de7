"""ITDC: divisive information-theoretic clustering (Dhillon, Mallela and Kumar, 2003)."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._parameters import Choice, Float, Int
from defrag._progress import progress_bar
from defrag.agglomeration._budget import random_buckets
from defrag.agglomeration._clustering import GROUP_RULES
from defrag.agglomeration.rivals._base import Found, Rival
from defrag.agglomeration.rivals._centres import sum_clusters
from defrag.agglomeration.rivals._information import lost_information
from defrag.trees.vectors import largest_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from defrag.typing import Csr, Ids, LabelsLike, Seed

__all__ = ["ITDC"]

_LEAST_SMOOTHING = 2.0**-20


class ITDC(Rival):
    """Group the features so that the groups tell as much about the labels as they can.

    A feature is its distribution over the labels, a row of X^T Y. Every feature moves to the
    group whose mixture of distributions is nearest in Kullback-Leibler divergence, until what is
    lost falls by less than ``tol`` of itself. The groups have no balance, and some may be empty.

    Parameters
    ----------
    max_cluster_size : int, default=8
        Sets the number of groups, by the same rule as :class:`Defrag`; groups may be larger.
    n_clusters : int, optional
        The number of groups, instead.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule.
    start : {"random", "label"}, default="random"
        Where features start: in equally large random groups, or with their most frequent label,
        as published, which ends with a higher loss, far higher where there are many labels.
        Groups of a label that are too large are then cut at random, and where there are more
        such labels than groups, the labels with most features are taken.
    smoothing : float, default=1.0
        The share of the uniform distribution that is mixed into a group in the first round;
        halved in every round.
    tol : float, default=1e-3
        A round that lowers the loss by less than this share of it is the last.
    max_iter : int, default=50
        The most rounds.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group in a row.
    scale : {None, "energy"}, default=None
        Bring each group to the energy of its members.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random groups and cuts.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    verbose : bool or int, default=0
        Show a progress bar on a terminal.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_features,)
        The group of each feature.
    n_clusters_ : int
        How many groups there are, empty ones among them.
    objective_ : float
        The information that was lost, in nats: I(Y; features) - I(Y; groups).
    n_iter_ : int
        Rounds that it took.
    energy_ : ndarray of float64, shape (n_features,)
        Sum of squares of each feature over unit rows of the training data.
    scale_ : ndarray of float32, shape (``n_clusters_``,) or None
        What the groups are multiplied by.
    n_features_in_ : int
        How many features X had.

    See Also
    --------
    defrag.metrics.loss_of_mutual_information : The objective as a share of all information.

    Notes
    -----
    With smoothing, the divergence of a feature from all groups that share no label with it is
    the same; the others are found through an index from labels to groups. X must not be
    negative. Features that occur with no label share the groups at random.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration.rivals import ITDC
    >>> X = np.kron(np.eye(3), np.ones((2, 2)))
    >>> groups = ITDC(n_clusters=3, start="label").fit(X, [0, 0, 1, 1, 2, 2])
    >>> groups.labels_.tolist(), groups.objective_
    ([0, 0, 1, 1, 2, 2], 0.0)
    """

    objective_: float

    def __init__(
        self,
        *,
        max_cluster_size: int = 8,
        n_clusters: int | None = None,
        stop: str = "leaf<=d0",
        start: str = "random",
        smoothing: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 50,
        pooling: str = "sum",
        scale: str | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_cluster_size = max_cluster_size
        self.n_clusters = n_clusters
        self.stop = stop
        self.start = start
        self.smoothing = smoothing
        self.tol = tol
        self.max_iter = max_iter
        self.pooling = pooling
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    learnt_numbers: ClassVar[dict[str, Any]] = {"objective": Float(0.0)}

    parameter_rules: ClassVar[dict[str, Any]] = {
        **GROUP_RULES,
        "start": Choice(("random", "label")),
        "smoothing": Float(0.0, open_low=True),
        "tol": Float(0.0),
        "max_iter": Int(1, 2**31 - 1),
    }

    def _find(
        self,
        X: Csr,
        Y: LabelsLike,
        energy: NDArray[np.float64],  # noqa: ARG002 - as every rival
        n_clusters: int,
        seed: int,
    ) -> Found:
        threads = _native.n_threads(self.n_jobs)
        joint = self._joint(X, Y)
        if self.start == "label":
            labels = start_by_label(joint, n_clusters, seed, threads)
        else:
            labels = random_buckets(np.arange(X.shape[1], dtype=np.int32), n_clusters, seed)
        with progress_bar("clustering features", enabled=self.verbose > 0) as progress:
            return self._descend(joint, labels, n_clusters, threads, progress)

    def _descend(
        self, joint: Csr, labels: Ids, n_clusters: int, threads: int, progress: Any
    ) -> Found:
        """Move features to the nearest groups until that no longer helps."""
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
            # The first rounds smooth so much that one of them may well lose.
            if now < lost:
                best, lost = labels, now
            if before - now <= self.tol * before and smoothing < self.smoothing:
                break
            smoothing = max(smoothing / 2, _LEAST_SMOOTHING)
        self.objective_ = lost
        return Found(best, rounds)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags


def nearest_groups(joint: Csr, pooled: Csr, labels: Ids, smoothing: float, n_threads: int) -> Ids:
    """Give the group that is nearest to each feature.

    The distribution q of a group over the labels is smoothed to (q + a / L) / (1 + a). Of the
    divergence of a feature from it, only the sum of p ln(1 + q L / a) depends on the group:
    the nearest has most of it, and labels that a group does not have add nothing.

    Parameters
    ----------
    joint : csr_array, shape (n_features, n_labels)
        The features' labels.
    pooled : csr_array, shape (n_clusters, n_labels)
        The groups' labels.
    labels : ndarray of int32
        The present groups; a feature without labels stays where it is.
    smoothing : float
        The a above.
    n_threads : int
        Threads.
    """
    sums = np.asarray(pooled.sum(axis=1, dtype=np.float64))
    share = pooled.data / np.repeat(sums, np.diff(pooled.indptr))
    gains = np.log1p(share * (pooled.shape[1] / smoothing)).astype(np.float32)
    index = sparse.csr_array((gains, pooled.indices, pooled.indptr), shape=pooled.shape).T.tocsr()
    found = _native.best_matches(joint, index, n_best=1, n_threads=n_threads)
    result = labels.copy()
    result[np.diff(found.indptr) > 0] = found.columns
    return result


def start_by_label(joint: Csr, n_clusters: int, seed: int, n_threads: int) -> Ids:
    """Put every feature into the group of its most frequent label.

    Where there are fewer such labels than groups, the largest group is cut at random again
    and again; where there are more, the labels with most features have the groups, and a
    feature goes by the most frequent of these. Features without any are dealt at random.
    """
    n_features, n_labels = joint.shape
    favourite = _most_frequent(joint, np.arange(n_labels, dtype=np.int32), n_threads)
    counts = np.bincount(favourite[favourite >= 0], minlength=n_labels)
    used = np.flatnonzero(counts).astype(np.int32)
    if len(used) > n_clusters:
        used = largest_ids(counts, n_clusters)
        favourite = _most_frequent(joint, used, n_threads)
    else:
        favourite = np.where(favourite >= 0, np.searchsorted(used, favourite), -1)
    counts = np.bincount(favourite[favourite >= 0], minlength=len(used))
    parts = share_out(counts, n_clusters)
    first = np.cumsum(parts) - parts
    labels = np.empty(n_features, dtype=np.int32)
    order = np.argsort(favourite, kind="stable").astype(np.int32)
    ends = np.searchsorted(favourite[order], np.arange(len(used) + 1))
    for group in range(len(used)):
        members = order[ends[group] : ends[group + 1]]
        labels[members] = first[group] + random_buckets(members, int(parts[group]), seed)
    homeless = order[: ends[0]]
    labels[homeless] = random_buckets(homeless, n_clusters, seed)
    return labels


def share_out(counts: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Cut the group of the largest parts once more, until there are as many as wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration.rivals.itdc import share_out
    >>> share_out(np.array([9, 2, 4]), 6)
    array([3, 1, 2])
    """
    parts = np.ones(len(counts), dtype=np.int64)
    largest = [(-float(count), group) for group, count in enumerate(counts)]
    heapq.heapify(largest)
    for _ in range(n_parts - len(counts) if len(counts) else 0):
        _, group = largest[0]
        parts[group] += 1
        heapq.heapreplace(largest, (-float(counts[group] / parts[group]), group))
    return parts


def _most_frequent(joint: Csr, among: Ids, n_threads: int) -> NDArray[np.int64]:
    """Give the position in ``among`` of each feature's most frequent label there, or -1."""
    ones = np.ones(len(among), dtype=np.float32)
    pick = sparse.csr_array(
        (ones, (among, np.arange(len(among)))), shape=(joint.shape[1], len(among))
    )
    found = _native.best_matches(joint, pick, n_best=1, n_threads=n_threads)
    result = np.full(joint.shape[0], -1, dtype=np.int64)
    result[np.diff(found.indptr) > 0] = found.columns
    return result
