"""LPSR in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag.persistence._checks import check_csr, check_length, check_size
from defrag.persistence._schema import Array, Child, Part
from defrag.persistence.codecs._base import SaveOptions, Unfitted
from defrag.persistence.codecs.classifiers import CompositeCodec

if TYPE_CHECKING:
    from defrag.baselines.lpsr import LPSR

__all__ = ["LPSRCodec"]


class LPSRCodec(CompositeCodec):
    """Codec of :class:`LPSR`: scorer, centres, and the labels of each cluster."""

    def __init__(self, estimator: type[LPSR]) -> None:
        super().__init__(
            estimator,
            arrays={
                "router/indptr": Array("int64"),
                "router/indices": Array("int32"),
                "router/data": Array("float32"),
                "label_ptr": Array("int64"),
                "labels": Array("int32"),
            },
            children={"base": Child(("classifier", "composite"))},
            rules={"base": Unfitted(("classifier", "composite"))},
        )

    def encode(self, model: LPSR, options: SaveOptions) -> Part:
        """Return the part of a fitted model."""
        part = super().encode(model, options)
        part.arrays |= {
            "router/indptr": model.router_.indptr.astype(np.int64),
            "router/indices": model.router_.indices.astype(np.int32),
            "router/data": model.router_.data.astype(np.float32),
            "label_ptr": model.label_ptr_,
            "labels": model.labels_,
        }
        part.children = {"base": model.base_}
        return part

    def decode(self, part: Part) -> Any:
        """Check that clusters, labels and scorer match, and return the model."""
        model = super().decode(part)
        self.check_base(part, model)
        arrays = part.arrays
        n_clusters = len(arrays["label_ptr"]) - 1
        if n_clusters < 1:
            part.fail(f"{part.name('label_ptr')} must have at least one cluster, got none")
        check_csr(part, "label_ptr", "labels", n_rows=n_clusters, n_cols=model.n_labels_)
        check_csr(part, "router/indptr", "router/indices", n_rows=model.n_features_in_,
                  n_cols=n_clusters)  # fmt: skip
        check_length(part, "router/data", len(arrays["router/indices"]))
        check_size(part, "router/data")
        router = (arrays["router/data"], arrays["router/indices"], arrays["router/indptr"])
        model.router_ = sparse.csr_array(router, shape=(model.n_features_in_, n_clusters))
        model.label_ptr_, model.labels_ = arrays["label_ptr"], arrays["labels"]
        model.rankers_ = {}
        return model
