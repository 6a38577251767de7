"""Approximate nearest neighbours by HNSW graphs of usearch, an optional dependency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from defrag.typing import Floats, Ids

__all__ = ["HnswIndex", "import_usearch"]

_CONNECTIVITY = 16
_EXPANSION_ADD = 128
_EXPANSION_SEARCH = 128
"""Number of candidates of a search; more give a higher recall and take longer."""


def import_usearch() -> Any:
    """Return the module ``usearch.index``.

    Raises
    ------
    ImportError
        If usearch is not installed, with the command to install it.
    """
    try:
        from usearch import index  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImportError(
            "search='hnsw' needs usearch (pip install 'defrag[ann]'); search='exact' does not"
        ) from error
    return index


@dataclass(frozen=True)
class HnswIndex:
    """A hierarchical navigable small world graph (Malkov and Yashunin, 2018).

    It is built by one thread, in the order of the rows, so that equal vectors give equal graphs. A
    query has the same neighbours alone and in a batch, for any number of threads.
    """

    graph: Any

    @classmethod
    def build(cls, vectors: Floats, *, euclidean: bool) -> HnswIndex:
        """Return a graph of the rows of a matrix, for Euclidean distances or inner products."""
        graph = import_usearch().Index(
            ndim=vectors.shape[1],
            metric="l2sq" if euclidean else "ip",
            dtype="f32",
            connectivity=_CONNECTIVITY,
            expansion_add=_EXPANSION_ADD,
            expansion_search=_EXPANSION_SEARCH,
        )
        graph.add(np.arange(len(vectors), dtype=np.uint64), vectors, copy=True, threads=1)
        return cls(graph)

    def nearest(self, queries: Floats, *, n_best: int, n_threads: int) -> Ids:
        """Return the ``n_best`` nearest rows of each query, padded with -1."""
        matches = self.graph.search(queries, n_best, threads=n_threads)
        found = np.full((len(queries), n_best), -1, dtype=np.int32)
        if len(queries) == 1:  # the result of a batch of one has one dimension
            found[0, : len(matches.keys)] = matches.keys
            return found
        known = np.arange(n_best) < np.asarray(matches.counts)[:, None]
        found[known] = matches.keys[known]
        return found
