"""Forests over points: FastXML, PfastreXML and CRAFTML, published methods to compare with.

A forest partitions the points, not the labels; a leaf keeps the mean labels of its points, and the
means of the leaves that a point reaches are averaged. The three differ in how a node splits.
"""

# ruff: noqa: SLF001 - the units of a training are a part of its classifier

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._native import (
    FULL_HASH,
    CraftmlOptions,
    FastxmlOptions,
    FeatureHash,
    Forest,
    Prototypes,
    narrow,
)
from defrag._parameters import Float, Int, OrAuto, fitted, param
from defrag._progress import progress_bar
from defrag._propensity import inverse_propensity
from defrag._scikit import clone
from defrag.classifiers._division import Divisible, Division, Piece, Units, Work
from defrag.classifiers._following import Shapes
from defrag.classifiers._support import Cost, labels_with_points, unit_rows
from defrag.persistence._weights import unpack_values
from defrag.persistence.fields import Array, Number, Object, Part, State, Weights
from defrag.persistence.trees import (
    check_centroids,
    check_forest_shape,
    check_leaves,
    check_rows,
    check_shares,
    narrow_sizes,
    offsets,
)
from defrag.trees import member_seeds
from defrag.typing import Csr, Floats, Ids, Offsets


def join_forests(forests: Sequence[Forest], feature_hash: FeatureHash | None) -> Forest:
    """Return one forest with the trees of several, as if they had been grown together.

    - ``forests``: forests without a hash, in the order of the trees.
    - ``feature_hash`` (optional): the hash of all trees, if their entries refer to buckets.
    """
    if len(forests) == 1:
        return replace(forests[0], hash=feature_hash)
    parts = [vars(one) for one in forests]
    # Buckets are the same in all parts.
    positions = {"labels": "outputs"} | ({} if feature_hash else {"features": "slots"})
    names = vars(forests[0]).keys() - {"hash", *positions.values()}
    joined: dict[str, Any] = {name: np.concatenate([one[name] for one in parts]) for name in names}
    for name in ("tree_ptr", "entry_ptr", "leaf_ptr"):
        joined[name] = offsets(np.concatenate([np.diff(part[name]) for part in parts]))
    n_nodes = [len(one.first_child) for one in forests]
    moved = joined["first_child"] + np.repeat(offsets(np.array(n_nodes))[:-1], n_nodes)
    joined["first_child"] = np.where(joined["n_children"] == 0, 0, moved).astype(np.int32)
    for ids, places in positions.items():
        joined[ids] = np.unique(joined[ids])
        found = [np.searchsorted(joined[ids], part[ids])[part[places]] for part in parts]
        joined[places] = narrow(np.concatenate(found), len(joined[ids]))
    return Forest(**joined, hash=feature_hash)


# Number of trees of an agglomerated forest that share a clustering of the features. Computing and
# applying one clustering per tree would take longer than growing the trees.
_TREES_PER_MEMBER = 10
# Memory per entry of weights or leaves while trees are joined.
_BYTES_PER_ENTRY = 16


@dataclass(frozen=True)
class ForestData:
    """Unit rows of the points with labels, their labels, and the weights of all labels."""

    X: Csr
    Y: Csr
    label_weights: Floats


# --- Forests in a file: pointers are stored as sizes; int8 weights have a scale per inner node.

_SIZES, _IDS = ("uint16", "uint32"), ("uint16", "int32")
_FOREST = (
    Array("tree_ptr", "int64"),
    Array("n_children", "uint8"),
    Array("sizes", _SIZES),
    Array("slots", _IDS),
    Weights(""),
    Array("labels", "int32"),
    Array("leaf_sizes", _SIZES),
    Array("outputs", _IDS),
    Array("values"),
)


