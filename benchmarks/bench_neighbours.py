"""Exact and approximate search of neighbours, among more and more vectors of SLEEC.

CPU milliseconds of a query on one thread, seconds to build the graph, and its recall. It requires
usearch.

    python benchmarks/bench_neighbours.py [--data debian]
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from common import cpu_seconds, unit
from defrag import _native, load_dataset
from defrag._native import RowPanels
from defrag.baselines import SLEEC
from defrag.baselines._neighbours import HnswIndex, restrict


def search(name: str) -> None:
    """Search among the vectors of one learner whose only cluster has all points."""
    data = load_dataset(name)
    X, Y, X_test = data.train.X, data.train.Y, data.test.X
    model = SLEEC(1, cluster_size=X.shape[0], random_state=0, n_jobs=1).fit(X, Y)
    learner = model.learners_[0]
    queries = _native.sparse_dense(
        restrict(unit(X_test[:2000]), learner.features), learner.weights, n_threads=1
    )
    vectors = RowPanels(learner.panels, len(learner.points)).unpack()
    order = np.random.default_rng(0).permutation(len(vectors))
    print(f"{'points':>10} {'exact ms':>9} {'hnsw ms':>9} {'build s':>9} {'recall@10':>9}")
    for n in (1000, 3000, 10_000, 30_000, len(vectors)):
        if n > len(vectors):
            continue
        some = np.ascontiguousarray(vectors[order[:n]])
        bias = (-0.5 * np.einsum("ij,ij->i", some, some)).astype(np.float32)
        panels = RowPanels.pack(some, bias)
        exact, (ids, _) = cpu_seconds(
            partial(_native.nearest_rows, queries, panels, n_best=10, n_threads=1), repeats=3
        )
        build, index = cpu_seconds(partial(HnswIndex.build, some, euclidean=True))
        fast, near = cpu_seconds(partial(index.nearest, queries, n_best=10, n_threads=1), repeats=3)
        recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(ids, near, strict=True)])
        ms = 1000 / len(queries)
        print(f"{n:>10} {exact * ms:>9.4f} {fast * ms:>9.4f} {build:>9.2f} {recall:>9.4f}",
              flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default="debian")
    search(parser.parse_args().data)


if __name__ == "__main__":
    main()
