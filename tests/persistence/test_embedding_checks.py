"""What a file says about embeddings must make sense: every broken promise is refused by name."""

import numpy as np
import pytest

from defrag import load
from tests.helpers.model_drafts import Draft, inside, item, put, refuse, small_leml, small_sleec


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return the bytes of a file per model that a case may start from."""
    folder = tmp_path_factory.mktemp("stored")
    small_leml().save(folder / "leml")
    small_leml().save(folder / "leml int8", weights="int8")
    small_sleec().save(folder / "sleec")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def state(**changes):
    return inside("state", **changes)


# Rank 3: 12 rows of features, one panel of 16 rows for 10 labels, 84 numbers.
LEML = [
    (state(rank=0), "rank of leml must be .* got 0"),
    (state(rank=True), "rank of leml must be .* got True"),
    (state(rank=2**40), "rank of leml must be .* got 1099511627776"),
    (state(rank=4), "'weights' must have 112 items, got 84"),
    (state(n_features=11), "'weights' must have 81 items, got 84"),
    (state(n_features=2**31 - 1), "'weights' must have 6442450989 items, got 84"),
    (state(n_labels=9), r"'labels' must be in \[0, 9\), got 9 at 9"),
    (put("labels", np.zeros(0, dtype=np.int32)), "'labels' must have at least one"),
    (item("labels", 3, 2), "'labels' must increase, got 2 after 2 at 3"),
    (item("labels", 3, 0), "'labels' must increase, got 0 after 2 at 3"),
    (put("labels", np.arange(17, dtype=np.int32)), r"must be in \[0, 10\), got 10"),
    (put("weights", np.zeros((12, 7), np.float32)), "'weights' must be 1-D"),
    (put("scales", np.ones(13, np.float32)), "'scales' is allowed only with"),
    (put("bias", np.ones(3, np.float32)), "array 'bias' is unknown to the kind 'leml'"),
]

LEML_INT8 = [
    (put("scales", None), "'scales' is required with weights of int8"),
    (item("scales", 4, -1), "'scales' must be finite and >= 0, got -1.0 at 4"),
    (item("scales", 4, 1e38), "'scales' must be at most"),
    (item("weights", 7, -128), r"must be in \[-127, 128\), got -128 at 7"),
]


def learner(name, change):
    return put(f"learners/0/{name}", change)


def learner_state(**changes):
    return lambda draft: draft.model["children"]["learners"][0]["state"].update(changes)


def raised(index, value):
    def change(array):
        array[index] = value
        return array

    return change


# Two clusters of 30 points in all, 12 features, vectors of length 2.
SLEEC = [
    (
        lambda draft: (
            draft.model["children"].update(learners=[]),
            [draft.put(name, None) for name in list(draft.header) if "learners" in name],
        ),
        "children 'learners' must be at least one, got none",
    ),
    (learner_state(rank=3), "'learners/0/weights' must have .* items"),
    (learner_state(rank=0), "rank of 'learners/0/' .* must be .* got 0"),
    (learner_state(euclidean=1), "euclidean of 'learners/0/' .* got 1"),
    (learner("point_ptr", lambda a: a[:1]), "must have at least one cluster"),
    (learner("point_ptr", lambda a: np.append(a, a[-1])), "'learners/0/feature_ptr' must have 4"),
    (learner("point_ptr", raised(1, 31)), "'learners/0/point_ptr' must not decrease"),
    (learner("points", raised(4, 30)), r"'learners/0/points' .*\[0, 30\), got 30"),
    (learner("points", raised(4, -1)), "'learners/0/points' must be in .* got -1"),
    (learner("points", lambda a: a[:-1]), "'learners/0/point_ptr' must run from 0"),
    (learner("features", raised(0, 12)), r"'learners/0/features' must be in \[0, 12\), got 12"),
    (learner("features", lambda a: a[::-1].copy()), "'learners/0/features' must increase"),
    (learner("feature_ptr", raised(1, -1)), "'learners/0/feature_ptr' must not"),
    (learner("router/indices", raised(0, 2)), r"'learners/0/router/indices' .* got 2"),
    (state(n_features=11), "'learners/0' must have the features .* got 12"),
    (state(n_labels=9), r"'point_labels/indices' must be in \[0, 9\), got 9"),
    (
        lambda draft: (
            draft.put("point_labels/indptr", np.zeros(1, np.int64)),
            draft.put("point_labels/indices", np.zeros(0, np.int32)),
        ),
        "'point_labels/indptr' must have at least one point",
    ),
    (item("point_labels/indptr", 3, 50), "'point_labels/indptr' must not decrease"),
]

CASES = [
    *(("leml", *case) for case in LEML),
    *(("leml int8", *case) for case in LEML_INT8),
    *(("sleec", *case) for case in SLEEC),
]


@pytest.mark.parametrize(("which", "change", "message"), CASES)
def test_broken_embedding_is_refused_by_name(tmp_path, stored, which, change, message):
    refuse(tmp_path, stored[which], change, message)


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
