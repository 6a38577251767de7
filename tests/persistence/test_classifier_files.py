"""Classifiers in files: saved, loaded, shared; what a file may say about classes and names."""

import numpy as np
import pandas as pd
import pytest

from defrag import Agglomerated, Defrag, Fiat, LabelTree, load
from defrag._native import LabelTreeArrays, LabelTreeWeights, StoredTreeWeights
from defrag.agglomeration import Hybrid
from defrag.baselines import Parabel
from defrag.classifiers.label_tree import TrainedTree
from defrag.persistence import _checks, describe
from defrag.persistence._weights import WEIGHT_TYPES
from defrag.persistence.fields import Classes, Part
from defrag.persistence.kinds import kind_of
from defrag.persistence.trees import offsets, restore_entries, stored_weights, widened
from tests.contract.subject import answer_bits
from tests.helpers.model_drafts import (
    Draft,
    X,
    Y,
    small_agglomerated,
    small_craftml,
    small_dismec,
    small_forest,
    small_hybrid,
    small_label_tree,
    small_pfastrexml,
    small_refrag,
)


def packed(weights, weight_type, features=None):
    """Pack two nodes: a root with two leaves of 1 and 2 labels, then three outputs."""
    tree = LabelTreeArrays(*(np.int32(a) for a in ([1, 0, 0], [2, 0, 0], [0, 0, 1], [3, 1, 3],
                                                   [0, 1, 2])))  # fmt: skip
    n = len(weights)
    full = LabelTreeWeights(
        feature_ptr=np.int64([0, n - 1, n - 1, n]),
        features=np.int32([*range(n - 1), 0] if features is None else features),
        entry_ptr=np.arange(n + 1),
        outputs=np.zeros(n, np.uint16),
        weights=np.float32(weights),
        bias_ptr=np.int64([0, 2, 3, 5]),
        bias=np.zeros(5, np.float32),
    )
    part = kind_of(TrainedTree).write(TrainedTree(tree, full), weight_type)
    arrays = dict(part.arrays)
    restore_entries(part)
    starts = offsets(part.arrays["sizes"])[::8]
    return arrays, widened(stored_weights(part, starts))


def test_int8_weights_of_a_hand_computed_tree(monkeypatch):
    for block in (1, 2, 100):
        monkeypatch.setattr(_checks, "BLOCK_ITEMS", block)
        arrays, found = packed([1.27, -0.5, 0.004, 25.4], "int8")
        assert arrays["weights"].tolist() == [127, -50, 0, 127]
        np.testing.assert_allclose(arrays["scales"], [0.01, 0, 0.2], rtol=2**-16)
        np.testing.assert_allclose(found.weights, [1.27, -0.5, 0, 25.4], rtol=2**-16)
        assert found.weights.dtype == np.float32


@pytest.mark.parametrize("block", [1, 3, 100])
def test_features_of_int8_trees_are_restored_from_bytes(monkeypatch, block):
    monkeypatch.setattr(_checks, "BLOCK_ITEMS", block)
    features = [0, 254, 509, 764, 1020, 2**31 - 2, 70_000]
    arrays, found = packed(np.ones(7), "int8", features)
    assert arrays["gaps"].tolist() == [0, 254, 255, 255, 255, 255, 255]
    assert arrays["far"].tolist() == [255, 255, 256, 2**31 - 2 - 1020, 70_000]
    assert found.features.tolist() == features
    assert found.features.dtype == np.int32


@pytest.mark.parametrize(("n", "dtype"), [(255, np.uint8), (256, np.uint16)])
def test_counts_of_int8_trees_are_bytes_below_256(n, dtype):
    tree = LabelTreeArrays(*(np.int32(a) for a in ([0], [0], [0], [n], range(n))))
    full = LabelTreeWeights(
        feature_ptr=np.int64([0, 1]), features=np.int32([0]), entry_ptr=np.int64([0, n]),
        outputs=np.arange(n, dtype=np.uint16), weights=np.ones(n, np.float32),
        bias_ptr=np.int64([0, n]), bias=np.zeros(n, np.float32),
    )  # fmt: skip
    sizes = kind_of(TrainedTree).write(TrainedTree(tree, full), "int8").arrays["sizes"]
    assert (sizes.dtype, sizes.tolist()) == (dtype, [n])


