import numpy as np
import pytest
from scipy import sparse

from defrag import LabelTree
from defrag._parameters import Choice, Float, Int, OrAuto
from defrag._validation import canonical_csr, check_features, check_labels, check_seed
from defrag.io import write_predictions
from defrag.metrics import evaluate
from defrag.metrics.scorers import scorer


def test_canonical_csr_sorts_sums_and_copies():
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0, 0.0]), np.array([2, 0, 2, 1]), np.array([0, 4])), shape=(1, 3)
    )
    result = canonical_csr(X, name="X")
    np.testing.assert_array_equal(result.toarray(), [[2.0, 0.0, 4.0]])
    np.testing.assert_array_equal(result.indices, [0, 2])
    assert result.dtype == np.float32
    np.testing.assert_array_equal(X.indices, [2, 0, 2, 1])


def test_wrong_sorted_flag_is_ignored():
    X = sparse.csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    X.has_sorted_indices = True
    X.has_canonical_format = True
    np.testing.assert_array_equal(canonical_csr(X, name="X").indices, [0, 2])


BROKEN = [
    ([0, 2, 1, 2], [0, 1], "row pointers do not increase to nnz"),
    ([0, 1, 2, 5], [0, 1], "row pointers do not increase to nnz"),
    ([0, 1, 2, 2**31 - 1], [0, 1], "row pointers do not increase to nnz"),
    ([-9, 1, 2, 2], [0, 1], "row pointers do not increase to nnz"),
    ([0, 2, 2], [0, 1], "row pointers do not increase to nnz"),
    ([0, 1, 2, 2], [0, 7], r"column index is outside \[0, 3\)"),
    ([0, 1, 2, 2], [0, 3], r"column index is outside \[0, 3\)"),
    ([0, 1, 2, 2], [0, -1], r"column index is outside \[0, 3\)"),
    ([0, 1, 2, 3], [0, 1, 2], "more indices than values"),
]


def fitted():
    return LabelTree().fit(np.eye(3), [[0], [1], [0]])


READERS_OF_MATRICES = {
    "canonical_csr": (lambda X: canonical_csr(X, name="X"), "X"),
    "fit": (lambda X: LabelTree().fit(X, [[0], [1], [0]]), "X"),
    "predict": (lambda X: fitted().predict(X), "X"),
    "labels": (lambda Y: LabelTree().fit(np.eye(3), Y), "Y"),
    "scores": (lambda scores: evaluate(np.eye(3), scores, k=(1,)), "predictions"),
    "scorer": (lambda Y: scorer("P@1")(fitted(), np.eye(3), Y), "Y"),
    "written": (lambda scores: write_predictions("-", scores), "scores"),
}


@pytest.mark.parametrize("reader", READERS_OF_MATRICES)
@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_matrix_with_wrong_pointers_is_refused(reader, form, dtype, index):
    read, name = READERS_OF_MATRICES[reader]
    for indptr, indices, message in BROKEN:
        X = sparse.csr_array((3, 3), dtype=dtype).asformat(form)
        values = np.ones(2, dtype=dtype)
        X.data = values.reshape(2, 1, 1) if form == "bsr" else values
        X.indices, X.indptr = np.array(indices, dtype=index), np.array(indptr, dtype=index)
        shown = message
        if form == "csc":
            swapped = ("column", "row") if "column" in message else ("row", "column")
            shown = message.replace(*swapped)
        with pytest.raises(ValueError, match=f"{name} is a broken sparse matrix: .*{shown}"):
            read(X)


@pytest.mark.parametrize("axis", ["row", "col"])
@pytest.mark.parametrize("bad", [-1, 3, 2**30])
def test_coordinates_outside_of_matrix_are_refused(axis, bad):
    X = sparse.coo_array(np.eye(3))
    places = getattr(X, axis).copy()
    places[1] = bad
    X.coords = (places, X.col) if axis == "row" else (X.row, places)
    with pytest.raises(ValueError, match=rf"X is a broken sparse matrix: a {axis}.* \[0, 3\)"):
        canonical_csr(X, name="X")


