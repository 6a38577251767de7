"""Jobs, and their records on disk: a folder with files of JSON lines, one record per run.

A run is known by its :class:`Job`; what was measured is a dict, and :class:`Result` gathers the
records of a method for tables. ``runs`` writes records, ``comparison`` and ``results`` show them.
A record is appended as one line and synced before the next run starts, so that a killed program
loses at most the run under way. A last line without its end, which a killed writer leaves, is
dropped with a warning and removed by the next append; any other broken line is an error.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pickle
import platform
import statistics
import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import defrag
from defrag.exceptions import FormatError, FormatWarning
from defrag.lab.peer_program import peak_memory

if TYPE_CHECKING:
    from defrag.lab.corpus import Facts
    from defrag.specs import Spec


# --- A run before it happens: data, estimator, seed and what to measure.

FORMAT = 1
"""Version of records; a record of another version is not read."""

MEASURES = ("ranking", "rare", "labels", "erasure", "groups", "quality", "texts")
"""What a run can measure: metrics of the ranking, precision by frequency of labels, how often each
of the most frequent labels is found, metrics on points with erased features, sizes and cost of
the groups of features, the information that they lose, and, alone, everything about raw texts."""


@dataclass(frozen=True)
class Job:
    """One run: a function of data, estimator and seed.

    Parameters
    ----------
    method : str
        What tables call it; not part of the key.
    data : Facts
        The corpus.
    estimator : Spec
        The estimator as plain data.
    seed : int, default=0
        Seed of the estimator.
    n_jobs : int, default=1
        Number of threads. It changes the times and nothing else.
    measures : tuple of words, default=("ranking",)
        What is measured: words of ``MEASURES``.
    """

    method: str
    data: Facts
    estimator: Spec
    seed: int = 0
    n_jobs: int = 1
    measures: tuple[str, ...] = ("ranking",)

    @property
    def key(self) -> str:
        """A hash of everything that can change the result, the code of defrag included."""
        content = {
            **self._run(),
            "code": code(),
            "data": [self.data.fingerprint, self.data.A, self.data.B],
            "measures": sorted(self.measures),
        }
        text = json.dumps(content, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def to_json(self) -> dict[str, Any]:
        """Return the part of the record that is known before the run."""
        known = {"method": self.method, "data": asdict(self.data)}
        return {**self._run(), **known, "key": self.key, "measures": list(self.measures)}

    def _run(self) -> dict[str, Any]:
        run = {"estimator": self.estimator, "seed": self.seed, "n_jobs": self.n_jobs}
        return {"format": FORMAT, **run}


Record = dict[str, Any]
"""What is known of a run; see ``docs/experiments.md``."""

_FILE = "records.jsonl"
_REQUIRED = ("key", "method", "data", "estimator", "seed", "status")


class Store:
    """The records of a folder, by key.

    Parameters
    ----------
    folder : path
        Created if it does not exist. All files ``*.jsonl`` in it are read; new records are
        appended to ``records.jsonl``. The last record of a key counts.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> len(store), store.get("a key")
    (0, None)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._records: dict[str, Record] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            self._records.update({record["key"]: record for record in read_records(path)})

    def __len__(self) -> int:
        return len(self._records)

    def n_outdated(self) -> int:
        """Return how many records were made by other code than the installed one."""
        made_by = (record.get("versions", {}).get("code") for record in self._records.values())
        return sum(one != code() for one in made_by)

    def get(self, key: str) -> Record | None:
        """Return the record of a key, or None."""
        return self._records.get(key)

    def append(self, record: Record) -> None:
        """Add a record; it is on the disk when this returns, or an OSError says why not."""
        line = json.dumps(record, sort_keys=True, allow_nan=False).encode() + b"\n"
        path = self.folder / _FILE
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = _whole_lines(descriptor)
            os.ftruncate(descriptor, size)
            try:
                _write(descriptor, line)
                os.fsync(descriptor)
            except OSError as error:
                os.ftruncate(descriptor, size)  # no half line
                raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        finally:
            os.close(descriptor)
        self._records[record["key"]] = record


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read a file of records; raise FormatError if a line is not a record of this version."""
    name = os.fspath(path)
    lines = Path(path).read_bytes().split(b"\n")
    torn = lines.pop()
    if torn:
        warnings.warn(
            f"{name}:{len(lines) + 1}: dropped a record that was not written completely",
            FormatWarning,
            stacklevel=2,
        )
    return [_parse(name, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _parse(name: str, number: int, line: bytes) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise FormatError(name, f"not a record: {error}", number) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, dict) else type(record).__name__
        raise FormatError(name, f"a record must have format {FORMAT}, got {found!r}", number)
    for field in _REQUIRED:
        if field not in record:
            raise FormatError(name, f"a record must have {field!r}", number)
    return record


def _whole_lines(descriptor: int) -> int:
    """Return how many bytes of a file are whole lines."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        begin = max(0, end - 65536)
        place = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        end = begin
    return 0


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


# --- Means and deviations over seeds.


@dataclass(frozen=True)
class Statistic:
    """A mean over seeds.

    Attributes
    ----------
    mean : float
        The mean.
    deviation : float or None
        The standard deviation of a single run (n - 1 in the denominator); None for one run.
    n : int
        Number of runs.
    values : tuple of float
        The number of each run, in the order of the seeds.
    """

    mean: float
    deviation: float | None = None
    n: int = 1
    values: tuple[float, ...] = ()


def single(numbers: Mapping[str, float]) -> dict[str, Statistic]:
    """Return the numbers of a single run as statistics."""
    return {name: Statistic(value) for name, value in numbers.items()}


