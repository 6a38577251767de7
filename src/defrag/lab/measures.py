"""What a run measures: times, memory, size, and the metrics that the job asks for.

Called by ``runs.attempt``, in the process of a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from defrag import registry
from defrag.agglomeration import FeatureClustering
from defrag.io import Split
from defrag.lab.peer_program import timed
from defrag.lab.peers import PEERS, WORD_VECTORS, run_peer, word_vectors
from defrag.lab.records import costs
from defrag.lab.texts import TextFiles, run_on_texts
from defrag.metrics import erasure_curve, evaluate, evaluate_clustering, macro_precision
from defrag.presets import choose_for_rows
from defrag.specs import build

K = (1, 3, 5)
N_LABELS = 400
"""How many labels the measure "labels" counts."""
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
"""Fractions of the features that the measure "erasure" erases."""


def run(
    job: dict[str, Any], train: Split | TextFiles, test: Any
) -> tuple[dict[str, Any], Any, Any]:
    """Train, predict and measure; the result is a function of the data and the job.

    Times, memory and nothing else differ between two runs of a job. ``job`` has ``estimator``,
    ``seed``, ``n_jobs`` and ``measures`` of :class:`defrag.lab.Job`; ``shares`` replaces
    ``SHARES``; ``train`` has all files of raw texts. Returns the fields of a record that are known
    after the run, the model, and what it has predicted for the test points, or their groups.
    """
    if isinstance(train, TextFiles):
        return run_on_texts(job, train)
    if job["estimator"]["kind"] in PEERS:
        return _run_peer(job, train, test)
    if job["estimator"]["kind"] == "preset":
        return _run_preset(job, train, test)
    model = build(job["estimator"])
    _learn_word_vectors(model, train, job["seed"])
    seeded = {"random_state": job["seed"], "n_jobs": job["n_jobs"]}
    foreign = ":" in job["estimator"]["kind"]
    known = model.get_params() if hasattr(model, "get_params") else {}
    bars = {name: 1 for name in known if name.split("__")[-1] == "verbose"}
    given = {name: value for name, value in {**seeded, **bars}.items() if name in known}
    if given:
        model.set_params(**given)
    clustering = not foreign and registry.find(job["estimator"]["kind"]).role == "clustering"
    with _clock_of_groups(model) as group_seconds:
        training, _ = timed(model.fit, train.X, train.Y)
    act = model.transform if clustering else lambda X: ranking_of(model, X, max(K))
    prediction, found = timed(act, test.X)
    result: dict[str, Any] = {
        **costs(training, prediction, model),
        "metrics": {} if clustering else _ranking(found[0], train, test, _constants(job)),
    }
    if "rare" in job["measures"]:
        result["rare"] = _rare(found[0], train, test)
    if "labels" in job["measures"]:
        result["labels"] = _hits(found[0], test)
    if "erasure" in job["measures"]:
        result["erasure"] = _erasure(model, test, job["seed"], job.get("shares", SHARES))
    if "groups" in job["measures"]:
        result["groups"] = _groups(model, group_seconds)
        if result["groups"] is not None and "quality" in job["measures"]:
            result["groups"]["quality"] = _quality(model, train)
    return result, model, found


def measure(
    labels: Any, train: Split, test: Split, constants: Mapping[str, float]
) -> dict[str, Any]:
    """Return the fields of a record that are measured on ranked labels of the test points."""
    return {
        "metrics": _ranking(labels, train, test, constants),
        "rare": _rare(labels, train, test),
        "labels": _hits(labels, test),
    }


def _run_peer(job: dict[str, Any], train: Split, test: Split) -> tuple[dict[str, Any], Any, Any]:
    """Do the same with another program, whose model is not returned."""
    name, groups = job["estimator"]["kind"], job["estimator"]["parameters"]["groups"]
    pooling = None if groups is None else build(groups).set_params(random_state=job["seed"])
    found, labels = run_peer(name, pooling, train, test, job["seed"])
    result = {**found, "metrics": _ranking(labels, train, test, _constants(job))}
    if pooling is not None:
        result["groups"] = _groups(pooling, [found["cluster_cpu"]])
    return result, None, (labels, None)


def _run_preset(job: dict[str, Any], train: Split, test: Split) -> tuple[dict[str, Any], Any, Any]:
    """Do the same with the classifier that a preset chooses; to choose it is part of training."""
    given: Any = {"random_state": job["seed"], "n_jobs": job["n_jobs"]}
    choose = partial(choose_for_rows, **job["estimator"]["parameters"], **given)
    chosen, (base, reason) = timed(partial(choose, X=train.X, Y=train.Y))
    training, model = timed(base.fit, train.X, train.Y)
    prediction, found = timed(ranking_of, model, test.X, max(K))
    training = {clock: training[clock] + chosen[clock] for clock in training}
    result = {
        **costs(training, prediction, model),
        "metrics": _ranking(found[0], train, test, _constants(job)),
        "chosen": {"base": reason},
    }
    return result, model, found


def ranking_of(model: Any, X: Any, k: int) -> tuple[Any, Any]:
    """Return the best labels of each row and their scores, of any classifier.

    Without ``predict_topk``, they are read from ``decision_function``, ``predict_proba`` or
    ``predict``, which must have one column per label.
    """
    if hasattr(model, "predict_topk"):
        labels, scores = model.predict_topk(X, k)
        return np.asarray(labels), np.asarray(scores)
    names = ("decision_function", "predict_proba", "predict")
    found: Any = getattr(model, next(name for name in names if hasattr(model, name)))(X)
    if isinstance(found, list):  # of scikit-learn: the classes of each label
        found = np.column_stack([one[:, -1] if one.shape[1] > 1 else one[:, 0] for one in found])
    found = found.toarray() if hasattr(found, "toarray") else found
    dense = np.asarray(found, dtype=np.float64)
    if dense.ndim != 2:
        raise ValueError(f"the classifier must score every label, got an array of {dense.shape}")
    labels = np.argsort(-dense, axis=1, kind="stable")[:, :k]
    return labels.astype(np.int32), np.take_along_axis(dense, labels, axis=1)


def _constants(job: dict[str, Any]) -> dict[str, float]:
    """Return the constants of the propensities of the data of a job."""
    data = job.get("data", {})
    return {name: data[name] for name in ("A", "B") if name in data}


def _ranking(
    labels: Any, train: Split, test: Split, constants: Mapping[str, Any]
) -> dict[str, float | None]:
    found = evaluate(test.Y, labels, train.Y, K, **constants)
    return {name: finite(value) for name, value in found.items()}


def _rare(labels: Any, train: Split, test: Split) -> dict[str, Any]:
    found = macro_precision(test.Y, labels, train.Y)
    return {
        "edges": list(found.edges),
        "precision": [finite(value) for value in found.precision.tolist()],
        "predicted": [finite(value) for value in found.predicted.tolist()],
    }


def _hits(labels: Any, test: Split) -> dict[str, Any]:
    """Return how many test points of each of the most frequent labels have it among the best."""
    n_points = np.bincount(test.Y.indices, minlength=test.Y.shape[1])
    chosen = np.argsort(-n_points, kind="stable")[:N_LABELS]
    ids = np.sort(chosen[n_points[chosen] > 0])
    rows = np.repeat(np.arange(test.Y.shape[0]), np.diff(test.Y.indptr))
    among = (labels[rows] == test.Y.indices[:, np.newaxis]).any(axis=1)
    hits = np.bincount(test.Y.indices[among], minlength=test.Y.shape[1])
    return {"ids": ids.tolist(), "points": n_points[ids].tolist(), "hits": hits[ids].tolist()}


def _erasure(model: Any, test: Split, seed: int, shares: Sequence[float]) -> dict[str, Any]:
    curve = erasure_curve(model, test.X, test.Y, shares=shares, seeds=(seed,), k=K)
    names = [f"P@{k}" for k in K]
    return {"shares": list(shares), **{name: curve.mean(name).tolist() for name in names}}


def _learn_word_vectors(model: Any, train: Split, seed: int) -> None:
    """Replace the word for them in the parameters of a model by vectors of its features."""
    known = model.get_params() if hasattr(model, "get_params") else {}
    for name in [
        name for name, value in known.items() if isinstance(value, str) and value == WORD_VECTORS
    ]:
        model.set_params(**{name: word_vectors(train, seed)})


def _clusterings(model: Any) -> list[Any]:
    """Return the clusterings of features in a model, or the model if it is one."""
    if isinstance(model, FeatureClustering):
        return [model]
    members = getattr(model, "members_", ())
    return [
        member[0]
        for member in members
        if isinstance(member, tuple) and isinstance(member[0], FeatureClustering)
    ]


@contextmanager
def _clock_of_groups(model: Any) -> Iterator[list[float]]:
    """Collect the CPU seconds of each clustering of features while a model is trained."""
    seconds: list[float] = []
    if not hasattr(model, "_fit_reduction"):
        yield seconds
        return

    def clocked(*arguments: Any) -> Any:
        took, found = timed(type(model)._fit_reduction, model, *arguments)
        seconds.append(took["cpu"])
        return found

    model._fit_reduction = clocked
    try:
        yield seconds
    finally:
        del model._fit_reduction


def _groups(model: Any, seconds: list[float]) -> dict[str, Any] | None:
    """Return sizes and cost of the groups of features, or None if all features are used."""
    found = _clusterings(model)
    if not found:
        return None
    first = found[0]
    sizes = np.bincount(first.labels_[first.labels_ >= 0], minlength=first.n_clusters_)
    values, counts = np.unique(sizes, return_counts=True)
    return {
        "n_clusters": int(first.n_clusters_),
        "cpu": sum(seconds) if seconds else None,
        "sizes": dict(zip(map(str, values.tolist()), counts.tolist(), strict=True)),
    }


def _quality(model: Any, train: Split) -> dict[str, float | None]:
    """Return the metrics of the first clustering of a model."""
    groups = _clusterings(model)[0].labels_
    found = evaluate_clustering(train.X, train.Y, groups)
    if found["n_dropped"]:
        # What is lost with a dropped feature is not seen by the information of the others.
        found = {name: found[name] for name in ("n_clusters", "n_dropped", "error")}
    return {name: finite(float(value)) for name, value in found.items()}


def finite(value: float) -> float | None:
    """Return a number, or None for what JSON has no number for."""
    return value if math.isfinite(value) else None
