"""Word vectors from the training rows alone, for DEFRAG-G where no others fit the words.

Two words meet when they occur in the same row. The context words are the most frequent ones;
positive pointwise mutual information of words and context words, less the logarithm of a
shift, is cut to its leading singular vectors (Levy and Goldberg, 2014).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd


def word_vectors(
    X: sparse.csr_array, *, n_dimensions: int = 100, n_contexts: int = 3000, shift: float = 1.0
) -> np.ndarray:
    """Return one vector per column of X; zero for words that meet no context word."""
    present = sparse.csr_array((np.ones(X.nnz, dtype=np.float32), X.indices, X.indptr), X.shape)
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    contexts = np.sort(np.argsort(-frequency, kind="stable")[:n_contexts])
    met = sparse.csr_array(present.T @ present[:, contexts])
    # A word does not meet itself.
    met = met - sparse.csr_array(
        (frequency[contexts].astype(np.float32), (contexts, np.arange(len(contexts)))), met.shape
    )
    met.eliminate_zeros()
    rows = np.repeat(np.arange(met.shape[0]), np.diff(met.indptr))
    by_word = np.asarray(met.sum(axis=1))[rows]
    by_context = np.asarray(met.sum(axis=0))[met.indices]
    met.data = np.log(met.data * met.data.sum(dtype=np.float64) / (by_word * by_context * shift))
    met.data = np.maximum(met.data, 0.0).astype(np.float32)
    met.eliminate_zeros()
    left, values, _ = randomized_svd(met, n_dimensions, n_iter=4, random_state=0)
    return np.asarray(left * np.sqrt(values), dtype=np.float32)
