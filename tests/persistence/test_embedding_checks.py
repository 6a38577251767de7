"""What a file says about embeddings must make sense: every broken promise is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from defrag import load
from defrag.exceptions import ModelFormatError
from tests.helpers.model_drafts import Draft, small_leml, small_sleec


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return the bytes of a file per model that a case may start from."""
    folder = tmp_path_factory.mktemp("stored")
    small_leml().save(folder / "leml")
    small_leml().save(folder / "leml int8", weights="int8")
    small_sleec().save(folder / "sleec")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def state(**changes):
    return lambda draft: draft.model["state"].update(changes)


def item(name, index, value):
    def change(draft):
        draft.array(name)[index] = value

    return change


def put(name, array):
    return lambda draft: draft.put(name, array)


# Rank 3: 12 rows of features, one panel of 16 rows for 10 labels, 84 numbers.
LEML = {
    "rank none": (state(rank=0), "rank of leml must be .* got 0"),
    "rank true": (state(rank=True), "rank of leml must be .* got True"),
    "rank huge": (state(rank=2**40), "rank of leml must be .* got 1099511627776"),
    "rank other": (state(rank=4), "'weights' must have 112 items, got 84"),
    "features other": (state(n_features=11), "'weights' must have 81 items, got 84"),
    "features huge": (state(n_features=2**31 - 1), "'weights' must have 6442450989 items, got 84"),
    "labels too few": (state(n_labels=9), r"'labels' must be in \[0, 9\), got 9 at 9"),
    "labels none": (put("labels", np.zeros(0, dtype=np.int32)), "'labels' must have at least one"),
    "labels twice": (item("labels", 3, 2), "'labels' must increase, got 2 after 2 at 3"),
    "labels fall": (item("labels", 3, 0), "'labels' must increase, got 0 after 2 at 3"),
    "labels fewer": (put("labels", np.arange(17, dtype=np.int32)), r"must be in \[0, 10\), got 10"),
    "labels wide": (put("labels", np.arange(10)), "'labels' must be 1-D of int32"),
    "weights gone": (put("weights", None), "'weights' of the kind 'leml' is missing"),
    "weights square": (put("weights", np.zeros((12, 7), np.float32)), "'weights' must be 1-D"),
    "weights double": (put("weights", np.zeros(84)), "'weights' must be 1-D of float32 or"),
    "weights not a number": (item("weights", 5, np.nan), "'weights' must be finite, got nan at 5"),
    "weights infinite": (item("weights", 83, -np.inf), "'weights' must be finite, got -inf at 83"),
    "scales unasked": (put("scales", np.ones(13, np.float32)), "'scales' is allowed only with"),
    "more": (put("bias", np.ones(3, np.float32)), "array 'bias' is unknown to the kind 'leml'"),
}

LEML_INT8 = {
    "scales gone": (put("scales", None), "'scales' is required with weights of int8"),
    "scales fewer": (put("scales", np.ones(12, np.float32)), "'scales' must have 13 items, got 12"),
    "scales below zero": (item("scales", 4, -1), "'scales' must be finite and >= 0, got -1.0 at 4"),
    "scales huge": (item("scales", 4, 1e38), "'scales' must be at most"),
    "weights -128": (
        item("weights", 7, -128),
        r"must be in \[-127, 128\), got -128 at 7",
    ),
}


def inside(name, change):
    """Change an array of the learner by a function of it."""

    def apply(draft):
        place = f"learners/0/{name}"
        draft.put(place, change(draft.array(place).copy()))

    return apply


def learner_state(**changes):
    return lambda draft: draft.model["children"]["learners"][0]["state"].update(changes)


def raised(index, value):
    def change(array):
        array[index] = value
        return array

    return change


