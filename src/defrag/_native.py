"""The only importer of the compiled module: scipy matrices in, scipy matrices out.

Kernels trust their input; whoever calls a function here has been through
``_validation``.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from defrag import _core
from defrag._core import FeatureIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids, Offsets, Progress

__all__ = [
    "FeatureIndex",
    "FlatSolution",
    "KMeansClusters",
    "KernelRows",
    "LabelTreeArrays",
    "LabelTreeWeights",
    "ParseError",
    "ParsedText",
    "SolverOptions",
    "Tally",
    "TextParser",
    "agglomerate",
    "average_trees",
    "beam_search",
    "best_first_search",
    "can_run",
    "column_statistics",
    "company_order",
    "csr_from_parts",
    "csr_parts",
    "feature_index",
    "feature_rows",
    "fill_empty_rows",
    "format_rows",
    "inspect_csr",
    "multiply",
    "n_threads",
    "parse_values",
    "row_norms",
    "scale_rows",
    "solve_blocks",
    "spherical_kmeans",
    "split_items",
    "train_label_tree",
    "unit_rows",
]

_CSR_STATES = ("canonical", "unsorted", "bad pointers", "bad indices")


def n_threads(n_jobs: int | None) -> int:
    """Translate scikit-learn's ``n_jobs`` into a number of threads."""
    if n_jobs is None:
        return 1
    if n_jobs > 0:
        return n_jobs
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (available or 1) + 1 + n_jobs)


class KernelRows(NamedTuple):
    """A canonical matrix on its way from one kernel to the next.

    Making a scipy matrix takes longer than a search for one row.
    """

    indptr: Offsets
    indices: Ids
    data: Floats
    shape: tuple[int, int]


def csr_parts(X: Csr | KernelRows) -> tuple[Offsets, Ids, Floats]:
    """Give the three arrays of a canonical matrix in the types that the kernels take."""
    return (
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.data, dtype=np.float32),
    )