def test_int4_weights_of_a_hand_computed_tree():
    # Sixteen sizes from 1/8 in leaves, 23/128 elsewhere, to the largest; less is dropped.
    arrays, found = packed([4.0, -0.17, 0.18, -1.0, 0.124, 0.15, -0.125], "int4")
    assert arrays["node_sizes"].tolist() == [3, 0, 1]
    assert arrays["feature_ptr"].tolist() == [0, 3, 3, 4]
    levels = arrays["levels"].reshape(3, 16)
    root = 23 / 128 * (4 / (23 / 128)) ** (np.arange(16) / 15)
    np.testing.assert_allclose(levels[0], root, rtol=2**-11)
    assert levels[1:].tolist() == [[0.0] * 16, [0.125] * 16]
    wanted = [4.0, 23 / 128, -root[np.abs(np.log(root)).argmin()], -0.125]
    np.testing.assert_allclose(found.weights, wanted, rtol=2**-11)
    assert found.features.tolist() == [0, 2, 3, 0]
    # Seven bits for two outputs, the first 0: sizes 15, 0, 8 and in the leaf 0; sign; last.
    bits = [15 | 32, 32, 8 | 16 | 32, 16 | 32]
    packed_bits = sum(code << place for code, place in zip(bits, (0, 7, 14, 21), strict=True))
    assert int.from_bytes(arrays["codes"].tobytes(), "little") == packed_bits


@pytest.mark.parametrize("make", [small_label_tree, lambda: small_label_tree(max_leaf_size=300)])
def test_int4_models_resave_to_same_bytes_and_are_close(tmp_path, make):
    model = make()
    model.save(tmp_path / "a", weights="int4")
    loaded = load(tmp_path / "a")
    loaded.save(tmp_path / "b", weights="int4")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    wanted, found = (widened_weights(one) for one in (model, loaded))
    dropped = found == 0
    assert np.abs(wanted[dropped]).max(initial=0) < 23 / 128
    np.testing.assert_allclose(found[~dropped], wanted[~dropped], rtol=0.2)
    assert not np.array_equal(found, wanted)
    described = describe(tmp_path / "a")
    assert (described["weights"], described["weight_type"]) == (np.count_nonzero(found), "int4")


def widened_weights(model):
    """Return the weights of a tree as a dense array of node, output and feature."""
    one = model.trees_[0].weights
    one = widened(one) if isinstance(one, StoredTreeWeights) else one
    found = np.zeros((len(one.bias), model.n_features_in_))
    nodes = np.repeat(np.arange(len(one.bias_ptr) - 1), np.diff(one.feature_ptr))
    entries = np.repeat(np.arange(len(one.features)), np.diff(one.entry_ptr))
    rows = one.bias_ptr[nodes[entries]] + one.outputs
    found[rows, one.features[entries]] = one.weights
    return found


def test_int4_is_refused_for_other_models(tmp_path):
    with pytest.raises(ValueError, match='weights="int4" is for models of label trees only'):
        small_dismec().save(tmp_path / "a", weights="int4")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("weights", [[0, 0, 0], [1e-45, 0, 3e38], [1e-40, -1e-40, 1]])
def test_int8_weights_at_extreme_values(weights):
    arrays, found = packed(weights, "int8")
    assert np.isfinite(found.weights).all()
    assert np.abs(arrays["weights"].astype(int)).max() <= 127
    np.testing.assert_allclose(found.weights, np.float32(weights), rtol=2**-16, atol=1e-42)


def test_outputs_take_one_byte_up_to_256_labels(tmp_path):
    rng = np.random.default_rng(0)
    points = np.float32(rng.random((600, 8)))
    for n_labels, wanted in ((256, "U8"), (257, "U16")):
        model = LabelTree(max_leaf_size=600, random_state=0)
        model.fit(points, [[i % n_labels] for i in range(600)])
        model.save(tmp_path / "a")
        header = Draft((tmp_path / "a").read_bytes()).header
        assert header["trees/0/outputs"]["dtype"] == wanted
        assert header["trees/0/sizes"]["dtype"] == "U16"
        loaded = load(tmp_path / "a")
        assert answer_bits(loaded, points) == answer_bits(model, points)
        mapped = loaded.trees_[0].weights
        for name in ("features", "feature_ptr", "sizes", "outputs", "bias", "weights"):
            assert not getattr(mapped, name).flags.writeable, name


