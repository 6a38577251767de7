"""Training in parts, and prediction of many points, on a Ray cluster; an optional extra.

The commands ``train --ray`` and ``predict --ray`` call it, and programs that have a cluster.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from defrag._parameters import Int
from defrag._progress import logger, progress_bar, progress_pulse
from defrag.classifiers._base import Classifier
from defrag.classifiers._division import Found
from defrag.distributed._plan import (
    Part,
    PartResult,
    Plan,
    Points,
    join_found,
    join_parts,
    plan_and_data,
    search_between,
    search_rows,
    train_part,
    with_rows,
)
from defrag.exceptions import DataWarning
from defrag.io.files import PathLike, atomic_writer
from defrag.persistence import load
from defrag.prediction import LineFormat, Parts, ToLines
from defrag.text import TextClassifier
from defrag.typing import Csr, LabelsLike

Model = TypeVar("Model", Classifier, TextClassifier)

# Parts per processor: enough to balance the load, few enough to keep the overhead small.
_PARTS_PER_CPU = 8
# Parts with rows in the object store per processor: the next one waits, and memory is bounded.
_QUEUED_PER_CPU = 2
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

    A part gets the rows that it needs, through the object store. A part whose worker or node dies
    is retried up to three times. The logger ``defrag`` says how much was sent.

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
        results = _train_parts(ray, todo, data, _QUEUED_PER_CPU * n_cpus, verbose=verbose)
        todo.estimator.set_params(n_jobs=estimator.n_jobs)
        return cast("Model", join_parts(todo, results, data))


def _train_parts(
    ray: Any, todo: Plan, data: tuple[Csr, Csr], n_queued: int, *, verbose: bool
) -> list[PartResult]:
    """Train all parts, the largest of each wave first, on the rows that they need."""
    remote = ray.remote(num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD")
    task, search_task = remote(train_part), remote(search_rows)
    shared, whole = ray.put(todo), [ray.put(one) for one in data]
    results: list[PartResult] = []
    sent: list[tuple[int, int]] = []

    def trainings(parts: Iterable[Part], found: Found) -> Iterator[Any]:
        before, stored = data, whole
        for one, rows, own in with_rows(todo, parts, data, found):
            if rows is not data and rows is not before:
                before, stored = rows, [ray.put(each) for each in rows]
            sent.append(_size(rows))
            yield task.remote(shared, one.index, *(whole if rows is data else stored), own)

    def searches() -> Iterator[Any]:
        search = ray.put(search_between(todo, results, data[1]))
        edges = np.unique(np.linspace(0, data[0].shape[0], n_queued + 1).astype(int))
        for first, last in pairwise(edges.tolist()):
            yield search_task.remote(search, data[0][first:last], first)

    with progress_bar("training parts", enabled=verbose) as progress:

        def take(result: PartResult) -> None:
            results.append(result)
            if progress is not None:
                progress(min(sum(todo.shares[one.index] for one in results), 1.0))

        for wave, parts in groupby(todo.parts, key=lambda part: part.wave):
            blocks: list[Found] = []
            if wave:
                _run(ray, searches(), n_queued, blocks.append)
            found = join_found(blocks) if wave else {}
            _run(ray, trainings(parts, found), n_queued, take)
    logger.info(shipped(sent, _size(data)))
    return results


def _run(ray: Any, tasks: Iterable[Any], n_queued: int, take: Callable[[Any], object]) -> None:
    """Run tasks, at most so many at a time, and take their results; cancel them at a failure."""
    pending: list[Any] = []

    def wait() -> None:
        nonlocal pending
        ready, pending = ray.wait(pending)
        for one in ray.get(ready):  # raises the exception of the task
            take(one)

    try:
        for one in tasks:
            pending.append(one)
            if len(pending) >= n_queued:
                wait()
        while pending:
            wait()
    finally:
        for one in pending:  # only after a failure or an interruption
            ray.cancel(one, force=True)


def _size(matrices: tuple[Csr, Csr]) -> tuple[int, int]:
    """Return the rows and bytes of points and labels."""
    arrays = [one for x in matrices for one in (x.data, x.indices, x.indptr)]
    return matrices[0].shape[0], sum(one.nbytes for one in arrays)


def shipped(parts: Sequence[tuple[int, int]], whole: tuple[int, int]) -> str:
    """Return in words the rows and bytes that parts got, beside those of all rows for each.

    Examples
    --------
    >>> from defrag.distributed._ray import shipped
    >>> shipped([(900, 2_000_000), (10, 20_000)], (1000, 2_200_000))
    '2 parts got 910 rows (2.0 MB), at most 900 rows (2.0 MB); with all rows each: 2,000 rows ...'
    """
    total, n = np.sum(parts, axis=0).tolist(), len(parts)
    sizes = total, max(parts), [n * one for one in whole], whole
    got, most, every, one = (f"{rows:,} rows ({size / 1e6:,.1f} MB)" for rows, size in sizes)
    return f"{n} parts got {got}, at most {most}; with all rows each: {every}, {one}"


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


# --- Prediction of many points on a Ray cluster, into one file per block; an optional extra.

# Blocks queued or running per processor: keeps all processors busy in bounded memory.
_BLOCKS_PER_CPU = 3
_BLOCK_RETRIES = 3


def predict_ray(
    model: PathLike,
    blocks: Iterable[Any],
    folder: PathLike,
    *,
    lines: ToLines | None = None,
    settings: Mapping[str, Any] | None = None,
    address: str | None = None,
    verbose: bool = False,
) -> int:
    """Predict the labels of blocks of points on a Ray cluster.

    Block i is written atomically to the file ``part-i`` of a folder. Existing parts are kept, so
    that the same call resumes after an interruption. Each worker maps the model file once, and
    the workers of a machine share its memory. Model and folder must be reachable from every node.

    Parameters
    ----------
    model : path
        A model file.
    blocks : iterable of matrices, or of lists of str
        The points; for a text classifier, the texts.
    folder : path
        Folder for the parts; it is created if it does not exist.
    lines : LineFormat, optional
        What is written of each block; or a function of the model, a block and the number of its
        first point that returns bytes.
    settings : mapping, optional
        JSON values that distinguish this prediction from others, such as the name of the data.
    address : str, optional
        Address of the cluster, as in :func:`fit_ray`.
    verbose : bool, default=False
        Whether to show progress on a terminal.

    Returns
    -------
    n_points : int
        Number of points, including those of existing parts.

    Raises
    ------
    ValueError
        If the folder has parts of another model or other settings.
    ImportError
        If Ray, or for Parquet pyarrow, is not installed.
    """
    work = lines or LineFormat()
    path = os.path.realpath(model)
    parts = Parts(Path(os.fspath(folder)), path, work, settings or {})
    with connected(address) as ray, progress_pulse("predicting", enabled=verbose):
        n_cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        task = ray.remote(num_cpus=1, max_retries=_BLOCK_RETRIES)(_predict_block)
        shared = ray.put(work)
        tasks = (
            task.remote((path, *parts.identity), block, first, shared, os.fspath(part))
            for part, first, block in parts.missing(blocks)
        )
        _run(ray, tasks, _BLOCKS_PER_CPU * n_cpus, lambda _: None)
    return parts.n_points


def _predict_block(
    model: tuple[str, int, int], block: Any, first: int, to_lines: ToLines, part: str
) -> None:
    """Write the predictions of a block."""
    with warnings.catch_warnings():
        # The warning would be repeated for every block.
        warnings.simplefilter("ignore", DataWarning)
        lines = b"".join(to_lines(_mapped(*model), block, first))
    with atomic_writer(part) as file:
        file.write(lines)


@lru_cache(maxsize=1)
def _mapped(path: str, size: int, checksum: int) -> Any:  # noqa: ARG001 - part of the cache key
    """Return the model of a worker process, which predicts on one thread."""
    return load(path).set_params(n_jobs=1)
