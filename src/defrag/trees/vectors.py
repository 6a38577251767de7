"""Vectors of features and labels for clustering: construction, sampling, scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._validation import check_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids, MatrixLike

__all__ = ["FeatureVectors", "given_vectors", "label_vectors", "largest_ids", "scale_vectors"]


def largest_ids(weights: NDArray[Any], n: int) -> Ids:
    """Return the ids of the ``n`` largest weights in ascending order; ties go to the lower id.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.trees.vectors import largest_ids
    >>> largest_ids(np.array([5, 9, 5, 1, 5]), 3)
    array([0, 1, 2], dtype=int32)
    """
    chosen = np.argsort(-np.asarray(weights), kind="stable")[:n]
    return np.sort(chosen).astype(np.int32)


class FeatureVectors:
    """Vectors of the features of X.

    Vectors are computed from a sample of the points. A feature that does not occur in the
    sample would have a zero vector and be clustered at random; its vector is computed from all
    points instead. If that is also zero (none of its points has a sampled label, or no vector
    was given for it), its column of X is used, with separate coordinates.

    Parameters
    ----------
    X : csr_array, shape (n_points, n_features)
        Canonical training data.
    sample_points : float
        Fraction of the points to use, those with the largest volume first.
    volume : {"l1", "l0"}
        The volume of a point: the sum of its absolute values, or its number of non-zeros.
    row_norm : {None, "l2"}
        Whether points are L2-normalised first.
    n_threads : int
        Number of threads; the result does not depend on it.
    """

    def __init__(
        self, X: Csr, *, sample_points: float, volume: str, row_norm: str | None, n_threads: int
    ) -> None:
        self.X = X
        self.n_threads = n_threads
        self.points = self._sample(sample_points, volume)
        self.row_scale = self._row_scale(row_norm)

    def by_points(self) -> Csr:
        """Return the columns of X, which are similar for features of the same points."""
        from_sample = self._columns(self._all_features(), sampled=True)
        from_all_points = self._columns(_empty_rows(from_sample), sampled=False)
        return self._fill(from_sample, from_all_points, shift=from_sample.shape[1])

    def by_labels(self, Y: Csr, *, n_labels: int, popularity: str) -> Csr:
        """Return the rows of X^T Y, which are similar for features of the same labels.

        Parameters
        ----------
        Y : csr_array, shape (n_points, n_all_labels)
            Labels of the points.
        n_labels : int
            Number of labels to use, the most frequent first.
        popularity : {"all", "sample"}
            Whether frequencies are counted on all points or on the sampled ones.
        """
        counted = Y if popularity == "all" else Y[self.points]
        counts = np.bincount(counted.indices, minlength=Y.shape[1])
        kept = Y[:, largest_ids(counts, n_labels)]
        kept.sort_indices()
        from_sample = self.joint(kept)
        columns = self._columns(_empty_rows(from_sample), sampled=False)
        from_all_points = self._fill(self._multiply(columns, kept), columns, shift=kept.shape[1])
        return self._fill(from_sample, from_all_points, shift=0)

    def joint(self, Y: Csr) -> Csr:
        """Return X^T Y on the sampled points, without replacing zero rows."""
        return self._multiply(self._columns(self._all_features(), sampled=True), Y[self.points])

    def by_given(self, vectors: Csr) -> Csr:
        """Return external vectors, such as word embeddings."""
        columns = self._columns(_empty_rows(vectors), sampled=False)
        return self._fill(vectors, columns, shift=vectors.shape[1])

    def _sample(self, share: float, volume: str) -> Ids:
        n = self.X.shape[0]
        n_kept = max(1, int(share * n))
        if n_kept >= n:
            return np.arange(n, dtype=np.int32)
        if volume == "l0":
            return largest_ids(np.diff(self.X.indptr), n_kept)
        norms = _native.row_norms(self.X, norm=_native.Norm.l1, n_threads=self.n_threads)
        return largest_ids(norms, n_kept)

    def _row_scale(self, row_norm: str | None) -> Floats | None:
        if row_norm is None:
            return None
        norms = _native.row_norms(self.X, norm=_native.Norm.l2, n_threads=self.n_threads)
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)

    def _all_features(self) -> NDArray[np.bool_]:
        return np.ones(self.X.shape[1], dtype=np.bool_)

    def _columns(self, wanted: NDArray[np.bool_], *, sampled: bool) -> Csr:
        n = self.X.shape[0]
        points = self.points if sampled else np.arange(n, dtype=np.int32)
        coordinate = np.full(n, -1, dtype=np.int32)
        coordinate[points] = np.arange(len(points), dtype=np.int32)
        return _native.feature_rows(
            self.X,
            coordinate=coordinate,
            n_coords=len(points),
            wanted=wanted,
            row_scale=self.row_scale,
            n_threads=self.n_threads,
        )

    def _multiply(self, A: Csr, B: Csr) -> Csr:
        return _native.multiply(A, B, n_threads=self.n_threads)

    def _fill(self, first: Csr, second: Csr, *, shift: int) -> Csr:
        if second.nnz == 0:
            return first
        return _native.fill_empty_rows(first, second, shift=shift, n_threads=self.n_threads)


def given_vectors(
    vectors: MatrixLike | Mapping[Any, Any], *, n_features: int, names: Sequence[Any] | None
) -> Csr:
    """Return user-given vectors, a matrix or a mapping from features to vectors, as a matrix.

    Parameters
    ----------
    vectors : matrix of shape (n_features, n_dimensions), or mapping
        Keys of a mapping are feature names if ``names`` are given, else feature ids; features
        without a key have no vector.
    n_features : int
        Number of features.
    names : sequence, optional
        Feature names.
    """
    if not isinstance(vectors, Mapping):
        matrix = check_matrix(vectors, name="representation")
        if matrix.shape[0] != n_features:
            raise ValueError(
                f"representation must have one row per feature ({n_features}), "
                f"got {matrix.shape[0]}"
            )
        return matrix
    keys = range(n_features) if names is None else names
    rows = [
        (j, np.asarray(vectors[key], dtype=np.float32))
        for j, key in enumerate(keys)
        if key in vectors
    ]
    if not rows:
        kind = "feature ids" if names is None else "feature names"
        raise ValueError(f"representation is a mapping, but none of its keys are {kind} of X")
    sizes = {row.shape for _, row in rows}
    if len(sizes) != 1 or len(rows[0][1].shape) != 1:
        raise ValueError(f"representation must map to vectors of one length, got {sorted(sizes)}")
    dense = sparse.csr_array(np.stack([row for _, row in rows]))
    place = sparse.csr_array(
        (
            np.ones(len(rows), dtype=np.float32),
            ([j for j, _ in rows], np.arange(len(rows))),
        ),
        shape=(n_features, len(rows)),
    )
    return check_matrix(place @ dense, name="representation")


def label_vectors(X: Csr, positives: Csr, *, max_entries: int, n_threads: int) -> Csr:
    """Return L2-normalised sums of the points of each label, cut to their largest entries.

    Parameters
    ----------
    X : csr_array, shape (n_points, n_features)
        The points.
    positives : csr_array, shape (n_labels, n_points)
        The points of each label.
    max_entries : int
        Number of entries to keep per label, 0 for all.
    n_threads : int
        Number of threads.
    """
    sums = _native.multiply(positives, X, max_entries=max_entries, n_threads=n_threads)
    return scale_vectors(sums, split="kmeans", threshold=0.0, n_threads=n_threads)


def scale_vectors(Z: Csr, *, split: str, threshold: float, n_threads: int) -> Csr:
    """Return vectors scaled as ``build_tree`` requires for a kind of split."""
    if split == "ndcg" and Z.nnz and Z.data.min() < 0:
        raise ValueError(
            'Negative values in data passed to split="ndcg", which requires values >= 0, '
            f"got {float(Z.data.min()):g}"
        )
    scale = _native.RowScale.ideal if split == "ndcg" else _native.RowScale.unit
    return _native.scale_rows(Z, scale=scale, threshold=threshold, n_threads=n_threads)


def _empty_rows(Z: Csr) -> NDArray[np.bool_]:
    return np.asarray(np.diff(Z.indptr) == 0)
