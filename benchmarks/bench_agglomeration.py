"""What clustering features costs, and how it compares with scikit-learn's clusterings.

Two tables: time and memory on synthetic data up to a million features and a hundred million
non-zeros; and the same number of groups found by scikit-learn, where that can run at all. CPU
seconds, one thread. What clustering costs on real data is part of ``defrag reproduce``.

    python benchmarks/bench_agglomeration.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
from typing import Any

import numpy as np

from common import cpu_seconds
from defrag import Defrag, load_dataset
from defrag.metrics import balance, loss_of_mutual_information
from synthetic import power_law

SIZES = [
    (10**4, 10**6),
    (10**4, 10**7),
    (10**5, 10**7),
    (10**6, 10**7),
    (10**5, 10**8),
    (10**6, 10**8),
]


def one_size(n_features: int, nnz: int) -> dict[str, float]:
    """Cluster one synthetic set in this process, whose peak memory is then the answer."""
    X = power_law(n_features, nnz)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, fitted = cpu_seconds(Defrag(sample_points=1.0, random_state=0).fit, X)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sizes = fitted.tree_.end - fitted.tree_.begin
    inner = fitted.tree_.first_child >= 0
    return {
        "nnz": X.nnz,
        "levels": math.ceil(math.log2(n_features / 8)),
        "seconds": seconds,
        "rounds": float(np.average(fitted.tree_.n_rounds[inner], weights=sizes[inner])),
        "data_mb": (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20,
        "before_mb": before / 1024,
        "peak_mb": peak / 1024,
    }


def synthetic_data(sizes: list[tuple[int, int]]) -> None:
    print("\nSynthetic power law, all points used: O(nnz log d)")
    print(
        f"{'d':>9} {'nnz':>11} {'CPU s':>8} {'ns/nnz':>7} {'levels':>6} {'rounds':>6} "
        f"{'ns/nnz/level/round':>18} {'data MB':>8} {'peak MB':>8}"
    )
    for n_features, nnz in sizes:
        command = [sys.executable, __file__, "--one", str(n_features), str(nnz)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(run.stdout)
        per_nnz = found["seconds"] / found["nnz"] * 1e9
        print(
            f"{n_features:>9,} {found['nnz']:>11,} {found['seconds']:>8.2f} {per_nnz:>7.0f} "
            f"{found['levels']:>6} {found['rounds']:>6.1f} "
            f"{per_nnz / found['levels'] / found['rounds']:>18.2f} "
            f"{found['data_mb']:>8.0f} {found['peak_mb']:>8.0f}",
            flush=True,
        )


def against_scikit_learn() -> None:
    """Compare on EURLex-4K at K = 1,024 and on the 5,000 heaviest words of debian."""
    from sklearn.cluster import BisectingKMeans, FeatureAgglomeration, MiniBatchKMeans  # noqa: PLC0415
    from sklearn.preprocessing import normalize  # noqa: PLC0415

    print("\nSame data, same number of groups, same unit vectors of a quarter of the points")
    print(f"{'data':<12} {'method':<24} {'CPU s':>8} {'ratio':>7} {'LMI':>6} {'balance':>8}")
    for name in ("eurlex-4k", "debian"):
        data = load_dataset(name)
        X, Y = data.train.X, data.train.Y
        if X.shape[1] > 5000:
            X = X[:, np.sort(np.argsort(-np.bincount(X.indices, minlength=X.shape[1]))[:5000])]
        volume = np.abs(X).sum(axis=1)
        sample = np.sort(np.argsort(-volume, kind="stable")[: X.shape[0] // 4])
        vectors = normalize(X[sample].T.tocsr())
        ours, fitted = cpu_seconds(Defrag(random_state=0).fit, X, Y, repeats=3)
        K = fitted.n_clusters_
        rivals: list[tuple[str, Any, Any]] = [
            ("MiniBatchKMeans", MiniBatchKMeans(K, random_state=0, n_init=1), vectors),
            ("BisectingKMeans", BisectingKMeans(K, random_state=0), vectors),
            ("FeatureAgglomeration", FeatureAgglomeration(K), vectors.toarray().T),
        ]
        rows = [("defrag Defrag", ours, fitted.labels_)]
        for label, rival, data_of_rival in rivals:
            seconds, found = cpu_seconds(rival.fit, data_of_rival)
            rows.append((label, seconds, found.labels_))
        for label, seconds, labels in rows:
            lost = loss_of_mutual_information(X, Y, labels)
            print(
                f"{name:<12} {label:<24} {seconds:>8.2f} {seconds / ours:>7.1f} {lost:>6.3f} "
                f"{balance(labels, K):>8.1f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out 10^8 non-zeros")
    parser.add_argument("--one", nargs=2, type=int, metavar=("FEATURES", "NNZ"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_size(*options.one)))
        return
    synthetic_data([size for size in SIZES if size[1] < 10**8 or not options.quick])
    against_scikit_learn()


if __name__ == "__main__":
    main()
