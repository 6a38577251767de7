"""Retraining with the label trees of another model."""

import numpy as np
import pytest

from tests.contract.names import named_lists
from tests.contract.subject import answer_bits, file_bytes, small_data


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


CHECKS = [keeps_a_shape, keeps_a_shape_for_other_labels]