def test_matrix_with_spare_room_is_read():
    """Matrices of scipy may have more entries in memory than their pointers show."""
    X = sparse.csr_array(np.eye(3))
    X.data, X.indices = np.append(X.data, 7.0), np.append(X.indices, 99).astype(np.int32)
    np.testing.assert_array_equal(canonical_csr(X, name="X").toarray(), np.eye(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_that_add_up_to_infinity_are_refused(dtype):
    data = np.array([1, 3e38, 3e38], dtype=dtype)
    X = sparse.csr_array((data, [1, 2, 2], [0, 1, 3]), shape=(2, 3))
    with pytest.raises(ValueError, match=r"finite .* row 1, column 2 add up to infinity"):
        LabelTree().fit(X, [[0], [1]])
    with pytest.raises(ValueError, match="add up to infinity"):
        canonical_csr(X, name="X")


def test_labels_in_every_form_agree():
    dense = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    for form in (dense, sparse.csr_array(dense), sparse.coo_matrix(dense), [[0, 2], [], [1]]):
        labels = check_labels(form, n_rows=3, n_labels=3)
        np.testing.assert_array_equal(labels.matrix.toarray(), dense)
        assert labels.classes is None
    one_d = check_labels(["b", "a", "b"], n_rows=3)
    np.testing.assert_array_equal(one_d.classes, ["a", "b"])
    np.testing.assert_array_equal(one_d.matrix.toarray(), [[0, 1], [1, 0], [0, 1]])


def test_lists_with_repeated_values_are_indicator_rows():
    rows = [[0, 1, 1], [1, 0, 0]]
    np.testing.assert_array_equal(check_labels(rows, n_rows=2).matrix.toarray(), rows)
    ids = check_labels([[0, 1], [1, 0]], n_rows=2).matrix.toarray()
    np.testing.assert_array_equal(ids, [[1, 1], [1, 1]])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[[1]], [[0]]], r"a list of label ids per point, got \[\[1\]\] in row 0"),
        (np.array([[0, 2], [1, 0]]), "only 0 and 1, got 2"),
        ([[0], [-1]], "label ids >= 0, got -1"),
        ([[0], [9]], "label ids below 3, got 9"),
        ([[0], [3]], "label ids below 3, got 3"),
        ([[0], [1], [2]], "X has 2 points, Y has 3"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        check_labels(labels, n_rows=2, n_labels=3)


def test_single_huge_label_id_is_refused():
    with pytest.raises(ValueError, match="in proportion to their number, got 2147483646 among 2"):
        LabelTree().fit(np.eye(2), [[0], [2**31 - 2]])
    assert check_labels([[0], [2**24 - 1]], n_rows=2).matrix.shape == (2, 2**24)
    with pytest.raises(ValueError, match="got 16777216 among 2"):
        check_labels([[0], [2**24]], n_rows=2)
    assert check_labels([[0], [2**24]], n_rows=2, n_labels=2**25).matrix.shape == (2, 2**25)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ma.masked_array(np.eye(2), mask=[[0, 1], [0, 0]]), r"fill them .* X.filled\(0\)"),
        (np.array([["2020-01-01"], ["2020-01-02"]], "M8[D]"), r"got datetime64\[D\]"),
    ],
)
def test_masked_arrays_and_dates_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        check_features(LabelTree(), X, reset=True)


def test_unmasked_array_is_matrix():
    X = check_features(LabelTree(), np.ma.masked_array(np.eye(2)), reset=True)
    np.testing.assert_array_equal(X.toarray(), np.eye(2))


def test_rules_describe_themselves():
    assert Int(1).describe() == "an int >= 1"
    assert Float(0.0, 1.0, open_low=True).describe() == "a finite number in (0.0, 1.0]"
    assert Choice(("x", None)).describe() == "one of 'x', None"


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (Int(2, 5), [2, np.int64(5), np.uint8(3)], [1, 6, None, True, np.True_, 3.0, "3", 2**70]),
        (Int(none=True, flag=True), [None, True, np.False_, -(2**70)], [0.0, "1"]),
        (Float(none=True), [None, 0.5], [float("nan"), "1", "None"]),
        (Float(0.0, 1.0), [0, 0.0, 1, np.float32(1)], [-1e-9, 1.0001, True, "1", None]),
        (Float(0.0, open_low=True), [1e-300, 2], [0.0, -0.0, 0, float("inf"), float("nan")]),
        (Choice((True, False)), [True, False], [1, 0, 0.0, np.True_, "True", None]),
        (Choice((1, "x")), [1, "x"], [True, 1.0, np.int64(1), "1", "X"]),
        (OrAuto(Float(0.5)), ["auto", 0.5], ["Auto", "", "0.7", 0.4, None]),
        (OrAuto(Int(3)), ["auto", 3], ["best", 2, 3.0]),
    ],
    ids=str,
)
def test_rules_accept_described_values(rule, good, bad):
    assert [value for value in good if not rule.accepts(value)] == []
    assert [value for value in bad if rule.accepts(value)] == []


def test_seeds_are_ints_or_drawn():
    assert check_seed(7) == 7
    assert check_seed(np.random.default_rng(0)) == check_seed(np.random.default_rng(0))
    assert check_seed(np.random.RandomState(0)) == check_seed(np.random.RandomState(0))
    with pytest.raises(ValueError, match="random_state must be in"):
        check_seed(-1)
