"""Texts in, label names out: a vectoriser, a classifier and the names of labels in one model.

This is the class that most users need, and the model that ``defrag train`` writes for texts. Ranks
are asked of the inner classifier by id; names are looked up only for what is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot, save_model, snapshot
from defrag._parameters import SEED_KIND, Float, Int, fitted, param
from defrag._scikit import check_is_fitted, clone
from defrag._validation import check_seed
from defrag.classifiers import LabelTree
from defrag.classifiers._answers import check_count, explain_point, features_of_label
from defrag.classifiers._base import WEIGHTS_RULE, Classifier
from defrag.classifiers._composite import check_part
from defrag.classifiers._following import Shapes, match_labels, previous_model
from defrag.explain import Explanations
from defrag.explain.explanation import Span
from defrag.focusing import Focused
from defrag.persistence.fields import COUNT, MAX_COUNT, Number, State, Strings
from defrag.persistence.kinds import Child, Unfitted
from defrag.text._texts import check_label_names, check_texts
from defrag.text.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from defrag._native import KernelRows
    from defrag.explain import Explanation, LabelFeatures
    from defrag.io.files import PathLike
    from defrag.typing import Csr, Floats, Ids, Seed

__all__ = ["TextClassifier", "default_vectorizer", "extra_rows"]

# --- Dense features of texts that the user computes, such as embeddings.

Extra: TypeAlias = Callable[[list[str]], Any]
"""Takes m texts, returns an array of shape (m, n_extra)."""


def extra_rows(extra: Extra, texts: list[str], weight: float, n_columns: int | None = None) -> Any:
    """Compute extra features and scale each row to length ``weight``; zero rows stay zero.

    Raises
    ------
    ValueError
        If the result is not a finite array of one row per text and ``n_columns`` columns.
    """
    if not callable(extra):
        raise ValueError(  # noqa: TRY004 - as every other bad parameter
            f"extra must be a function of a list of texts, got {extra!r}"
        )
    found = np.asarray(extra(list(texts)))
    if found.ndim != 2 or found.shape[0] != len(texts) or found.dtype.kind not in "fiub":
        raise ValueError(
            f"extra must return an array of numbers of shape ({len(texts)}, n_extra), got "
            f"{found.dtype} of shape {found.shape}"
        )
    if not found.shape[1] or n_columns not in {None, found.shape[1]}:
        wanted = "at least 1" if n_columns is None else n_columns
        raise ValueError(f"extra must return {wanted} columns, got {found.shape[1]}")
    if not np.isfinite(found).all():
        raise ValueError("extra must return finite numbers")
    values = found.astype(np.float64)
    largest = np.abs(values).max(axis=1, keepdims=True)
    values /= np.where(largest > 0, largest, 1.0)  # squares must not overflow
    length = np.sqrt((values * values).sum(axis=1, keepdims=True))
    return np.float32(weight * values / np.where(length > 0, length, 1.0))


def append_columns(X: Csr, block: Any) -> Csr:
    """Append dense columns to a sparse matrix."""
    joined = sparse.hstack([X, sparse.csr_array(block)], format="csr", dtype=np.float32)
    result = sparse.csr_array(joined)
    result.has_canonical_format = True
    return result


_UNKNOWN = "the text has no known word, so no label is predicted"


_K_RULE = Int(1)
_THRESHOLD_RULE = Float(0.0, 1.0)


def default_base() -> Classifier:
    """Return the default classifier."""
    return Focused(LabelTree())


def default_vectorizer(**parameters: Any) -> TextVectorizer:
    """Return the default vectoriser, with the given parameters.

    Character n-grams replace words and pairs of words: with ``characters``, the default of
    ``ngrams`` is 1.

    Examples
    --------
    >>> default_vectorizer(), default_vectorizer(characters=4)
    (TextVectorizer(ngrams=2), TextVectorizer(characters=4))
    """
    ngrams = 2 if parameters.get("characters") is None else 1
    return TextVectorizer(**{"ngrams": ngrams, **parameters})


class TextClassifier(Estimator):
    """Tag texts with labels from a large vocabulary.

    ``cross_val_score`` and ``GridSearchCV`` take it with lists of texts and lists of label
    names, and score by P@1. scikit-learn does not treat it as a classifier, because its tools
    reject lists of labels for classifiers.

    Examples
    --------
    >>> from defrag import TextClassifier
    >>> texts = ["sparse matrix", "sparse vector", "fast sort", "quick sort", "sort a vector"]
    >>> labels = [["algebra"], ["algebra"], ["sorting"], ["sorting"], ["algebra", "sorting"]]
    >>> model = TextClassifier(random_state=0).fit(texts, labels)
    >>> names, scores = model.predict_topk(["a sparse problem", "unheard-of"], k=1)
    >>> names.tolist()
    [['algebra'], ['']]
    """

    base: Classifier | None = param(
        doc="Any classifier of this library.",
        default=None,
        kind="classifier, default=Focused(LabelTree())",
        kw_only=False,
    )
    vectorizer: TextVectorizer | None = param(
        doc="How texts become rows.",
        default=None,
        kind="TextVectorizer, default=TextVectorizer(ngrams=2)",
        kw_only=False,
    )
    extra: Extra | None = param(
        doc="Further features, such as embeddings: takes a list of m texts, returns an array of "
        "shape (m, n_extra). Its rows are L2-normalised and appended to those of the "
        "vectoriser. It is not stored in model files: set it again with "
        "``set_params(extra=...)`` after loading.",
        default=None,
        kind="callable, optional",
    )
    extra_weight: float = param(
        Float(0.0, open_low=True),
        "Length of the rows of ``extra``; those of the vectoriser have length 1.",
        default=0.5,
    )
    random_state: Seed = param(
        doc="Seed; it replaces that of ``base``.", kind=SEED_KIND, default=None
    )
    n_jobs: int | None = param(
        doc="Number of threads; it replaces those of the parts.", default=None
    )

    base_: Classifier = fitted("classifier", "The classifier, trained.")
    vectorizer_: TextVectorizer = fitted("TextVectorizer", "The vectoriser, fitted.")
    classes_: NDArray[Any] = fitted("ndarray of str", "The names of the labels, sorted.")
    n_extra_: int = fitted(
        "int", "The number of features of ``extra``, which follow those of the vectoriser."
    )

    _part_names = ("vectorizer_", "base_")

    _state = State(
        Number(rule=COUNT, name="n_labels", get=lambda model: len(model.classes_)),
        Number("n_extra_", Int(0, MAX_COUNT)),
        Child("vectorizer_", ("vectorizer",)),
        Child(
            "base_",
            features=lambda part: len(part.children["vectorizer"].idf_) + part.state["n_extra"],
            labels="n_labels",
        ),
        Strings("classes_", "n_labels", as_array=True, name="label_names"),
        # ``extra`` is a function, which cannot be stored.
        parameters={"base": Unfitted(), "vectorizer": Unfitted(("vectorizer",)), "extra": None},
        sizes={
            "features": lambda part: (
                part.children["vectorizer"].size("idf") + part.state["n_extra"]
            ),
            "labels": "n_labels",
        },
    )

    def fit(
        self, texts: Sequence[str], labels: Any, *, shape: TextClassifier | PathLike | None = None
    ) -> TextClassifier:
        """Train on texts and the names of their labels.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : sequence of lists of str, or of str
            The names of the labels of each text, or its one label.
        shape : TextClassifier or path, optional
            A model that was trained on similar texts, or its file, whose label trees are kept;
            see ``fit`` of :class:`LabelTree`. Labels are matched by name. Words keep their ids,
            and new ones follow, unless the vectoriser has other ``characters`` or another
            ``stemmer``.

        Returns
        -------
        self : TextClassifier
            The fitted classifier.
        """
        return self._fit_announced(texts, labels, lambda *_: None, shape=shape)

    @all_or_nothing
    def _fit_announced(
        self,
        texts: Sequence[str],
        labels: Any,
        announce: Callable[[Classifier, Csr, Csr], None],
        *,
        shape: TextClassifier | PathLike | None = None,
    ) -> None:
        """Train as ``fit`` does, and call ``announce`` before the long part.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : sequence of lists of str, or of str
            The names of the labels of each text, or its one label.
        announce : callable
            Called with the unfitted classifier, its points and its labels.
        shape : TextClassifier or path, optional
            As in ``fit``.
        """
        previous = None if shape is None else previous_model(shape, TextClassifier)
        self._check_parameters()
        seed = check_seed(self.random_state)
        blank = self._unfitted_base(seed)
        self.vectorizer_ = self._unfitted_vectorizer()
        checked = check_texts(texts)
        named = check_label_names(labels, len(checked))
        words = None if previous is None else previous.vectorizer_
        if words is not None and not self.vectorizer_._cuts_as(words):
            words = None
        X = self.vectorizer_.fit_transform(checked, shape=words)
        self.n_extra_ = 0
        if self.extra is not None:
            block = extra_rows(self.extra, checked, float(self.extra_weight))
            self.n_extra_ = block.shape[1]
            X = append_columns(X, block)
        announce(blank, X, named.matrix)
        self.classes_: NDArray[Any] = np.array(named.names, dtype=object)
        shapes = None
        if previous is not None:
            known = previous.classes_, len(previous.classes_)
            found = match_labels(*known, self.classes_, len(named.names))
            shapes = Shapes(previous.base_, found)
        self.base_ = blank._fit_canonical(X, named.matrix, shapes)
        if shapes is not None:
            shapes.check_all_taken()

    def _unfitted_base(self, seed: int) -> Classifier:
        """Return an unfitted copy of the base with this seed and the threads of this model."""
        base = default_base() if self.base is None else self.base
        check_part(self, "base", base, Classifier)
        blank: Classifier = clone(base).set_params(random_state=seed, n_jobs=self.n_jobs)
        return blank

    def _unfitted_vectorizer(self) -> TextVectorizer:
        """Return an unfitted copy of the vectoriser with the threads of this model."""
        vectorizer = default_vectorizer() if self.vectorizer is None else self.vectorizer
        check_part(self, "vectorizer", vectorizer, TextVectorizer)
        blank: TextVectorizer = clone(vectorizer).set_params(n_jobs=self.n_jobs)
        return blank

    def save(self, path: PathLike, *, weights: str = "float32") -> None:
        """Write the fitted model to one file; :func:`defrag.load` reads it.

        Parameters
        ----------
        path : path
            The file, usually ``*.safetensors``. It appears whole or not at all, and the same
            model gives the same bytes. ``n_jobs`` is not part of the model.
        weights : {"float32", "float16", "int8"}, default="float32"
            Type of the weights in the file; smaller types round the weights.
        """
        check_is_fitted(self)
        if not WEIGHTS_RULE.accepts(weights):
            raise ValueError(f"weights must be {WEIGHTS_RULE.describe()}, got {weights!r}")
        save_model(self, path, weights=weights)

    def _rows(self, texts: Sequence[str]) -> Csr:
        """Return texts as the rows that the classifier ranks labels for.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        X : csr_array, shape (n_texts, n_features)
            The features of the vectoriser, then those of ``extra``.
        """
        return _native.as_matrix(self._points(texts))

    def _points(self, texts: Sequence[str]) -> Csr | KernelRows:
        checked = check_texts(texts)
        X = self.vectorizer_._weigh(checked)
        if not self.n_extra_:
            return X
        if self.extra is None:
            raise ValueError(
                f"the model was trained with {self.n_extra_} features of extra, which is not "
                "stored in model files: give it with set_params(extra=...)"
            )
        weight = float(self._check_parameter("extra_weight"))
        block = extra_rows(self.extra, checked, weight, self.n_extra_)
        return append_columns(_native.as_matrix(X), block)

    @on_snapshot
    def predict_topk(self, texts: Sequence[str], k: int = 5) -> tuple[NDArray[np.object_], Floats]:
        """Return the best labels of each text.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        k : int, default=5
            How many labels; more than there are counts as all of them.

        Returns
        -------
        names : ndarray of str objects, shape (n_texts, min(k, n_labels))
            Names by decreasing score; "" where there are fewer. A text without a known word has
            none.
        scores : ndarray of float32, of the same shape
            Their scores between 0 and 1.
        """
        labels, scores = self._predict_ids(texts, k)
        names = self.classes_[labels]
        missing = labels < 0
        if np.count_nonzero(missing):  # for a single text faster than any()
            names[missing] = ""
        return names, scores

    @on_snapshot
    def _predict_ids(self, texts: Sequence[str], k: int = 5) -> tuple[Ids, Floats]:
        """Return the best labels of each text as places in ``classes_``.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        k : int, default=5
            How many labels; more than there are counts as all of them.

        Returns
        -------
        labels : ndarray of int32, shape (n_texts, min(k, n_labels))
            Places by decreasing score; -1 where ``predict_topk`` has no name.
        scores : ndarray of float32, of the same shape
            Their scores between 0 and 1.
        """
        if not hasattr(self, "classes_"):
            check_is_fitted(self)
        if not _K_RULE.accepts(k):
            raise ValueError(f"k must be {_K_RULE.describe()}, got {k!r}")
        points = self._points(texts)
        X = cast("Csr", points) if self.base_._ranks_kernel_rows else _native.as_matrix(points)
        labels, scores = self.base_._rank(X, min(int(k), len(self.classes_)), exhaustive=False)
        nothing_known = X.indptr[1:] == X.indptr[:-1]
        if np.count_nonzero(nothing_known):
            labels[nothing_known], scores[nothing_known] = -1, 0.0
        return labels, scores

    @on_snapshot
    def predict(self, texts: Sequence[str], threshold: float = 0.5) -> list[list[str]]:
        """Return the labels of each text whose score is above a threshold.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        threshold : float, default=0.5
            The score, between 0 and 1.

        Returns
        -------
        labels : list of lists of str
            Names by decreasing score.
        """
        if not _THRESHOLD_RULE.accepts(threshold):
            raise ValueError(f"threshold must be {_THRESHOLD_RULE.describe()}, got {threshold!r}")
        check_is_fitted(self)
        # Few texts have more labels above the threshold; k grows until no text may have more.
        k = min(50, len(self.classes_))
        while True:
            names, scores = self.predict_topk(texts, k=k)
            if k == len(self.classes_) or not (scores[:, -1:] > threshold).any():
                break
            k = min(4 * k, len(self.classes_))
        above = (scores > threshold) & (names != "")
        return [row[found].tolist() for row, found in zip(names, above, strict=True)]

    @overload
    def explain(self, text: str, label: str | None = None, *, k: None = None) -> Explanation: ...

    @overload
    def explain(self, text: str, label: None = None, *, k: int) -> Explanations: ...

    def explain(self, text: str, label: str | None = None, *, k: int | None = None) -> Any:
        """Explain the score of a label, or those of the best labels, for one text.

        Parameters
        ----------
        text : str
            The text.
        label : str, optional
            The name of a label; default: the best label.
        k : int, optional
            Explain the best k labels.

        Returns
        -------
        explanation : Explanation, or Explanations if k is given
            What each word contributes to the score, which is that of ``predict_topk``, and the
            score without it; shown with the words marked in the text.
        """
        return snapshot(self)._explain(text, label, k)  # noqa: SLF001 - of the same class

    def _explain(self, text: str, label: str | None, k: int | None) -> Any:
        check_is_fitted(self)
        if not isinstance(text, str):
            raise ValueError(f"text must be one string, got {text!r:.60}")  # noqa: TRY004 - as every other bad value
        row = self._rows([text])
        number = None if label is None else self._number(label)
        if not row.nnz and number is None:
            if k is None:
                raise ValueError(_UNKNOWN)
            check_count("k", k)
            return Explanations()
        found = explain_point(
            self.base_, row, number, k, label_of=self.classes_.__getitem__, names=self._names()
        )
        features, begins, ends = self.vectorizer_.spans(text)
        places = zip(features.tolist(), begins.tolist(), ends.tolist(), strict=True)
        spans = [Span(*place) for place in places]
        if isinstance(found, Explanations):
            return Explanations(one.in_text(text, spans) for one in found)
        return found.in_text(text, spans)

    @on_snapshot
    def label_features(self, label: str, n: int = 50) -> LabelFeatures:
        """Return the words that raise the score of a label most on their own.

        Parameters
        ----------
        label : str
            The name of a label.
        n : int, default=50
            The number of words.

        Returns
        -------
        features : LabelFeatures
            Words that raise the score of an empty text, each with the score of a text that
            contains only this word.
        """
        check_is_fitted(self)
        number = self._number(label)
        return features_of_label(self.base_, (number, label), self._names(), n)

    def _number(self, label: str) -> int:
        found = np.flatnonzero(self.classes_ == label) if isinstance(label, str) else ()
        if not len(found):
            raise ValueError(f"label must be a label of the model, got {label!r}")
        return int(found[0])

    def _names(self) -> Sequence[str]:
        names: Sequence[str] = self.vectorizer_.names_  # type: ignore[assignment] # indexed only
        return names

    def score(self, texts: Sequence[str], labels: Any) -> float:
        """Return P@1, the fraction of texts whose best label is correct.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : sequence of lists of str, or of str
            The names of their labels.

        Returns
        -------
        precision : float
            Between 0 and 1.
        """
        names, _ = self.predict_topk(texts, k=1)
        right = [
            best == given if isinstance(given, str) else best in given
            for best, given in zip(names[:, 0], labels, strict=True)
        ]
        return float(np.mean(right))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.target_tags.required = True
        return tags