def difference(one: Statistic, other: Statistic) -> Statistic | None:
    """Return the mean difference of two methods over the same seeds, and its standard error.

    What has a single run, such as a file of predictions, is the same with every seed. None without
    the runs of both, an error of None after a single seed of both.

    Examples
    --------
    >>> difference(Statistic(2, 0.1, 3, (1, 2, 3)), Statistic(1, 0.2, 3, (0, 1, 2)))
    Statistic(mean=1.0, deviation=0.0, n=3, values=(1, 1, 1))
    """
    n = max(len(one.values), len(other.values))
    first, second = (a * n if len(a) == 1 else a for a in (one.values, other.values))
    if len(first) != len(second) or not first:
        return None
    pairs = tuple(a - b for a, b in zip(first, second, strict=True))
    error = statistics.stdev(pairs) / n**0.5 if n > 1 else None
    return Statistic(statistics.fmean(pairs), error, n, pairs)


def values_of(record: Record) -> dict[str, float]:
    """Return the numbers of a record that tables show, by name.

    Metrics have their own names; ``train_cpu``, ``train_wall``, ``predict_cpu``,
    ``predict_wall`` are seconds, ``predict_ms`` CPU milliseconds per point, ``peak_memory`` and
    ``model_bytes`` bytes, ``dimension`` the number of features that the model sees.
    """
    if record["status"] != "done":
        return {}
    if "training" not in record:  # predictions of another program
        return {name: float(one) for name, one in record["metrics"].items() if one is not None}
    training, prediction = record["training"], record["prediction"]
    groups = record.get("groups") or {}
    values = {
        **record["metrics"],
        **groups.get("quality", {}),
        "train_cpu": training["cpu"],
        "train_wall": training["wall"],
        "predict_cpu": prediction["cpu"],
        "predict_wall": prediction["wall"],
        "predict_ms": 1e3 * prediction["cpu"] / max(1, record["data"]["test_points"]),
        "peak_memory": record["peak_memory"],
        "model_bytes": record["model_bytes"],
        "dimension": groups.get("n_clusters") or record["data"]["features"],
        "cluster_cpu": groups.get("cpu") or 0.0,
        "file_cpu": training["cpu"] + record.get("reading", {}).get("cpu", 0.0),
    }
    values["learn_cpu"] = values["train_cpu"] - values["cluster_cpu"]
    return {name: float(value) for name, value in values.items() if value is not None}


def summarise(records: Iterable[Record]) -> dict[str, Statistic]:
    """Return mean and deviation of every number that all records of a method have.

    Parameters
    ----------
    records : iterable of dict
        Records of one method on one corpus, with different seeds; failed runs do not count.
    """
    rows = [values for record in records if (values := values_of(record))]
    names = [name for name in (rows[0] if rows else {}) if all(name in row for row in rows)]
    return {name: summarised([row[name] for row in rows]) for name in names}


def summarised(numbers: Sequence[float]) -> Statistic:
    """Return mean and deviation of the numbers of the runs of a method."""
    deviation = statistics.stdev(numbers) if len(numbers) > 1 else None
    return Statistic(statistics.fmean(numbers), deviation, len(numbers), tuple(numbers))


@dataclass(frozen=True)
class Result:
    """The runs of one method on one corpus, one record per seed."""

    method: str
    data: str
    records: list[Record]

    @property
    def statistics(self) -> dict[str, Statistic]:
        """Means and deviations over the seeds that did not fail."""
        return summarise(self.records)

    @property
    def errors(self) -> list[str]:
        """The different errors of runs that failed."""
        return sorted({one["error"] for one in self.records if one["status"] != "done"})

    def measured(self, name: str) -> list[dict[str, Any]]:
        """Return a measurement of the runs that did not fail and have it."""
        found = [one.get(name) for one in self.records if one["status"] == "done"]
        return [values for values in found if values]


def collect(runs: Iterable[tuple[str, str, Record]]) -> list[Result]:
    """Return runs (method, corpus and record) by method and corpus, in the order of the first."""
    results: dict[tuple[str, str], Result] = {}
    for method, data, record in runs:
        results.setdefault((method, data), Result(method, data, [])).records.append(record)
    return list(results.values())


# --- This machine, this process and the installed code, for records.

# Results do not depend on these rooms, nor on most of this one.
_NOT_CODE = frozenset({"annif", "cli", "serving"})
_MEASURING = frozenset({
    "measures.py", "peer_program.py", "peers.py", "text_program.py", "texts.py"
})  # fmt: skip


@cache
def code() -> str:
    """Return a fingerprint of the installed package, as far as results depend on it.

    The sources that train, predict and measure, and the compiled module: two states of the code
    have different fingerprints although they may have the same version. Studies and reports are
    not part of it, so that a method can be added to a study without running the others again.
    """
    root = Path(defrag.__file__).parent
    found = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.glob("_core*.so"), *root.glob("_core*.pyd")]):
        room, *_ = path.relative_to(root).parts
        if room in _NOT_CODE or (room == "lab" and path.name not in _MEASURING):
            continue
        found.update(f"{path.relative_to(root).as_posix()}\n".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    packages = {name: version(name) for name in ("defrag", "numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), "code": code(), **packages}


def machine() -> dict[str, Any]:
    """Return processor, number of cores, bytes of memory and system."""
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def costs(training: Any, prediction: Any, model: Any) -> dict[str, Any]:
    """Return the fields of a record on what a model has cost."""
    return {
        "training": training,
        "prediction": prediction,
        "peak_memory": peak_memory(),
        "model_bytes": size_of(model),
    }


def size_of(model: Any) -> int:
    """Return the bytes of the model file, or of the pickled model of another package."""
    if not hasattr(model, "save"):
        return len(pickle.dumps(model))
    with tempfile.TemporaryDirectory(prefix="defrag-") as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        return path.stat().st_size


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
