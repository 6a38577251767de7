"""PECOS XR-Linear: pifa label vectors, 16-way hierarchical k-means, leaves of 100."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear import XLinearModel
from reporting import (
    BEAM,
    TOP_K,
    arguments,
    best_labels,
    folder_bytes,
    least_cpu,
    load,
    report,
    single_row_ms,
    single_rows,
)


def main() -> None:
    folder, repeats = arguments()
    X, X_test = load(folder, "X"), load(folder, "X_test")
    Y = load(folder, "Y").tocsc()

    def train() -> XLinearModel:
        vectors = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=1)
        chain = Indexer.gen(
            vectors, indexer_type="hierarchicalkmeans", nr_splits=16, max_leaf_size=100, threads=1
        )
        return XLinearModel.train(X, Y, C=chain, threshold=0.1, threads=1)

    train_cpu, model = least_cpu(train, repeats)
    saved = folder / "pecos-model"
    model.save(str(saved))
    # Its fast predictor is the one that is read back in this mode.
    model = XLinearModel.load(str(saved), is_predict_only=True)

    def predict(rows: object) -> object:
        return model.predict(rows, only_topk=TOP_K, beam_size=BEAM, threads=1)

    predict_cpu, scores = least_cpu(lambda: predict(X_test), max(repeats, 3))
    ranked = (
        scores.indices[a:b][np.argsort(-scores.data[a:b], kind="stable")]
        for a, b in pairwise(scores.indptr)
    )
    report(
        folder,
        best_labels(ranked, X_test.shape[0]),
        train_cpu=train_cpu,
        predict_cpu=predict_cpu,
        single_row_ms=single_row_ms(predict, single_rows(X_test)),
        model_bytes=folder_bytes(saved),
    )


if __name__ == "__main__":
    main()
