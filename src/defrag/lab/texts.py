"""Runs on raw texts, from files to answers: data sets, and what a run measures.

``measures`` calls :func:`run_on_texts` in the process of a run; ``planning`` makes a
:class:`TextCorpus` of a data set by name. Programs of others are in ``peers``.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from defrag.io import LabelledTexts, load_dataset, read_texts
from defrag.lab.corpus import Corpus, Facts, corpus_of_texts, indicators, some_texts
from defrag.lab.peer_program import timed
from defrag.lab.peers import TEXT_PEERS, run_text_peer
from defrag.lab.records import costs
from defrag.metrics import evaluate
from defrag.metrics._ranked import hits_of
from defrag.specs import build
from defrag.text.answers import as_matrix, best_cut
from defrag.text.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from defrag.specs import Spec
    from defrag.text import TextClassifier
    from defrag.typing import Csr

DEPTH = 50
"""How many labels of a text are ranked."""

_FILES = {
    "eurlex57k": ("{}.jsonl.xz", ("train", "dev", "test"), "thesaurus.jsonl.xz"),
    "tibkat-core": ("{}.raw.jsonl.xz", ("train", "", "test"), "thesaurus.jsonl.xz"),
    "debian-deps": ("{}.raw.jsonl.xz", ("train", "", "test"), ""),
    "makupalat": ("makupalat-{}.tsv.xz", ("train", "validate", "test"), ""),
}
"""Data sets of texts: their files, the names of three parts, and that of the thesaurus."""

TEXT_SETS = tuple(_FILES)

_WHERE = "texts.json"
# Of all texts to answers, by kind of estimator; others take about half a second.
_SECONDS_PER_MEGABYTE = {
    "fasttext": 20.0, "sklearn-sgd": 60.0, "sklearn-svc": 300.0, "sklearn-logistic": 300.0,
    "omikuji-parabel": 15.0, "omikuji-bonsai": 15.0, "libmultilabel-tree": 15.0,
    "libmultilabel-1vsrest": 100.0, "pecos-texts": 6.0, "napkinxc-plt": 10.0,
}  # fmt: skip

FREQUENCIES = {"unseen": 0, "1-2": 1, "3-10": 3, "more": 11}
"""Groups of labels by their training texts: the name, and the least number."""


@dataclass(frozen=True)
class TextFiles:
    """The files of a data set; ``dev`` and ``thesaurus`` may be empty."""

    train: str
    dev: str
    test: str
    thesaurus: str

    @classmethod
    def of(cls, name: str) -> TextFiles:
        """Return the files of a data set in the folder ``DEFRAG_DATA``."""
        place = os.environ.get("DEFRAG_DATA")
        if not place:
            raise FileNotFoundError(
                f"the texts of {name!r} are not bundled: set DEFRAG_DATA to their folder"
            )
        form, parts, thesaurus = _FILES[name]
        names = [form.format(part) if part else "" for part in parts]
        found = [os.fspath(Path(place) / name / one) if one else "" for one in (*names, thesaurus)]
        for path in filter(None, found):
            if not Path(path).is_file():
                raise FileNotFoundError(f"data set {name!r} requires {path}")
        return cls(*found)


_NGRAM_TEXTS, _NGRAM_LABELS = 6_000, 1_000

NGRAM_SETS = ("debian-ngrams", "makupalat-ngrams")
"""Data sets of character n-grams of 3 to 5 of some texts, with their most frequent labels."""


def ngram_corpus(name: str) -> Corpus:
    """Return a data set of ``NGRAM_SETS``: at most 6,000 training texts, 1,000 labels."""
    source = name.removesuffix("-ngrams")
    if source == "debian":
        data = load_dataset(source)
        train, test = data.texts("train", _NGRAM_TEXTS), data.texts("test", _NGRAM_TEXTS)
    else:
        files = TextFiles.of(source)
        train, test = read_texts(files.train), read_texts(files.test)
        draw = np.random.default_rng(0).permutation(len(train.texts))[:_NGRAM_TEXTS].tolist()
        train = some_texts(train, draw)
    counts = Counter(chain.from_iterable(train.labels or ()))
    kept = set(sorted(counts, key=lambda label: (-counts[label], label))[:_NGRAM_LABELS])
    train, test = (_with_labels(half, kept) for half in (train, test))
    return corpus_of_texts(name, train, test, vectorizer=TextVectorizer(characters=(3, 5)))[0]


def _with_labels(texts: LabelledTexts, kept: set[str]) -> LabelledTexts:
    """Return the texts that have some of the labels, with these."""
    rows = [[name for name in names if name in kept] for names in texts.labels or ()]
    there = [(text, row) for text, row in zip(texts.texts, rows, strict=True) if row]
    return LabelledTexts(*map(list, zip(*there, strict=True)))


class TextCorpus(Corpus):
    """Texts as the data of an experiment: every run reads their files."""

    def __init__(self, name: str) -> None:
        self.files = TextFiles.of(name)
        found = hashlib.sha256()
        for path in filter(None, vars(self.files).values()):
            found.update(hashlib.sha256(Path(path).read_bytes()).digest())
        train, test = (read_texts(path) for path in (self.files.train, self.files.test))
        n_labels = len({label for labels in train.labels or () for label in labels})
        sizes = len(train.texts), 0, n_labels, len(test.texts)
        self.facts = Facts(name, found.hexdigest()[:16], *sizes)

    def seconds(self, spec: Spec) -> float:
        """Return an estimate of the CPU seconds of a run."""
        megabytes = Path(self.files.train).stat().st_size / 1e6  # compressed
        return megabytes * _SECONDS_PER_MEGABYTE.get(spec["kind"], 0.6)

    @contextmanager
    def shared(self) -> Iterator[Path]:
        """Write where the files are to a temporary folder; see :func:`read_files`."""
        with tempfile.TemporaryDirectory(prefix="defrag-") as place:
            (Path(place) / _WHERE).write_text(json.dumps(vars(self.files)), encoding="utf-8")
            yield Path(place)


def read_files(folder: Path) -> TextFiles | None:
    """Return the files that :meth:`TextCorpus.shared` has written, None if it was for matrices."""
    path = folder / _WHERE
    return TextFiles(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


# --- A run.


def run_on_texts(job: dict[str, Any], files: TextFiles) -> tuple[dict[str, Any], Any, Any]:
    """Read, train, predict and measure; see :func:`defrag.lab.measures.run`."""
    kind, parameters = job["estimator"]["kind"], dict(job["estimator"]["parameters"])
    reading, parts = timed(_read, files)
    train, dev, test = parts
    if kind in TEXT_PEERS:
        return _run_peer(kind, parts), None, None
    thesaurus = files.thesaurus if parameters.pop("names") else None
    model = build({"kind": kind, "parameters": parameters})
    model.set_params(random_state=job["seed"], n_jobs=job["n_jobs"])
    given: Any = {} if dev is None else {"validation": dev}
    training, _ = timed(
        lambda: model.fit(train.texts, train.labels, thesaurus=thesaurus or None, **given)
    )
    prediction, _ = timed(lambda: model.predict_topk(test.texts))
    found = {
        "reading": reading, **costs(training, prediction, model),
        "metrics": metrics_of_model(model, train, test),
        "chosen": {"features": model.vectorizer_.trial_, "answers": model.answering_},
    }  # fmt: skip
    return found, model, None


def _run_peer(kind: str, parts: _Parts) -> dict[str, Any]:
    """Do the same with another program; its answers are above the score that is best on dev."""
    train, dev, test = parts
    gold, place = _gold(train, test)
    if dev is None:  # programs choose their settings and their threshold on a tenth
        held = np.arange(len(train.texts)) % 10 == 9
        train, dev = (some_texts(train, np.flatnonzero(part).tolist()) for part in (~held, held))
    known = [[[one for one in row if one in place] for row in part.labels or ()]
             for part in (train, dev, test)]  # fmt: skip
    given = [
        (part.texts, [sorted({place[one] for one in row}) for row in labels])
        for part, labels in zip((train, dev, test), known, strict=True)
    ]
    found, (of_dev, of_test) = run_text_peer(kind, given, len(place))
    cut = best_cut(*of_dev, indicators(known[1], place))
    answers = as_matrix(of_test[0], (of_test[1] > cut) & (of_test[0] >= 0), len(place))
    return {**found, "metrics": metrics_of(of_test[0], answers, *gold)}


_Parts: TypeAlias = "tuple[LabelledTexts, LabelledTexts | None, LabelledTexts]"


def _read(files: TextFiles) -> _Parts:
    train, dev, test = (read_texts(path) if path else None
                        for path in (files.train, files.dev, files.test))  # fmt: skip
    if train is None or test is None:  # pragma: no cover - they have names
        raise ValueError("a data set must have training and test texts")
    return train, dev, test


def _gold(
    train: LabelledTexts, test: LabelledTexts, more: Iterable[str] = ()
) -> tuple[tuple[Csr, Csr], dict[str, int]]:
    """Return the labels of test and training texts, and the column of every label."""
    both = [one.labels or [] for one in (test, train)]
    names = sorted({label for part in both for labels in part for label in labels} | {*more})
    place = {name: number for number, name in enumerate(names)}
    return (indicators(both[0], place), indicators(both[1], place)), place


# --- Metrics of rankings and of answers.


def metrics_of_model(
    model: TextClassifier, train: LabelledTexts, test: LabelledTexts
) -> dict[str, float]:
    """Return all metrics of a model on test texts."""
    gold, place = _gold(train, test, model.classes_.tolist())
    ranked, _ = model.predict_topk(test.texts, DEPTH)
    labels = np.array([[place.get(one, -1) for one in row] for row in ranked.tolist()], np.int32)
    return metrics_of(labels, indicators(model.predict(test.texts), place), *gold)


def metrics_of(labels: NDArray[np.int32], answers: Csr, Y: Csr, Y_train: Csr) -> dict[str, float]:
    """Return all metrics of ranked labels and of answers, in percent.

    Texts without labels are left out, as the official programs of these data sets do.
    """
    known = np.flatnonzero(np.diff(Y.indptr))
    labels, answers, Y = labels[known], answers[known], Y[known]
    n_true, n_texts = np.diff(Y.indptr), len(known)
    hits = hits_of(labels, Y)
    best = hits[:, :5].sum(axis=1)
    found = evaluate(Y, labels[:, :10], Y_train, (1, 3, 5, 10))
    wanted = ("P@1", "P@3", "P@5", "nDCG@5", "nDCG@10", "PSP@5")
    values = {name: found[name] for name in wanted}
    values["RP@5"] = 100 * float((best / np.minimum(5, n_true)).mean())
    values["F1@5"] = 100 * float((2 * best / (5 + n_true)).mean())
    values["R@50"] = 100 * float((hits.sum(axis=1) / n_true).mean())
    values |= _f1(answers, Y)
    seen = np.bincount(Y_train.indices, minlength=Y.shape[1])
    edges = [*FREQUENCIES.values(), np.inf]
    owners = np.where(hits[:, :5], labels[:, :5], -1).ravel()
    in_best = np.bincount(owners[owners >= 0], minlength=Y.shape[1])
    in_gold = np.bincount(Y.indices, minlength=Y.shape[1])
    for name, (low, high) in zip(FREQUENCIES, pairwise(edges), strict=True):
        here = (seen >= low) & (seen < high)
        if in_gold[here].sum():
            values[f"R@5 {name}"] = 100 * float(in_best[here].sum() / in_gold[here].sum())
    values["texts"] = float(n_texts)
    return values


def _f1(answers: Csr, Y: Csr) -> dict[str, float]:
    """Return F1 over all labels of all texts, and its mean over labels with test texts."""
    right = np.bincount(sparse.csr_array(answers.multiply(Y)).indices, minlength=Y.shape[1])
    total = np.bincount(answers.indices, minlength=Y.shape[1])
    total = total + np.bincount(Y.indices, minlength=Y.shape[1])
    tested = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    return {
        "micro-F1": 200.0 * float(right.sum() / max(1, total.sum())),
        "macro-F1": 200.0 * float((right[tested] / total[tested]).mean()),
    }
