"""One run of another program on raw texts: its training and prediction, as JSON.

    PYTHON text_program.py PROGRAM FOLDER

This file is run as a script, in an environment that has the program and no defrag. It reads
``train.json``, ``dev.json`` and ``test.json`` of the folder (texts, and labels as numbers), writes
the best labels of the last two and their scores to ``dev.npz`` and ``test.npz``, and prints one
line. All programs have one thread. Settings are those that their own documentation recommends for
many labels; ``settings`` of the answer says which, and a small grid is searched on the dev texts.
"""

from __future__ import annotations

import itertools
import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

DEPTH = 50


class Texts:
    """Texts with labels as numbers."""

    def __init__(self, path: Path) -> None:
        found = json.loads(path.read_text(encoding="utf-8"))
        self.texts: list[str] = found["texts"]
        self.labels: list[list[int]] = found["labels"]

    def matrix(self, n_labels: int) -> Any:
        """Return the labels as a matrix."""
        sizes = np.cumsum([0, *map(len, self.labels)])
        columns = np.array([label for row in self.labels for label in row], dtype=np.int32)
        shape = len(self.labels), n_labels
        return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, sizes), shape=shape)


def best_of(scores: Any) -> tuple[Any, Any]:
    """Return the best columns of each row of a dense or sparse matrix, and their scores."""
    if not isinstance(scores, np.ndarray):
        return ranked(pairs_of(scores))
    last = min(DEPTH, scores.shape[1]) - 1
    some = np.argpartition(-scores, last, axis=1)[:, : last + 1]
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    labels = np.take_along_axis(some, order, axis=1)
    return labels.astype(np.int32), np.take_along_axis(scores, labels, axis=1)


def pairs_of(matrix: Any) -> list[list[tuple[int, float]]]:
    """Return the columns and values of each row of a sparse matrix."""
    pairs = list(zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True))
    return [pairs[begin:end] for begin, end in itertools.pairwise(matrix.indptr.tolist())]


def ranked(answers: Any) -> tuple[Any, Any]:
    """Return lists of labels with scores as two arrays, padded with -1 and minus infinity."""
    labels = np.full((len(answers), DEPTH), -1, dtype=np.int32)
    scores = np.full((len(answers), DEPTH), -np.inf)
    for row, answer in enumerate(answers):
        best = sorted(answer, key=lambda pair: -pair[1])[:DEPTH]
        labels[row, : len(best)] = [pair[0] for pair in best]
        scores[row, : len(best)] = [pair[1] for pair in best]
    return labels, scores