def _forest_values(forest: Forest) -> dict[str, Any]:
    """Return what a file holds of a forest in another form than the kernels."""
    inner = forest.n_children > 0
    entry_ptr = np.append(forest.entry_ptr[:-1][inner], forest.entry_ptr[-1])
    leaf_ptr = np.append(forest.leaf_ptr[:-1][~inner], forest.leaf_ptr[-1])
    return {
        "n_children": forest.n_children.astype(np.uint8),
        "sizes": narrow_sizes(entry_ptr),
        "leaf_sizes": narrow_sizes(leaf_ptr),
        "weights": (forest.weights, entry_ptr),
        "bias": forest.bias[inner] if forest.hash is None else forest.bias,
    }


def _forest_of(
    part: Part, n_slots: int, routing: Callable[[Part, NDArray[np.bool_], Offsets], dict[str, Any]]
) -> Forest:
    """Check a forest and return it; ``routing`` returns the fields of its kind of inner nodes."""
    arrays = part.arrays
    first_child = check_forest_shape(part, binary="features" in arrays)
    inner = np.asarray(arrays["n_children"] > 0)
    n_inner = int(np.count_nonzero(inner))
    entry_ptr = check_rows(part, n_inner, n_slots)
    leaf_ptr = check_leaves(part, len(inner) - n_inner, part.state["n_labels"])
    return Forest(
        tree_ptr=arrays["tree_ptr"],
        first_child=first_child,
        n_children=arrays["n_children"].astype(np.int32),
        entry_ptr=entry_ptr[offsets(inner.astype(np.uint8))],
        slots=arrays["slots"],
        weights=unpack_values(arrays, entry_ptr),
        leaf_ptr=leaf_ptr[offsets((~inner).astype(np.uint8))],
        labels=arrays["labels"],
        outputs=arrays["outputs"],
        values=arrays["values"],
        **routing(part, inner, entry_ptr),
    )


@dataclass(frozen=True)
class ForestOutline:
    """What all trees share: their seeds, the hash of the features, the means of labels with points.

    There is a hash, or there are means, if predictions need them.
    """

    keys: NDArray[np.uint64]
    hash_sizes: NDArray[np.int64] | None = None
    labels: Ids | None = None
    label_weights: Floats | None = None
    means: Csr | None = None

    @property
    def hash(self) -> FeatureHash | None:
        """The hash of the features, if there is one."""
        if self.hash_sizes is None:
            return None
        n_buckets, n_kept = self.hash_sizes.tolist()
        return FeatureHash(self.keys, n_buckets, n_kept)


