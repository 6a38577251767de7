"""One run of another program: its training and prediction on files, as JSON.

    PYTHON peer_program.py PROGRAM FOLDER

This file is run as a script, in an environment that has the program and no defrag: it reads
``X.npz``, ``Y.npz``, ``X_test.npz``, ``seed.txt`` and ``train.txt`` of the folder, writes
``predictions.npy`` and prints one line. All programs have their defaults, or settings that their
documentation reports results of, a beam of ten and one thread; omikuji takes no seed, and every run
of it is another draw. ``fasttext`` reads ``points.txt`` and writes ``vectors.npy``.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

TOP_K = 5
BEAM = 10
N_SINGLE = 500
"""How many test points are predicted one by one."""


class _Inputs:
    """The matrices of a folder, read before any clock runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seed = int((folder / "seed.txt").read_text())
        self.X, self.Y, self.X_test = (
            sparse.csr_matrix(sparse.load_npz(folder / f"{name}.npz"))
            for name in ("X", "Y", "X_test")
        )
        self.rows = [self.X_test[[i]] for i in range(min(N_SINGLE, self.X_test.shape[0]))]


def _pecos(data: _Inputs, model_folder: Path) -> dict[str, Any]:
    """Run XR-Linear: pifa label vectors, 16-way hierarchical k-means, leaves of 100."""
    from pecos.xmc import Indexer, LabelEmbeddingFactory  # noqa: PLC0415
    from pecos.xmc.xlinear import XLinearModel  # noqa: PLC0415

    Y = data.Y.tocsc()

    def train() -> Any:
        vectors = LabelEmbeddingFactory.create(Y, data.X, method="pifa", threads=1)
        chain = Indexer.gen(
            vectors, indexer_type="hierarchicalkmeans", nr_splits=16, max_leaf_size=100, threads=1,
            seed=data.seed,
        )  # fmt: skip
        return XLinearModel.train(data.X, Y, C=chain, threshold=0.1, threads=1)

    def predict(rows: Any) -> Any:
        return model.predict(rows, only_topk=TOP_K, beam_size=BEAM, threads=1)

    training, model = timed(train)
    model.save(str(model_folder))
    # Its fast predictor is the one that is read back in this mode.
    model = XLinearModel.load(str(model_folder), is_predict_only=True)
    prediction, scores = timed(predict, data.X_test)
    ranked = (
        scores.indices[a:b][np.argsort(-scores.data[a:b], kind="stable")]
        for a, b in pairwise(scores.indptr)
    )
    return _found(data, training, prediction, ranked, _median_ms(predict, data.rows))


def _omikuji(data: _Inputs, model_folder: Path, **other: Any) -> dict[str, Any]:
    """Run omikuji: three balanced binary trees (Parabel), or with other settings."""
    import omikuji  # noqa: PLC0415
    from omikuji import ffi, lib  # noqa: PLC0415

    # Its Python method reads the text file and trains in one call; only the training counts.
    pool = omikuji._ThreadPoolHandle(1, initialize=True)  # noqa: SLF001 - no public way
    path = ffi.new("char[]", str(data.folder / "train.txt").encode())
    points = lib.load_omikuji_data_set(path, pool.ptr)
    settings = omikuji.Model.default_hyper_param()
    for name, value in {"n_trees": 3, **other}.items():
        setattr(settings, name, value)

    def train() -> Any:
        return omikuji.Model(lib.train_omikuji_model(points, settings, pool.ptr), pool)

    def predict(pairs: list[tuple[int, float]]) -> Any:
        return model.predict(pairs, beam_size=BEAM, top_k=TOP_K)

    def pairs_of(row: Any) -> list[tuple[int, float]]:
        return list(zip(row.indices.tolist(), row.data.tolist(), strict=True))

    training, model = timed(train)
    model_folder.mkdir()
    model.save(str(model_folder))
    # It has no call for many rows. Making its pairs is not counted.
    rows = [pairs_of(data.X_test[[i]]) for i in range(data.X_test.shape[0])]
    prediction, answers = timed(lambda: [predict(row) for row in rows])
    ranked = ([label for label, _ in answer] for answer in answers)
    return _found(data, training, prediction, ranked, _median_ms(predict, rows[:N_SINGLE]))


