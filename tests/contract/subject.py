"""An estimator under test: how it is built, what it is fitted on, what it is asked."""

import functools
import pickle
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from defrag import Focused, LabelTree, TextClassifier, TextVectorizer
from defrag.registry import Entry, entries
from tests.data import make_data, random_csr
from tests.helpers.bits import bits
from tests.text.data import make_texts

SMALL = {
    "random_state": 0,
    "n_jobs": 1,
    "n_trees": 2,
    "max_leaf_size": 3,
    "root_arity": 3,
    "max_cluster_size": 2,
    "sample_points": 1.0,
    "n_landmarks": 10,
    "n_init": 2,
    "n_clusterings": 1,
    "batch_size": 16,
    "n_learners": 2,
    "max_iter": 50,
    "n_components": 10,
    "n_rounds": 10,
    "n_steps": 10,
}
"""Values of parameters, of whatever estimator has them, that make small data interesting."""

TEXT_ROLES = {"vectorizer", "text"}
"""Roles of estimators that take texts in place of a matrix."""


@functools.cache
def small_data():
    """Return points and labels; a few points, features and labels are empty."""
    X, Y = make_data(n=64, d=31, n_labels=14, seed=3)
    X.data.flags.writeable = Y.data.flags.writeable = False
    return X, Y


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
"""Parameters of estimators that take texts."""


@functools.cache
def small_corpus():
    """Return texts and the names of their labels."""
    texts, labels = make_texts(80)
    return [*texts, *STRANGE], [*labels, *([f"strange{i}"] for i in range(len(STRANGE)))]


@functools.cache
def large_data():
    """Return points on which a fit takes a while; all have the first label."""
    n_points = 100_000
    others = random_csr(n_points, 299, density=0.01, seed=1)
    others.data[:] = 1.0
    Y = sparse.hstack([np.ones((n_points, 1), dtype=np.float32), others], format="csr")
    return random_csr(n_points, 400, density=0.1), Y


@dataclass(frozen=True)
class Subject:
    """An entry of the registry, with what a check needs to know."""

    entry: Entry

    def __str__(self):
        return self.entry.word

    @property
    def classifies(self):
        return self.entry.role in {"classifier", "composite"}

    @property
    def data(self):
        """What the estimator is fitted on."""
        return small_data()

    @property
    def other(self):
        """Other data: fewer features, fewer labels."""
        X, Y = small_data()
        return X[:, :8], Y[:, :5]

    def large(self, n_points):
        """Return data on which a fit takes a while."""
        return tuple(matrix[:n_points] for matrix in large_data())

    def new(self, **parameters):
        """Return an unfitted estimator with small settings, and others where given."""
        model = self.entry.estimator()()
        known = model.get_params()
        small = {name: value for name, value in SMALL.items() if name in known}
        return model.set_params(**{**small, **parameters})

    def fit(self, X=None, Y=None, **parameters):
        own_X, own_Y = self.data
        return self.new(**parameters).fit(own_X if X is None else X, own_Y if Y is None else Y)

    def fitted(self):
        """Return a copy of a model that was fitted once for all checks."""
        return pickle.loads(_fitted(self))  # noqa: S301 - made below


@dataclass(frozen=True)
class TextSubject(Subject):
    """An entry of the registry that takes texts, with some of its parameters."""

    variant: int = 0

    def __str__(self):
        return f"{self.entry.word}-{self.variant}"

    @property
    def data(self):
        return small_corpus()

    @property
    def other(self):
        return OTHER

    def large(self, n_points):
        return tuple(part[:80] * (n_points // 10) for part in small_corpus())

    def new(self, **parameters):
        model = self.entry.estimator()(**VARIANTS[self.entry.role][self.variant])
        if self.entry.role == "text":
            model.set_params(random_state=0)
        return model.set_params(n_jobs=1).set_params(**parameters)


@functools.cache
def _fitted(subject):
    return pickle.dumps(subject.fit())


def subjects():
    """Return every estimator of the registry that learns from a matrix."""
    return [Subject(entry) for entry in entries() if entry.role not in TEXT_ROLES]


def text_subjects():
    """Return every estimator of the registry that learns from texts, in a few variants."""
    return [
        TextSubject(entry, variant)
        for entry in entries(*sorted(TEXT_ROLES))
        for variant in range(len(VARIANTS[entry.role]))
    ]


def answers(model, X=None):
    """Ask a fitted model all that it can answer about some points or texts."""
    texts = isinstance(model, (TextClassifier, TextVectorizer))
    if X is None:
        X = small_corpus()[0][::3] if texts else small_data()[0][:20]
    found = {}
    if hasattr(model, "predict_topk"):
        found["labels"], found["scores"] = model.predict_topk(X, k=4)
        found["predicted"] = model.predict(X, threshold=0.3) if texts else model.predict(X)
        found["classes"] = model.classes_
        if not texts:
            found["decision"] = model.decision_function(X)
    if hasattr(model, "transform"):
        found["transformed"] = model.transform(X)
    if hasattr(model, "spans"):
        found["features"] = model.get_feature_names_out()
        found["spans"] = [model.spans(text) for text in X[:5]]
    assert found, "this model answers nothing"
    return found


def answer_bits(model, X=None):
    return bits(answers(model, X))


def file_bytes(model, folder):
    path = folder / "bytes.safetensors"
    model.save(path)
    return path.read_bytes()


def check_answers(model, X):
    """Check that the answers of a model are answers: shapes, ranges, order, finite numbers."""
    found = answers(model, X)
    n_points = X.shape[0]
    if "labels" in found:
        labels, scores = found["labels"], found["scores"]
        assert labels.shape == scores.shape == (n_points, min(4, model.n_labels_))
        assert labels.dtype == np.int32
        assert scores.dtype == np.float32
        assert labels.min(initial=0) >= -1
        assert labels.max(initial=-1) < model.n_labels_
        assert np.isfinite(scores).all()
        assert (scores[labels < 0] == 0).all()
        assert ((scores >= 0) & (scores <= 1)).all()
        assert (np.diff(scores, axis=1) <= 0).all()
        for row in labels:
            assert len(set(row[row >= 0])) == (row >= 0).sum()
    if "transformed" in found:
        rows = found["transformed"]
        assert rows.shape[0] == n_points
        values = rows.data if sparse.issparse(rows) else rows
        assert np.isfinite(values).all()
    return found