def test_wrong_bias_offsets_are_refused():
    model = small_label_tree()
    tree = model.trees_[0]
    tree.weights.bias_ptr[1] = 2
    with pytest.raises(ValueError, match="must give each node a bias per output"):
        kind_of(TrainedTree).write(tree, "float32")
    assert WEIGHT_TYPES == ("float32", "float16", "int8")


CLASSES = {
    "bools": np.array([False, True, False]),
    "ints": np.arange(3) * 5 - 5,
    "small ints": np.int8([-3, 0, 4]),
    "unsigned": np.uint64([0, 1, 2**63]),
    "floats": np.array([-1.0, 0.0, 2.0]),
    "small floats": np.float32([1, 2, 3]),
    "strings": np.array(["", "a", "ä🙂"]),
    "wide strings": np.array(["a", "b", "c"], dtype="U20"),
    "strings with zeros": np.array(["a\0b", "b", "c"], dtype=object),
    "objects": np.array(["", "a", "ä🙂"], dtype=object),
}


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("make", [LabelTree, Agglomerated])
def test_loaded_classes_equal_saved_ones(tmp_path, name, make):
    model = make(random_state=0).fit(X, CLASSES[name][np.arange(30) % 3])
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert answer_bits(loaded, X) == answer_bits(model, X)


@pytest.mark.parametrize(
    "classes",
    [np.array([1, "a"], dtype=object), np.array([b"a", b"b"]), np.array([1j, 2j]),
     np.array(["2020", "2021"], dtype="M8[Y]"), np.array([1, 2], dtype=np.longdouble)],
    ids=str,
)  # fmt: skip
def test_classes_of_other_types_are_refused(tmp_path, classes):
    model = LabelTree(random_state=0).fit(X, np.arange(30) % 2)
    model.class_names_ = classes
    with pytest.raises(ValueError, match="must be numbers, bools or strings to be saved, got"):
        model.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_big_endian_classes_are_saved():
    part = Part(state={"n_labels": 2})
    Classes().write((np.array(["a", "ä"], dtype=">U3"), False), part, "float32")
    found = Classes().read(part)["class_names_"]
    assert found.tolist() == ["a", "ä"]
    assert found.dtype == "<U3"


NAMES = {
    "label_names": [f"Läbel {i}" for i in range(10)],
    "vocabulary": ["", *"bcdefghijk", "日本"],
}


@pytest.mark.parametrize("make", [small_label_tree, small_agglomerated])
def test_names_given_to_save_are_stored_in_the_file_only(tmp_path, make):
    model = make()
    model.save(tmp_path / "a", **NAMES)
    assert model.label_names_ is model.vocabulary_ is None
    loaded = load(tmp_path / "a")
    assert list(loaded.label_names_) == NAMES["label_names"]
    assert list(loaded.vocabulary_) == NAMES["vocabulary"]
    assert answer_bits(loaded, X) == answer_bits(model, X)
    loaded.save(tmp_path / "b")  # keeps them
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded.save(tmp_path / "b", label_names=list("abcdefghij"))
    assert load(tmp_path / "b").label_names_[9] == "j"
    assert loaded.label_names_[9] == "Läbel 9"
    model.label_names_, model.vocabulary_ = NAMES["label_names"], NAMES["vocabulary"]
    model.save(tmp_path / "b")  # as the command line does
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert model.fit(X, Y).label_names_ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_names": ["a"]}, "label_names must be 10 strings, got 1"),
        ({"label_names": "abcdefghij"}, "label_names must be 10 strings, got 'abcdefghij'"),
        ({"vocabulary": list("abc")}, "vocabulary must be 12 strings, got 3"),
        ({"vocabulary": range(12)}, "vocabulary must be strings, got 0"),
        ({"label_names": [*"abcdefghi", "\ud800"]}, "surrogates not allowed"),
        ({"weights": "float64"}, "weights must be one of 'float32', .*, 'int4', got 'float64'"),
        ({"weights": np.float32}, "weights must be one of"),
    ],
)
def test_bad_options_of_save_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        small_label_tree().save(tmp_path / "a", **options)
    assert not list(tmp_path.iterdir())


