"""napkinXC's probabilistic label tree with its defaults."""

from __future__ import annotations

import shutil

import numpy as np
from napkinxc.models import BR, PLT
from reporting import (
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


def run(kind: type[PLT | BR]) -> None:
    folder, repeats = arguments()
    X, Y, X_test = (load(folder, name) for name in ("X", "Y", "X_test"))
    label_lists = [part.tolist() for part in np.split(Y.indices, Y.indptr[1:-1])]
    saved = folder / "napkinxc-model"

    def train() -> PLT | BR:
        shutil.rmtree(saved, ignore_errors=True)
        model = kind(str(saved), seed=0, threads=1)
        model.fit(X, label_lists)
        return model

    train_cpu, model = least_cpu(train, repeats)
    model.load()

    def predict(rows: object) -> list[list[int]]:
        return model.predict(rows, top_k=TOP_K)

    predict_cpu, ranked = least_cpu(lambda: predict(X_test), 1)
    report(
        folder,
        best_labels(ranked, X_test.shape[0]),
        train_cpu=train_cpu,
        predict_cpu=predict_cpu,
        single_row_ms=single_row_ms(predict, single_rows(X_test)),
        model_bytes=folder_bytes(saved),
    )


if __name__ == "__main__":
    run(PLT)
