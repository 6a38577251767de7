"""Train a label tree on synthetic data of any size, up to 10^6 labels and features.

At share 1: 2 * 10^6 points of about 40 non-zeros by Zipf's law, 10^6 features and as many labels;
the labels of a point are three of its words. Prints time, peak memory and size as JSON, and the
stages as they end; at other shares, all three axes shrink.

    python benchmarks/bench_synthetic.py [--share S] [--jobs N] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from defrag import LabelTree, load
from synthetic import power_law

N_POINTS, N_WIDE, PER_ROW, LABELS = 2_000_000, 1_000_000, 40, 3


def make_data(share: float) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return points and, as labels, three words of each point."""
    n_points, n_wide = int(N_POINTS * share), int(N_WIDE * share)
    X = power_law(n_wide, n_points * PER_ROW, per_row=PER_ROW)
    rng = np.random.default_rng(1)
    sizes = np.diff(X.indptr)
    places = (rng.random((n_points, LABELS)) * sizes[:, None]).astype(np.int64)
    labels = X.indices[X.indptr[:-1, None] + places]
    indptr = np.arange(0, n_points * LABELS + 1, LABELS, dtype=np.int64)
    Y = sparse.csr_array(
        (np.ones(labels.size, np.float32), labels.ravel(), indptr), shape=(n_points, n_wide)
    )
    Y.sum_duplicates()
    Y.data[:] = 1.0
    return X, Y


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    found: dict[str, float] = {"share": options.share}

    def say(**values: float) -> None:
        found.update({name: round(value, 2) for name, value in values.items()})
        sys.stderr.write(f"{values}\n")

    X, Y = make_data(options.share)
    say(nnz=X.nnz, labels_with_points=len(np.unique(Y.indices)), data_mb=peak_mb())
    matrices = sum(a.nbytes for M in (X, Y) for a in (M.data, M.indices, M.indptr)) / 2**20
    wall, cpu = time.perf_counter(), time.process_time()
    model = LabelTree(random_state=0, n_jobs=options.jobs).fit(X, Y)
    say(fit_wall=time.perf_counter() - wall, fit_cpu=time.process_time() - cpu)
    say(peak_mb=peak_mb(), matrices_mb=matrices)
    with tempfile.TemporaryDirectory() as folder:
        path = (options.keep or Path(folder)) / "model"
        model.save(path)
        say(model_mb=path.stat().st_size / 2**20)
        del model
        wall = time.perf_counter()
        mapped = load(path)
        say(load_wall=time.perf_counter() - wall)
        rows = X[:20_000]
        cpu = time.process_time()
        labels, _ = mapped.predict_topk(rows, k=5)
        say(rows_per_cpu_second=rows.shape[0] / (time.process_time() - cpu))
        true = np.asarray(Y[:20_000][np.arange(20_000), np.maximum(labels[:, 0], 0)]).ravel()
        say(precision_at_1_on_training_points=100 * float(true.mean()))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
