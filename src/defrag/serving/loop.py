"""The loop with a person: corrections that count at once, training again, and what to label next.

The text to label next is one that gives most labels per click, as far as the model can tell. A
click accepts the labels that are proposed, removes one of them, or adds one of the list.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from defrag._scikit import clone
from defrag.io.corpora import open_corpus
from defrag.persistence import load
from defrag.serving.corrections import Correction, Corrections
from defrag.serving.overlay import Overlay
from defrag.serving.requests import Offered, RequestError, Scored
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from defrag.io.files import PathLike
    from defrag.serving.models import ServedModel
    from defrag.thesaurus import Thesaurus

N_SHOWN = 20
"""Labels of a text that are offered."""

_LOOKED_AT = 2000  # each time, until all have been
_LOOKED_AT_AGAIN = 100
_PROPOSED = 0.5


class Loop:
    """Corrections of texts, and texts to be labelled.

    - ``model``: the served model, which takes texts.
    - ``corrections``: the file to which they are appended.
    - ``documents``: texts to be labelled.
    """

    def __init__(
        self, model: ServedModel, corrections: Corrections, documents: Sequence[str] = ()
    ) -> None:
        classifier = model.classifier
        if not isinstance(classifier, TextClassifier) or classifier._answer_form() != "lists":
            raise ValueError(f"model {model.name!r} must have lists of names to be corrected")
        self.model, self.corrections, self._lock = model, corrections, Lock()
        self.overlay = model.overlay = Overlay(classifier)
        order = np.random.default_rng(0).permutation(len(documents))
        self.documents = {
            text: blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
            for text in map(documents.__getitem__, order.tolist())
        }
        self._gains: dict[str, float] = {}
        corrections.open()  # an error now, and not with the first correction
        self.refresh()

    def refresh(self) -> None:
        """Take up corrections that this or another process has appended."""
        if self._lock.acquire(blocking=False):  # else somebody is about to
            try:
                self._learn()
            finally:
                self._lock.release()

    def _learn(self) -> None:
        if news := self.corrections.refresh():
            self.overlay.learn(news)

    def correct(self, text: str, labels: list[str]) -> None:
        """Keep the labels of a text, unless they are kept already, and learn from them."""
        different = list(dict.fromkeys(labels))
        with self._lock:
            self._learn()
            if self.corrections.labels.get(text) != different:
                self.corrections.append(Correction(text, different))
                self._learn()

    def undo(self, text: str | None = None) -> Correction:
        """Undo the last correction of a text, or of all texts."""
        with self._lock:
            self._learn()
            found = self.corrections.undo(text)
            self._learn()
        if found is None:
            raise RequestError(404, "there is no correction to undo")
        return found

    @property
    def n_done(self) -> int:
        """The number of texts that have corrections."""
        labels = list(self.corrections.labels.values())  # another thread may add some
        return sum(one is not None for one in labels)

    @property
    def n_left(self) -> int:
        """The number of documents that have none."""
        done = self.corrections.labels
        return sum(done.get(one) is None for one in self.documents)

    def offer(self, n: int, skipped: Collection[str] = ()) -> list[Offered]:
        """Return the texts to label next, best first, with their labels and reasons.

        - ``skipped``: the ids of texts to leave out.
        """
        done = self.corrections.labels
        left = [
            text
            for text, known in self.documents.items()
            if done.get(text) is None and known not in skipped
        ]
        new = [one for one in left if one not in self._gains][:_LOOKED_AT]
        for start in range(0, len(new), 256):
            self._look_at(new[start : start + 256])
        seen = [one for one in left if one in self._gains]
        best = sorted(seen, key=lambda one: -self._gains[one])[: max(n, _LOOKED_AT_AGAIN)]
        # Again, by what has been learnt since.
        return sorted(self._look_at(best), key=lambda one: -one.gain)[:n]

    def _look_at(self, texts: list[str]) -> list[Offered]:
        """Return texts with their labels and what they are expected to give."""
        rankings = self.overlay.rank(texts, N_SHOWN)
        offered = []
        for text, ranking, likely in zip(
            texts, rankings, self.overlay.probabilities(rankings), strict=True
        ):
            p = np.array(likely)
            labels, clicks = p.sum(), 1.0 + np.where(p >= _PROPOSED, 1.0 - p, p).sum()
            gain = self._gains[text] = float(labels / clicks)
            reason = f"{labels:.1f} labels expected in {clicks:.1f} clicks"
            shown = [Scored(label, score) for label, score in ranking.items()]
            proposed = [one for one, good in zip(ranking, p >= _PROPOSED, strict=True) if good]
            offered.append(Offered(self.documents[text], text, shown, gain, reason, proposed))
        return offered


def read_documents(path: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the texts of a file that have no labels, and the labels of the others."""
    texts, labels = [], {}
    with open_corpus(path) as corpus:
        for _, text, names, _ in corpus.documents:
            if names:
                labels[text] = names
            else:
                texts.append(text)
    return [text for text in texts if text not in labels], labels


def train_again(
    model: TextClassifier,
    documents: str,
    corrections: str,
    thesaurus: Thesaurus | PathLike | None = None,
) -> TextClassifier:
    """Return a model with the same settings that is trained on documents as they are corrected."""
    _, known = read_documents(documents)
    said = Corrections(corrections)
    said.refresh()
    known.update((text, labels) for text, labels in said.labels.items() if labels is not None)
    blank: TextClassifier = clone(model)
    return blank.fit(list(known), list(known.values()), thesaurus=thesaurus)


def train_file_again(path: str, documents: str, corrections: str) -> None:
    """Train the model in a file again, and replace the file."""
    model = load(path)
    assert isinstance(model, TextClassifier)  # noqa: S101 - it is served
    train_again(model, documents, corrections, model.thesaurus_).save(path)
