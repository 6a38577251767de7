"""What a file says must make sense: every broken promise of every kind is refused by name.

Here are rules about several arrays, and values within the bounds of a type; ``test_arrays`` breaks
every array of every kind.
"""

from functools import cache

import numpy as np
import pytest

from defrag import Agglomerated, LabelTree, Refrag, load
from defrag.agglomeration import Hybrid
from defrag.baselines import Parabel
from defrag.exceptions import ModelFormatError
from tests.helpers import model_drafts as drafts
from tests.helpers.model_drafts import Draft, X, Y, inside, item, put, refuse


def named_defrag():
    """Fit 12 features in 8 groups, a tree of 15 nodes, a scale, and names."""
    model = drafts.small_defrag()
    model.feature_names_in_ = np.array(["ä", *"bcdefghijkl"], dtype=object)
    return model


def named_tree():
    model = drafts.small_label_tree()
    model.label_names_ = ["ä", *"bcdefghij"]
    return model


def classes(names):
    return LabelTree(random_state=0).fit(X, np.asarray(names)[np.arange(30) % len(names)])


def below_groups():
    base = Refrag(Parabel(2, max_leaf_size=4), gamma=2.0, propensity_weight=0.1)
    return Agglomerated(base, Hybrid(n_clusters=6), random_state=0).fit(X, Y)


