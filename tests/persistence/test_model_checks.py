"""The checks of arrays one by one, and models within models of a class made for it."""

import pickle

import numpy as np
import pytest

from defrag import load, registry
from defrag._estimator import Estimator
from defrag._names import Names
from defrag._parameters import Int, param
from defrag.exceptions import ModelFormatError
from defrag.persistence import _checks
from defrag.persistence.fields import Array, Number, Part, State, Strings, read_strings
from defrag.persistence.kinds import Child
from defrag.persistence.trees import (
    check_balanced_tree,
    check_label_tree,
    check_label_tree_weights,
)
from tests.helpers.model_drafts import (
    Draft,
    X,
    inside,
    refuse,
    small_defrag,
    small_hybrid,
    small_label_tree,
)


def part(**arrays):
    return Part(arrays={name: np.asarray(array) for name, array in arrays.items()}, prefix="m/")


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 2, 3], [0, 3, 1], None),
        ([0, 0, 0], [], None),
        ([0, 3], [0, 3, 1], r"array 'm/indptr' must have 3 items, got 2"),
        ([1, 2, 3], [0, 3, 1], r"must run from 0 to 3, got 1 to 3"),
        ([0, 2, 2], [0, 3, 1], r"must run from 0 to 3, got 0 to 2"),
        ([0, 4, 3], [0, 3, 1], r"'m/indptr' must not decrease, got 3 after 4 at 2"),
        ([0, 2, 3], [0, 4, 1], r"'m/indices' must be in \[0, 4\), got 4 at 1"),
        ([0, 2, 3], [3, 0, 1], r"'m/indices' must increase within each row"),
        ([0, 2, 3], [3, 3, 1], r"'m/indices' must increase within each row"),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_check_csr_names_the_first_error(indptr, indices, message, dtype):
    matrix = part(indptr=np.int64(indptr), indices=np.array(indices, dtype))
    if message is None:
        matrix.check_csr("indptr", "indices", n_rows=2, n_cols=4)
        return
    with pytest.raises(ModelFormatError, match=message):
        matrix.check_csr("indptr", "indices", n_rows=2, n_cols=4)


def test_index_beyond_31_bits_is_refused():
    matrix = part(indptr=np.int64([0, 1]), indices=np.uint32([2**31]))
    with pytest.raises(ModelFormatError, match=r"in \[0, 4\), got 2147483648 at 0"):
        matrix.check_csr("indptr", "indices", n_rows=1, n_cols=4)


def test_checks_in_blocks_see_every_item(monkeypatch):
    monkeypatch.setattr(_checks, "BLOCK_ITEMS", 3)
    for wrong in range(1, 9):
        values = np.arange(10)
        values[wrong] = -1
        with pytest.raises(ModelFormatError, match=f"got -1 after {wrong - 1} at {wrong}"):
            part(a=values).check_offsets("a", 9)
        with pytest.raises(ModelFormatError, match=f"got -1 at {wrong}"):
            part(a=values).check_ints("a", 0, 10)
    part(a=np.arange(10)).check_offsets("a", 9)
    part(a=np.arange(10)[::-1]).check_permutation("a")


def test_checks_in_blocks_see_every_output(monkeypatch):
    monkeypatch.setattr(_checks, "BLOCK_ITEMS", 3)
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


def tree(first_child, begin, end, n_items):
    n_nodes = len(first_child)
    return part(
        first_child=np.int32(first_child),
        begin=np.int64(begin),
        end=np.int64(end),
        order=np.arange(n_items, dtype=np.int32),
        objective=np.zeros(n_nodes),
        n_rounds=np.zeros(n_nodes, np.int32),
    )


def test_balanced_trees_of_any_size_are_checked():
    wide = tree([1, 4, -1, -1, -1], [0, 0, 2, 3, 0], [5, 2, 3, 5, 2], 5)
    with pytest.raises(ModelFormatError, match="its own 2 children"):
        check_balanced_tree(wide)
    check_balanced_tree(tree([-1], [0], [0], 0))
    with pytest.raises(ModelFormatError, match="at least one node, got none"):
        check_balanced_tree(tree([], [], [], 0))


