"""Training in parts on a Ray cluster; an optional extra."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from defrag._parameters import Int
from defrag._progress import progress_bar
from defrag.classifiers._base import Classifier
from defrag.distributed._training import join_parts, plan_and_data, train_part
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.distributed._plan import PartResult, Plan
    from defrag.distributed._training import Points
    from defrag.typing import Csr, LabelsLike

__all__ = ["connected", "fit_ray"]

Model = TypeVar("Model", Classifier, TextClassifier)

# Parts per processor: enough to balance the load, few enough to keep the overhead small.
_PARTS_PER_CPU = 8
_RETRIES = 3
_PARTS_RULE = Int(1, none=True)


def fit_ray(
    estimator: Model,
    X: Points,
    Y: LabelsLike,
    *,
    address: str | None = None,
    n_parts: int | None = None,
    verbose: bool = False,
) -> Model:
    """Train a classifier on a Ray cluster; the model is that of ``fit``, byte for byte.

    The data are copied once to the object store of every node. A part whose worker or node dies
    is retried up to three times.

    Parameters
    ----------
    estimator : classifier or TextClassifier
        Any classifier of this library; parts are trained on one thread each.
    X, Y : data
        Points and labels, as ``fit`` takes them.
    address : str, optional
        Address of the cluster, such as ``"auto"`` or ``"ray://host:10001"``. By default, the
        cluster that the program is connected to, or otherwise a local one on the loopback
        interface that is shut down after this call.
    n_parts : int, optional
        Number of parts; default: eight per processor of the cluster.
    verbose : bool, default=False
        Whether to show a progress bar on a terminal.

    Returns
    -------
    model : classifier
        A fitted copy of the estimator.

    Raises
    ------
    ImportError
        If Ray is not installed.
    """
    if not _PARTS_RULE.accepts(n_parts):
        raise ValueError(f"n_parts must be {_PARTS_RULE.describe()}, got {n_parts!r}")
    with connected(address) as ray:
        n_cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        n_wanted = n_parts or _PARTS_PER_CPU * n_cpus
        todo, found = plan_and_data(estimator, X, Y, n_parts=n_wanted)
        data = found.X, found.labels.matrix
        todo.estimator.set_params(n_jobs=1)
        results = _train_parts(ray, todo, data, verbose=verbose)
        todo.estimator.set_params(n_jobs=estimator.n_jobs)
        return cast("Model", join_parts(todo, results, data))


def _train_parts(ray: Any, todo: Plan, data: tuple[Csr, Csr], *, verbose: bool) -> list[PartResult]:
    """Train all parts, the largest first; cancel them if this process is interrupted."""
    task = ray.remote(num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD")(train_part)
    shared = [ray.put(one) for one in (todo, *data)]
    pending = [task.remote(shared[0], part.index, *shared[1:]) for part in todo.parts]
    shares = {ref: part.share for ref, part in zip(pending, todo.parts, strict=True)}
    results: list[PartResult] = []
    try:
        with progress_bar("training parts", enabled=verbose) as progress:
            done = 0.0
            while pending:
                ready, pending = ray.wait(pending)
                results += ray.get(ready)
                done += sum(shares[ref] for ref in ready)
                if progress is not None:
                    progress(min(done, 1.0))
    finally:
        for ref in pending:  # only after a failure or an interruption
            ray.cancel(ref, force=True)
    return results


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Yield Ray, connected to a cluster; a cluster started here is shut down at the end."""
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(
            "training and prediction on a cluster require Ray: pip install 'defrag[ray]'"
        ) from None
    if ray.is_initialized():
        if address is not None:
            raise ValueError(f"address must be None while Ray is connected, got {address!r}")
        yield ray
        return
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            log_to_driver=False,
            logging_level=logging.WARNING,
        )
    else:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    try:
        yield ray
    finally:
        ray.shutdown()
