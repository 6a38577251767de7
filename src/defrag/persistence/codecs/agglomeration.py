"""Clusterings of features in a model file: groups, scales, and the tree if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from defrag._parameters import Choice, Int
from defrag.agglomeration import Defrag
from defrag.persistence._checks import (
    check_finite,
    check_ints,
    check_length,
    check_size,
    check_tree,
    tree_arrays,
)
from defrag.persistence._schema import Array, Part, Schema
from defrag.persistence.codecs._base import MAX_COUNT, SEED, Codec, SaveOptions, stored_rules
from defrag.persistence.codecs._feature_names import (
    FEATURE_NAMES,
    pack_feature_names,
    unpack_feature_names,
)
from defrag.trees import BalancedTree

if TYPE_CHECKING:
    from defrag._parameters import Rule
    from defrag.agglomeration import FeatureClustering

__all__ = ["PoolingCodec"]

GIVEN = "given"
"""Placeholder for a representation that the user passed, which is not stored."""


class PoolingCodec(Codec):
    """Codec of clusterings of features.

    Parameters
    ----------
    estimator : type
        The class.
    """

    def __init__(self, estimator: type[FeatureClustering]) -> None:
        self._numbers = estimator.learnt_numbers
        self._has_tree = issubclass(estimator, Defrag)
        schema = Schema(
            parameters=_rules(estimator),
            state={
                "n_clusters": Int(0, MAX_COUNT),
                "n_iter": Int(1, 2**31 - 1),
                **self._numbers,
            },
            arrays={
                "labels": Array("int32"),
                "energy": Array("float64"),
                "scale": Array("float32", group="scale"),
                **FEATURE_NAMES,
                **(tree_arrays("tree", optional=True) if self._has_tree else {}),
            },
        )
        super().__init__(estimator, schema)

    def parameters(self, model: FeatureClustering) -> dict[str, Any]:
        """Return the parameters, with a word in place of given vectors."""
        parameters = super().parameters(model)
        if not isinstance(parameters.get("representation", GIVEN), str):
            parameters["representation"] = GIVEN
        return parameters

    def encode(self, model: Any, options: SaveOptions) -> Part:  # noqa: ARG002 - no weights
        """Return the part of a fitted clustering."""
        arrays: dict[str, Any] = {"labels": model.labels_, "energy": model.energy_}
        if model.scale_ is not None:
            arrays["scale"] = model.scale_
        arrays |= pack_feature_names(model)
        if self._has_tree and model.tree_ is not None:
            arrays |= {f"tree/{name}": array for name, array in vars(model.tree_).items()}
        state: dict[str, Any] = {"n_clusters": int(model.n_clusters_), "n_iter": int(model.n_iter_)}
        state |= {name: float(getattr(model, name + "_")) for name in self._numbers}
        return Part(self.parameters(model), state, arrays)

    def summary(self, part: Part) -> dict[str, int]:
        """Return the numbers of features and groups."""
        return {"features": len(part.arrays["labels"]), "groups": part.state["n_clusters"]}

    def decode(self, part: Part) -> Any:
        """Check the groups and return the clustering."""
        n_features = len(part.arrays["labels"])
        n_clusters = part.state["n_clusters"]
        _check_groups(part, n_features, n_clusters)
        model = self.rebuild(part.parameters)
        model.labels_ = part.arrays["labels"]
        model.n_clusters_ = n_clusters
        model.n_iter_ = part.state["n_iter"]
        model.energy_ = part.arrays["energy"]
        model.scale_ = part.arrays.get("scale")
        for name in self._numbers:
            setattr(model, name + "_", part.state[name])
        if self._has_tree:
            model.tree_ = _decode_tree(part, n_features, n_clusters)
        model.n_features_in_ = n_features
        unpack_feature_names(part, model)
        return model


def _rules(estimator: type[FeatureClustering]) -> dict[str, Rule]:
    rules = {
        **estimator.parameter_rules,
        "representation": Choice(("x", "xy", GIVEN)),
        "random_state": SEED,
    }
    return stored_rules(estimator, rules)


def _check_groups(part: Part, n_features: int, n_clusters: int) -> None:
    if not 1 <= n_features <= MAX_COUNT:
        part.fail(f"{part.name('labels')} must have at least 1 and fewer than 2**31 features, "
                  f"got {n_features}")  # fmt: skip
    # Also bounds the memory that ``transform`` allocates for a hostile file.
    if n_clusters > n_features:
        part.fail(f"n_clusters must be at most the number of features ({n_features}), "
                  f"got {n_clusters}")  # fmt: skip
    check_ints(part, "labels", -1, n_clusters)
    check_length(part, "energy", n_features)
    check_finite(part, "energy", low=0)
    if part.has("scale"):
        check_length(part, "scale", n_clusters)
        check_finite(part, "scale", low=0)
        check_size(part, "scale")


def _decode_tree(part: Part, n_features: int, n_clusters: int) -> BalancedTree | None:
    if not part.has("tree/order"):
        return None
    tree = BalancedTree(**check_tree(part, "tree"))
    if len(tree.order) > n_features or tree.n_leaves > n_clusters:
        part.fail(f"the tree must have at most {n_features} items and {n_clusters} leaves, got "
                  f"{len(tree.order)} and {tree.n_leaves}")  # fmt: skip
    return tree
