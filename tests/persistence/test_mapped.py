"""Mapped models whose files change while they are used."""

import copy
import os
import pickle
import time

import numpy as np
import pytest

from defrag import TextClassifier, load
from defrag.exceptions import ModelFormatError
from defrag.persistence import _container, _model
from tests.contract.subject import answer_bits
from tests.helpers.model_drafts import X, small_defrag, small_label_tree

CHANGED = r"model\.safetensors: was modified in place after it was mapped"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.safetensors"
    small_label_tree().save(path)
    return path


def overwrite(path, data):
    """Write to a file in place, as ``cp`` does."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()
    # File systems count time in ticks, and a test may be faster than one.
    later = time.time_ns() + 10**9
    os.utime(path, ns=(later, later))
    time.sleep(0.005)  # a file is looked at once in a millisecond


def small_texts():
    texts = ["a red fox", "a blue fox", "a red hen", "a blue hen"] * 3
    return TextClassifier(random_state=0).fit(texts, [["fox"], ["fox"], ["hen"], ["hen"]] * 3)


@pytest.mark.parametrize(
    ("make", "points"), [(small_label_tree, X), (small_defrag, X), (small_texts, ["a fox"])]
)
@pytest.mark.parametrize(
    "change", [lambda data: data[::-1], lambda data: data * 2, lambda data: data[: len(data) // 2]]
)
def test_overwritten_model_raises(path, tmp_path, make, points, change):
    make().save(path)
    model = load(path)
    methods = ("predict_topk", "predict", "decision_function", "transform")
    calls = [getattr(model, name) for name in methods if hasattr(model, name)]
    for call in calls:
        call(points)
    overwrite(path, change(path.read_bytes()))
    for call in calls:
        with pytest.raises(ModelFormatError, match=CHANGED):
            call(points)
    with pytest.raises(ModelFormatError, match=CHANGED):
        model.save(tmp_path / "other")


def test_file_is_checked_at_most_once_per_millisecond(path, monkeypatch):
    model = load(path)
    looks = []
    monkeypatch.setattr(_model, "_file_state", lambda _: looks.append(1) or ((0, 0), (0, 0)))
    monkeypatch.setattr(_model.time, "monotonic", lambda: 1e9)
    for _ in range(5):
        model.mapped_file_.check()
    assert len(looks) == 1


@pytest.mark.parametrize("make", [small_label_tree, small_defrag])
def test_replaced_or_removed_file_does_not_change_the_model(path, make):
    make().save(path)
    model = load(path)
    expected = answer_bits(model, X)
    small_label_tree(n_trees=2).save(path)
    assert answer_bits(model, X) == expected
    path.unlink()
    assert answer_bits(model, X) == expected


def test_relative_path_is_checked_after_chdir(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    model = load(path.name)
    monkeypatch.chdir("/")
    assert len(model.predict_topk(X)[0]) == len(X)
    overwrite(path, b"x")
    with pytest.raises(ModelFormatError, match=CHANGED):
        model.predict_topk(X)


@pytest.mark.parametrize(
    "read",
    [
        lambda path: load(path, mmap=False),
        lambda path: copy.deepcopy(load(path)),
        lambda path: pickle.loads(pickle.dumps(load(path))),  # noqa: S301 - our own
    ],
    ids=["into memory", "copied", "pickled"],
)
def test_models_that_are_not_mapped_ignore_the_file(path, read):
    model = read(path)
    expected = answer_bits(load(path), X)
    overwrite(path, b"x")
    assert answer_bits(model, X) == expected


def test_refitted_model_ignores_the_file(path):
    model = load(path)
    overwrite(path, b"x")
    model.fit(X, [[i % 7] for i in range(len(X))])
    assert len(model.predict_topk(X)[0]) == len(X)


def test_file_changed_while_it_is_read_is_refused(path, monkeypatch):
    empty = np.empty

    def change(*arguments, **options):
        os.utime(path, ns=(1, 1))
        return empty(*arguments, **options)

    monkeypatch.setattr(_container.np, "empty", change)
    with pytest.raises(ModelFormatError, match="was changed while it was read"):
        load(path, mmap=False)
