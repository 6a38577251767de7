"""What a model file says must make sense: every broken promise is refused by name."""

import pickle

import numpy as np
import pytest

from defrag import load, registry
from defrag._estimator import Estimator
from defrag._names import Names
from defrag._parameters import Int, param
from defrag.exceptions import ModelFormatError
from defrag.persistence._checks import check_csr, check_ints, check_offsets, check_permutation
from defrag.persistence.fields import Array, Number, Part, State, Strings, read_strings
from defrag.persistence.kinds import Child
from defrag.persistence.trees import check_balanced_tree
from tests.helpers.model_drafts import (
    Draft,
    X,
    inside,
    item,
    put,
    refuse,
    small_defrag,
    small_hybrid,
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """12 features in 8 groups, a tree of 15 nodes, a scale, and names."""
    path = tmp_path_factory.mktemp("stored") / "a"
    model = small_defrag()
    model.feature_names_in_ = np.array(["ä", *"bcdefghijkl"], dtype=object)
    model.save(path)
    return path.read_bytes()


def model(**changes):
    return lambda draft: draft.model.update(changes)


def without(place, name):
    return lambda draft: draft.model[place].pop(name)


def both(*changes):
    return lambda draft: [change(draft) for change in changes]


BROKEN = {
    "description without model": (lambda d: d.description.pop("model"), "must have only 'model'"),
    "description with more": (lambda d: d.description.update(a=1), r"only .* \['a', 'model'\]"),
    "model a list": (lambda d: d.description.update(model=[]), r"must be a JSON object, got \[\]"),
    "model without kind": (lambda d: d.model.pop("kind"), "model must have .* 'kind' is missing"),
    "model with more": (model(pickle="x"), "the model must have .* 'pickle' is unknown"),
    "kind unknown": (model(kind="forest"), "kind of the model must be one of .* got 'forest'"),
    "kind a class": (model(kind="defrag.Defrag"), "must be one of .* got 'defrag.Defrag'"),
    "kind a list": (model(kind=["defrag"]), r"must be one of .* got \['defrag'\]"),
    "kind another": (model(kind="hybrid"), "parameters of hybrid must be .* is unknown"),
    "parameters a list": (model(parameters=[]), "parameters of defrag must be a JSON object"),
    "parameter missing": (without("parameters", "tol"), "parameters of defrag .* 'tol' is missing"),
    "parameter unknown": (inside("parameters", n_jobs=9), "parameters of .* 'n_jobs' is unknown"),
    "parameter not allowed": (inside("parameters", pooling="max"), "pooling of .* got 'max'"),
    "parameter of wrong type": (inside("parameters", max_iter="5"), "an int .* got '5'"),
    "parameter true": (inside("parameters", max_iter=True), "max_iter of defrag .* got True"),
    "parameter too small": (inside("parameters", max_cluster_size=0), "max_cluster_size .* got 0"),
    "parameter a list": (inside("parameters", split=["x"]), r"split of defrag .* got \['x'\]"),
    "seed negative": (inside("parameters", random_state=-1), "random_state of defrag .* got -1"),
    "representation a matrix": (inside("parameters", representation=[[1]]), "'given', got"),
    "state null": (model(state=None), "state of defrag must be a JSON object, got None"),
    "state missing": (without("state", "n_iter"), "state of defrag .* 'n_iter' is missing"),
    "state unknown": (inside("state", labels_=1), "state of defrag .* 'labels_' is unknown"),
    "groups a float": (inside("state", n_clusters=8.0), "n_clusters of defrag .* got 8.0"),
    "groups negative": (inside("state", n_clusters=-8), "n_clusters of defrag .* got -8"),
    "groups too many": (inside("state", n_clusters=13), r"number of features \(12\), got 13"),
    "groups too few": (inside("state", n_clusters=7), r"'labels' must be in \[-1, 7\), got 7 at"),
    "rounds zero": (inside("state", n_iter=0), "n_iter of defrag must be an int .* got 0"),
    "children a list": (model(children=[]), "children of the model must be a JSON object"),
    "children unknown": (inside("children", base={}), "children .* none: 'base' is unknown"),
    "array missing": (put("labels", None), "array 'labels' of the kind 'defrag' is missing"),
    "array unknown": (put("extra", np.zeros(3)), "array 'extra' is unknown to the kind 'defrag'"),
    "array in a child": (put("members/0/labels", np.zeros(3)), "'members/0/labels' is unknown"),
    "array of wide type": (put("labels", np.zeros(12, np.int64)), "of int32, got 1-D of int64"),
    "no features": (put("labels", np.zeros(0, np.int32)), "at least 1 .* got 0"),
    "label too low": (item("labels", 4, -2), r"'labels' must be in \[-1, 8\), got -2 at 4"),
    "label too high": (item("labels", 4, 8), r"'labels' must be in \[-1, 8\), got 8 at 4"),
    "energy too short": (put("energy", np.zeros(11)), "array 'energy' must have 12 items, got 11"),
    "energy NaN": (item("energy", 3, np.nan), "'energy' must be finite and >= 0, got nan at 3"),
    "energy negative": (item("energy", 3, -1), "'energy' must be finite and >= 0, got -1.0 at 3"),
    "scale beyond reason": (item("scale", 0, 1e38), "'scale' must be at most 1e.12 in size"),
    "child out of range": (item("tree/first_child", 0, 15), r"in \[-1, 15\), got 15 at 0"),
    "child below -1": (item("tree/first_child", 9, -7), r"in \[-1, 15\), got -7 at 9"),
    "child its own parent": (item("tree/first_child", 3, 3), "after their parent, got 3 at 3"),
    "child before parent": (item("tree/first_child", 3, 1), "after their parent, got 1 at 3"),
    "child of two": (item("tree/first_child", 2, 3), "each inner node its own 2 children"),
    "child of none": (item("tree/first_child", 6, -1), "must give each inner node its own 2"),
    "root a leaf": (item("tree/first_child", 0, -1), "must give each inner node its own 2"),
    "root begins late": (item("tree/begin", 0, 1), r"the root \[0, 12\), got \[1, 12\)"),
    "root ends early": (item("tree/end", 0, 11), r"the root \[0, 12\), got \[0, 11\)"),
    "node crossed": (item("tree/begin", 14, 13), r"must not cross, got \[13, 12\) at 14"),
    "node past the end": (item("tree/end", 14, 2**62), "must cut each node into its children"),
    "node with a gap": (item("tree/begin", 2, 7), r"its children, got \[7, 12\) at 2"),
    "nodes overlap": (item("tree/begin", 2, 5), r"its children, got \[5, 12\) at 2"),
    "item twice": (
        lambda d: item("tree/order", 0, d.array("tree/order")[5])(d),
        "'tree/order' must have every item once, but .* is missing",
    ),
    "item out of range": (item("tree/order", 0, 12), r"'tree/order' must be in \[0, 12\), got 12"),
    "item negative": (item("tree/order", 0, -1), r"'tree/order' must be in \[0, 12\), got -1 at 0"),
    "items fall in a leaf": (
        lambda d: item("tree/order", slice(0, 2), d.array("tree/order")[1::-1].copy())(d),
        "'tree/order' must increase within a leaf, got .* at 1",
    ),
    "rounds negative": (item("tree/n_rounds", 1, -1), r"'tree/n_rounds' .* got -1 at 1"),
    "leaves too many": (
        both(inside("state", n_clusters=7), item("labels", slice(None), 0),
             put("scale", np.ones(7, np.float32))),
        "the tree must have at most 12 items and 7 leaves, got 12 and 8",
    ),
    "names start late": (item("feature_names/offsets", 0, 1), "must run from 0 to 13, got 1 to 13"),
    "names end early": (item("feature_names/offsets", 12, 12), "run from 0 to 13, got 0 to 12"),
    "names fall": (item("feature_names/offsets", 4, 2), "must not decrease, got 2 after 4 at 4"),
    "names not UTF-8": (item("feature_names/bytes", 5, 255), "must be UTF-8, got b'.xff' near 5"),
    "names split": (item("feature_names/offsets", 1, 1), "must not split a character, got 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_clustering_is_refused_by_name(tmp_path, stored, case):
    refuse(tmp_path, stored, *BROKEN[case])


def test_unchanged_draft_loads(tmp_path, stored):
    (tmp_path / "a").write_bytes(Draft(stored).to_bytes())
    assert load(tmp_path / "a").feature_names_in_.tolist() == ["ä", *"bcdefghijkl"]


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
        check_csr(matrix, "indptr", "indices", n_rows=2, n_cols=4)
        return
    with pytest.raises(ModelFormatError, match=message):
        check_csr(matrix, "indptr", "indices", n_rows=2, n_cols=4)


def test_index_beyond_31_bits_is_refused():
    matrix = part(indptr=np.int64([0, 1]), indices=np.uint32([2**31]))
    with pytest.raises(ModelFormatError, match=r"in \[0, 4\), got 2147483648 at 0"):
        check_csr(matrix, "indptr", "indices", n_rows=1, n_cols=4)


def test_checks_in_blocks_see_every_item(monkeypatch):
    monkeypatch.setattr("defrag.persistence._checks.BLOCK_ITEMS", 3)
    for wrong in range(1, 9):
        values = np.arange(10)
        values[wrong] = -1
        with pytest.raises(ModelFormatError, match=f"got -1 after {wrong - 1} at {wrong}"):
            check_offsets(part(a=values), "a", 9)
        with pytest.raises(ModelFormatError, match=f"got -1 at {wrong}"):
            check_ints(part(a=values), "a", 0, 10)
    check_offsets(part(a=np.arange(10)), "a", 9)
    check_permutation(part(a=np.arange(10)[::-1]), "a")


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


def test_balanced_trees_of_any_arity_are_checked():
    wide = tree([1, 4, -1, -1, -1], [0, 0, 2, 3, 0], [5, 2, 3, 5, 2], 5)
    check_balanced_tree(wide, arity=None)
    with pytest.raises(ModelFormatError, match="its own 2 children"):
        check_balanced_tree(wide)
    wide.arrays["first_child"][1] = 3
    with pytest.raises(ModelFormatError, match="must cut each node into its children"):
        check_balanced_tree(wide, arity=None)
    check_balanced_tree(tree([-1], [0], [0], 0))
    with pytest.raises(ModelFormatError, match="at least one node, got none"):
        check_balanced_tree(tree([], [], [], 0))


@pytest.mark.parametrize("strings", [[], [""], ["", "", "a"], ["ä", "日本", "", "\n", "🙂"]])
def test_loaded_strings_equal_saved_ones(monkeypatch, strings):
    monkeypatch.setattr("defrag.persistence._checks.BLOCK_ITEMS", 2)  # less than a letter
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
    monkeypatch.setattr("defrag.persistence._checks.BLOCK_ITEMS", 2)
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


NESTED = {
    "members missing": (lambda m: m["children"].pop("members"), "'members' is missing"),
    "members an object": (lambda m: m["children"].update(members={}), "'members' must be a list"),
    "pooling a list": (lambda m: m["children"].update(pooling=[]), "'pooling/' must be a JSON"),
    "member of wrong kind": (
        lambda m: m["children"]["members"][0].update(kind="parabel"),
        "kind of model 'members/0/' must be one of defrag, .*bag, got 'parabel'",
    ),
    "member given up": (
        lambda m: m["children"]["members"].pop(),
        "array 'members/1/energy' is unknown to the kind 'bag'",
    ),
    "member too many": (
        lambda m: m["children"]["members"].append(m["children"]["members"][0]),
        "array 'members/2/labels' of the kind 'hybrid' is missing",
    ),
    "pooling given up": (lambda m: m["children"].pop("pooling"), "'pooling/energy' is unknown"),
    "parameter of a member": (
        lambda m: m["children"]["members"][1]["parameters"].update(pooling="max"),
        r"pooling of 'members/1/' \(hybrid\) must be one of .* got 'max'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NESTED)
@pytest.mark.usefixtures("bag")
def test_broken_inner_model_is_refused_by_name(tmp_path, case):
    change, message = NESTED[case]
    data = (tmp_path / "a").read_bytes()
    refuse(tmp_path, data, lambda draft: change(draft.model), message)
