"""Explanations: time per label, agreement with predictions, and what removing features does.

For test rows, the score of the best label is explained, the three features with the largest
contributions are removed, and as a rival three random ones. Reads the data sets in the folder
DEFRAG_DATA.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from common import cpu_seconds
from defrag import Agglomerated, DiSMEC, Focused, LabelTree, load_dataset
from defrag.baselines import LEML, FastXML

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier

MODELS = {
    "LabelTree": LabelTree(),
    "LabelTree 3 trees": LabelTree(3),
    "Focused": Focused(LabelTree(3)),
    "Agglomerated": Agglomerated(LabelTree()),
    "DiSMEC": DiSMEC(),
    "LEML": LEML(),
    "FastXML": FastXML(20),
}


def without(row: sparse.csr_array, features: np.ndarray) -> sparse.csr_array:
    """Return a row without some features."""
    kept = ~np.isin(row.indices, features)
    indptr = np.array([0, np.count_nonzero(kept)])
    return sparse.csr_array((row.data[kept], row.indices[kept], indptr), shape=row.shape)


def deletion(model: Classifier, rows: list[sparse.csr_array]) -> tuple[int, float, float]:
    """Return how often the three largest beat three random ones, and both mean losses."""
    draw = np.random.default_rng(0)
    wins, losses = 0, np.zeros((len(rows), 2))
    for number, row in enumerate(rows):
        found = model.explain(row)
        largest = found.features[np.argsort(-found.contributions)[:3]]
        for place, gone in enumerate((largest, draw.choice(row.indices, 3, replace=False))):
            rest = model._explainer(row, np.array([found.label_id], np.int32), 5)
            losses[number, place] = found.score - rest.scores(without(row, gone))[0, 0]
        wins += losses[number, 0] > losses[number, 1]
    return wins, *losses.mean(axis=0)


def bench(data: str, names: list[str], n_rows: int) -> None:
    dataset = load_dataset(data)
    train, test = dataset.train, dataset.test
    long_enough = np.flatnonzero(np.diff(test.X.indptr) >= 6)
    chosen = np.random.default_rng(0).choice(long_enough, n_rows, replace=False)
    rows = [test.X[[i]] for i in np.sort(chosen)]
    mean = np.mean([row.nnz for row in rows])
    print(f"{data}: {n_rows} test rows of {mean:.0f} features; ms of CPU time, one thread")
    print(f"{'':18s}{'best label':>11s}{'given':>9s}"
          f"{'of five':>9s}{'sum off':>10s}{'score off':>11s}"
          f"{'3 largest lose more':>21s}{'mean losses':>16s}")  # fmt: skip
    for name in names:
        model = MODELS[name].set_params(random_state=0).fit(train.X, train.Y)
        model.explain(rows[0])  # builds what single rows share
        few = rows[: max(10, n_rows // 10)] if name == "FastXML" else rows
        alone, ones = cpu_seconds(lambda few=few, m=model: [m.explain(row) for row in few])
        given, _ = cpu_seconds(
            lambda few=few, m=model, ones=ones: [
                m.explain(row, one.label_id) for row, one in zip(few, ones, strict=True)
            ]
        )
        five, _ = cpu_seconds(lambda few=few, m=model: [m.explain(row, k=5) for row in few])
        predicted = [model.predict_topk(row, k=1)[1][0, 0] for row in few]
        off = max(abs(one.base + one.contributions.sum() - one.score) for one in ones)
        score_off = max(abs(one.score - s) for one, s in zip(ones, predicted, strict=True))
        wins, largest, random = deletion(model, few)
        print(f"{name:18s}{1e3 * alone / len(few):11.3f}{1e3 * given / len(few):9.3f}"
              f"{1e3 * five / len(few) / 5:9.3f}"
              f"{off:10.0e}{score_off:11.0e}{100 * wins / len(few):20.1f}%"
              f"{largest:9.3f}{random:7.3f}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["debian", "eurlex-4k"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--rows", type=int, default=500)
    arguments = parser.parse_args()
    for data in arguments.data:
        bench(data, arguments.models, arguments.rows)


if __name__ == "__main__":
    main()
