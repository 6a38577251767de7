"""BCLS: balanced clustering with least squares (Liu et al., 2017), of Table 1 of the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from defrag._parameters import Float, Int, param
from defrag._progress import progress_bar
from defrag.agglomeration._groups import hash_buckets, membership, random_buckets
from defrag.baselines.clusterings._base import VectorRival, check_memory
from defrag.typing import Csr, Ids, LabelsLike, Progress

_PENALTY_GROWTH = 1.005
_MAX_PENALTY = 1e5


class BCLS(VectorRival):
    """Find groups of nearly equal size that a linear regression can separate.

    The method finds groups, a linear map and an offset such that the map takes the vector of
    a feature to the indicator of its group, with a penalty on the squared sizes of the groups,
    by a fixed number of iterations on an augmented Lagrangian. Memory is quadratic in the
    number of features: use it for at most a few thousand features.

    See Also
    --------
    defrag.Defrag : Balanced groups for any number of features.

    Notes
    -----
    Indicator matrices are never formed: only the column sums of the multipliers are needed, and
    the regression on indicators is a sum of rows of one projection matrix.
    Features that never occur are put into random groups.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import BCLS
    >>> X = np.kron(np.eye(3), np.ones((2, 4)))
    >>> groups = BCLS(n_clusters=3, sample_points=1.0, random_state=0).fit(X)
    >>> [len(set(groups.labels_[i : i + 4])) for i in (0, 4, 8)]
    [1, 1, 1]
    """

    balance_penalty: float = param(Float(0.0), "Weight of the squared sizes.", default=100.0)
    penalty: float = param(
        Float(0.0, open_low=True),
        "Initial penalty of the Lagrangian, which grows by half a percent per iteration. It "
        "is also the gain required to leave a group, so it must be small for small groups.",
        default=0.1,
    )
    ridge: float = param(Float(0.0, open_low=True), "Weight of the squared map.", default=1e-5)
    variance: float = param(
        Float(0.0, 1.0, open_low=True),
        "Fraction of the variance of the vectors that their principal components keep.",
        default=0.9,
    )
    max_iter: int = param(Int(1, 2**31 - 1), "Number of iterations.", default=1200)
    max_memory_gb: float = param(
        Float(0.0, open_low=True), "Raise ValueError if more memory is needed.", default=4.0
    )

    def _find(self, X: Csr, Y: LabelsLike, n_clusters: int, seed: int) -> Ids:
        n_features = X.shape[1]
        # The projection and the scores of the groups, known before the vectors are computed.
        min_bytes = 4.0 * n_features**2 + 8.0 * n_features * n_clusters
        check_memory(self, min_bytes, f"{n_features} features and {n_clusters} groups")
        seen, items = self._unit_vectors(X, Y)
        used = np.unique(items.indices)
        # The vectors as a dense matrix, twice, and the eigenvectors of the smaller square.
        total = min_bytes + 16.0 * len(seen) * len(used) + 24.0 * min(len(seen), len(used)) ** 2
        what = f"{len(seen)} features of {len(used)} coordinates and {n_clusters} groups"
        check_memory(self, total, what)
        labels = random_buckets(np.arange(n_features, dtype=np.int32), n_clusters, seed)
        if len(seen):
            with progress_bar("clustering features", enabled=self.verbose > 0) as progress:
                dense = items[:, used].toarray().astype(np.float64)
                fitted = projection(dense, self.variance, self.ridge)
                start = hash_buckets(seen, n_clusters, seed)
                labels[seen] = self._descend(fitted, start, n_clusters, progress)
        self.n_iter_ = self.max_iter
        return labels

    def _descend(
        self, fitted: NDArray[np.float32], labels: Ids, n_clusters: int, progress: Progress | None
    ) -> Ids:
        """Run the iterations; ``fitted`` is the matrix that maps indicators to their regression.

        With indicators Y, their copy Z, multipliers M and penalty u, one iteration is
        Z = (u Y + M - 1 c^T) / u with c proportional to the column sums of u Y + M, then
        Y' = indicator of the largest entry in each row of 2 F Y + 2 1 b^T + u Z - M, and
        M' = M + u (Y' - Z). By substitution, u Z - M is u Y - 1 c^T and M' is u (Y' - Y) + 1 c^T,
        so only the column sums of M are needed.
        """
        n = len(labels)
        rows = np.arange(n)
        sizes = np.bincount(labels, minlength=n_clusters).astype(np.float64)
        multipliers = np.zeros(n_clusters)
        penalty = self.penalty
        for step in range(self.max_iter):
            share = 2.0 * self.balance_penalty / (penalty + 2.0 * n * self.balance_penalty)
            pull = share * (penalty * sizes + multipliers)
            groups = membership(labels, n_clusters).astype(np.float32)
            scores = 2.0 * (groups @ fitted)
            scores += (2.0 * sizes / n - pull)[:, None].astype(np.float32)
            scores[labels, rows] += np.float32(penalty)
            labels = scores.argmax(axis=0).astype(np.int32)
            before, sizes = sizes, np.bincount(labels, minlength=n_clusters).astype(np.float64)
            multipliers = penalty * (sizes - before) + n * pull
            penalty = min(_PENALTY_GROWTH * penalty, _MAX_PENALTY)
            if progress is not None:
                progress((step + 1) / self.max_iter)
        return labels


def projection(points: NDArray[np.float64], variance: float, ridge: float) -> NDArray[np.float32]:
    """Return A (A^T A + ridge I)^-1 A^T, where A are the principal components of the points.

    - ``points``, shape (n_points, n_coords): the points; standardised in place.
    - ``variance``: fraction of the variance that the components keep.
    """
    points -= points.mean(axis=0)
    spread = points.std(axis=0)
    points /= np.where(spread > 0, spread, 1.0)
    tall = points.shape[0] > points.shape[1]
    values, vectors = linalg.eigh(points.T @ points if tall else points @ points.T)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = int(np.searchsorted(np.cumsum(values), variance * values.sum()) + 1)
    values, vectors = values[:kept], vectors[:, :kept]
    good = values > values.max(initial=0.0) * 1e-12
    values, vectors = values[good], vectors[:, good]
    left = points @ (vectors / np.sqrt(values)) if tall else vectors
    left = left.astype(np.float32)
    return np.asarray((left * (values / (values + ridge)).astype(np.float32)) @ left.T)
