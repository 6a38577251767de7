import numpy as np
import pytest
from scipy import sparse

from defrag import LabelTree, _native
from defrag._validation import _canonical_or_none, check_rows
from tests.helpers.bits import bits

DRAW = np.random.default_rng(0)
X = sparse.csr_array(DRAW.random((300, 40)) * (DRAW.random((300, 40)) < 0.2), dtype=np.float32)
Y = [[int(row) % 37, int(row) % 5] for row in DRAW.integers(0, 1000, 300)]


@pytest.fixture(scope="module", params=[1, 3])
def model(request):
    return LabelTree(request.param, random_state=0).fit(X, Y)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("values", [np.float64, np.float32, np.int64, bool])
@pytest.mark.parametrize("ids", [np.int64, np.int32])
def test_rows_of_other_types_need_no_general_check(model, kind, values, ids):
    row = kind(X[[3]])
    row.data = np.ceil(10 * row.data).astype(values)
    row.indices, row.indptr = row.indices.astype(ids), row.indptr.astype(ids)
    before = bits(row)
    ready = _canonical_or_none(model, row, reset=False)
    assert type(ready) is sparse.csr_array
    types = (ready.data.dtype, ready.indices.dtype, ready.indptr.dtype)
    assert types == (np.float32, np.int32, np.int32)
    assert bits(model.predict_topk(row)) == bits(model.predict_topk(row.toarray()))
    assert bits(row) == before  # the row of the user is as it was


def test_numbers_that_do_not_fit_are_refused(model):
    row = X[[3]]
    far = row.indices.astype(np.int64)
    far[-1] = 2**32 + 39  # 39 in 32 bits
    wide = changed(row, indices=far, indptr=row.indptr.astype(np.int64))
    large = changed(row, data=np.full(row.nnz, 1e300))
    for bad, message in [(wide, "a column index is outside"), (large, "finite|float32")]:
        assert _canonical_or_none(model, bad, reset=False) is None
        with pytest.raises(ValueError, match=message):
            model.predict_topk(bad)


def changed(row, **parts):
    row = row.copy()
    for name, value in parts.items():
        setattr(row, name, value)
    return row


def test_bad_rows_are_refused_as_before(model):
    row = X[[3]]
    n = row.nnz
    unknown = np.array([*row.indices[1:], 40], dtype=np.int32)
    negative = np.array([-1, *row.indices[1:]], dtype=np.int32)
    values = row.data.copy()
    values[0] = np.nan
    infinite = np.where(np.isnan(values), np.inf, values)
    for bad, message in [
        (changed(row, data=values), "finite numbers, got NaN in row 0"),
        (changed(row, data=infinite), "finite numbers, got infinity"),
        (changed(row, indices=unknown), r"outside \[0, 40\)"),
        (changed(row, indices=negative), r"outside \[0, 40\)"),
        (changed(row, data=row.data[1:]), "broken|indices and data|length"),
        (changed(row, indptr=np.array([0, n + 1], dtype=np.int32)), "broken|index pointer"),
        (changed(row, indptr=np.array([0, n - 1, n], dtype=np.int32)), "broken|index pointer"),
        (row[:, :39], "39 features"),
        (row[:0], "0 sample"),
        (row.toarray()[0], "2-D matrix, got 1-D"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict_topk(bad)


def test_rows_that_are_not_canonical_are_made_so(model):
    row = X[[3]]
    expected = model.predict_topk(row)
    with_zero = sparse.csr_array(
        (np.append(row.data, 0), np.append(row.indices, 39), [0, row.nnz + 1]), row.shape
    )
    backwards = changed(row, data=row.data[::-1].copy(), indices=row.indices[::-1].copy())
    for form in (with_zero, backwards, row.tocsc(), row.tocoo()):
        assert _canonical_or_none(model, form, reset=False) is None
        assert bits(model.predict_topk(form)) == bits(expected)


def test_feature_names_of_single_rows_are_checked():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.toarray(), columns=[f"word{i}" for i in range(40)])
    model = LabelTree(random_state=0).fit(frame, Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict_topk(X[[0]])


def test_few_valid_rows_pass_from_kernel_to_kernel(model):
    for n, few in [(1, True), (64, True), (65, False)]:
        rows = check_rows(model, X[:n], few=True)
        assert isinstance(rows, _native.KernelRows) is few
        assert (_native.as_matrix(rows) != X[:n]).nnz == 0
        assert _native.count_empty_rows(rows) == np.count_nonzero(np.diff(X[:n].indptr) == 0)
    assert _native.kernel_rows(X[:1], 39, 64) is None
    assert _native.kernel_rows(X[:0], 40, 64) is None
    broken = changed(X[[3]], indptr=np.array([0, X.nnz], dtype=np.int32))
    assert _native.kernel_rows(broken, 40, 64) is None


def test_search_of_few_rows_is_that_of_many(model):
    for member in model.trees_:
        rows = _native.unit_rows(X[:9], n_threads=1)
        options = {"loss": model._loss(), "beam_size": 3, "k": 4, "discount": 0.5,
                   "leaf_discount": 0.25, "power": 3, "n_threads": 1}  # fmt: skip
        found = member.search_few(rows, **options)
        expected = _native.beam_search(member.tree, member.weights, rows, **options)
        assert bits(found) == bits(expected)
        with pytest.raises(ValueError, match="beam_size must be at least 1"):
            member.search_few(rows, **options | {"beam_size": 0})