@pytest.mark.parametrize("strings", [[], [""], ["", "", "a"], ["ä", "日本", "", "\n", "🙂"]])
def test_loaded_strings_equal_saved_ones(monkeypatch, strings):
    monkeypatch.setattr(_checks, "BLOCK_ITEMS", 2)  # less than a letter
    part = Part()
    Strings("names").write(strings, part, "float32")
    found = read_strings(part, "names", len(strings))
    assert isinstance(found, Names)
    assert list(found) == strings == found
    assert found == pickle.loads(pickle.dumps(found))  # noqa: S301 - its own bytes
    assert found != [*strings, ""]
    assert found != 3
    assert [found[-i] for i in range(1, len(found) + 1)] == strings[::-1]
    assert found[1:3] == strings[1:3]
    assert repr(found) == f"<{len(strings)} strings>"
    with pytest.raises(IndexError, match="out of range"):
        found[len(strings)]
    again = Part()
    Strings("names").write(found, again, "float32")
    assert again.arrays["names/offsets"] is found.offsets


@pytest.mark.parametrize("data", [b"\xe6\x97", b"a\x80", b"\xed\xa0\x80", b"\xc0\x80", b"ab\xff"])
def test_strings_that_are_not_utf8_are_refused(monkeypatch, data):
    monkeypatch.setattr(_checks, "BLOCK_ITEMS", 2)
    arrays = {"n/bytes": np.frombuffer(data, np.uint8), "n/offsets": np.int64([0, len(data)])}
    with pytest.raises(ModelFormatError, match="array 'n/bytes' must be UTF-8, got b"):
        read_strings(Part(arrays=arrays), "n", 1)


class Bag(Estimator):
    """An ensemble as the label trees will be: members, one of each or a list, and weights."""

    n_members: int = param(Int(1), "Number of members.", default=2, kw_only=False)

    _state = State(
        Number(name="n_labels", rule=Int(0), get=lambda model: len(model.label_names_)),
        Array("weights_", ("float16", "float32")),
        Strings("label_names_", "n_labels"),
        Child("members_", ("clustering",), many=True, optional=True),
        Child("pooling_", ("clustering",), optional=True),
    )

    def fit(self, X):
        self.members_ = [small_hybrid(random_state=i) for i in range(self.n_members)]
        self.pooling_ = small_defrag()
        self.label_names_ = ["eins", "zwölf"]
        self.weights_ = np.float16(X[0])
        return self


@pytest.fixture
def bag(tmp_path):
    entry = registry.Entry("Bag", __name__, "bag", "clustering")
    with registry.registered(entry):
        model = Bag(2).fit(X)
        model.save(tmp_path / "a")
        yield model


def test_inner_models_are_stored_and_loaded(tmp_path, bag):
    loaded = load(tmp_path / "a")
    assert loaded.label_names_ == bag.label_names_
    np.testing.assert_array_equal(loaded.weights_, bag.weights_, strict=True)
    for found, wanted in zip(
        [*loaded.members_, loaded.pooling_], [*bag.members_, bag.pooling_], strict=True
    ):
        np.testing.assert_array_equal(found.transform(X), wanted.transform(X))
    names = set(Draft((tmp_path / "a").read_bytes()).header)
    assert {"members/0/labels", "members/1/labels", "pooling/tree/order", "weights"} <= names
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.usefixtures("bag")
def test_models_nest_up_to_a_limit(tmp_path):
    model = Bag(1).fit(X)
    for level in range(8):
        outer = Bag(1).fit(X)
        outer.members_ = [model]
        model = outer
        if level == 6:
            model.save(tmp_path / "b")
            load(tmp_path / "b")
    with pytest.raises(ModelFormatError, match="nested more than 8 deep"):
        model.save(tmp_path / "c")


NESTED = [
    (lambda d: d.model["children"].pop("pooling"), "'pooling/energy' is unknown"),
    (
        lambda d: d.model["children"]["members"].append(d.model["children"]["members"][0]),
        "array 'members/2/labels' of the kind 'hybrid' is missing",
    ),
    (inside("children", members={}), "'members' must be a list"),
    (inside("children", pooling=[]), "'pooling/' must be a JSON"),
    (
        inside("children/members/1/parameters", pooling="max"),
        r"pooling of 'members/1/' \(hybrid\) must be one of .* got 'max'",
    ),
]


@pytest.mark.parametrize(("change", "message"), NESTED)
@pytest.mark.usefixtures("bag")
def test_broken_inner_model_is_refused_by_name(tmp_path, change, message):
    refuse(tmp_path, (tmp_path / "a").read_bytes(), change, message)