class ForestClassifier(Divisible):
    """Base class of forests whose trees partition the points."""

    n_trees: int = param(Int(1), "Number of trees that are averaged.", default=50, kw_only=False)
    max_leaf_size: int = param(Int(1), "Maximum number of points in a leaf.", default=10)
    leaf_labels: int = param(
        Int(1), "Maximum number of labels that a leaf keeps, the highest scores first.", default=100
    )

    forest_: Forest = fitted("Forest", "The trees.")

    train_trees: ClassVar[Callable[..., Forest]]
    """The kernel that grows one tree per key."""

    @abstractmethod
    def _options(self, X: Csr) -> FastxmlOptions | CraftmlOptions:
        """Return the options of the kernel; X are the unit rows of the points with labels."""

    def _label_weights(self, Y: Csr) -> Floats:
        """Return the weights of the labels in rankings."""
        return np.ones(Y.shape[1], dtype=np.float32)

    def _units(self) -> ForestUnits:
        """Return one unit per tree."""
        return ForestUnits(self)

    def _shared(self, data: ForestData) -> dict[str, Any]:  # noqa: ARG002 - of subclasses
        """Return the fields of the outline, except for the keys."""
        return {}

    def _set_forest(self, forest: Forest, outline: ForestOutline) -> None:  # noqa: ARG002 - likewise
        """Set the fitted attributes."""
        self.forest_ = forest

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        rows = _native.unit_rows(X, n_threads=self._threads)
        return _native.forest_search(self.forest_, rows, k=k, n_threads=self._threads)

    def _max_ranked(self) -> int:
        sizes = np.diff(self.forest_.leaf_ptr)
        largest = np.maximum.reduceat(sizes, self.forest_.tree_ptr[:-1])
        return min(len(self.forest_.labels), int(largest.sum()))

    @property
    def _n_members(self) -> int:
        return math.ceil(self.n_trees / _TREES_PER_MEMBER)

    def _as_member(self) -> ForestClassifier:
        member: ForestClassifier = clone(self)
        member.n_trees = math.ceil(self.n_trees / self._n_members)
        return member

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost, estimated from the levels of the trees, which all process every point.

        A step processes a non-zero of a point at one level.
        """
        levels = math.log(max(1.0, X.shape[0] / self.max_leaf_size), self._arity) + 1
        n_entries = min(Y.nnz, X.shape[0] / self.max_leaf_size * self.leaf_labels)
        memory = self.n_trees * n_entries * _BYTES_PER_ENTRY
        return Cost(self.n_trees * levels * X.nnz * self._seconds_per_step, memory)

    @property
    def _arity(self) -> int:
        """Number of children of a node."""
        return 2


class ForestUnits(Units):
    """Training of a forest, one unit per tree; a result has no hash, which is in the outline."""

    model: ForestClassifier
    outline_kind, result_kind = ForestOutline, Forest

    def prepare(self, X: Csr, Y: Csr) -> ForestData:
        """Return the unit rows of the points with labels, and the weights of the labels."""
        X = unit_rows(X, self.model._threads)
        label_weights = self.model._label_weights(Y)
        labelled = np.diff(Y.indptr) > 0
        if not labelled.all():
            # Points without labels have no preferred side of a split and would dilute leaves.
            X, Y = X[labelled], Y[labelled]
        return ForestData(X, Y, label_weights)

    def divide(self, data: ForestData, seed: int, shapes: Shapes | None = None) -> Division:  # noqa: ARG002 - of label trees
        """Return one unit per tree."""
        n_trees = self.model.n_trees
        keys = np.array(member_seeds(seed, n_trees), dtype=np.uint64)
        return Division(ForestOutline(keys, **self.model._shared(data)), np.ones(n_trees))

    def train(self, data: ForestData, work: Work) -> Forest:
        """Grow a range of trees."""
        with progress_bar("growing trees", enabled=self.model.verbose > 0) as progress:
            forest = type(self.model).train_trees(
                data.X,
                data.Y,
                data.label_weights,
                np.ascontiguousarray(work.outline.keys[work.first : work.last]),
                self.model._options(data.X),
                n_threads=self.model._threads,
                progress=progress,
            )
        return replace(forest, hash=None)

    def join(self, outline: ForestOutline, pieces: Sequence[Piece]) -> None:
        """Set the forest."""
        forest = join_forests([piece.result for piece in pieces], outline.hash)
        self.model._set_forest(forest, outline)


# --- FastXML: trees whose splits optimise the nDCG of label rankings.


def _separators(part: Part, inner: NDArray[np.bool_], entry_ptr: Offsets) -> dict[str, Any]:
    """Check the separators of inner nodes and return them."""
    part.check_increasing("slots", entry_ptr)
    part.check_length("bias", len(entry_ptr) - 1)
    part.check_finite("bias")
    bias = np.zeros(len(inner), dtype=np.float32)
    bias[inner] = part.arrays["bias"]
    children = np.zeros(0, dtype=np.uint8)
    return {"features": part.arrays["features"], "children": children, "bias": bias}


_SEPARATING = State(
    *_FOREST,
    Array("features", "int32", below="n_features", increasing=True),
    Array("bias"),
    take=_forest_values,
    build=lambda part, _: _forest_of(part, len(part.arrays["features"]), _separators),
)


class FastXML(ForestClassifier):
    """A forest that splits points by their labels (Prabhu and Varma, 2014).

    A node assigns its points to two sides at random and then alternates two steps: the labels of
    each side are ranked by frequency, with the same total weight for every point, and each point
    moves to the side whose ranking has the higher nDCG for it. A sparse logistic separator is
    then trained to predict the side from the features, and its sign sends points to one of two
    children. A leaf keeps the mean labels of its points; the score of a label is its
    mean over the leaves that a point reaches, one per tree.

    See Also
    --------
    PfastreXML : A variant that favours rare labels.
    LabelTree : Faster, smaller, and more accurate on most data.

    Notes
    -----
    The published program uses points as they are; here they are L2-normalised, as in every
    classifier of this library. Points without labels are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import FastXML
    >>> X = np.kron(np.eye(3), np.ones((12, 2)))
    >>> model = FastXML(n_trees=5, random_state=0).fit(X, np.repeat(["a", "b", "c"], 12))
    >>> model.predict(X[::12]).tolist()
    ['a', 'b', 'c']
    """

    C: float = param(
        Float(0.0, open_low=True),
        "Weight of the logistic loss relative to the L1 penalty of a separator; 1 in the paper.",
        default=2.0,
    )

    _seconds_per_step: ClassVar[float] = 2.5e-8
    train_trees = staticmethod(_native.train_fastxml)
    normalized_gains: ClassVar[bool] = True
    """Whether the sides of a node maximise the nDCG of a point, or its DCG."""

    _state = State(Object("forest_", _SEPARATING))

    def _options(self, X: Csr) -> FastxmlOptions:  # noqa: ARG002 - the same for all data
        return FastxmlOptions(
            max_leaf_size=self.max_leaf_size,
            leaf_labels=self.leaf_labels,
            cost=self.C,
            normalized=self.normalized_gains,
        )


# --- PfastreXML: FastXML for rare labels, by propensities and prototypes.


def _prototypes_of(part: Part, values: dict[str, Any]) -> Prototypes:
    """Check the prototypes of a file, whose slots are those of the trees, and return them."""
    owner = part.owner or part
    trees, label_weights = owner.arrays, owner.arrays["label_weights"]
    owner.check_length("label_weights", len(trees["labels"]))
    check_shares(owner, "label_weights")
    bounds = check_rows(part, len(trees["labels"]), len(trees["features"]))
    part.check_increasing("slots", bounds)
    wanted, slots = trees["slots"].dtype, values["slots"]
    if slots.dtype != wanted:
        part.fail(f"{part.name('slots')} must be {wanted.name} like those of the trees, got "
                  f"{slots.dtype.name}")  # fmt: skip
    return Prototypes.of(bounds, slots, unpack_values(part.arrays, bounds), label_weights)


_PROTOTYPES = State(
    Array("", _SIZES, name="sizes", get=lambda found: narrow_sizes(found.prototype_ptr)),
    Array("slots", _IDS),
    Weights("", get=lambda found: (found.values, found.prototype_ptr)),  # int8: a scale each
    build=_prototypes_of,
)


class PfastreXML(FastXML):
    """A forest that favours rare labels (Jain, Prabhu and Varma, 2016).

    The trees are those of :class:`FastXML`, except that labels are weighted by their inverse
    propensities, which are large for rare labels. The labels of the leaves that a point reaches are
    re-ranked by their prototypes, the means of their training points: if t is the mean over the
    leaves times the inverse propensity, and d the squared distance between the point and the
    prototype, the score of a label is proportional to
    ``t ** alpha * (1 + exp(gamma / 2 * d)) ** (alpha - 1)``.

    See Also
    --------
    FastXML : The same without propensities and prototypes.
    Refrag : Re-ranking by prototypes for any classifier.

    Notes
    -----
    Points and prototypes are compared as unit rows without a bias feature. This is equivalent to
    the published program, which appends the bias before it L2-normalises the rows, which halves
    squared distances, and omits the factor one half of the published formula.
    The score of the best label is the largest mean over the leaves; the scores of the others
    keep their ratio to it.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import PfastreXML
    >>> X = np.kron(np.eye(3), np.ones((12, 2)))
    >>> model = PfastreXML(n_trees=5, random_state=0).fit(X, np.repeat(["a", "b", "c"], 12))
    >>> model.predict(X[::12]).tolist()
    ['a', 'b', 'c']
    """

    alpha: float = param(
        Float(0.001, 1.0),
        "Weight of the trees relative to the prototypes; with 1, prototypes have no effect. "
        "0.8 in the published program, which finds more rare labels and fewer others.",
        default=0.9,
    )
    gamma: float = param(
        Float(0.0, 1e6), "Decay of the score with the distance from the prototype.", default=30.0
    )
    prototype_entries: int = param(
        Int(0), "Number of largest entries kept in a prototype; 0 for all.", default=200
    )
    A: float = param(
        Float(0.0),
        "Parameters of the propensities; see :func:`defrag.metrics.inverse_propensity`.",
        default=0.55,
    )
    B: float = param(
        Float(0.0, open_low=True),
        "Parameters of the propensities; see :func:`defrag.metrics.inverse_propensity`.",
        default=1.5,
    )

    prototypes_: Prototypes = fitted("Prototypes", "The prototypes and the weights of the labels.")

    normalized_gains: ClassVar[bool] = False

    _state = State(
        Array("", name="label_weights", get=lambda model: model.prototypes_.label_weights),
        Object("prototypes_", _PROTOTYPES, prefix="prototypes/"),
    )

    def _label_weights(self, Y: Csr) -> Floats:
        # The formula gives values below 1 for fewer than three points.
        weights = np.maximum(inverse_propensity(Y, self.A, self.B), 1.0)
        return np.asarray(weights / weights.max(), dtype=np.float32)

    def _shared(self, data: ForestData) -> dict[str, Any]:
        labels = labels_with_points(data.Y)
        by_label = sparse.csr_array(data.Y.T)[labels].astype(np.float32)
        counts = np.diff(by_label.indptr)
        by_label.data = np.repeat((1.0 / counts).astype(np.float32), counts)
        limits = {"max_entries": self.prototype_entries, "n_threads": self._threads}
        means = _native.multiply(by_label, data.X, **limits)
        return {"labels": labels, "label_weights": data.label_weights[labels], "means": means}

    def _set_forest(self, forest: Forest, outline: ForestOutline) -> None:
        """Set the prototypes, and the forest, extended by their features."""
        if outline.labels is None or outline.means is None or outline.label_weights is None:
            raise ValueError("a plan of PfastreXML must have the means of the labels, got none")
        rows = np.searchsorted(outline.labels, forest.labels)
        means = outline.means[rows]
        features = np.union1d(forest.features, means.indices).astype(np.int32)
        slot_of = np.zeros(means.shape[1], dtype=np.int32)
        slot_of[features] = np.arange(len(features), dtype=np.int32)
        slots = narrow(slot_of[forest.features][forest.slots], len(features))
        self.forest_ = replace(forest, features=features, slots=slots)
        self.prototypes_ = Prototypes.of(
            means.indptr.astype(np.int64),
            narrow(slot_of[means.indices], len(features)),
            means.data,
            outline.label_weights[rows],
        )

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        return _native.forest_search(
            self.forest_,
            _native.unit_rows(X, n_threads=self._threads),
            k=k,
            prototypes=self.prototypes_,
            alpha=self._check_parameter("alpha"),
            gamma=self._check_parameter("gamma"),
            n_threads=self._threads,
        )


# --- CRAFTML: k-ary trees whose nodes cluster points by their labels.

# With feature_share="auto", a tree uses at least a quarter of the features, and enough of them to
# keep about this many entries per point. On splits of training data with 40 to 70 entries per
# point (debian, Bibtex), half of the features lose up to two points of P@1 and a quarter three to
# six; with 240 entries (EURLex-4K), a quarter gains one.
_ENTRIES_PER_TREE = 40
_MIN_SHARE = 0.25


def _hashed_values(forest: Forest) -> dict[str, Any]:
    if forest.hash is None:
        raise ValueError("the features of CRAFTML must be hashed")
    return {**_forest_values(forest), "hash_keys": forest.hash.keys,
            "n_buckets": forest.hash.n_buckets, "n_kept": forest.hash.n_kept}  # fmt: skip


def _centroids(part: Part, inner: NDArray[np.bool_], entry_ptr: Offsets) -> dict[str, Any]:
    """Check the buckets and the centroids of inner nodes and return them."""
    n_buckets, slots = part.state["n_buckets"], part.arrays["slots"]
    wanted = narrow(slots[:0], n_buckets).dtype
    if slots.dtype != wanted:
        part.fail(f"{part.name('slots')} must be {wanted.name} for {n_buckets} buckets, got "
                  f"{slots.dtype.name}")  # fmt: skip
    part.check_length("hash_keys", len(part.arrays["tree_ptr"]) - 1)
    check_centroids(part, entry_ptr, part.arrays["n_children"][inner])
    return {
        "features": np.zeros(0, dtype=np.int32),
        "children": part.arrays["children"],
        "bias": np.zeros(0, dtype=np.float32),
        "hash": FeatureHash(part.arrays["hash_keys"], n_buckets, part.state["n_kept"]),
    }


_BUCKETS = Int(1, 2**20)
_HASHED = State(
    *_FOREST,
    Array("children", "uint8"),
    Array("hash_keys", "uint64"),
    Number("n_buckets", _BUCKETS),
    Number("n_kept", Int(1, FULL_HASH)),
    take=_hashed_values,
    build=lambda part, _: _forest_of(part, part.state["n_buckets"], _centroids),
)


class CRAFTML(ForestClassifier):
    """A forest of shallow trees over hashed features (Siblini, Kuntz and Meyer, 2018).

    A node clusters a sample of its points by spherical k-means on their hashed labels. Each
    cluster is a child; its centroid is the mean of the hashed features of its points, cut to the
    largest entries and L2-normalised, and every point moves to the child with the most similar
    centroid. A leaf keeps the mean labels of its points; the score of a label is its
    mean over the leaves that a point reaches, one per tree.

    See Also
    --------
    FastXML : Binary trees with learnt separators.
    LabelTree : Faster prediction, and more accurate on most data.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import CRAFTML
    >>> X = np.kron(np.eye(3), np.ones((12, 2)))
    >>> model = CRAFTML(n_trees=5, random_state=0).fit(X, np.repeat(["a", "b", "c"], 12))
    >>> model.predict(X[::12]).tolist()
    ['a', 'b', 'c']
    """

    arity: int = param(
        Int(2, 255), "Maximum number of children of a node; 10 in the paper.", default=20
    )
    n_buckets: int = param(
        _BUCKETS, "Number of buckets that features, and labels, are hashed to.", default=10_000
    )
    feature_share: float | str = param(
        OrAuto(Float(0.0, 1.0, open_low=True)),
        "Fraction of the features that a tree uses, chosen at random for each tree; 1 in the "
        'paper. "auto" is a quarter, or more so that points keep about 40 entries.',
        default="auto",
    )
    centroid_share: float = param(
        Float(0.0, 1.0, open_low=True),
        "Fraction of the entries of a centroid that are kept, but at least ten entries.",
        default=0.2,
    )
    sample: int = param(
        Int(2), "Maximum number of points of a node whose labels are clustered.", default=20_000
    )

    # 1.6e-8 on EURLex-4K, 7.9e-8 on debian, whose points have fewer features and more labels.
    _seconds_per_step: ClassVar[float] = 3.5e-8
    train_trees = staticmethod(_native.train_craftml)

    _state = State(Object("forest_", _HASHED))

    def _options(self, X: Csr) -> CraftmlOptions:
        return CraftmlOptions(
            n_clusters=self.arity,
            max_leaf_size=self.max_leaf_size,
            leaf_labels=self.leaf_labels,
            label_buckets=self.n_buckets,
            sample=self.sample,
            n_buckets=self.n_buckets,
            n_kept=max(1, round(FULL_HASH * self._share(X))),
            kept_share=self.centroid_share,
        )

    def _shared(self, data: ForestData) -> dict[str, Any]:
        options = self._options(data.X)
        return {"hash_sizes": np.array([options.n_buckets, options.n_kept], dtype=np.int64)}

    def _share(self, X: Csr) -> float:
        if self.feature_share != "auto":
            return float(self.feature_share)
        entries = X.nnz / X.shape[0]
        return min(1.0, max(_MIN_SHARE, _ENTRIES_PER_TREE / max(entries, 1.0)))

    @property
    def _arity(self) -> int:
        return self.arity
