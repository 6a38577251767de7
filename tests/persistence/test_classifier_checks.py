"""What a file says about a classifier must make sense: every broken promise is refused by name."""

import numpy as np
import pytest

from defrag import LabelTree, load
from defrag.exceptions import ModelFormatError
from defrag.persistence.fields import Part
from defrag.persistence.trees import check_label_tree, check_label_tree_weights
from tests.helpers.model_drafts import (
    Draft,
    X,
    inside,
    item,
    put,
    refuse,
    small_agglomerated,
    small_dismec,
    small_label_tree,
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return the bytes of a file per model that a case may start from."""
    folder = tmp_path_factory.mktemp("stored")
    strings = np.array(["a", "b", "c"])[np.arange(30) % 3]
    classes = LabelTree(random_state=0).fit(X, strings)
    small_label_tree().save(folder / "tree")
    small_label_tree().save(folder / "int8", weights="int8", label_names=["ä", *"bcdefghij"])
    for weights in ("float16", "int4"):
        small_label_tree().save(folder / weights, weights=weights)
    classes.save(folder / "characters")
    classes.fit(X, strings.astype(object)).save(folder / "strings")
    classes.fit(X, np.arange(30) % 3 * 2.0).save(folder / "numbers")
    classes.fit(X, np.arange(30) % 2 == 0).save(folder / "bools")
    small_agglomerated().save(folder / "agglomerated")
    small_dismec().save(folder / "flat")
    small_dismec().save(folder / "flat int8", weights="int8")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def tree_item(name, index, value):
    return item(f"trees/0/{name}", index, value)


def tree(name, array):
    return put(f"trees/0/{name}", array)


def far_features(gap):
    """Make all gaps between features large."""

    def change(draft):
        tree("gaps", np.full(94, 255, np.uint8))(draft)
        tree("far", np.full(94, gap, np.int32))(draft)

    return change


def child(change):
    return lambda draft: change(draft.model["children"])


def estimator(name, change):
    return lambda draft: change(draft.model["parameters"][name])


# The tree: nodes 0 (children 1-3), 2 (4-5), 3 (6-7); leaves of two labels; 94 features of nodes,
# of which the root has 12, with 2, 3, 3, 1 ... entries: outputs 0 2, 0 1 2, 0 1 2, 0, ...
TREE = [
    (inside("state", n_labels=0), r"n_labels of label_tree must be .* got 0"),
    (inside("state", n_labels=9), r"'trees/0/order' must be in \[0, 9\), got 9"),
    (inside("state", n_labels=2**31), "n_labels of label_tree .* 2147483648"),
    (inside("state", n_features=11), r"'trees/0/features' .* \[0, 11\), got 11"),
    (tree_item("weights", 3, 1e38), "weights' must be at most 1e.12 in size"),
    (tree_item("bias", 0, -1e38), "bias' must be at most 1e.12 in size"),
    (
        inside("state", n_features=2**31 - 1),
        "n_features of a label tree must be at most 67108863, got 2147483647",
    ),
    (inside("state", n_features=True), "n_features of label_tree .* got True"),
    (inside("state", dense_answers=1), "dense_answers of label_tree .* got 1"),
    (inside("state", classes="pickle"), "classes of label_tree .* got 'pickle'"),
    (inside("state", classes="numbers"), "'classes/numbers' is missing from"),
    (inside("state", classes="strings"), "'classes/strings' is missing from"),
    (put("classes/numbers", np.arange(10)), "not belong to classes that are ids"),
    (child(lambda c: c.update(trees=[])), "array 'trees/0/begin' is unknown"),
    (child(lambda c: c["trees"][0].update(kind="hybrid")), "'trees/0/' must be one of tree, got"),
    (lambda d: d.model.update(kind="tree"), "kind of the model must be one of .* got 'tree'"),
    (
        child(lambda c: c["trees"][0]["parameters"].update(a=1)),
        "'trees/0/' .tree. .* 'a' is unknown",
    ),
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
]

OTHERS = {
    "float16": [],
    "tree": [
        (tree("features", None), "'trees/0/features' or .*/gaps' must be present, got none"),
    ],
    "int4": [
        (tree_item("codes", slice(None), 0), "codes' must end each feature of a node once"),
        (tree_item("node_sizes", 0, 2**32 - 1), "codes' must have .* items"),
        (tree_item("feature_ptr", 3, 0), "feature_ptr' must not decrease"),
        (tree("scales", np.ones(8, np.float32)), "scales' is allowed only with weights of"),
    ],
    "int8": [
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
        (inside("state", n_labels=11), "'label_names/offsets' must have 12 items"),
        (
            lambda d: d.array("label_names/bytes").__setitem__(1, 255),
            "label_names/bytes' must be UTF-8",
        ),
        (put("vocabulary/bytes", np.zeros(1, np.uint8)), "'vocabulary/offsets' .* missing"),
    ],
    "numbers": [
        (put("classes/numbers", np.arange(2.0)), "numbers' must have 3 items, got 2"),
        (put("classes/numbers", np.ones((3, 1))), "must be 1-D of int8 or"),
        (put("classes/numbers", np.array([0, 1, np.nan])), "numbers' must be finite"),
        (
            put("classes/numbers", np.array([0, 1, 1.0])),
            r"must increase, got .*1.0.* after .*1.0.* at 2",
        ),
        (inside("state", classes="ids"), "not belong to classes that are ids"),
    ],
    "bools": [
        (put("classes/bools", np.uint8([0, 2])), r"bools' must be in \[0, 2\), got 2"),
    ],
    "characters": [
        (put("classes/characters", np.zeros((3, 0), np.uint32)), "at least one column, got none"),
        (
            put("classes/characters", np.uint32([[1], [2], [0x110000]])),
            "in .0, 1114112., got 1114112",
        ),
        (put("classes/characters", np.uint32([[1], [2], [0xD800]])), "surrogates, got 0xd800"),
        (
            put("classes/characters", np.uint32([[98], [97], [99]])),
            "must increase, got .*'a'.* after .*'b'",
        ),
        (inside("state", classes="strings"), "not belong to classes that are"),
    ],
    "strings": [
        (
            put("classes/strings/bytes", np.frombuffer(b"bac", np.uint8)),
            "must increase, got 'a' after 'b' at 1",
        ),
    ],
    "agglomerated": [
        (estimator("base", lambda e: e.pop("kind")), "base of .* must be None, or"),
        (estimator("base", lambda e: e.update(kind="x")), "base of agglomerated must"),
        (estimator("base", lambda e: e.update(kind="hybrid")), "base of agglomerated must"),
        (inside("parameters", base=[]), r"base of agglomerated must be .* got \[\]"),
        (
            inside("parameters", base={"kind": "tree", "parameters": {}}),
            "base of agglomerated must",
        ),
        (estimator("base", lambda e: e["parameters"].update(C=-1)), "base of agglomerated must"),
        (
            estimator("base", lambda e: e["parameters"].update(n_jobs=99)),
            "base of agglomerated must",
        ),
        (
            estimator("agglomeration", lambda e: e.update(kind="parabel")),
            "agglomeration of agglomerated must",
        ),
        (
            child(lambda c: c.update(bases=[], agglomerations=[])),
            "array '.*' is unknown to the kind",
        ),
        (child(lambda c: c["bases"].pop()), "'bases/1/.*' is unknown"),
        (
            child(lambda c: c["bases"][0].update(kind="hybrid")),
            "'bases/0/' must be one of label_tree",
        ),
        (inside("state", n_features=13), r"'agglomerations/0' .* \(13\), got 12"),
        (inside("state", n_labels=11), r"'bases/0' must have the labels .* got 10"),
        (
            child(lambda c: c["bases"][1]["state"].update(n_features=5)),
            r"'bases/1' must have the groups of its ensemble \(4\), got 5",
        ),
        (
            lambda d: d.array("bases/1/trees/0/order").__setitem__(0, 10),
            r"'bases/1/trees/0/order' must be in \[0, 10\), got 10",
        ),
    ],
}


# 10 labels, 12 features; feature 0 has weights for outputs 0 to 9.
FLAT = [
    (inside("state", n_labels=9), r"'labels' must be in \[0, 9\), got 9 at 9"),
    (item("labels", 0, -1), r"'labels' must be in \[0, 10\), got -1 at 0"),
    (item("labels", 3, 2), "'labels' must increase, got 2 after 2 at 3"),
    (item("labels", 3, 9), "'labels' must increase, got 4 after 9 at 4"),
    (put("labels", np.zeros(0, np.int32)), "'labels' must have at least one label"),
    (inside("state", n_features=11), "'feature_ptr' must have 12 items, got"),
    (inside("state", n_features=13), "'feature_ptr' must have 14 items, got"),
    (item("feature_ptr", 0, 1), "'feature_ptr' must run from 0 to"),
    (item("feature_ptr", 12, 10**9), "'feature_ptr' must run from 0 to"),
    (item("feature_ptr", 2, 10**9), "'feature_ptr' must not decrease, got"),
    (item("outputs", 9, 10), r"'outputs' must be in \[0, 10\), got 10 at 9"),
    (item("outputs", 1, 0), "'outputs' must increase within a feature, got 0 after 0"),
    (put("outputs", np.zeros(3, np.uint16)), "'feature_ptr' must run from 0"),
    (
        lambda d: d.put("outputs", np.int32(d.array("outputs")) - 1),
        r"'outputs' must be in \[0, 10\), got -1 at 0",
    ),
    (put("scales", np.ones(12, np.float32)), "'scales' is allowed only with weights of int8"),
    (inside("parameters", batch_size=0), "batch_size of dismec must be .* got 0"),
    (lambda d: d.model.update(kind="plt"), "must be .* is"),
]

FLAT_INT8 = [
    (put("scales", None), "'scales' is required with weights of int8"),
    (item("weights", 4, -128), r"'weights' must be in \[-127, 128\), got -128"),
    (item("scales", 2, -1), "'scales' must be finite and >= 0, got -1.0 at 2"),
    (item("scales", 2, 1e37), "'scales' must be at most 7.87"),
]


CASES = [
    *(("tree", *case) for case in TREE),
    *(("flat", *case) for case in FLAT),
    *(("flat int8", *case) for case in FLAT_INT8),
    *((which, *case) for which in OTHERS for case in OTHERS[which]),
]


@pytest.mark.parametrize(("which", "change", "message"), CASES)
def test_broken_classifier_is_refused_by_name(tmp_path, stored, which, change, message):
    refuse(tmp_path, stored[which], change, message)


def test_ensemble_without_members_is_refused(tmp_path, stored):
    draft = Draft(stored["tree"])
    draft.header, draft.payload = {}, b""
    draft.model["children"]["trees"] = []
    (tmp_path / "a").write_bytes(draft.to_bytes())
    with pytest.raises(ModelFormatError, match="children 'trees' must be at least one, got none"):
        load(tmp_path / "a")
    draft = Draft(stored["agglomerated"])
    draft.header, draft.payload = {}, b""
    draft.model["children"] = {"bases": [], "agglomerations": []}
    (tmp_path / "a").write_bytes(draft.to_bytes())
    with pytest.raises(ModelFormatError, match="must be equally many, at least one, got 0 and 0"):
        load(tmp_path / "a")


@pytest.mark.slow
def test_parameters_nest_up_to_a_limit(tmp_path, stored):
    draft = Draft(stored["agglomerated"])
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


def test_checks_in_blocks_see_every_item(monkeypatch):
    monkeypatch.setattr("defrag.persistence._checks.BLOCK_ITEMS", 3)
    model = small_label_tree().trees_[0]
    arrays = {**vars(model.tree), **vars(model.weights)}
    entry_ptr = arrays.pop("entry_ptr")
    arrays["sizes"] = np.diff(entry_ptr).astype(np.uint16)
    part = Part(arrays=arrays)
    check_label_tree(part, 10)
    check_label_tree_weights(part, 12)
    starts = set(entry_ptr.tolist())
    outputs = arrays["outputs"]
    for place in range(len(outputs)):
        before = outputs[place]
        if place not in starts:
            outputs[place] = outputs[place - 1]
            with pytest.raises(ModelFormatError, match=f"increase within a feature, .* at {place}"):
                check_label_tree_weights(part, 12)
        outputs[place] = 9  # either too large, or before a smaller one
        with pytest.raises(ModelFormatError, match="array 'outputs' must"):
            check_label_tree_weights(part, 12)
        outputs[place] = before
    check_label_tree_weights(part, 12)


def test_node_has_at_most_65536_outputs():
    for n_labels in (65536, 65537):
        part = Part(arrays={
            "first_child": np.zeros(1, np.int32), "n_children": np.zeros(1, np.int32),
            "begin": np.zeros(1, np.int32), "end": np.int32([n_labels]),
            "order": np.arange(n_labels, dtype=np.int32), "feature_ptr": np.int64([0, 1]),
            "features": np.zeros(1, np.int32), "sizes": np.uint32([65536]),
            "outputs": np.arange(65536, dtype=np.uint16), "bias": np.zeros(n_labels, np.float32),
            "weights": np.ones(65536, np.float32),
        })  # fmt: skip
        check_label_tree(part, n_labels)
        if n_labels == 65536:
            assert check_label_tree_weights(part, 1).tolist() == [0]
        else:
            with pytest.raises(ModelFormatError, match="at most 65536 outputs, got 65537 at 0"):
                check_label_tree_weights(part, 1)