def _napkinxc(data: _Inputs, model_folder: Path, **settings: Any) -> dict[str, Any]:
    """Run the probabilistic label tree of napkinXC with its defaults, or with other settings."""
    from napkinxc.models import PLT  # noqa: PLC0415

    label_lists = [part.tolist() for part in np.split(data.Y.indices, data.Y.indptr[1:-1])]

    def train() -> Any:
        made = PLT(str(model_folder), seed=data.seed, threads=1, **settings)
        made.fit(data.X, label_lists)
        return made

    def predict(rows: Any) -> Any:
        return model.predict(rows, top_k=TOP_K)

    training, model = timed(train)
    model.load()
    prediction, ranked = timed(predict, data.X_test)
    return _found(data, training, prediction, ranked, _median_ms(predict, data.rows))


def _fasttext(folder: Path) -> None:
    """Learn word vectors of the numbers of features, with the defaults of its skip-gram model."""
    import fasttext as program  # noqa: PLC0415

    options = {"model": "skipgram", "minCount": 1, "maxn": 0, "thread": 1, "verbose": 0}
    model = program.train_unsupervised(str(folder / "points.txt"), **options)
    known = set(model.words)
    vectors = np.zeros((int((folder / "n_features.txt").read_text()), model.get_dimension()))
    for word in known - {"</s>"}:
        vectors[int(word)] = model.get_word_vector(word)
    np.save(folder / "vectors.npy", vectors.astype(np.float32))


PROGRAMS: dict[str, tuple[str, Callable[[_Inputs, Path], dict[str, Any]]]] = {
    "pecos": ("libpecos", _pecos),
    "omikuji": ("omikuji", _omikuji),
    "omikuji-wide": ("omikuji", partial(_omikuji, cluster_k=100)),
    "omikuji-unbalanced": (
        "omikuji", partial(_omikuji, cluster_k=100, cluster_balanced=False, max_depth=3)
    ),
    "napkinxc": ("napkinxc", _napkinxc),
    "napkinxc-three": ("napkinxc", partial(_napkinxc, arity=16, ensemble=3)),
}  # fmt: skip
"""Distribution and function of each program."""


def _found(
    data: _Inputs, training: Any, prediction: Any, ranked: Iterable[Any], single_ms: float
) -> dict[str, Any]:
    """Write the best labels, -1 where there are fewer, and return the rest."""
    labels = np.full((data.X_test.shape[0], TOP_K), -1, dtype=np.int32)
    for row, found in zip(labels, ranked, strict=True):
        first = list(found)[:TOP_K]
        row[: len(first)] = first
    np.save(data.folder / "predictions.npy", labels)
    return {"training": training, "prediction": prediction, "single_row_ms": single_ms}


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[dict[str, float], Any]:
    """Return the CPU and wall seconds of a call, and its result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work(*arguments)
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}, result


def _median_ms(call: Callable[[Any], Any], rows: Iterable[Any]) -> float:
    """Return the median CPU time of a call with one row."""
    times = []
    for row in rows:
        start = time.process_time_ns()
        call(row)
        times.append(time.process_time_ns() - start)
    return statistics.median(times) / 1e6


def end_with_the_caller() -> None:
    """End this process when its standard input, which the caller holds, is closed."""
    sys.stdin.read()
    os._exit(1)


def peak_memory() -> int:
    """Return the largest number of bytes that this process has had in memory so far.

    On Linux the figure of the process itself: that of ``getrusage`` begins with the memory of
    the process that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


def answer(work: Callable[[str, Path], dict[str, Any]]) -> None:
    """Print what a function returns for the program and the folder of the command line."""
    threading.Thread(target=end_with_the_caller, daemon=True).start()
    # Only results go to standard output; everything that the programs print goes to stderr.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        json.dump(work(sys.argv[1], Path(sys.argv[2])), out)


def described(package: str, model_folder: Path) -> dict[str, Any]:
    """Return the size of a model, the memory so far, and the version of a program."""
    files = [file for file in model_folder.rglob("*") if file.is_file()]
    return {
        "model_bytes": sum(file.stat().st_size for file in files),
        "peak_memory": peak_memory(),
        "version": importlib.metadata.version(package),
    }


def _run(name: str, folder: Path) -> dict[str, Any]:
    if name == "fasttext":
        _fasttext(folder)
        return {}
    package, run = PROGRAMS[name]
    found = run(_Inputs(folder), folder / "model")
    return {**found, **described(package, folder / "model")}


if __name__ == "__main__":
    answer(_run)