def test_loaded_feature_names_equal_saved_ones(tmp_path):
    frame = pd.DataFrame(X, columns=["", "ä", "日本", "with\nline", *"efghijkl"])
    for model in (small_label_tree(), small_agglomerated(), small_hybrid(), Fiat(random_state=0)):
        model.fit(frame, Y).save(tmp_path / "a")
        loaded = load(tmp_path / "a")
        assert loaded.feature_names_in_.dtype == object
        assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
        with pytest.raises(ValueError, match="feature names should match"):
            answer_bits(loaded, frame.rename(columns={"ä": "b"}))
        assert answer_bits(loaded, frame) == answer_bits(model, frame)
        if not hasattr(model, "predict"):
            names = model.get_feature_names_out().tolist()
            assert loaded.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("make", [small_label_tree, small_dismec])
def test_unused_labels_take_no_memory(tmp_path, make):
    model = make()
    model.n_labels_ = 2**31 - 1
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert loaded.n_labels_ == 2**31 - 1
    assert loaded.decision_function(X).shape == (30, 2**31 - 1)
    np.testing.assert_array_equal(loaded.predict_topk(X)[0], model.predict_topk(X)[0])


@pytest.mark.parametrize("make", [small_forest, small_pfastrexml, small_craftml])
def test_large_arrays_of_forests_stay_mapped(tmp_path, make):
    make().save(tmp_path / "a")
    model = load(tmp_path / "a")
    large = [getattr(model.forest_, name) for name in ("slots", "weights", "outputs", "values")]
    if make is small_pfastrexml:
        large += [getattr(model.prototypes_, name) for name in ("slots", "values")]
    if make is small_craftml:
        large.append(model.forest_.children)
    for array in large:
        assert not array.flags.writeable


def test_describe_counts_trees_weights_and_members(tmp_path):
    path = tmp_path / "a"
    small_label_tree(n_trees=2).save(path, weights="int8", **NAMES)
    found = describe(path)
    n_weights = found.pop("weights")
    assert found.pop("sizes")["weights"] == n_weights > 100
    assert found.pop("parameters")["max_leaf_size"] == 2
    assert found == {
        "kind": "label_tree", "format_version": 1, "bytes": path.stat().st_size, "features": 12,
        "labels": 10, "groups": None, "members": None, "trees": 2, "nodes": 16,
        "weight_type": "int8", "label_names": True, "vocabulary": True, "chosen": {},
        "concepts": None,
    }  # fmt: skip
    small_dismec().save(path, weights="float16")
    found = describe(path)
    assert (found["kind"], found["trees"], found["nodes"]) == ("dismec", 0, 0)
    assert (found["weights"], found["weight_type"]) == (found["sizes"]["weights"] / 2, "float16")
    small_agglomerated().save(path)
    found = describe(path)
    assert (found["members"], found["trees"], found["labels"]) == (2, 2, 10)
    assert found["parameters"]["agglomeration"]["kind"] == "hybrid"
    small_refrag().save(path, weights="int8")
    found = describe(path)
    assert (found["kind"], found["trees"], found["labels"]) == ("refrag", 2, 10)
    assert (found["weight_type"], found["parameters"]["base"]["kind"]) == ("int8", "parabel")
    forest = small_forest()
    forest.save(path)
    found = describe(path)
    assert (found["kind"], found["trees"]) == ("fastxml", 2)
    assert found["nodes"] == len(forest.forest_.n_children)
    assert found["weights"] == len(forest.forest_.weights)
    small_hybrid().save(path)
    found = describe(path)
    assert (found["groups"], found["features"], found["labels"]) == (4, 12, None)
    assert found["weight_type"] is None
    assert sum(found["sizes"].values()) < path.stat().st_size


def test_parameters_of_inner_estimators_are_stored(tmp_path):
    base = Parabel(3, C=np.float64(0.5), random_state=np.random.RandomState(0))
    model = Agglomerated(base, Defrag(n_clusters=np.int64(5)), random_state=3).fit(X, Y)
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert isinstance(loaded.base, Parabel)
    assert loaded.base.get_params() == {**base.get_params(), "random_state": None}
    assert loaded.agglomeration.get_params() == model.agglomeration.get_params()
    assert type(loaded.agglomeration) is Defrag
    small_agglomerated(base=None, agglomeration=None).save(tmp_path / "a")
    assert load(tmp_path / "a").base is load(tmp_path / "a").agglomeration is None
    assert isinstance(load(tmp_path / "a").members_[0][0], Hybrid)
