"""Embeddings in a model file.

All real numbers of a model are one array ``weights``, matrix after matrix, so that they become
float16 or int8 together: first the rows of features, then panels of sixteen rows that are
searched, in the layout of the kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from defrag._native import RowPanels
from defrag._parameters import Choice, Int
from defrag.baselines._neighbours import Learner, panel_bias, panel_ptr
from defrag.persistence._checks import (
    check_csr,
    check_ints,
    check_length,
    check_offsets,
    check_size,
)
from defrag.persistence._schema import Array, Child, Part, Schema
from defrag.persistence._weight_checks import check_label_ids, check_weight_values
from defrag.persistence.codecs._base import MAX_COUNT, Codec
from defrag.persistence.codecs._weight_values import WEIGHT_TYPES, pack_values, unpack_values
from defrag.persistence.codecs.classifiers import ClassifierCodec

if TYPE_CHECKING:
    from defrag.baselines._neighbours import NeighbourEnsemble
    from defrag.baselines.leml import LEML
    from defrag.persistence.codecs._base import SaveOptions
    from defrag.typing import Offsets

__all__ = ["LEMLCodec", "LearnerCodec", "NeighboursCodec"]

_COMPONENTS = Int(1, 1 << 16)
_LANES = 16

WEIGHT_ARRAYS = {
    "weights": Array(WEIGHT_TYPES),
    "scales": Array("float32", group="scales"),
}
"""Schema of the real numbers; int8 has a scale per row of features and per panel."""


class LEMLCodec(ClassifierCodec):
    """Codec of :class:`LEML`: rows of W, panels of H."""

    def __init__(self, estimator: type[LEML]) -> None:
        super().__init__(
            estimator,
            arrays={"labels": Array("int32"), **WEIGHT_ARRAYS},
            state={"rank": _COMPONENTS},
        )

    def encode(self, model: LEML, options: SaveOptions) -> Part:
        """Return the part of a fitted model."""
        part = super().encode(model, options)
        n_features, rank = model.feature_factors_.shape
        part.state["rank"] = int(rank)
        part.arrays["labels"] = model.labels_
        lines = model.label_factors_.lines
        weights = np.concatenate([model.feature_factors_.ravel(), lines.ravel()])
        bounds = runs(n_features, len(lines), rank)
        part.arrays |= pack_values(weights, bounds, options.weights)
        return part

    def decode(self, part: Part) -> Any:
        """Check the factors and return the model; float32 factors stay mapped."""
        model = super().decode(part)
        rank, n_features = part.state["rank"], model.n_features_in_
        check_label_ids(part, model.n_labels_)
        labels = part.arrays["labels"]
        n_panels = -(-len(labels) // _LANES)
        check_length(part, "weights", (n_features + n_panels * _LANES) * rank)
        check_weight_values(part, n_features + n_panels)
        weights = unpack_values(part.arrays, runs(n_features, n_panels, rank))
        split = n_features * rank
        model.labels_ = labels
        model.feature_factors_ = weights[:split].reshape(n_features, rank)
        lines = weights[split:].reshape(n_panels, rank, _LANES)
        model.label_factors_ = RowPanels(lines, len(labels))
        return model


class LearnerCodec(Codec):
    """Codec of one learner: a partition, and a map and points per cluster."""

    def __init__(self) -> None:
        schema = Schema(
            {},
            state={"rank": _COMPONENTS, "euclidean": Choice((True, False))},
            arrays={
                "router/indptr": Array("int64"),
                "router/indices": Array("int32"),
                "router/data": Array("float32"),
                "feature_ptr": Array("int64"),
                "features": Array("int32"),
                "point_ptr": Array("int64"),
                "points": Array("int32"),
                **WEIGHT_ARRAYS,
            },
            inner=True,
        )
        super().__init__(Learner, schema)

    def encode(self, model: Learner, options: SaveOptions) -> Part:
        """Return the part of a learner."""
        rank = model.weights.shape[1]
        weights = np.concatenate([model.weights.ravel(), model.panels.ravel()])
        bounds = runs(len(model.features), len(model.panels), rank)
        return Part(
            state={"rank": int(rank), "euclidean": model.bias is not None},
            arrays={
                "router/indptr": model.router.indptr.astype(np.int64),
                "router/indices": model.router.indices.astype(np.int32),
                "router/data": model.router.data.astype(np.float32),
                "feature_ptr": model.feature_ptr,
                "features": model.features,
                "point_ptr": model.point_ptr,
                "points": model.points,
                **pack_values(weights, bounds, options.weights),
            },
        )

    def decode(self, part: Part) -> Learner:
        """Check the learner and return it; the ensemble checks its features and points."""
        arrays, rank = part.arrays, part.state["rank"]
        n_clusters = len(arrays["point_ptr"]) - 1
        if n_clusters < 1:
            part.fail(f"{part.name('point_ptr')} must have at least one cluster, got none")
        n_features = len(arrays["router/indptr"]) - 1
        check_csr(part, "router/indptr", "router/indices", n_rows=n_features, n_cols=n_clusters)
        check_length(part, "router/data", len(arrays["router/indices"]))
        check_size(part, "router/data")
        check_csr(part, "feature_ptr", "features", n_rows=n_clusters, n_cols=max(1, n_features))
        check_offsets(part, "point_ptr", len(arrays["points"]))
        check_ints(part, "points", 0, MAX_COUNT)
        n_panels = int(panel_ptr(arrays["point_ptr"])[-1])
        n_rows = len(arrays["features"])
        check_length(part, "weights", (n_rows + n_panels * _LANES) * rank)
        check_weight_values(part, n_rows + n_panels)
        weights = unpack_values(arrays, runs(n_rows, n_panels, rank))
        panels = weights[n_rows * rank :].reshape(n_panels, rank, _LANES)
        euclidean = part.state["euclidean"]
        router = (arrays["router/data"], arrays["router/indices"], arrays["router/indptr"])
        bias = panel_bias(panels, arrays["point_ptr"]) if euclidean else None
        return Learner(
            router=sparse.csr_array(router, shape=(n_features, n_clusters)),
            feature_ptr=arrays["feature_ptr"],
            features=arrays["features"],
            weights=weights[: n_rows * rank].reshape(n_rows, rank),
            point_ptr=arrays["point_ptr"],
            points=arrays["points"],
            panels=panels,
            bias=bias,
        )


class NeighboursCodec(ClassifierCodec):
    """Codec of SLEEC and AnnexML: learners, and the labels of the points."""

    parts: ClassVar[dict[str, Codec]] = {"learner": LearnerCodec()}

    def __init__(self, estimator: type[NeighbourEnsemble]) -> None:
        super().__init__(
            estimator,
            arrays={"point_labels/indptr": Array("int64"), "point_labels/indices": Array("int32")},
            children={"learners": Child(part="learner", many=True)},
        )

    def encode(self, model: NeighbourEnsemble, options: SaveOptions) -> Part:
        """Return the part of a fitted ensemble."""
        part = super().encode(model, options)
        part.arrays["point_labels/indptr"] = model.point_labels_.indptr.astype(np.int64)
        part.arrays["point_labels/indices"] = model.point_labels_.indices.astype(np.int32)
        part.children = {"learners": list(model.learners_)}
        return part

    def decode(self, part: Part) -> Any:
        """Check that the learners match the points and features, and return the ensemble."""
        learners: list[Learner] = part.children["learners"]
        if not learners:
            part.fail(f"children '{part.prefix}learners' must be at least one, got none")
        model = super().decode(part)
        indptr, indices = (part.arrays[f"point_labels/{name}"] for name in ("indptr", "indices"))
        n_points = len(indptr) - 1
        if n_points < 1:
            part.fail(f"{part.name('point_labels/indptr')} must have at least one point, got none")
        check_csr(part, "point_labels/indptr", "point_labels/indices", n_rows=n_points,
                  n_cols=model.n_labels_)  # fmt: skip
        for number, one in enumerate(learners):
            place = f"learners/{number}"
            largest = int(one.points.max(initial=0))
            if largest >= n_points:
                part.fail(f"{part.name(f'{place}/points')} must be in [0, {n_points}), "
                          f"got {largest}")  # fmt: skip
            if one.router.shape[0] != model.n_features_in_:
                part.fail(f"model '{part.prefix}{place}' must have the features of its ensemble "
                          f"({model.n_features_in_}), got {one.router.shape[0]}")  # fmt: skip
        ones = np.ones(len(indices), dtype=np.float32)
        shape = (n_points, model.n_labels_)
        model.point_labels_ = sparse.csr_array((ones, indices, indptr), shape=shape)
        model.learners_ = learners
        return model


def runs(n_rows: int, n_panels: int, n_columns: int) -> Offsets:
    """Return the bounds of the runs of ``n_rows`` rows followed by ``n_panels`` panels."""
    sizes = np.full(n_rows + n_panels, n_columns, dtype=np.int64)
    sizes[n_rows:] *= _LANES
    return np.concatenate([[0], np.cumsum(sizes)])
