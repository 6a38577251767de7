"""omikuji with its defaults: three balanced binary trees (Parabel)."""

from __future__ import annotations

import omikuji
from omikuji import ffi, lib
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
    X_test = load(folder, "X_test")
    # Its Python method reads the text file and trains in one call; only the training counts.
    pool = omikuji._ThreadPoolHandle(1, initialize=True)  # noqa: SLF001 - no public way
    data = lib.load_omikuji_data_set(
        ffi.new("char[]", str(folder / "train.txt").encode()), pool.ptr
    )
    settings = omikuji.Model.default_hyper_param()
    settings.n_trees = 3

    def train() -> omikuji.Model:
        return omikuji.Model(lib.train_omikuji_model(data, settings, pool.ptr), pool)

    train_cpu, model = least_cpu(train, repeats)
    saved = folder / "omikuji-model"
    saved.mkdir()
    model.save(str(saved))

    def predict(pairs: list[tuple[int, float]]) -> list[tuple[int, float]]:
        return model.predict(pairs, beam_size=BEAM, top_k=TOP_K)

    def pairs_of(row: object) -> list[tuple[int, float]]:
        return list(zip(row.indices.tolist(), row.data.tolist(), strict=True))

    # It has no call for many rows. Making its pairs is not counted.
    rows = [pairs_of(X_test[[i]]) for i in range(X_test.shape[0])]
    predict_cpu, answers = least_cpu(lambda: [predict(row) for row in rows], 1)
    ranked = ([label for label, _ in answer] for answer in answers)
    report(
        folder,
        best_labels(ranked, X_test.shape[0]),
        train_cpu=train_cpu,
        predict_cpu=predict_cpu,
        single_row_ms=single_row_ms(predict, [pairs_of(row) for row in single_rows(X_test)]),
        model_bytes=folder_bytes(saved),
    )


if __name__ == "__main__":
    main()
