"""Labels: how many, by name, and retraining with the label trees of another model."""

import numpy as np
import pytest
from scipy import sparse

from defrag import load
from tests.contract.subject import answer_bits, file_bytes, small_data
from tests.helpers.bits import bits

NAMES = [f"{letter} {number}, é" for number in range(5) for letter in "xyz"][:14]


def named_lists():
    """Return the small data's labels as lists of names, the sorted names, and their ids."""
    _, Y = small_data()
    lists = [[NAMES[label] for label in row.indices.tolist()] for row in Y]
    known = sorted({name for row in lists for name in row})
    return lists, known, [NAMES.index(name) for name in known]


def more_labels_are_wanted_than_there_are(subject, _folder):
    X, Y = small_data()
    one_label = sparse.csr_array(np.ones((X.shape[0], 1), dtype=np.float32))
    two_classes = np.arange(X.shape[0]) % 2
    for targets in (Y, one_label, two_classes):
        model = subject.fit(X, targets)
        n_labels = model.n_labels_
        every = model.predict_topk(X[:5], k=n_labels)
        for k in (n_labels + 1, 1000, 2**31, 2**63):
            assert bits(model.predict_topk(X[:5], k=k)) == bits(every)
        for k in (0, -1, 1.5, "3", None, True):
            with pytest.raises(ValueError, match=r"^k must be an int >= 1, got "):
                model.predict_topk(X[:5], k=k)


def takes_names(subject, folder):
    """Fit lists of names; the ids are those of a fit on the matrix whose columns they name."""
    X, Y = small_data()
    lists, known, columns = named_lists()
    model, twin = subject.fit(Y=lists), subject.fit(Y=Y[:, columns])
    assert model.classes_.tolist() == known
    assert list(model.label_names_) == known
    ids, scores = twin.predict_topk(X[:20], k=4)
    assert (model.predict_topk(X[:20], k=4)[0] == ids).all()
    names, named_scores = model.predict_topk(X[:20], k=4, names=True)
    assert (named_scores == scores).all()
    assert names.tolist() == [[known[i] if i >= 0 else "" for i in row] for row in ids]
    assert (model.label_names_[ids] == names).all()
    decided = twin.decision_function(X[:20])
    expected = [
        [known[i] for i in sorted(row.indices, key=lambda i, row=row: (-row[i], i)) if row[i] > 0.5]
        for row in decided
    ]
    assert model.predict(X[:20]) == expected
    model.save(folder / "named.safetensors")
    loaded = load(folder / "named.safetensors")
    assert loaded.predict(X[:20]) == expected
    assert list(loaded.label_names_) == known
    assert answer_bits(loaded) == answer_bits(model)
    model.save(folder / "again.safetensors", label_names=known[::-1])
    assert list(load(folder / "again.safetensors").label_names_) == known[::-1]


def scores_and_calibrates_by_name(subject, _folder):
    """True labels by name are compared with the names of the model."""
    X, Y = small_data()
    lists, _, columns = named_lists()
    model, twin = subject.fit(Y=lists), subject.fit(Y=Y[:, columns])
    assert model.score(X, lists) == twin.score(X, Y[:, columns])
    some = [[*row, "unheard of"] for row in lists[:30]]
    assert model.score(X[:30], some) == twin.score(X[:30], Y[:30][:, columns])
    model.calibrate(X, lists)
    twin.calibrate(X, Y[:, columns])
    assert (model.predict_proba(X) != twin.predict_proba(X)).nnz == 0
    with pytest.raises(ValueError, match="Y must contain labels of the model, got names"):
        twin.score(X, lists)


def refuses_what_are_no_names(subject, _folder):
    """What looks like labels but is neither names nor ids is refused in one sentence."""
    X = np.eye(4)
    for Y, message in (
        (["a,b", "c", "a", "b"], r"got 'a,b' in row 0: split it, as in name.split\(\",\"\), or pa"),
        ([["a"], ["b", 1], [], []], "all label names or all label ids, got 1 in row 1 among names"),
        ([["a"], [""], [], []], "label names must not be empty, got one in row 1"),
        ([[0.0], [1.0], [], []], "got 0.0 in row 0: turn ids into int, or pass names as str"),
        ([[0.5], [1], [], []], "got 0.5 in row 0: turn ids into int"),
        ([["a"], ["b"]], "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            subject.new().fit(X, Y)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="has no label names: fit it with lists of names"):
        subject.fitted().predict_topk(small_data()[0], names=True)


def has_label_trees(model):
    parts = model._fitted_parts() if hasattr(model, "_fitted_parts") else []
    return hasattr(model, "trees_") or any(map(has_label_trees, parts))


def keeps_a_shape(subject, folder):
    """On the same data, the trees of a model are its own: every bit is the same."""
    X, Y = small_data()
    model = subject.fitted()
    if not has_label_trees(model):
        with pytest.raises(ValueError, match="shape must be a model with label trees, got"):
            subject.new().fit(X, Y, shape=model)
        return
    again = subject.new().fit(X, Y, shape=model)
    assert file_bytes(again, folder) == file_bytes(model, folder)
    model.save(folder / "previous.safetensors")
    again = subject.new().fit(X, Y, shape=folder / "previous.safetensors")
    assert answer_bits(again) == answer_bits(model)


def keeps_a_shape_for_other_labels(subject, folder):
    """Labels that come and go are matched by name, and the model can be saved."""
    if not has_label_trees(subject.fitted()):
        return
    X, _ = small_data()
    lists, known, _ = named_lists()
    old = [[name for name in row if name != known[2]] for row in lists[:40]]
    new = [[name for name in row if name != known[5]] for row in lists]
    model = subject.fit(X=X[:40], Y=old)
    following = subject.new().fit(X, new, shape=model)
    assert following.classes_.tolist() == [name for name in known if name != known[5]]
    assert len(file_bytes(following, folder)) > 0
    labels, scores = following.predict_topk(X, k=4)
    assert np.isfinite(scores).all()
    assert labels.max() < following.n_labels_
    with pytest.raises(ValueError, match="shape must have labels of the same kind as Y, got nam"):
        subject.new().fit(X, small_data()[1], shape=model)
    with pytest.raises(ValueError, match=r"shape must be a fitted \w+ or the file of one, got"):
        subject.new().fit(X, new, shape=3)
