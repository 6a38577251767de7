from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from defrag import LabelTree
from defrag._parameters import Choice, Float, Int, OrAuto
from defrag._validation import canonical_csr, check_features, check_labels, check_seed


def test_canonical_csr_sorts_sums_and_drops_zeros_without_touching_the_input():
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0, 0.0]), np.array([2, 0, 2, 1]), np.array([0, 4])), shape=(1, 3)
    )
    result = canonical_csr(X, name="X")
    np.testing.assert_array_equal(result.toarray(), [[2.0, 0.0, 4.0]])
    np.testing.assert_array_equal(result.indices, [0, 2])
    assert result.dtype == np.float32
    np.testing.assert_array_equal(X.indices, [2, 0, 2, 1])


def test_a_lying_sorted_flag_is_not_believed():
    X = sparse.csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    X.has_sorted_indices = True
    X.has_canonical_format = True
    np.testing.assert_array_equal(canonical_csr(X, name="X").indices, [0, 2])


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 2, 1, 2], [0, 1], "row pointers"),
        ([0, 1, 2, 5], [0, 1], "X is a broken sparse matrix: Last value of index pointer"),
        ([0, 1, 2, 2], [0, 7], r"outside \[0, 3\)"),
        ([0, 1, 2, 2], [0, -1], r"outside \[0, 3\)"),
    ],
)
def test_broken_matrices_are_refused(indptr, indices, message):
    X = sparse.csr_array((3, 3), dtype=np.float32)
    X.data = np.ones(2, dtype=np.float32)
    X.indices = np.array(indices, dtype=np.int32)
    X.indptr = np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match=message):
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


def test_lists_that_repeat_a_value_are_rows_of_an_indicator():
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
        ([[0], [1], [2]], "X has 2 points, Y has 3"),
    ],
)
def test_bad_labels_name_the_rule_and_the_value(labels, message):
    with pytest.raises(ValueError, match=message):
        check_labels(labels, n_rows=2, n_labels=3)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            np.ma.masked_array(np.eye(2), mask=[[0, 1], [0, 0]]),
            r"fill them .* X.filled\(0\)",
        ),
        (np.array([["2020-01-01"], ["2020-01-02"]], "M8[D]"), r"got datetime64\[D\]"),
    ],
)
def test_arrays_that_would_become_other_numbers_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        check_features(LabelTree(), X, reset=True)


def test_a_masked_array_without_masked_values_is_a_matrix():
    X = check_features(LabelTree(), np.ma.masked_array(np.eye(2)), reset=True)
    np.testing.assert_array_equal(X.toarray(), np.eye(2))


def test_rules_say_what_they_accept():
    assert Int(1).describe() == "an int >= 1"
    assert Float(0.0, 1.0, open_low=True).describe() == "a finite number in (0.0, 1.0]"
    assert Choice(("x", None)).describe() == "one of 'x', None"
    assert Int(1).accepts(np.int64(3))
    assert not Int(1).accepts(True)
    assert not Int(1).accepts(1.0)
    assert not Float(0.0).accepts(float("nan"))
    assert not Float(0.0, open_low=True).accepts(0.0)
    assert Float(none=True).accepts(None)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (Int(2, 5), [2, 5, np.uint8(3)], [1, 6, None, True, np.True_, 3.0, "3", 2**70]),
        (Int(none=True, flag=True), [None, True, np.False_, -(2**70)], [0.0, "1"]),
        (Float(0.0, 1.0), [0, 0.0, 1, np.float32(1)], [-1e-9, 1.0001, True, "1", None]),
        (Float(0.0, open_low=True), [1e-300, 2], [0.0, -0.0, 0, float("inf"), float("nan")]),
        (Choice((True, False)), [True, False], [1, 0, 0.0, np.True_, "True", None]),
        (Choice((1, "x")), [1, "x"], [True, 1.0, np.int64(1), "1", "X"]),
        (OrAuto(Float(0.5)), ["auto", 0.5], ["Auto", "", "0.7", 0.4, None]),
        (OrAuto(Int(3)), ["auto", 3], ["best", 2, 3.0]),
    ],
    ids=str,
)
def test_rules_accept_what_they_say(rule, good, bad):
    assert [value for value in good if not rule.accepts(value)] == []
    assert [value for value in bad if rule.accepts(value)] == []


def test_seeds():
    assert check_seed(7) == 7
    assert check_seed(np.random.default_rng(0)) == check_seed(np.random.default_rng(0))
    assert check_seed(np.random.RandomState(0)) == check_seed(np.random.RandomState(0))
    with pytest.raises(ValueError, match="random_state must be in"):
        check_seed(-1)