def tf_idf(**settings: Any) -> Any:
    """Return scikit-learn's vectoriser with the settings of its own example for texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

    return TfidfVectorizer(**{"sublinear_tf": True, "min_df": 5, "max_df": 0.5, **settings})


def dump(content: Any, path: Path) -> None:
    """Write by pickle, without a copy in memory."""
    with path.open("wb") as out:
        pickle.dump(content, out, protocol=5)


# Each program takes the training texts, the number of labels, a folder for the model and settings,
# and returns a function from texts to rankings, and one that writes the model, which no clock sees.


def fasttext(train: Texts, _: int, folder: Path, *, lr: float, loss: str) -> Any:
    """Train as the tutorial does: lower case, punctuation apart, bigrams, 25 epochs."""
    import re  # noqa: PLC0415

    import fasttext as program  # noqa: PLC0415

    def line(text: str) -> str:
        return " ".join(re.sub(r"([.!?,'/()])", r" \1 ", text).lower().split())

    with (folder / "train.txt").open("w", encoding="utf-8") as out:
        for text, labels in zip(train.texts, train.labels, strict=True):
            out.write(" ".join(f"__label__{one}" for one in labels) + f" {line(text)}\n")
    options = {"epoch": 25, "wordNgrams": 2, "bucket": 200_000, "dim": 50, "thread": 1}
    model = program.train_supervised(str(folder / "train.txt"), lr=lr, loss=loss, **options)
    (folder / "train.txt").unlink()

    def predict(texts: list[str]) -> Any:
        names, scores = model.predict([line(text) for text in texts], k=DEPTH)
        return ranked([
            [(int(name[9:]), float(score)) for name, score in zip(*row, strict=True)]
            for row in zip(names, scores, strict=True)
        ])  # fmt: skip

    return predict, lambda: model.save_model(str(folder / "model.bin"))


def sklearn(train: Texts, n_labels: int, folder: Path, *, kind: str, **settings: Any) -> Any:
    """Train one linear classifier per label on tf-idf."""
    from sklearn import linear_model, svm  # noqa: PLC0415
    from sklearn.multiclass import OneVsRestClassifier  # noqa: PLC0415

    words = tf_idf()
    X, Y = words.fit_transform(train.texts), train.matrix(n_labels)
    used = np.flatnonzero(np.bincount(Y.indices, minlength=n_labels))
    one = getattr(linear_model, kind, None) or getattr(svm, kind)
    model = OneVsRestClassifier(one(random_state=0, **settings)).fit(X, Y[:, used])

    def predict(texts: list[str]) -> Any:
        labels, scores = best_of(np.asarray(model.decision_function(words.transform(texts))))
        return used[labels].astype(np.int32), scores

    return predict, lambda: dump((words, model), folder / "model")


def omikuji(train: Texts, n_labels: int, folder: Path, **settings: Any) -> Any:
    """Train Parabel or Bonsai on tf-idf of words and pairs, as Annif does."""
    import omikuji as program  # noqa: PLC0415

    words = tf_idf(ngram_range=(1, 2))
    X = words.fit_transform(train.texts)
    with (folder / "train.txt").open("w") as out:
        out.write(f"{np.count_nonzero(np.diff(X.indptr))} {X.shape[1]} {n_labels}\n")
        for row, labels in zip(pairs_of(X), train.labels, strict=True):
            if row:  # it refuses texts without features
                out.write(",".join(map(str, labels)) + " "
                          + " ".join(f"{i}:{x:.6f}" for i, x in row) + "\n")  # fmt: skip
    hyper = program.Model.default_hyper_param()
    for name, value in settings.items():
        setattr(hyper, name, value)
    model = program.Model.train_on_data(str(folder / "train.txt"), hyper, n_threads=1)
    (folder / "train.txt").unlink()

    def predict(texts: list[str]) -> Any:
        rows = pairs_of(words.transform(texts))
        return ranked([model.predict(row, beam_size=10, top_k=DEPTH) for row in rows])

    def save() -> None:
        model.save(str(folder / "model"))
        dump(words, folder / "words")

    return predict, save


def libmultilabel(train: Texts, _: int, folder: Path, *, kind: str) -> Any:
    """Train its linear tree, or one classifier per label, on its own tf-idf."""
    import psutil  # noqa: PLC0415
    from libmultilabel import linear  # noqa: PLC0415

    psutil.cpu_count = lambda **_: 1  # the only way to give it one thread
    words = linear.Preprocessor()
    names = [[str(label) for label in row] for row in train.labels]
    given = {"data_format": "txt", "train": {"x": train.texts, "y": names}}
    data = words.fit_transform(given)["train"]
    model = getattr(linear, kind)(data["y"], data["x"])
    classes = np.array([int(name) for name in words.label_mapping])

    def predict(texts: list[str]) -> Any:
        rows = words.vectorizer.transform(texts)
        labels, scores = best_of(np.asarray(linear.predict_values(model, rows)))
        return classes[labels].astype(np.int32), scores

    return predict, lambda: dump((words, model), folder / "model")


def pecos(train: Texts, n_labels: int, folder: Path, **settings: Any) -> Any:
    """Train XR-Linear on its own tf-idf of words and pairs, the defaults of its text2text."""
    from pecos.utils.featurization.text.vectorizers import Vectorizer  # noqa: PLC0415
    from pecos.xmc import Indexer, LabelEmbeddingFactory  # noqa: PLC0415
    from pecos.xmc.xlinear import XLinearModel  # noqa: PLC0415

    base = [{"ngram_range": [1, 2], "max_df_ratio": 0.98, "analyzer": "word"}]
    given = {"type": "tfidf", "kwargs": {"base_vect_configs": base, "threads": 1}}
    words = Vectorizer.train(train.texts, given, dtype=np.float32)
    X, Y = words.predict(train.texts, threads=1), train.matrix(n_labels).tocsc()
    chain = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa", threads=1), threads=1)
    model = XLinearModel.train(X, Y, C=chain, threads=1, **settings)
    model.save(str(folder / "model"))  # its fast predictor is the one that is read back
    fast = XLinearModel.load(str(folder / "model"), is_predict_only=True)

    def predict(texts: list[str]) -> Any:
        rows = words.predict(texts, threads=1)
        return best_of(fast.predict(rows, only_topk=DEPTH, beam_size=20, threads=1))

    return predict, lambda: words.save(str(folder / "words"))


def napkinxc(train: Texts, _: int, folder: Path, **settings: Any) -> Any:
    """Train a probabilistic label tree with the defaults on tf-idf of words and pairs."""
    from napkinxc.models import PLT  # noqa: PLC0415

    words = tf_idf(ngram_range=(1, 2))
    X = words.fit_transform(train.texts)
    model = PLT(str(folder / "model"), seed=0, threads=1, **settings)
    model.fit(X, train.labels)
    model.load()

    def predict(texts: list[str]) -> Any:
        rows = words.transform(texts)
        answers = [model.predict_proba(rows[i : i + 100], top_k=DEPTH)
                   for i in range(0, rows.shape[0], 100)]  # fmt: skip
        return ranked([pairs for some in answers for pairs in some])

    return predict, lambda: dump(words, folder / "words")


_BONSAI = {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}
PROGRAMS: dict[str, tuple[str, Any, list[dict[str, Any]]]] = {
    "fasttext": ("fasttext-numpy2", fasttext,
                 [{"lr": lr, "loss": "ova"} for lr in (0.5, 1.0)]),
    "sklearn-sgd": ("scikit-learn", partial(sklearn, kind="SGDClassifier"),
                    [{"alpha": 1e-5}]),
    "sklearn-svc": ("scikit-learn", partial(sklearn, kind="LinearSVC"), [{"C": 1.0}]),
    "sklearn-logistic": ("scikit-learn", partial(sklearn, kind="LogisticRegression"),
                         [{"C": 10.0, "solver": "liblinear"}]),
    "omikuji-parabel": ("omikuji", omikuji, [{}]),
    "omikuji-bonsai": ("omikuji", omikuji, [_BONSAI]),
    "libmultilabel-tree": ("libmultilabel", partial(libmultilabel, kind="train_tree"), [{}]),
    "libmultilabel-1vsrest": ("libmultilabel", partial(libmultilabel, kind="train_1vsrest"), [{}]),
    "pecos-texts": ("libpecos", pecos, [{"threshold": 0.1}]),
    "napkinxc-plt": ("napkinxc", napkinxc, [{}]),
}  # fmt: skip
"""Distribution, function and grid of settings of each program."""


def _gain(labels: Any, gold: list[list[int]]) -> float:
    """Return the nDCG@5 by which settings are chosen."""
    discounts = 1.0 / np.log2(np.arange(2, 7))
    found = [
        float(discounts[np.isin(row[:5], true)].sum() / discounts[: len(true)].sum())
        for row, true in zip(labels, gold, strict=True)
        if true
    ]
    return float(np.mean(found))


def _run(name: str, folder: Path) -> dict[str, Any]:
    from peer_program import described, timed  # noqa: PLC0415 - beside this file

    package, learn, grid = PROGRAMS[name]
    train, dev, test = (Texts(folder / f"{part}.json") for part in ("train", "dev", "test"))
    n_labels = int(json.loads((folder / "n_labels.json").read_text()))
    best: tuple[Any, ...] = (-1.0,)
    for number, settings in enumerate(grid):
        place = folder / f"model{number}"
        place.mkdir()
        training, (predict, save) = timed(partial(learn, train, n_labels, place, **settings))
        save()
        of_dev = predict(dev.texts)
        gain = _gain(of_dev[0], dev.labels)
        if gain > best[0]:
            best = gain, settings, training, predict, of_dev, place
    _, settings, training, predict, of_dev, place = best
    prediction, of_test = timed(predict, test.texts)
    for part, (labels, scores) in (("dev", of_dev), ("test", of_test)):
        np.savez(folder / f"{part}.npz", labels=labels, scores=scores)
    tried = {"tried": len(grid), **settings}
    costs = {"training": training, "prediction": prediction}
    return {**costs, "settings": tried, **described(package, place)}


if __name__ == "__main__":
    from peer_program import answer

    answer(_run)
