"""Ensembles on agglomerated features in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from defrag.persistence._schema import Child, Part
from defrag.persistence.codecs._base import SaveOptions, Unfitted
from defrag.persistence.codecs.classifiers import ClassifierCodec

if TYPE_CHECKING:
    from defrag.agglomeration import Agglomerated

__all__ = ["AgglomeratedCodec"]


class AgglomeratedCodec(ClassifierCodec):
    """Codec of :class:`Agglomerated`: its fitted pairs, and the unfitted base and clustering."""

    def __init__(self, estimator: type[Agglomerated]) -> None:
        super().__init__(
            estimator,
            children={
                "agglomerations": Child(("clustering",), many=True),
                "bases": Child(("classifier", "composite"), many=True),
            },
            rules={
                "base": Unfitted(("classifier", "composite")),
                "agglomeration": Unfitted(("clustering",)),
            },
        )

    def encode(self, model: Agglomerated, options: SaveOptions) -> Part:
        """Return the part of a fitted ensemble."""
        part = super().encode(model, options)
        part.children = {
            "agglomerations": [groups for groups, _ in model.members_],
            "bases": [base for _, base in model.members_],
        }
        return part

    def decode(self, part: Part) -> Any:
        """Check that the members match, and return the ensemble."""
        poolings, bases = part.children["agglomerations"], part.children["bases"]
        if len(poolings) != len(bases) or not bases:
            part.fail(f"children '{part.prefix}agglomerations' and 'bases' must be equally many, "
                      f"at least one, got {len(poolings)} and {len(bases)}")  # fmt: skip
        model = super().decode(part)
        for number, (groups, base) in enumerate(zip(poolings, bases, strict=True)):
            for what, got, wanted in (
                (f"agglomerations/{number}' must have the features", groups.n_features_in_,
                 model.n_features_in_),
                (f"bases/{number}' must have the groups", base.n_features_in_, groups.n_clusters_),
                (f"bases/{number}' must have the labels", base.n_labels_, model.n_labels_),
            ):  # fmt: skip
                if got != wanted:
                    part.fail(f"model '{part.prefix}{what} of its ensemble ({wanted}), got {got}")
        model.members_ = list(zip(poolings, bases, strict=True))
        return model