MODELS = {
    "defrag": named_defrag,
    "tree": drafts.small_label_tree,
    "named tree": named_tree,
    "bools": lambda: classes([True, False]),
    "numbers": lambda: classes([0.0, 2.0, 4.0]),
    "characters": lambda: classes(["a", "b", "c"]),
    "strings": lambda: classes(np.array(["a", "b", "c"], dtype=object)),
    "agglomerated": drafts.small_agglomerated,
    "flat": drafts.small_dismec,
    "fastxml": drafts.small_forest,
    "pfastrexml": drafts.small_pfastrexml,
    "craftml": drafts.small_craftml,
    "leml": drafts.small_leml,
    "sleec": drafts.small_sleec,
    "chosen": lambda: drafts.small_refrag(widen=2),
    "below groups": below_groups,
    "imputed": drafts.small_imputed,
    "listed": lambda: drafts.small_imputed(companions=3),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return a function from a model, and the type of its weights, to the bytes of its file."""
    path = tmp_path_factory.mktemp("stored") / "model"

    @cache
    def saved(which):
        name, _, weights = which.partition(", ")
        MODELS[name]().save(path, **({"weights": weights} if weights else {}))
        return path.read_bytes()

    return saved


# --- What may be wrong.


def state(**changes):
    return inside("state", **changes)


def inner(place, **changes):
    """Change numbers of an inner model, such as ``bases/0``."""
    return inside(f"children/{place}/state", **changes)


def item_breaks(name, index, value, rule):
    return item(name, index, value), f"'{name}' {rule}"


def without(place, name):
    return lambda draft: draft.model[place].pop(name)


def both(*changes):
    return lambda draft: [change(draft) for change in changes]


def emptied(*lists):
    """Remove all models of some lists, such as ``imputation/blocks``, and their arrays."""

    def change(draft):
        for one in lists:
            *owners, name = one.split("/")
            inside("children" + "".join(f"/{owner}/children" for owner in owners), **{name: []})(
                draft
            )
            for array in [key for key in draft.header if key.startswith(f"{one}/")]:
                draft.put(array, None)

    return change


def tree_item(name, index, value):
    return item(f"trees/0/{name}", index, value)


def tree(name, array):
    return put(f"trees/0/{name}", array)


def far_features(gap):
    """Make all gaps between features large."""
    return both(tree("gaps", np.full(94, 255, np.uint8)), tree("far", np.full(94, gap, np.int32)))


def shape(counts, trees=None):
    """Set the numbers of children and the sizes of the nodes of a forest."""
    bounds = [0, len(counts)] if trees is None else trees
    return both(put("n_children", np.uint8(counts)), put("tree_ptr", np.int64(bounds)))


def learner(name, change):
    return put(f"learners/0/{name}", change)


def learner_item(name, index, value):
    return item(f"learners/0/{name}", index, value)


def nested(levels):
    """Nest the stored base parameter in a number of re-rankers."""

    def change(draft):
        one = draft.model["parameters"]["base"]
        for _ in range(levels):
            one = {"kind": "refrag", "parameters": {**one["parameters"], "base": one}}
        draft.model["parameters"]["base"] = one

    return change


def companions(*arrays):
    """Replace the three arrays of the companions."""
    names = ("indptr", "indices", "data")
    return both(*map(put, (f"imputation/companions/{name}" for name in names), arrays))


def block(groups, entries):
    """Replace the arrays of the first block of an imputation."""
    return both(put(f"{BLOCK}/groups", groups), put(f"{BLOCK}/entries", np.float32(entries)))


# --- What several kinds have: labels and weights of a list, scales of weights, forests.

LABELS = [
    (state(n_labels=9), r"'labels' must be in \[0, 9\), got 9 at 9"),
    item_breaks("labels", 0, -1, r"must be in \[0, 10\), got -1 at 0"),
    item_breaks("labels", 3, 2, "must increase, got 2 after 2 at 3"),
    item_breaks("labels", 3, 9, "must increase, got 4 after 9 at 4"),
    item_breaks("labels", 3, 0, "must increase, got 0 after 2 at 3"),
    (put("labels", np.zeros(0, np.int32)), "'labels' must have at least one label"),
    (put("labels", np.arange(17, dtype=np.int32)), r"must be in \[0, 10\), got 10"),
    (put("scales", np.ones(12, np.float32)), "'scales' is allowed only with weights of int8"),
]

INT8 = [
    (put("scales", None), "'scales' is required with weights of int8"),
    item_breaks("scales", 2, -1, "must be finite and >= 0, got -1.0 at 2"),
    item_breaks("scales", 2, 1e37, "must be at most 7.87"),
    item_breaks("scales", 2, 1e38, "must be at most .* in size"),
    item_breaks("weights", 4, -128, r"must be in \[-127, 128\), got -128 at 4"),
]

SHAPES = [
    (shape([2, 1, 0]), "0 or at least 2, got 1 at 1"),
    (shape([0, 0, 2, 2, 0]), "children after their parent"),
    (item("sizes", 0, 65535), "'slots' must have"),
    (item("leaf_sizes", 0, 65535), "'outputs' must have"),
    item_breaks("values", 0, 1.5, "must be at most 1, got 1.5"),
]

# --- By model.

# 12 features in 8 groups; the tree has 15 nodes.
DEFRAG = [
    (lambda d: d.description.pop("model"), "must have only 'model'"),
    (lambda d: d.description.update(a=1), r"only .* \['a', 'model'\]"),
    (lambda d: d.description.update(model=[]), r"must be a JSON object, got \[\]"),
    (lambda d: d.model.pop("kind"), "model must have .* 'kind' is missing"),
    (inside("", pickle="x"), "the model must have .* 'pickle' is unknown"),
    (inside("", kind="forest"), "kind of the model must be one of .* got 'forest'"),
    (inside("", kind="defrag.Defrag"), "must be one of .* got 'defrag.Defrag'"),
    (inside("", kind=["defrag"]), r"must be one of .* got \['defrag'\]"),
    (inside("", kind="hybrid"), "parameters of hybrid must be .* is unknown"),
    (inside("", parameters=[]), "parameters of defrag must be a JSON object"),
    (without("parameters", "tol"), "parameters of defrag .* 'tol' is missing"),
    (inside("parameters", n_jobs=9), "parameters of .* 'n_jobs' is unknown"),
    (inside("parameters", pooling="max"), "pooling of .* got 'max'"),
    (inside("parameters", max_iter="5"), "an int .* got '5'"),
    (inside("parameters", max_iter=True), "max_iter of defrag .* got True"),
    (inside("parameters", max_cluster_size=0), "max_cluster_size .* got 0"),
    (inside("parameters", split=["x"]), r"split of defrag .* got \['x'\]"),
    (inside("parameters", random_state=-1), "random_state of defrag .* got -1"),
    (inside("parameters", representation=[[1]]), "'given', got"),
    (inside("", state=None), "state of defrag must be a JSON object, got None"),
    (without("state", "n_iter"), "state of defrag .* 'n_iter' is missing"),
    (state(labels_=1), "state of defrag .* 'labels_' is unknown"),
    (state(n_clusters=8.0), "n_clusters of defrag .* got 8.0"),
    (state(n_clusters=-8), "n_clusters of defrag .* got -8"),
    (state(n_clusters=13), r"number of features \(12\), got 13"),
    (state(n_clusters=7), r"'labels' must be in \[-1, 7\), got 7 at"),
    (state(n_iter=0), "n_iter of defrag must be an int .* got 0"),
    (inside("", children=[]), "children of the model must be a JSON object"),
    (inside("children", base={}), "children .* none: 'base' is unknown"),
    (put("labels", None), "array 'labels' of the kind 'defrag' is missing"),
    (put("extra", np.zeros(3)), "array 'extra' is unknown to the kind 'defrag'"),
    (put("members/0/labels", np.zeros(3)), "'members/0/labels' is unknown"),
    (put("labels", np.zeros(12, np.int64)), "of int32, got 1-D of int64"),
    (put("labels", np.zeros(0, np.int32)), "at least 1 .* got 0"),
    item_breaks("labels", 4, -2, r"must be in \[-1, 8\), got -2 at 4"),
    item_breaks("labels", 4, 8, r"must be in \[-1, 8\), got 8 at 4"),
    (put("energy", np.zeros(11)), "array 'energy' must have 12 items, got 11"),
    item_breaks("energy", 3, np.nan, "must be finite and >= 0, got nan at 3"),
    item_breaks("energy", 3, -1, "must be finite and >= 0, got -1.0 at 3"),
    item_breaks("scale", 0, 1e38, "must be at most 1e.12 in size"),
    (item("tree/first_child", 0, 15), r"in \[-1, 15\), got 15 at 0"),
    (item("tree/first_child", 9, -7), r"in \[-1, 15\), got -7 at 9"),
    (item("tree/first_child", 3, 3), "after their parent, got 3 at 3"),
    (item("tree/first_child", 3, 1), "after their parent, got 1 at 3"),
    (item("tree/first_child", 2, 3), "each inner node its own 2 children"),
    (item("tree/first_child", 6, -1), "must give each inner node its own 2"),
    (item("tree/first_child", 0, -1), "must give each inner node its own 2"),
    (item("tree/begin", 0, 1), r"the root \[0, 12\), got \[1, 12\)"),
    (item("tree/end", 0, 11), r"the root \[0, 12\), got \[0, 11\)"),
    (item("tree/begin", 14, 13), r"must not cross, got \[13, 12\) at 14"),
    (item("tree/end", 14, 2**62), "must cut each node into its children"),
    (item("tree/begin", 2, 7), r"its children, got \[7, 12\) at 2"),
    (item("tree/begin", 2, 5), r"its children, got \[5, 12\) at 2"),
    (
        put("tree/order", lambda a: np.append(a[5], a[1:])),
        "'tree/order' must have every item once, but .* is missing",
    ),
    item_breaks("tree/order", 0, 12, r"must be in \[0, 12\), got 12"),
    item_breaks("tree/order", 0, -1, r"must be in \[0, 12\), got -1 at 0"),
    (
        put("tree/order", lambda a: np.append(a[1::-1], a[2:])),
        "'tree/order' must increase within a leaf, got .* at 1",
    ),
    item_breaks("tree/n_rounds", 1, -1, r".* got -1 at 1"),
    (
        both(
            state(n_clusters=7),
            item("labels", slice(None), 0),
            put("scale", np.ones(7, np.float32)),
        ),
        "the tree must have at most 12 items and 7 leaves, got 12 and 8",
    ),
    (item("feature_names/offsets", 0, 1), "must run from 0 to 13, got 1 to 13"),
    (item("feature_names/offsets", 12, 12), "run from 0 to 13, got 0 to 12"),
    (item("feature_names/offsets", 4, 2), "must not decrease, got 2 after 4 at 4"),
    (item("feature_names/bytes", 5, 255), "must be UTF-8, got b'.xff' near 5"),
    (item("feature_names/offsets", 1, 1), "must not split a character, got 1"),
]

# The tree: nodes 0 (children 1-3), 2 (4-5), 3 (6-7); leaves of two labels; 94 features of nodes,
# of which the root has 12, with 2, 3, 3, 1 ... entries: outputs 0 2, 0 1 2, 0 1 2, 0, ...
TREE = [
    (state(n_labels=0), r"n_labels of label_tree must be .* got 0"),
    (state(n_labels=9), r"'trees/0/order' must be in \[0, 9\), got 9"),
    (state(n_labels=2**31), "n_labels of label_tree .* 2147483648"),
    (state(n_features=11), r"'trees/0/features' .* \[0, 11\), got 11"),
    (tree_item("weights", 3, 1e38), "weights' must be at most 1e.12 in size"),
    (tree_item("bias", 0, -1e38), "bias' must be at most 1e.12 in size"),
    (state(n_features=2**31 - 1), "n_features of a label tree .* at most 67108863, got 2147483647"),
    (state(n_features=True), "n_features of label_tree .* got True"),
    (state(dense_answers=1), "dense_answers of label_tree .* got 1"),
    (state(classes="pickle"), "classes of label_tree .* got 'pickle'"),
    (state(classes="numbers"), "'classes/numbers' is missing from"),
    (state(classes="strings"), "'classes/strings' is missing from"),
    (put("classes/numbers", np.arange(10)), "not belong to classes that are ids"),
    (inside("children", trees=[]), "array 'trees/0/begin' is unknown"),
    (inside("children/trees/0", kind="hybrid"), "'trees/0/' must be one of tree, got"),
    (inside("", kind="tree"), "kind of the model must be one of .* got 'tree'"),
    (inside("children/trees/0/parameters", a=1), "'trees/0/' .tree. .* 'a' is unknown"),
    (inside("parameters", beam_size=0), "beam_size of label_tree must be .* got 0"),
    (tree("first_child", np.zeros(0, np.int32)), "at least one node, got none"),
    (tree_item("first_child", 0, 8), r"'trees/0/first_child' must be in \[-1, 8\)"),
    (tree_item("first_child", 2, 2), "children breadth first, .* got 2 at 2"),
    (tree_item("first_child", 3, 4), "children breadth first, .* got 4 at 3"),
    (tree_item("first_child", 1, -2), r"in \[-1, 8\), got -2 at 1"),
    (tree_item("n_children", 2, 1), "must be 0 or at least 2, got 1 at 2"),
    (tree_item("n_children", 2, -2), r"n_children' must be in .* got -2 at 2"),
    (tree_item("n_children", 2, 3), r"all nodes but the root \(7\), got 8"),
    (tree_item("n_children", 2, 0), r"all nodes but the root \(7\), got 5"),
    (tree_item("n_children", 2, 2**31 - 1), "n_children' must be in .* at 2"),
    (
        tree_item("n_children", slice(None), [0, 3, 2, 2, 0, 0, 0, 0]),
        "breadth first, .* got 0 at 1",
    ),
    (tree_item("begin", 0, 1), r"the root \[0, 10\), got \[1, 10\)"),
    (tree_item("end", 0, 9), r"the root \[0, 10\), got \[0, 9\)"),
    (tree_item("end", 1, 0), r"at least one label, got \[0, 0\) at 1"),
    (tree_item("begin", 1, -5), r"into its children, got \[-5, 2\) at 1"),
    (tree_item("end", 7, 2**31 - 1), "must cut each node into its children"),
    (tree_item("begin", 5, 3), r"into its children, got \[3, 6\) at 5"),
    (tree_item("begin", 5, 5), r"into its children, got \[5, 6\) at 5"),
    (tree_item("order", 3, -1), r"'trees/0/order' must be in .* got -1 at 3"),
    (tree_item("order", 0, 4), "'trees/0/order' must have no label twice, got 4"),
    (tree_item("feature_ptr", 0, 1), "feature_ptr' must run from 0 to 94, got 1"),
    (tree_item("feature_ptr", 8, 95), "feature_ptr' must run from 0 to 94, got 0 to 95"),
    (tree_item("feature_ptr", 3, 20), "ptr' must not decrease, got 20 after 24"),
    (tree_item("features", 0, -1), r"features' must be in \[0, .*, got -1 at 0"),
    (tree_item("features", 11, 12), r"'trees/0/features' must be in \[0, 12\), got 12"),
    (tree_item("features", 1, 0), "'trees/0/features' must increase within each row"),
    (tree_item("features", 1, 5), "'trees/0/features' must increase within each row"),
    (tree_item("sizes", 5, 0), r"'trees/0/sizes' must be in \[1, 65537\), got 0 at 5"),
    (tree_item("sizes", 5, 4), "sizes' must add up to the number of outputs"),
    (tree("sizes", np.full(94, 65537, np.uint32)), "sizes' must be in .* got 65537"),
    (tree_item("outputs", 1, 3), r"outputs' must be in \[0, 3\) of its node, got 3 at 1"),
    (tree_item("outputs", -1, 255), r"must be in \[0, 2\) of its node, got 255"),
    (tree_item("outputs", 1, 0), "must increase within a feature, got 0 after 0 at 1"),
    (tree_item("outputs", 2, 2), "must increase within a feature, got 1 after 2 at 3"),
    (tree("outputs", np.zeros(3, np.uint8)), r"number of outputs \(3\), got"),
    (tree("scales", np.ones(8, np.float32)), "scales' is allowed only with weights of int8"),
    (tree("features", None), "'trees/0/features' or .*/gaps' must be present, got none"),
    (emptied("trees"), "children 'trees' must be at least one, got none"),
]

TREE_INT4 = [
    (tree_item("codes", slice(None), 0), "codes' must end each feature of a node once"),
    (tree_item("node_sizes", 0, 2**32 - 1), "codes' must have .* items"),
    (tree_item("feature_ptr", 3, 0), "feature_ptr' must not decrease"),
    (tree("scales", np.ones(8, np.float32)), "scales' is allowed only with weights of"),
]

TREE_INT8 = [
    (tree("features", np.zeros(94, np.int32)), "must be present, got both"),
    (tree("gaps", np.ones(93, np.uint8)), "feature_ptr' must run from 0 to 93"),
    (tree_item("gaps", 0, 200), r"'trees/0/features' must be in \[0, "),
    (tree_item("gaps", 1, 0), "'trees/0/features' must increase within each row"),
    (tree_item("gaps", 1, 255), "'trees/0/far' must have 1 items, got 0"),
    (far_features(254), r"'trees/0/far' must be in \[255, .* got 254 at 0"),
    (far_features(2**31 - 2), "gaps' must add up to features below 2147483647, got"),
    (tree_item("sizes", 5, 0), r"'trees/0/sizes' must be in \[1, 65537\), got 0 at 5"),
    (tree("scales", None), "scales' is required with weights of int8"),
    (tree_item("weights", 4, -128), r"weights' must be in \[-127, 128\), got -128"),
    (tree_item("scales", 2, -1), "scales' must be finite and >= 0, got -1.0 at 2"),
    (tree_item("scales", 2, 1e37), "scales' must be at most 7.87402e.09 in size, got 1e.37"),
]

NAMED_TREE = [
    (state(n_labels=11), "'label_names/offsets' must have 12 items"),
    (item("label_names/bytes", 1, 255), "label_names/bytes' must be UTF-8"),
    (put("vocabulary/bytes", np.zeros(1, np.uint8)), "'vocabulary/offsets' .* missing"),
]

NUMBERS = [
    (put("classes/numbers", np.arange(2.0)), "numbers' must have 3 items, got 2"),
    (put("classes/numbers", np.ones((3, 1))), "must be 1-D of int8 or"),
    (put("classes/numbers", np.array([0, 1, np.nan])), "numbers' must be finite"),
    (
        put("classes/numbers", np.array([0, 1, 1.0])),
        r"must increase, got .*1.0.* after .*1.0.* at 2",
    ),
    (state(classes="ids"), "not belong to classes that are ids"),
]

CHARACTERS = [
    (put("classes/characters", np.zeros((3, 0), np.uint32)), "at least one column, got none"),
    (put("classes/characters", np.uint32([[1], [2], [0x110000]])), "in .0, 1114112., got 1114112"),
    (put("classes/characters", np.uint32([[1], [2], [0xD800]])), "surrogates, got 0xd800"),
    (
        put("classes/characters", np.uint32([[98], [97], [99]])),
        "must increase, got .*'a'.* after .*'b'",
    ),
    (state(classes="strings"), "not belong to classes that are"),
]

STRINGS = [
    (
        put("classes/strings/bytes", np.frombuffer(b"bac", np.uint8)),
        "must increase, got 'a' after 'b' at 1",
    ),
]

AGGLOMERATED = [
    (lambda d: d.model["parameters"]["base"].pop("kind"), "base of .* must be None, or"),
    (inside("parameters/base", kind="x"), "base of agglomerated must"),
    (inside("parameters/base", kind="hybrid"), "base of agglomerated must"),
    (inside("parameters", base=[]), r"base of agglomerated must be .* got \[\]"),
    (inside("parameters", base={"kind": "tree", "parameters": {}}), "base of agglomerated must"),
    (inside("parameters/base/parameters", C=-1), "base of agglomerated must"),
    (inside("parameters/base/parameters", n_jobs=99), "base of agglomerated must"),
    (inside("parameters/agglomeration", kind="parabel"), "agglomeration of agglomerated must"),
    (inside("children", bases=[], agglomerations=[]), "array '.*' is unknown to the kind"),
    (lambda d: d.model["children"]["bases"].pop(), "'bases/1/.*' is unknown"),
    (inside("children/bases/0", kind="hybrid"), "'bases/0/' must be one of label_tree"),
    (state(n_features=13), r"'agglomerations/0' .* \(13\), got 12"),
    (state(n_labels=11), r"'bases/0' must have the labels .* got 10"),
    (inner("bases/1", n_features=5), r"'bases/1' must have the groups .* \(4\), got 5"),
    item_breaks("bases/1/trees/0/order", 0, 10, r".* in \[0, 10\), got 10"),
    (emptied("bases", "agglomerations"), "must be equally many, at least one, got 0 and 0"),
]

# 10 labels, 12 features; feature 0 has weights for outputs 0 to 9.
FLAT = [
    (state(n_features=11), "'feature_ptr' must have 12 items, got"),
    (state(n_features=13), "'feature_ptr' must have 14 items, got"),
    item_breaks("feature_ptr", 0, 1, "must run from 0 to"),
    item_breaks("feature_ptr", 12, 10**9, "must run from 0 to"),
    item_breaks("feature_ptr", 2, 10**9, "must not decrease, got"),
    item_breaks("outputs", 9, 10, r"must be in \[0, 10\), got 10 at 9"),
    item_breaks("outputs", 1, 0, "must increase within a feature, got 0 after 0"),
    (put("outputs", np.zeros(3, np.uint16)), "'feature_ptr' must run from 0"),
    (put("outputs", lambda a: np.int32(a) - 1), r"'outputs' must be in \[0, 10\), got -1 at 0"),
    (inside("parameters", batch_size=0), "batch_size of dismec must be .* got 0"),
    (inside("", kind="plt"), "must be .* is"),
]

FOREST = [
    (put("tree_ptr", lambda a: a[:0]), "'tree_ptr' must run from 0"),
    (put("tree_ptr", lambda a: np.append(a, a[-1])), "each tree a node"),
    (shape([], [0]), "each tree a node, got no tree"),
    (item("tree_ptr", 1, 2**40), "tree_ptr' must not decrease"),
    item_breaks("tree_ptr", -1, 10**6, "must run from 0 to"),
    item_breaks("n_children", 0, 3, r"must be in \[0, 3\)"),
    (shape([2, 2, 0]), r"nodes of tree 0 but the root \(2\), got 4"),
    (shape([0, 0, 0]), r"nodes of tree 0 but the root \(2\), got 0"),
    (shape([2, 2, 0, 0, 0, 0], [0, 3, 6]), "of tree 0 but the root"),
    (shape([0, 2, 2, 0, 0]), "children after their parent, got 1 at 1"),
    item_breaks("features", 1, 0, "must increase, got 0 after 0"),
    item_breaks("features", 0, -1, r"must be in \[0, 12\), got -1"),
    item_breaks("features", -1, 12, r"must be in \[0, 12\), got 12"),
    item_breaks("slots", 0, 60000, r"must be in \[0, \d+\), got 60000"),
    (item("slots", slice(0, 2), [3, 2]), "'slots' must increase within a run"),
    (item("slots", slice(0, 2), [3, 3]), "'slots' must increase within a run"),
    (put("scales", np.ones(3, np.float32)), "'scales' is allowed only .* int8"),
    item_breaks("labels", 0, 5, "must increase"),
    item_breaks("labels", -1, 10, r"must be in \[0, 10\), got 10"),
    item_breaks("labels", 0, -1, r"must be in \[0, 10\), got -1"),
    item_breaks("outputs", 0, 10, r"must be in \[0, 10\), got 10"),
    item_breaks("outputs", 1, 0, "must increase within a run"),
    item_breaks("values", 0, -0.5, "must be finite and >= 0, got -0.5"),
]

CENTROIDS = [
    (item("children", 0, 3), "children of their node, got 3 at 0"),
    (item("children", slice(0, 2), [2, 1]), "increase within a node|of their"),
    item_breaks("slots", -1, 40, r"must be in \[0, 40\), got 40"),
    (item("slots", slice(0, 2), [39, 0]), "must increase within a node, got slot 0"),
    (put("slots", lambda a: a.astype(np.int32)), "must be uint16 for 40 buckets"),
    (state(n_buckets=0), "n_buckets"),
    (state(n_buckets=2**31), "n_buckets"),
    (state(n_buckets=2), r"'slots' must be in \[0, 2\)"),
    (state(n_kept=0), "n_kept"),
]

PROTOTYPES = [
    (item("prototypes/sizes", 0, 65535), "prototypes/slots' must have"),
    (item("prototypes/slots", 0, 12), r"slots' must be in \[0, 12\), got 12"),
    (item("prototypes/slots", slice(0, 2), [3, 2]), "must increase within a run"),
    (
        put("prototypes/slots", lambda a: a.astype(np.int32)),
        "slots' must be uint16 like those of the trees, got int32",
    ),
    (item("prototypes/weights", 1, 1e30), r"must be at most 1e\+12 in size"),
    (put("prototypes/scales", np.ones(10, np.float32)), "is allowed only with"),
    item_breaks("label_weights", 0, 2.0, "must be at most 1, got 2"),
]

# Rank 3: 12 rows of features, one panel of 16 rows for 10 labels, 84 numbers.
LEML = [
    (state(rank=0), "rank of leml must be .* got 0"),
    (state(rank=True), "rank of leml must be .* got True"),
    (state(rank=2**40), "rank of leml must be .* got 1099511627776"),
    (state(rank=4), "'weights' must have 112 items, got 84"),
    (state(n_features=11), "'weights' must have 81 items, got 84"),
    (state(n_features=2**31 - 1), "'weights' must have 6442450989 items, got 84"),
    (put("weights", np.zeros((12, 7), np.float32)), "'weights' must be 1-D"),
    (put("bias", np.ones(3, np.float32)), "array 'bias' is unknown to the kind 'leml'"),
]

# Two clusters of 30 points in all, 12 features, vectors of length 2.
SLEEC = [
    (emptied("learners"), "children 'learners' must be at least one, got none"),
    (inner("learners/0", rank=3), "'learners/0/weights' must have .* items"),
    (inner("learners/0", rank=0), "rank of 'learners/0/' .* must be .* got 0"),
    (inner("learners/0", euclidean=1), "euclidean of 'learners/0/' .* got 1"),
    (learner("point_ptr", lambda a: a[:1]), "must have at least one cluster"),
    (learner("point_ptr", lambda a: np.append(a, a[-1])), "'learners/0/feature_ptr' must have 4"),
    (learner_item("point_ptr", 1, 31), "'learners/0/point_ptr' must not decrease"),
    (learner_item("points", 4, 30), r"'learners/0/points' .*\[0, 30\), got 30"),
    (learner_item("points", 4, -1), "'learners/0/points' must be in .* got -1"),
    (learner("points", lambda a: a[:-1]), "'learners/0/point_ptr' must run from 0"),
    (learner_item("features", 0, 12), r"'learners/0/features' must be in \[0, 12\), got 12"),
    (learner("features", lambda a: a[::-1].copy()), "'learners/0/features' must increase"),
    (learner_item("feature_ptr", 1, -1), "'learners/0/feature_ptr' must not"),
    (learner_item("router/indices", 0, 2), r"'learners/0/router/indices' .* got 2"),
    (state(n_features=11), "'learners/0' must have the features .* got 12"),
    (state(n_labels=9), r"'point_labels/indices' must be in \[0, 9\), got 9"),
    (
        both(
            put("point_labels/indptr", lambda a: a[:1]),
            put("point_labels/indices", lambda a: a[:0]),
        ),
        "'point_labels/indptr' must have at least one point",
    ),
    item_breaks("point_labels/indptr", 3, 50, "must not decrease"),
]

CHOSEN = [
    (state(gamma="auto"), "gamma of refrag must be .* got 'au"),
    (state(gamma=1e9), "gamma of refrag must be .* got 1000000000"),
    (state(alpha=0.0), "alpha of refrag must be .* got 0.0"),
    (state(propensity_weight=-1.0), "propensity_weight of refrag must be .* got -1.0"),
    (state(measured_rows=-1), "measured_rows of refrag"),
    item_breaks("prototypes/indices", -1, 12, r"must be in \[0, 12\), got 12"),
    item_breaks("prototypes/indices", 0, 11, "must increase within each row"),
    item_breaks("prototypes/indptr", 1, 2**40, "must not decrease"),
    item_breaks("prototypes/data", 0, 3e38, "must be at most 1e.16 in size, got 3e.38"),
    item_breaks("bonus", 2, -1, "must be .* got -1.0 at 2"),
    (put("trade_off/p_at_1", None), "'trade_off/p_at_1' of the kind 'refrag' is missing"),
    item_breaks("trade_off/alpha", 0, 7.0, r"must be in \(0, 1\], got 0.8 to 7.0"),
    (inner("base", n_labels=11), r"'base' must have the labels .*\(10\), got 11"),
    (inner("base", n_features=13), r"'base' must have the features .* got 13"),
    (
        inside("children/base", kind="hybrid"),
        "kind of model 'base/' must be one of .* got 'hybrid'",
    ),
]

BLOCK, COMPANIONS, RULE = "imputation/blocks/0", "imputation/companions", "imputation/rule"
SIZES = f"{RULE}/log_sizes"
NOT_BOTH = f"'{COMPANIONS}/indptr' must be present if and only if a blend has companions"
BELOW_GROUPS = [
    (inner("bases/0", n_labels=11), r"'bases/0/base' must have the labels .*\(11\), got 10"),
    (inner("bases/0", n_features=12), r"'bases/0/base' must have the features .*\(12\), got 6"),
    (
        state(n_features=13),
        r"'agglomerations/0' must have the features of its ensemble \(13\), got 12",
    ),
    (
        inside("children/bases/0", kind="tree"),
        "kind of model 'bases/0/' must be one of .* got 'tree'",
    ),
    (
        inside("parameters/base", kind="fiat"),
        "base of agglomerated must be None, or the kind .*imputed",
    ),
    item_breaks("bases/0/prototypes/indices", -1, 6, r"must be in \[0, 6\), got 6"),
    (nested(8), "base of agglomerated must be None"),
]

IMPUTED = [
    (without("children", "imputation"), "'imputation' is missing"),
    (
        both(put(f"{RULE}/coefficients", None), put(SIZES, None)),
        f"'{RULE}/coefficients' must be present if and only if beta is 'auto' in a blend",
    ),
    (put(SIZES, None), f"'{SIZES}' of the kind 'fiat' is missing"),
    item_breaks("imputation/rule/coefficients", 0, 1e300, "must be at most"),
    (inner("imputation", usual_size=-1), "usual_size of 'imputation/' .* must be .* got -1"),
    (companions(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)), NOT_BOTH),
    item_breaks("imputation/blocks/0/groups", 0, 12, r"must be in \[-1, 12\), got 12 at 0"),
    (item("imputation/blocks/0/groups", 0, -2), r"blocks/0/groups' must be in .* got -2"),
    (block(np.zeros(2, np.int32), np.zeros(4)), f"'{BLOCK}/groups' must have 12 items, got 2"),
    (
        item("imputation/blocks/0/groups", slice(None), 0),
        "'imputation/blocks/0/entries' must have 144 items",
    ),
    item_breaks("imputation/blocks/1/entries", 0, 1e30, "must be at most"),
    (inner("imputation", n_features=13), "'imputation/blocks/0/groups' must have 13 items, got 12"),
]

LISTED = [
    (companions(None, None, None), NOT_BOTH),
    item_breaks("imputation/companions/indptr", 1, 2**40, "must not decrease"),
    item_breaks("imputation/companions/indices", -1, 12, r"must be in \[0, 12\), got 12"),
    item_breaks("imputation/companions/indices", 0, 11, "must increase within each row"),
    item_breaks("imputation/companions/data", 0, 1e30, "must be at most"),
]


CASES = {
    "defrag": DEFRAG,
    "tree": TREE,
    "tree, int4": TREE_INT4,
    "tree, int8": TREE_INT8,
    "named tree": NAMED_TREE,
    "bools": [(put("classes/bools", np.uint8([0, 2])), r"bools' must be in \[0, 2\), got 2")],
    "numbers": NUMBERS,
    "characters": CHARACTERS,
    "strings": STRINGS,
    "agglomerated": AGGLOMERATED,
    "flat": LABELS + FLAT,
    "flat, int8": INT8,
    "fastxml": SHAPES + FOREST,
    "fastxml, int8": INT8,
    "pfastrexml": SHAPES + FOREST + PROTOTYPES,
    "craftml": SHAPES + CENTROIDS,
    "leml": LABELS + LEML,
    "leml, int8": INT8,
    "sleec": SLEEC,
    "chosen": CHOSEN,
    "below groups": BELOW_GROUPS,
    "imputed": IMPUTED,
    "listed": LISTED,
}


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [(which, *case) for which, cases in CASES.items() for case in cases],
)
def test_broken_file_is_refused_by_name(tmp_path, stored, which, change, message):
    refuse(tmp_path, stored(which), change, message)


@pytest.mark.parametrize("which", CASES)
def test_unchanged_draft_loads(tmp_path, stored, which):
    (tmp_path / "a").write_bytes(Draft(stored(which)).to_bytes())
    load(tmp_path / "a")


def test_imputation_has_either_blocks_or_companions(tmp_path, stored):
    def with_blocks(draft):
        other = Draft(stored("imputed"))
        blocks = other.model["children"]["imputation"]["children"]["blocks"]
        inside("children/imputation/children", blocks=blocks)(draft)
        for name in [key for key in other.header if key.startswith("imputation/blocks/")]:
            draft.put(name, other.array(name))

    message = "'imputation/blocks' must be at least one, got none"
    refuse(tmp_path, stored("imputed"), emptied("imputation/blocks"), message)
    message = "'imputation/blocks' must be empty if there are companions"
    refuse(tmp_path, stored("listed"), with_blocks, message)


@pytest.mark.slow
def test_parameters_nest_up_to_a_limit(tmp_path, stored):
    draft = Draft(stored("agglomerated"))
    for depth in range(300):
        parameters = draft.model["parameters"]
        inner = {"kind": "agglomerated", "parameters": dict(parameters)}
        draft.model["parameters"] = {**parameters, "base": inner}
        (tmp_path / "a").write_bytes(draft.to_bytes())
        if depth < 7:
            load(tmp_path / "a")
        elif depth in {7, 50, 299}:
            with pytest.raises(ModelFormatError, match=r"base of agglomerated|nested too deeply"):
                load(tmp_path / "a")


# --- What is strange, but allowed.


@pytest.mark.parametrize(
    ("which", "name", "values"),
    [
        ("leml", "weights", [-1e12, 1e12]),
        ("leml", "weights", [1e12, -1e12]),
        ("sleec", "learners/0/weights", [1e12]),
    ],
)
def test_overflowing_sums_give_finite_answers(tmp_path, stored, which, name, values):
    draft = Draft(stored(which))
    put(name, lambda array: np.resize(values, len(array)).astype(array.dtype))(draft)
    (tmp_path / "huge").write_bytes(draft.to_bytes())
    labels, scores = load(tmp_path / "huge").predict_topk(np.ones((3, 12)), k=10)
    assert ((labels >= -1) & (labels < 10)).all()
    assert ((scores >= 0) & (scores <= 1)).all()


def test_cluster_without_points_finds_no_labels(tmp_path, stored):
    draft = Draft(stored("sleec"))
    learner_item("point_ptr", slice(1, -1), 0)(draft)  # all points in the last cluster
    (tmp_path / "empty").write_bytes(draft.to_bytes())
    model = load(tmp_path / "empty")
    labels, scores = model.predict_topk(np.eye(model.n_features_in_, dtype=np.float32), k=3)
    assert ((labels >= -1) & (labels < model.n_labels_)).all()
    assert (labels == -1).all(axis=1).any()
    assert np.isfinite(scores[labels >= 0]).all()