def csr_from_parts(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Csr:
    """Make a scipy matrix of the arrays a kernel returned; they are sorted and unique."""
    indptr, indices, data = parts
    if indptr[-1] <= np.iinfo(np.int32).max:
        # scipy wants one index type for both; the narrow one is free unless nnz is huge.
        indptr = indptr.astype(np.int32)
    result = sparse.csr_array((data, indices, indptr), shape=shape)
    result.has_canonical_format = True
    return result


def inspect_csr(indptr: Offsets, indices: Ids, *, n_cols: int) -> str:
    """Look at every index of a matrix from outside and name its state."""
    return _CSR_STATES[_core.inspect_csr(indptr, indices, n_cols=n_cols)]


def agglomerate(
    X: Csr,
    groups: Ids,
    *,
    n_groups: int,
    mean_nonzero: bool,
    scale: Floats | None,
    n_threads: int,
    progress: Progress | None = None,
) -> Csr:
    """Add up the features of each group; see ``cpp/core/agglomeration.hpp``."""
    parts = _core.agglomerate(
        csr_parts(X),
        groups,
        n_groups=n_groups,
        mean_nonzero=mean_nonzero,
        scale=scale,
        n_threads=n_threads,
        progress=progress,
    )
    return csr_from_parts(parts, (X.shape[0], n_groups))


def column_statistics(
    X: Csr, *, n_threads: int, row_lengths: Floats | None = None
) -> tuple[Offsets, NDArray[np.float64]]:
    """Count the rows of each column and add up its squares, rows divided by their lengths."""
    counts, mass = _core.column_statistics(
        csr_parts(X), n_cols=X.shape[1], row_lengths=row_lengths, n_threads=n_threads
    )
    return counts, mass


def row_norms(X: Csr, *, l1: bool, n_threads: int) -> Floats:
    """Give the L1 or L2 norm of each row."""
    return np.asarray(_core.row_norms(csr_parts(X), l1=l1, n_threads=n_threads))


def feature_rows(
    X: Csr,
    *,
    coordinate: Ids,
    n_coords: int,
    wanted: NDArray[np.bool_],
    row_scale: Floats | None,
    n_threads: int,
) -> Csr:
    """Turn columns into rows; see ``cpp/core/representations.hpp``."""
    parts = _core.feature_rows(
        csr_parts(X),
        coordinate=coordinate,
        n_coords=n_coords,
        wanted=wanted.view(np.uint8),
        row_scale=row_scale,
        n_threads=n_threads,
    )
    return csr_from_parts(parts, (X.shape[1], n_coords))


def multiply(A: Csr, B: Csr, *, n_threads: int, max_entries: int = 0) -> Csr:
    """Multiply two sparse matrices; keep the largest entries of each row, 0 for all."""
    parts = _core.multiply(
        csr_parts(A),
        csr_parts(B),
        n_cols=B.shape[1],
        max_entries=max_entries,
        n_threads=n_threads,
    )
    return csr_from_parts(parts, (A.shape[0], B.shape[1]))


def scale_rows(Z: Csr, *, ideal: bool, threshold: float, n_threads: int) -> Csr:
    """Scale rows to length 1, or to ideal DCG 1, and drop small entries."""
    parts = _core.scale_rows(csr_parts(Z), ideal=ideal, threshold=threshold, n_threads=n_threads)
    return csr_from_parts(parts, Z.shape)


def unit_rows(X: Csr, *, n_threads: int) -> KernelRows:
    """Bring rows to length 1 for ``beam_search``; empty rows stay."""
    indptr, indices, data = _core.scale_rows(
        csr_parts(X), ideal=False, threshold=0.0, n_threads=n_threads
    )
    return KernelRows(indptr, indices, data, X.shape)


def fill_empty_rows(first: Csr, second: Csr, *, shift: int, n_threads: int) -> Csr:
    """Take the rows of ``second``, ``shift`` columns on, where those of ``first`` are empty."""
    parts = _core.fill_empty_rows(
        csr_parts(first), csr_parts(second), shift=shift, n_threads=n_threads
    )
    n_cols = max(first.shape[1], second.shape[1] + shift)
    return csr_from_parts(parts, (first.shape[0], n_cols))


def company_order(items: Csr, *, seed: int) -> Ids:
    """Order items so that ties keep together what belongs together."""
    order = _core.company_order(csr_parts(items), n_coords=items.shape[1], seed=seed)
    return np.asarray(order)


def split_items(
    items: Csr,
    *,
    first_child: Ids,
    begin: Offsets,
    end: Offsets,
    ndcg: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
    starts: Offsets | None,
    n_threads: int,
    progress: Progress | None,
) -> tuple[Ids, NDArray[np.float64], Ids]:
    """Deal items to the leaves of a tree; see ``cpp/core/tree.hpp``."""
    order, objective, n_rounds = _core.split_items(
        csr_parts(items),
        n_coords=items.shape[1],
        first_child=first_child,
        begin=begin,
        end=end,
        ndcg=ndcg,
        tolerance=tolerance,
        max_iterations=max_iterations,
        seed=seed,
        starts=starts,
        n_threads=n_threads,
        progress=progress,
    )
    return order, objective, n_rounds


ParseError = _core.ParseError
"""What the parser raises: the number of the line and the message."""

TEXT_LAYOUTS = ("combined", "features", "labels", "svmlight", "scores")


@dataclass(frozen=True)
class Tally:
    """How often a reader met something, and the line where it did first."""

    count: int
    first_line: int


@dataclass(frozen=True)
class ParsedText:
    """All that a text held: features or scores, and labels; what it had not has no rows."""

    pairs: Csr
    labels: Csr
    declared_rows: int | None
    repeated_features: Tally
    repeated_labels: Tally
    non_finite: Tally
    skipped_lines: Tally


class TextParser:
    """Parse text that comes as runs of whole lines; see ``cpp/core/xmc_parser.hpp``."""

    def __init__(
        self,
        layout: str,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        first_feature: int = 0,
        first_label: int = 0,
        drop_non_finite: bool = False,
    ) -> None:
        self._parser = _core.TextParser(
            layout=TEXT_LAYOUTS.index(layout),
            n_features=-1 if n_features is None else n_features,
            n_labels=-1 if n_labels is None else n_labels,
            first_feature=first_feature,
            first_label=first_label,
            drop_non_finite=drop_non_finite,
        )

    def feed(self, text: bytes) -> None:
        """Parse the next lines; the last one may lack its line feed only at the end."""
        self._parser.feed(text if text.endswith(b"\n") else text + b"\n")

    def finish(self) -> ParsedText:
        """Give the result, once."""
        found: dict[str, Any] = self._parser.finish()
        indptr, indices, _ = found["labels"]
        ones = np.ones(len(indices), dtype=np.float32)
        return ParsedText(
            pairs=csr_from_parts(found["pairs"], (len(found["pairs"][0]) - 1, found["n_pairs"])),
            labels=csr_from_parts((indptr, indices, ones), (len(indptr) - 1, found["n_labels"])),
            declared_rows=found["declared_rows"] if found["declared_rows"] >= 0 else None,
            **{
                name: Tally(*found[name])
                for name in ("repeated_features", "repeated_labels", "non_finite", "skipped_lines")
            },
        )


def parse_values(text: bytes) -> Floats:
    """Parse numbers with blanks between them; see ``cpp/core/xmc_parser.hpp``."""
    return np.asarray(_core.parse_values(text), dtype=np.float32)


def format_rows(
    X: Csr,
    Y: Csr,
    *,
    layout: str,
    first_feature: int = 0,
    first_label: int = 0,
    block_entries: int = 1 << 19,
) -> Iterator[bytes]:
    """Write rows as text, some megabytes at a time; see ``cpp/core/xmc_writer.hpp``."""
    features, labels = csr_parts(X), csr_parts(Y)
    n_rows = (X if layout != "labels" else Y).shape[0]
    n_entries = X.nnz + Y.nnz
    step = max(1, min(block_entries, n_rows * block_entries // max(1, n_entries)))
    for begin in range(0, n_rows, step):
        yield _core.format_rows(
            features,
            labels,
            layout=TEXT_LAYOUTS.index(layout),
            first_feature=first_feature,
            first_label=first_label,
            begin=begin,
            end=min(n_rows, begin + step),
        )


@dataclass(frozen=True)
class SolverOptions:
    """What the dual coordinate descent solves, and how; see ``cpp/core/solver.hpp``.

    Parameters
    ----------
    loss : {"squared_hinge", "logistic"}
        The loss of a margin.
    cost : float
        Weight of the losses against the regulariser, usually called C.
    bias : float
        Value of the bias feature, 0 for none.
    offset : bool
        Whether a fixed 2 p / m - 1 is part of the score of a label with p of m positives.
    max_passes : int
        Passes over the rows.
    tolerance : float
        Stop when the projected gradients lie within this; 0 for never.
    shrink : float
        Leave out rows whose lanes are all at zero with a gradient above this; inf for never.
    skip : float
        Leave the weights alone when no dual variable of a row moves by more than this.
    threshold : float
        Drop weights of at most this size.
    measure : bool
        Compute the primal and dual objectives.
    seed : int
        Seed of the visiting orders.
    instructions : {"best", "baseline", "avx2", "avx512"}
        Which version of the vector code runs; all give the same bits.
    """

    loss: str = "squared_hinge"
    cost: float = 1.0
    bias: float = 0.3
    offset: bool = True
    max_passes: int = 8
    tolerance: float = 0.0
    shrink: float = 0.0
    skip: float = 1e-2
    threshold: float = 0.1
    measure: bool = False
    seed: int = 0
    instructions: str = "best"

    def to_core(self) -> _core.SolverOptions:
        """Make the compiled module's twin of these options."""
        core = _core.SolverOptions()
        for name, value in asdict(self).items():
            setattr(core, name, value)
        return core


@dataclass(frozen=True)
class FlatSolution:
    """One-vs-rest classifiers of all labels, and how each came about."""

    weights: Csr
    bias: Floats
    passes: Offsets
    converged: NDArray[np.bool_]
    violation: NDArray[np.float64]
    primal: NDArray[np.float64]
    dual: NDArray[np.float64]


def can_run(instructions: str) -> bool:
    """Tell whether this processor can run a version of the vector code."""
    return bool(_core.can_run(instructions))


def solve_blocks(
    X: Csr,
    Y: Csr,
    options: SolverOptions,
    *,
    n_threads: int,
    progress: Progress | None = None,
) -> FlatSolution:
    """Solve every column of Y against the rest, sixteen at a time.

    The weights come as a matrix of features by labels.
    """
    positives = sparse.csr_array(Y.T)
    parts, bias, passes, converged, violation, primal, dual = _core.solve_blocks(
        *csr_parts(X),
        *csr_parts(positives),
        n_features=X.shape[1],
        options=options.to_core(),
        n_threads=n_threads,
        progress=progress,
    )
    weights = csr_from_parts(parts, (X.shape[1], Y.shape[1]))
    return FlatSolution(weights, bias, passes, converged.astype(np.bool_), violation, primal, dual)


@dataclass(frozen=True)
class LabelTreeArrays:
    """A tree over labels in breadth-first order.

    Node ``v`` holds the labels ``order[begin[v]:end[v]]``. Its children are the
    ``n_children[v]`` nodes from ``first_child[v]`` on and hold consecutive parts of that
    range; a node without children is a leaf. Node 0 is the root.
    """

    first_child: Ids
    n_children: Ids
    begin: Ids
    end: Ids
    order: Ids

    def parts(self) -> tuple[Ids, Ids, Ids, Ids, Ids]:
        """Give the arrays in the order and types that the kernels take."""
        arrays = (self.first_child, self.n_children, self.begin, self.end, self.order)
        a, b, c, d, e = (np.ascontiguousarray(array, dtype=np.int32) for array in arrays)
        return a, b, c, d, e


@dataclass(frozen=True)
class LabelTreeWeights:
    """The classifiers of all nodes of a label tree; see ``cpp/core/label_tree.hpp``."""

    feature_ptr: Offsets
    features: Ids
    entry_ptr: Offsets
    outputs: NDArray[np.uint16]
    weights: Floats
    bias_ptr: Offsets
    bias: Floats

    def parts(
        self,
    ) -> tuple[Offsets, Ids, Offsets, NDArray[np.uint16], Floats, Offsets, Floats]:
        """Give the arrays in the order that the kernels take."""
        return (
            self.feature_ptr,
            self.features,
            self.entry_ptr,
            self.outputs,
            self.weights,
            self.bias_ptr,
            self.bias,
        )


def train_label_tree(
    X: Csr,
    Y: Csr,
    tree: LabelTreeArrays,
    options: SolverOptions,
    *,
    scale_cost: bool = False,
    n_threads: int,
    progress: Progress | None = None,
) -> LabelTreeWeights:
    """Train the classifiers of every node; rows of X are used as they are."""
    parts = _core.train_label_tree(
        *csr_parts(X),
        *csr_parts(sparse.csr_array(Y.T)),
        *tree.parts(),
        n_features=X.shape[1],
        solver=options.to_core(),
        scale_cost=scale_cost,
        n_threads=n_threads,
        progress=progress,
    )
    return LabelTreeWeights(*parts)


def feature_index(weights: LabelTreeWeights) -> FeatureIndex:
    """Build the index that ``beam_search`` takes; good for these weights only."""
    return FeatureIndex(weights.feature_ptr, weights.features, weights.entry_ptr)


def beam_search(
    tree: LabelTreeArrays,
    weights: LabelTreeWeights,
    X: Csr | KernelRows,
    *,
    loss: str = "squared_hinge",
    beam_size: int = 10,
    top_k: int = 5,
    discount: float = 1.0,
    instructions: str = "best",
    index: FeatureIndex | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Ids, Floats]:
    """Find the best labels of every row of X, scaled as in training.

    An ``index`` (see ``feature_index``) makes rows that come alone several times as fast and
    changes no result. Returns the labels and their scores, ``(n, top_k)`` each, by falling
    score and rising label; -1 with score 0 where there are fewer.
    """
    arrays = (*tree.parts(), *weights.parts(), *csr_parts(X))
    labels, scores = _core.beam_search(
        *arrays,
        n_features=X.shape[1],
        loss=loss,
        beam_size=beam_size,
        top_k=top_k,
        discount=discount,
        instructions=instructions,
        index=index,
        n_threads=n_threads,
        progress=progress,
    )
    return labels.reshape(-1, top_k), scores.reshape(-1, top_k)


def average_trees(
    trees: Sequence[tuple[Ids, Floats]], *, top_k: int, n_threads: int = 1
) -> tuple[Ids, Floats]:
    """Average the answers of several trees; a label that one does not give counts as 0."""
    flat = [(labels.ravel(), scores.ravel()) for labels, scores in trees]
    n_rows = len(trees[0][0])
    labels, scores = _core.average_trees(flat, n_rows=n_rows, top_k=top_k, n_threads=n_threads)
    return labels.reshape(-1, top_k), scores.reshape(-1, top_k)


def best_first_search(
    tree: LabelTreeArrays,
    weights: LabelTreeWeights,
    X: Csr | KernelRows,
    *,
    loss: str = "logistic",
    top_k: int = 5,
    instructions: str = "best",
    index: FeatureIndex | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Ids, Floats]:
    """Find the exact best labels of every row of X; arrays are those of ``beam_search``."""
    labels, scores = _core.best_first_search(
        tree.parts(),
        weights.parts(),
        csr_parts(X),
        n_features=X.shape[1],
        loss=loss,
        top_k=top_k,
        instructions=instructions,
        index=index,
        n_threads=n_threads,
        progress=progress,
    )
    return labels.reshape(-1, top_k), scores.reshape(-1, top_k)


@dataclass(frozen=True)
class KMeansClusters:
    """What k-means ended with; see ``cpp/core/kmeans.hpp``.

    Parameters
    ----------
    cluster, second : ndarray of int32, shape (n_items,)
        The most and the second most similar centre of each item, -1 for none: no
        similarity above zero.
    objective : float
        Mean similarity of an item to its centre.
    n_rounds : int
        Rounds that it took.
    """

    cluster: Ids
    second: Ids
    objective: float
    n_rounds: int


def spherical_kmeans(
    items: Csr,
    *,
    n_clusters: int,
    tolerance: float = 1e-4,
    max_rounds: int = 100,
    seed: int = 0,
    item: int = 0,
    panel_bytes: int = 1 << 27,
    instructions: str = "best",
    n_threads: int = 1,
    progress: Progress | None = None,
) -> KMeansClusters:
    """Cluster rows of length 1 by their cosines, without any balance."""
    cluster, second, objective, n_rounds = _core.spherical_kmeans(
        csr_parts(items),
        n_coords=items.shape[1],
        n_clusters=n_clusters,
        tolerance=tolerance,
        max_rounds=max_rounds,
        seed=seed,
        item=item,
        panel_bytes=panel_bytes,
        instructions=instructions,
        n_threads=n_threads,
        progress=progress,
    )
    return KMeansClusters(cluster, second, objective, n_rounds)