# Two clusters of 30 points in all, 12 features, vectors of length 2.
SLEEC = {
    "no learner": (
        lambda draft: (
            draft.model["children"].update(learners=[]),
            [draft.put(name, None) for name in list(draft.header) if "learners" in name],
        ),
        "children 'learners' must be at least one, got none",
    ),
    "rank other": (learner_state(rank=3), "'learners/0/weights' must have .* items"),
    "rank none": (learner_state(rank=0), "rank of 'learners/0/' .* must be .* got 0"),
    "euclidean a number": (learner_state(euclidean=1), "euclidean of 'learners/0/' .* got 1"),
    "clusters none": (inside("point_ptr", lambda a: a[:1]), "must have at least one cluster"),
    "clusters more": (
        inside("point_ptr", lambda a: np.append(a, a[-1])),
        "'learners/0/feature_ptr' must have 4",
    ),
    "points fall": (inside("point_ptr", raised(1, 31)), "'learners/0/point_ptr' must not decrease"),
    "points beyond": (inside("points", raised(4, 30)), r"'learners/0/points' .*\[0, 30\), got 30"),
    "points below": (inside("points", raised(4, -1)), "'learners/0/points' must be in .* got -1"),
    "points fewer": (inside("points", lambda a: a[:-1]), "'learners/0/point_ptr' must run from 0"),
    "features beyond": (
        inside("features", raised(0, 12)),
        r"'learners/0/features' must be in \[0, 12\), got 12",
    ),
    "features fall": (
        inside("features", lambda a: a[::-1].copy()),
        "'learners/0/features' must increase",
    ),
    "feature_ptr falls": (
        inside("feature_ptr", raised(1, -1)),
        "'learners/0/feature_ptr' must not",
    ),
    "router beyond": (
        inside("router/indices", raised(0, 2)),
        r"'learners/0/router/indices' .* got 2",
    ),
    "router short": (inside("router/data", lambda a: a[:-1]), "'learners/0/router/data' must have"),
    "router nan": (
        inside("router/data", raised(0, np.nan)),
        "'learners/0/router/data' must be finite",
    ),
    "router features": (state(n_features=11), "'learners/0' must have the features .* got 12"),
    "weights nan": (inside("weights", raised(9, np.nan)), "'learners/0/weights' must be finite"),
    "weights short": (inside("weights", lambda a: a[:-1]), "'learners/0/weights' must have"),
    "labels beyond": (state(n_labels=9), r"'point_labels/indices' must be in \[0, 9\), got 9"),
    "labels of none": (
        lambda draft: (
            draft.put("point_labels/indptr", np.zeros(1, np.int64)),
            draft.put("point_labels/indices", np.zeros(0, np.int32)),
        ),
        "'point_labels/indptr' must have at least one point",
    ),
    "label pointers fall": (
        item("point_labels/indptr", 3, 50),
        "'point_labels/indptr' must not decrease",
    ),
}

CASES = {
    f"{model}: {what}": (model, *case)
    for model, cases in (("leml", LEML), ("leml int8", LEML_INT8), ("sleec", SLEEC))
    for what, case in cases.items()
}


@pytest.mark.parametrize("case", CASES)
def test_broken_embedding_is_refused_by_name(tmp_path, stored, case):
    model, change, message = CASES[case]
    draft = Draft(stored[model])
    change(draft)
    path = tmp_path / "broken"
    path.write_bytes(draft.to_bytes())
    with pytest.raises(ModelFormatError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [1e12, -1e12])
def test_overflowing_sums_give_finite_answers(tmp_path, stored, value):
    draft = Draft(stored["leml"])
    draft.array("weights")[:] = value
    draft.array("weights")[::2] *= -1
    (tmp_path / "huge").write_bytes(draft.to_bytes())
    labels, scores = load(tmp_path / "huge").predict_topk(np.ones((3, 12)), k=10)
    assert ((labels >= -1) & (labels < 10)).all()
    assert ((scores >= 0) & (scores <= 1)).all()


def test_overflowing_vectors_give_finite_answers(tmp_path, stored):
    draft = Draft(stored["sleec"])
    draft.array("learners/0/weights")[:] = 1e12
    (tmp_path / "huge").write_bytes(draft.to_bytes())
    labels, scores = load(tmp_path / "huge").predict_topk(np.ones((3, 12)), k=10)
    assert ((labels >= -1) & (labels < 10)).all()
    assert ((scores >= 0) & (scores <= 1)).all()


def test_cluster_without_points_finds_no_labels(stored, tmp_path):
    draft = Draft(stored["sleec"])
    point_ptr = draft.array("learners/0/point_ptr")
    point_ptr[1:-1] = 0  # all points in the last cluster
    path = tmp_path / "empty.safetensors"
    path.write_bytes(draft.to_bytes())
    model = load(path)
    labels, scores = model.predict_topk(np.eye(model.n_features_in_, dtype=np.float32), k=3)
    assert ((labels >= -1) & (labels < model.n_labels_)).all()
    assert (labels == -1).all(axis=1).any()
    assert np.isfinite(scores[labels >= 0]).all()
