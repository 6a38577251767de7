"""Estimators that take texts, under test."""

import functools
import pickle
from dataclasses import dataclass

from defrag import Focused, LabelTree, TextVectorizer
from defrag.registry import Entry, entries
from tests.contract.subject import TEXT_ROLES
from tests.helpers.bits import bits
from tests.text.data import make_texts

STRANGE = [
    "",
    "\0",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "机器学习的文本分类",
    "tiếng Việt có dấu",
    "tie\u0302\u0301ng Vie\u0323\u0302t",
    "👩\u200d💻 emoji 😀",
    "nul\0byte sort",
    "a" * 100_000,
    "sort " * 20_000,
]
"""Texts that are no English."""


@functools.cache
def small_corpus():
    """Return texts and the names of their labels."""
    texts, labels = make_texts(80)
    return [*texts, *STRANGE], [*labels, *([f"strange{i}"] for i in range(len(STRANGE)))]


OTHER = ["two other words", "other words", "and other words"] * 4, [["x"], ["y"], ["x", "z"]] * 4
"""Another corpus, for a second fit."""

VARIANTS = {
    "vectorizer": [{}, {"ngrams": 2, "max_features": 60}, {"characters": (2, 4), "min_df": 1}],
    "text": [
        {},
        {"base": LabelTree(2, max_leaf_size=3), "vectorizer": TextVectorizer(characters=3)},
        {"base": Focused(LabelTree()), "vectorizer": TextVectorizer(2, min_df=1)},
    ],
}


@dataclass(frozen=True)
class TextSubject:
    """An entry of the registry with parameters."""

    entry: Entry
    variant: int

    def __str__(self):
        return f"{self.entry.word}-{self.variant}"

    def new(self, **parameters):
        """Return an unfitted estimator."""
        model = self.entry.estimator()(**VARIANTS[self.entry.role][self.variant])
        if self.entry.role == "text":
            model.set_params(random_state=0)
        return model.set_params(n_jobs=1).set_params(**parameters)

    def fit(self, corpus=None, **parameters):
        """Return a fitted estimator."""
        return self.new(**parameters).fit(*(small_corpus() if corpus is None else corpus))

    def fitted(self):
        """Return a copy of a model that was fitted once for all checks."""
        return pickle.loads(_fitted(self))  # noqa: S301 - made below


@functools.cache
def _fitted(subject):
    return pickle.dumps(subject.fit())


def text_subjects():
    """Return every estimator of the registry that learns from texts, in a few variants."""
    return [
        TextSubject(entry, variant)
        for entry in entries(*sorted(TEXT_ROLES))
        for variant in range(len(VARIANTS[entry.role]))
    ]


def answers(model, texts=None):
    """Ask a fitted model all that it can answer about some texts."""
    texts = small_corpus()[0][::3] if texts is None else texts
    if hasattr(model, "predict_topk"):
        names, scores = model.predict_topk(texts, k=3)
        return names, scores, model.predict(texts, threshold=0.3), model.classes_
    spans = [model.spans(text) for text in texts[:5]]
    return model.transform(texts), model.get_feature_names_out(), spans


def ask(model, texts):
    """Return the answer of one call: names and scores, or rows."""
    if hasattr(model, "predict_topk"):
        return model.predict_topk(texts, k=3)
    return (model.transform(texts),)


def answer_bits(model, texts=None):
    """Return the bits of all answers of a model."""
    return bits(list(answers(model, texts)))
