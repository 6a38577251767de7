"""What a run measures: times, memory, size, and the metrics that the job asks for."""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from defrag import registry
from defrag.experiments.machine import peak_memory
from defrag.experiments.specs import build
from defrag.metrics import erasure_curve, evaluate, evaluate_clustering, macro_precision
from defrag.trees.seeds import member_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.io import Split

__all__ = ["SHARES", "measure"]

K = (1, 3, 5)
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
"""Fractions of the features that the measure "erasure" erases."""


def measure(job: dict[str, Any], train: Split, test: Split) -> dict[str, Any]:
    """Train, predict and measure; the result is a function of the data and the job.

    Times, memory and nothing else differ between two runs of a job.

    Parameters
    ----------
    job : dict
        ``estimator``, ``seed``, ``n_jobs`` and ``measures`` of :class:`defrag.experiments.Job`.
    train, test : Split
        The data.

    Returns
    -------
    result : dict
        The fields of a record that are known after the run.
    """
    model = build(job["estimator"])
    seeded = {"random_state": job["seed"], "n_jobs": job["n_jobs"]}
    bars = {name: 1 for name in model.get_params() if name.split("__")[-1] == "verbose"}
    model.set_params(**seeded, **bars)
    clustering = registry.find(job["estimator"]["estimator"]).role == "clustering"
    training, model = _timed(model.fit, train.X, train.Y)
    act = model.transform if clustering else lambda X: model.predict_topk(X, max(K))
    prediction, found = _timed(act, test.X)
    result: dict[str, Any] = {
        "training": training,
        "prediction": prediction,
        "peak_memory": peak_memory(),
        "model_bytes": _size(model),
        "metrics": {} if clustering else _ranking(found[0], train, test),
    }
    if "rare" in job["measures"]:
        result["rare"] = _rare(found[0], train, test)
    if "erasure" in job["measures"]:
        result["erasure"] = _erasure(model, test, job["seed"])
    if "groups" in job["measures"]:
        result["groups"] = _groups(model, train, seeded, clustering=clustering)
    return result


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[dict[str, float], Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work(*arguments)
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
    }, result


def _size(model: Any) -> int:
    """Return the bytes of the model file."""
    with tempfile.TemporaryDirectory(prefix="defrag-") as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        return path.stat().st_size


def _ranking(labels: Any, train: Split, test: Split) -> dict[str, float | None]:
    return {name: finite(value) for name, value in evaluate(test.Y, labels, train.Y, K).items()}


def _rare(labels: Any, train: Split, test: Split) -> dict[str, Any]:
    found = macro_precision(test.Y, labels, train.Y)
    return {
        "edges": list(found.edges),
        "precision": [finite(value) for value in found.precision.tolist()],
        "predicted": [finite(value) for value in found.predicted.tolist()],
    }


def _erasure(model: Any, test: Split, seed: int) -> dict[str, Any]:
    curve = erasure_curve(model, test.X, test.Y, shares=SHARES, seeds=(seed,), k=K)
    names = [f"P@{k}" for k in K]
    return {"shares": list(SHARES), **{name: curve.mean(name).tolist() for name in names}}


def _groups(
    model: Any, train: Split, seeded: dict[str, Any], *, clustering: bool
) -> dict[str, Any] | None:
    """Return sizes and cost of the groups of features, or None if all features are used."""
    if clustering:
        first, seconds = model, None
        quality = evaluate_clustering(train.X, train.Y, model.labels_)
    else:
        members = [member for member in getattr(model, "members_", ()) if isinstance(member, tuple)]
        if not members:
            return None
        first, quality = members[0][0], {}
        seeds = member_seeds(seeded["random_state"], len(members))
        # Again, to know which part of the training it is; the groups are not used.
        again = [clone(first).set_params(**{**seeded, "random_state": seed}) for seed in seeds]
        seconds = sum(_timed(one.fit, train.X, train.Y)[0]["cpu"] for one in again)
    sizes = np.bincount(first.labels_[first.labels_ >= 0], minlength=first.n_clusters_)
    values, counts = np.unique(sizes, return_counts=True)
    return {
        "n_clusters": int(first.n_clusters_),
        "cpu": seconds,
        "sizes": dict(zip(map(str, values.tolist()), counts.tolist(), strict=True)),
        "quality": {name: finite(float(value)) for name, value in quality.items()},
    }


def finite(value: float) -> float | None:
    """Return a number, or None for what JSON has no number for."""
    return value if math.isfinite(value) else None
