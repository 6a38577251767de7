"""Texts in, label names out: a vectoriser, a classifier and the names of labels in one model.

This is the class that most users need, and the model that ``defrag train`` writes for texts. Ranks
are asked of the inner classifier by id; names are looked up only for what is returned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot, save_model, snapshot
from defrag._parameters import SEED_KIND, Choice, Float, Int, fitted, param
from defrag._scikit import ClassifierMixin, available_if, check_is_fitted, clone
from defrag._validation import check_seed, require_labels
from defrag.classifiers import LabelTree
from defrag.classifiers._answers import (
    Calibration,
    check_count,
    explain_point,
    features_of_label,
    has_probabilities,
)
from defrag.classifiers._base import WEIGHTS_RULE, Classifier
from defrag.classifiers._composite import check_part
from defrag.classifiers._following import Shapes, match_labels, previous_model
from defrag.classifiers._weights import (
    CLASS_WEIGHT,
    STORED_CLASS_WEIGHT,
    check_sample_weight,
    with_class_weight,
)
from defrag.explain import Explanations
from defrag.explain.explanation import Span, without_features
from defrag.focusing import Focused
from defrag.persistence.fields import COUNT, MAX_COUNT, Number, State, Strings
from defrag.persistence.kinds import Child, Unfitted
from defrag.text._labels import (
    check_known,
    chosen_labels,
    current_labels,
    redirect,
    thesaurus_of,
    usable_labels,
    with_names_only,
)
from defrag.text._texts import check_text_labels, check_texts
from defrag.text.naming import LabelNames, NameEvidence, Naming
from defrag.text.ranker import (
    N_RANKED,
    Ranker,
    is_better,
    join_candidates,
    learn_ranker,
    rank_with,
)
from defrag.text.vectorizer import TextVectorizer
from defrag.thesaurus import Match, Thesaurus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags
    from typing_extensions import Self

    from defrag._native import KernelRows
    from defrag._validation import Labels
    from defrag.explain import Explanation, LabelFeatures
    from defrag.io.files import PathLike
    from defrag.persistence.fields import Part
    from defrag.typing import Csr, Floats, Ids, Seed

# --- Dense features of texts that the user computes, such as embeddings.

Extra: TypeAlias = Callable[[list[str]], Any]
"""Takes m texts, returns an array of shape (m, n_extra)."""


def extra_rows(extra: Extra, texts: list[str], weight: float, n_columns: int | None = None) -> Any:
    """Compute extra features and scale each row to length ``weight``; zero rows stay zero.

    Raises ValueError if the result is not a finite array of one row per text and ``n_columns``
    columns.
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
_DEFAULT_THRESHOLD = 0.5
_CALIBRATED = 50
"""Number of best labels of a text on which probabilities are learnt."""
_CALIBRATION_STREAM = 1


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


def _names_in_file(model: TextClassifier) -> Any:
    """Return what a file stores as label names; None if its base knows the classes."""
    if not model.base_.multilabel_ or model._answer_form() == "ids":
        return None
    classes = model.classes_[: model.base_.n_labels_]
    return classes if classes.dtype == object else list(map(str, classes))


def _restore_classes(part: Part, model: TextClassifier) -> None:
    """Set the classes that are not names, which a file has as digits or in the base."""
    base = model.base_
    named = hasattr(model, "classes_")
    if named and not base.multilabel_:
        part.fail("label_names of text_classifier must be absent if its base has classes")
    if not named:
        model.classes_ = base.classes_
    if model.numbered_:
        names = model.classes_.tolist()
        if not all(isinstance(name, str) and re.fullmatch(r"-?\d{1,18}", name) for name in names):
            part.fail("label_names of text_classifier must be numbers")
        model.classes_ = np.array(list(map(int, names)), dtype=np.int64)
    try:
        model._use_thesaurus(model.thesaurus_)
    except ValueError as error:
        part.fail(str(error))


class TextClassifier(ClassifierMixin, Estimator):
    """Tag texts with labels from a large vocabulary.

    Labels are passed as lists of names or numbers, as a 0/1 matrix, or as one class per text;
    ``predict`` answers in the same form. It is a classifier of scikit-learn, whose tools take
    classes, dense matrices and :func:`defrag.metrics.scorers.label_lists` of lists.

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
        kind="TextVectorizer, optional",
        kw_only=False,
    )
    features: str = param(
        Choice(("auto", "words")),
        'Features without ``vectorizer``: "auto" tries words and pairs of words, and character '
        "n-grams of 4 and of 5, on a twelfth of the texts if there are at least 5,000; "
        '``vectorizer_.trial_`` says what it found. "words" takes words and pairs.',
        default="auto",
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
    class_weight: Any = CLASS_WEIGHT
    calibration: float | None = param(
        Float(0.0, 0.5, open_low=True, none=True),
        "Share of the texts on which ``fit`` learns probabilities, with a model of the others; "
        "nearly doubles its time. None: :meth:`calibrate` does it with other texts.",
        default=None,
    )
    random_state: Seed = param(
        doc="Seed; it replaces that of ``base``.", kind=SEED_KIND, default=None
    )
    n_jobs: int | None = param(
        doc="Number of threads; it replaces those of the parts.", default=None
    )

    base_: Classifier = fitted("classifier", "The classifier, trained.")
    vectorizer_: TextVectorizer = fitted("TextVectorizer", "The vectoriser, fitted.")
    classes_: NDArray[Any] = fitted(
        "ndarray",
        "The labels: sorted names, numbers or classes, or the columns of a matrix; then, without "
        "training points, those that only the thesaurus has.",
    )
    thesaurus_: Thesaurus | None = fitted("Thesaurus or None", "What the labels are called.")
    naming_: Naming | None = fitted(
        "Naming or None", "What names of labels in texts mean, and how they rank labels."
    )
    numbered_: bool = fitted()
    n_extra_: int = fitted(
        "int", "The number of features of ``extra``, which follow those of the vectoriser."
    )

    _part_names = ("vectorizer_", "base_")

    _state = State(
        Number(rule=COUNT, name="n_labels", get=lambda model: model.base_.n_labels_),
        Number("n_extra_", Int(0, MAX_COUNT)),
        Number("numbered_"),
        Child("vectorizer_", ("vectorizer",)),
        Child(
            "base_",
            features=lambda part: len(part.children["vectorizer"].idf_) + part.state["n_extra"],
            labels="n_labels",
        ),
        Strings(
            "classes_",
            "n_labels",
            optional=True,
            as_array=True,
            name="label_names",
            get=_names_in_file,
        ),
        Child("thesaurus_", Thesaurus, optional=True),
        Child("naming_", Naming, optional=True),
        finish=_restore_classes,
        absent={
            "numbered": False,
            "calibration": None,
            "class_weight": None,
            "features": "words",
        },
        # ``extra`` is a function, which cannot be stored.
        parameters={
            "base": Unfitted(),
            "vectorizer": Unfitted(("vectorizer",)),
            "extra": None,
            "class_weight": STORED_CLASS_WEIGHT,
        },
        sizes={
            "features": lambda part: (
                part.children["vectorizer"].size("idf") + part.state["n_extra"]
            ),
            "labels": "n_labels",
        },
    )

    def fit(
        self,
        texts: Sequence[str],
        labels: Any,
        *,
        sample_weight: Any = None,
        shape: TextClassifier | PathLike | None = None,
        thesaurus: Thesaurus | PathLike | None = None,
    ) -> TextClassifier:
        """Train on texts and the names of their labels.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : sequence of lists, or of classes, or 0/1 matrix
            The labels of each text: lists of names or of numbers, one class per text, or a sparse
            or dense matrix or data frame of 0 and 1, such as that of ``MultiLabelBinarizer``.
        sample_weight : array-like of float, shape (n_texts,), optional
            Weights of the texts, which count in training but not in the choice of words.
        shape : TextClassifier or path, optional
            A model that was trained on similar texts, or its file, whose label trees are kept;
            see ``fit`` of :class:`LabelTree`. Labels are matched by name. Words keep their ids,
            and new ones follow, unless the vectoriser has other ``characters`` or another
            ``stemmer``.
        thesaurus : Thesaurus or path, optional
            What labels that are names are called, or a file that :meth:`Thesaurus.read` reads:
            names for the model to show, and labels that the texts do not have yet. From 2,500
            texts on, names that are found in a text rank its labels, and find those without
            training texts, if that is better on texts that are held out; ``naming_.use`` says.

        Returns
        -------
        self : TextClassifier
            The fitted classifier.
        """
        more: Any = {"sample_weight": sample_weight, "shape": shape, "thesaurus": thesaurus}
        return self._fit_announced(texts, labels, lambda *_: None, **more)

    @all_or_nothing
    def _fit_announced(
        self,
        texts: Sequence[str],
        labels: Any,
        announce: Callable[[Classifier, Csr, Csr], None],
        *,
        sample_weight: Any = None,
        shape: TextClassifier | PathLike | None = None,
        thesaurus: Thesaurus | PathLike | None = None,
    ) -> None:
        """Train as ``fit`` does, and call ``announce`` before the long part.

        - ``labels``: as in ``fit``.
        - ``announce``: called with the unfitted classifier, its points and its labels.
        - ``sample_weight``, ``shape``, ``thesaurus``: as in ``fit``.
        """
        named = thesaurus_of(thesaurus)
        previous = None if shape is None else previous_model(shape, TextClassifier)
        self._check_parameters()
        seed = check_seed(self.random_state)
        blank = self._unfitted_base(seed)
        require_labels(self, labels)
        checked = check_texts(texts)
        known = check_text_labels(labels, len(checked))
        weights = check_sample_weight(blank, sample_weight, len(checked))
        if self.class_weight is not None:
            given = with_class_weight(self.class_weight, weights, known.matrix, known.classes)
            weights = check_sample_weight(blank, given, len(checked))
        words = None if previous is None else previous.vectorizer_
        self.vectorizer_, trial = self._unfitted_vectorizer(checked, known.matrix, words)
        if words is not None and not self.vectorizer_._cuts_as(words):
            words = None
        X = self.vectorizer_.fit_transform(checked, shape=words)
        self.vectorizer_.trial_ = trial
        self.n_extra_ = 0
        if self.extra is not None:
            block = extra_rows(self.extra, checked, float(self.extra_weight))
            self.n_extra_ = block.shape[1]
            X = append_columns(X, block)
        Y = known.matrix
        check_known(known, named)
        announce(blank, X, Y)
        shapes = None
        if previous is not None:
            own = np.arange(Y.shape[1]) if known.classes is None else known.classes
            n_labels = previous.base_.n_labels_
            found = match_labels(previous.classes_[:n_labels], n_labels, own, Y.shape[1])
            shapes = Shapes(previous.base_, found)
        points = X, Y, weights
        classes = known.classes
        if named is not None and classes is not None and known.multilabel and not known.dense:
            names = LabelNames(with_names_only(classes, named), named)
            self.naming_, names_help = self._learn_naming(names, blank, checked, points)
            points = self._with_names(names, *points) if names_help else points
        self.base_ = blank._fit_canonical(points[0], points[1], shapes, points[2])
        if shapes is not None:
            shapes.check_all_taken()
        self._set_labels(known.classes, known.dense, known.multilabel)
        self._use_thesaurus(named)
        if self.calibration is not None:
            self.base_.calibration_ = self._held_out_calibration(blank, X, Y, seed, weights)

    def _held_out_calibration(
        self, blank: Classifier, X: Csr, Y: Csr, seed: int, weights: Floats | None
    ) -> Calibration:
        """Return the map from scores to probabilities of a model of a part of the texts."""
        n_held = math.ceil(float(self.calibration or 0.0) * X.shape[0])
        order = np.random.default_rng([seed, _CALIBRATION_STREAM]).permutation(X.shape[0])
        held, others = np.sort(order[:n_held]), np.sort(order[n_held:])
        if not Y[others].nnz:
            raise ValueError(f"calibration={self.calibration} leaves no labelled text to train on")
        weights = None if weights is None else weights[others]
        model = clone(blank)._fit_canonical(X[others], Y[others], None, weights)
        labels, scores = model._rank(X[held], min(_CALIBRATED, Y.shape[1]), exhaustive=False)
        return Calibration.of_ranking(labels, scores, Y[held])

    def _learn_naming(
        self,
        names: LabelNames,
        blank: Classifier,
        texts: list[str],
        points: tuple[Csr, Csr, Floats | None],
    ) -> tuple[Naming, bool]:
        """Return what names in texts mean, with the ranker that is best on held-out texts.

        And whether the base is better on these if names are training points, too.
        """
        threads = _native.n_threads(self.n_jobs)
        X, Y, weights = points
        names_help = False

        def train_without(held: NDArray[np.bool_]) -> tuple[Ids, Floats, NameEvidence]:
            nonlocal names_help
            rest = np.flatnonzero(~held)
            known = Naming.count(names, [texts[i] for i in rest.tolist()], Y[rest], threads)
            evidence = NameEvidence(names, known, len(texts) / len(rest))
            plain = X[rest], Y[rest], None if weights is None else weights[rest]
            rankings = [
                clone(blank)
                ._fit_canonical(some_X, some_Y, None, some_weights)
                ._rank(X[held], min(N_RANKED, Y.shape[1]), exhaustive=False)
                for some_X, some_Y, some_weights in (plain, self._with_names(names, *plain))
            ]
            names_help = is_better(rankings[1][0], rankings[0][0], Y[held])
            return *rankings[names_help], evidence

        ranker, use = learn_ranker(texts, Y, train_without, n_threads=threads)
        naming = Naming.count(names, texts, Y, threads)
        return naming.with_ranker(ranker, use), names_help

    def _with_names(
        self, names: LabelNames, X: Csr, Y: Csr, weights: Floats | None
    ) -> tuple[Csr, Csr, Floats | None]:
        """Return points and, after them, the names of their labels as points of these labels."""
        counts = np.append(np.bincount(Y.indices, minlength=names.n_labels), 0)
        chosen = np.flatnonzero(counts[names.labels] > 0)
        rows = _native.as_matrix(self._points([names.names[i] for i in chosen.tolist()]))
        entries = np.ones(len(chosen), np.float32), names.labels[chosen], np.arange(len(chosen) + 1)
        owners = sparse.csr_array(entries, shape=(len(chosen), Y.shape[1]))
        both = [sparse.csr_array(sparse.vstack(pair)) for pair in ((X, rows), (Y, owners))]
        for matrix in both:
            matrix.indices = matrix.indices.astype(np.int32, copy=False)
            matrix.has_canonical_format = True
        if weights is not None:
            weights = np.append(weights, np.ones(len(chosen), dtype=weights.dtype))
        return both[0], both[1], weights

    def _set_labels(self, classes: NDArray[Any] | None, dense: bool, multilabel: bool) -> None:
        """Set the labels of a model whose base is trained, from the parts of ``Labels``."""
        n_labels = self.base_.n_labels_
        self.base_._set_labels(n_labels, None if multilabel else classes, dense_answers=dense,
                               multilabel=multilabel)  # fmt: skip
        self.numbered_ = multilabel and classes is not None and classes.dtype != object
        self.classes_ = self.base_.classes_ if classes is None else classes
        self._use_thesaurus(None)

    def _use_thesaurus(self, thesaurus: Thesaurus | None) -> None:
        """Set what labels are called, and those with names only after those with points."""
        trained = self.classes_[: self.base_.n_labels_]
        if thesaurus is not None and (self._answer_form() != "lists" or self.numbered_):
            raise ValueError("a thesaurus is for lists of names as labels, not for other labels")
        self.thesaurus_ = thesaurus
        self.classes_ = with_names_only(trained, thesaurus)
        self._current_ = current_labels(self.classes_, thesaurus)
        previous: LabelNames | None = getattr(self, "_names_", None)
        naming = self.naming_ = getattr(self, "naming_", None)
        self._names_ = None if thesaurus is None else LabelNames(self.classes_, thesaurus)
        self._evidence_ = None
        if self._names_ is not None and naming is not None:
            if previous is not None:
                naming = self.naming_ = naming.follow(previous, self._names_)
            naming.check_fits(self._names_, len(trained))
            self._evidence_ = NameEvidence(self._names_, naming)

    def add_labels(self, thesaurus: Thesaurus | PathLike) -> TextClassifier:
        """Add labels with names, and rename, withdraw or merge labels, without training.

        Parameters
        ----------
        thesaurus : Thesaurus or path
            The labels that are new or have changed. One with a successor (``replaced_by``) is no
            longer suggested: its successor is, where it would have been. One that is withdrawn
            without a successor is not suggested.

        Returns
        -------
        self : TextClassifier
            The same model with further labels; its weights are unchanged.

        Examples
        --------
        >>> from defrag import TextClassifier, Thesaurus
        >>> texts = ["quick sort", "merge sort", "hash map"]
        >>> labels = [["sorts"], ["sorts"], ["maps"]]
        >>> model = TextClassifier(random_state=0).fit(texts, labels)
        >>> news = Thesaurus.of([{"id": "sorts", "replaced_by": "order"},
        ...                      {"id": "order", "name": "sorting"}])
        >>> model.add_labels(news).predict_topk(["quick sort"], k=1)[0].tolist()
        [['order']]
        """
        check_is_fitted(self)
        found = thesaurus_of(thesaurus)
        if found is None:
            raise ValueError("thesaurus must be a Thesaurus or a file, got None")
        changed = copy(self)
        changed._use_thesaurus(found if self.thesaurus_ is None else self.thesaurus_.merged(found))
        self.__dict__ = changed.__dict__  # in one assignment, as fit does it
        return self

    def _answer_form(self) -> str:
        """Return ``classes``, ``lists``, or for a matrix what its columns have: ids, names."""
        base = self.base_
        if not base.multilabel_:
            return "classes"
        named = self.numbered_ or self.classes_.dtype == object
        return ("names" if base.dense_answers_ else "lists") if named else "ids"

    def _default_parts(self) -> dict[str, Callable[[], Any]]:
        return {"base": default_base, "vectorizer": default_vectorizer}

    def _unfitted_base(self, seed: int) -> Classifier:
        """Return an unfitted copy of the base with this seed and the threads of this model."""
        base = default_base() if self.base is None else self.base
        check_part(self, "base", base, Classifier)
        blank: Classifier = clone(base).set_params(random_state=seed, n_jobs=self.n_jobs)
        return blank

    def _unfitted_vectorizer(
        self, texts: list[str], Y: Csr, previous: TextVectorizer | None = None
    ) -> tuple[TextVectorizer, str]:
        """Return an unfitted vectoriser for texts with the threads of this model, and the reason.

        Without ``vectorizer``, a model that is trained again has the features of the previous one.
        """
        vectorizer, reason = self.vectorizer, ""
        if vectorizer is None and self.features == "words":
            vectorizer = default_vectorizer()
        elif vectorizer is None and previous is not None:
            vectorizer, reason = previous, previous.trial_
        elif vectorizer is None:
            from defrag.text._trial import choose_features  # noqa: PLC0415 - only for training

            vectorizer, reason = choose_features(texts, Y, n_jobs=self.n_jobs)
        check_part(self, "vectorizer", vectorizer, TextVectorizer)
        blank: TextVectorizer = clone(vectorizer).set_params(n_jobs=self.n_jobs)
        return blank, reason

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

        - Returns ``X``, shape (n_texts, n_features): the features of the vectoriser, then those of
          ``extra``.
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
    def predict_topk(
        self,
        texts: Sequence[str],
        k: int = 5,
        *,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] = (),
    ) -> tuple[NDArray[np.object_], Floats]:
        """Return the best labels of each text.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        k : int, default=5
            How many labels; more than there are counts as all of them.
        allow, deny : sequence of str, optional
            Labels that may be returned (default: all) and that may not: labels, ``type=...`` for
            all labels of a type of the thesaurus, or ``scheme=...`` for those in a scheme.

        Returns
        -------
        names : ndarray of objects, shape (n_texts, min(k, n_labels))
            Labels, usually names, by decreasing score; "" where there are fewer. A text without
            a known word has none.
        scores : ndarray of float32, of the same shape
            Their scores between 0 and 1.
        """
        labels, scores = self._rank_texts(texts, k, self._usable(allow, deny))
        names = self.classes_[labels].astype(object, copy=False)
        missing = labels < 0
        if np.count_nonzero(missing):  # for a single text faster than any()
            names[missing] = ""
        return names, scores

    def _rank_texts(
        self, texts: Sequence[str], k: int = 5, usable: NDArray[np.bool_] | None = None
    ) -> tuple[Ids, Floats]:
        """Return the best labels of each text as places in ``classes_``.

        - ``k``: how many labels; more than there are counts as all of them.
        - ``usable``, shape (n_labels,): which labels may be returned.
        - Returns ``labels``, ``scores``: places by decreasing score, -1 where ``predict_topk`` has
          no name, and scores between 0 and 1; as many as there are labels, at most k.
        """
        if not hasattr(self, "classes_"):
            check_is_fitted(self)
        if not _K_RULE.accepts(k):
            raise ValueError(f"k must be {_K_RULE.describe()}, got {k!r}")
        labels, scores, _ = self._best(check_texts(texts), int(k), usable)
        return labels, scores

    _predict_ids = on_snapshot(_rank_texts)

    def _best(
        self, texts: list[str], k: int, usable: NDArray[np.bool_] | None = None
    ) -> tuple[Ids, Floats, Ids]:
        """Return the best usable labels of texts, their scores, and the labels that were ranked.

        Those are others where a label has taken the place of older ones.
        """
        points = self._points(texts)
        current = usable_labels(self._current_, usable)
        if current is None:
            labels, scores = self._ranked(texts, points, k)
            return labels, scores, labels
        n_labels = self._n_ranked
        asked = k = min(k, n_labels)
        while True:  # labels that may not be returned have taken places
            labels, scores = self._ranked(texts, points, asked)
            found, values, sources = redirect(labels, scores, current, k)
            lacking = (found < 0).any(axis=1)
            if asked == n_labels or not (labels[lacking, -1:] >= 0).any():
                return found, values, sources
            asked = min(4 * asked, n_labels)

    @property
    def _n_ranked(self) -> int:
        """The number of labels that may be ranked: with points, or all that have names."""
        return self.base_.n_labels_ if self._ranker() is None else len(self.classes_)

    def _ranker(self) -> Ranker | None:
        """Return the ranker of candidates, None if the base alone ranks."""
        return None if self._evidence_ is None else self._evidence_.naming.ranker

    def _base_ranking(self, points: Csr | KernelRows, k: int) -> tuple[Ids, Floats]:
        """Return the ranking of points by the base, of more labels if a ranker follows."""
        X = cast("Csr", points) if self.base_._ranks_kernel_rows else _native.as_matrix(points)
        n_asked = k if self._ranker() is None else max(k, N_RANKED)
        labels, scores = self.base_._rank(X, min(n_asked, self.base_.n_labels_), exhaustive=False)
        if _native.count_empty_rows(X):
            nothing_known = X.indptr[1:] == X.indptr[:-1]
            labels[nothing_known], scores[nothing_known] = -1, 0.0
        return labels, scores

    def _ranked(self, texts: list[str], points: Csr | KernelRows, k: int) -> tuple[Ids, Floats]:
        """Return the ranking of points, those of the texts, by the model as it was trained."""
        labels, scores = self._base_ranking(points, k)
        ranker = self._ranker()
        if ranker is None or self._evidence_ is None:
            return labels, scores
        threads = _native.n_threads(self.n_jobs)
        n_best = min(k, len(self.classes_))
        return rank_with(
            ranker, self._evidence_, texts, labels, scores, k=n_best, n_threads=threads
        )

    def _usable(self, allow: Sequence[str] | None, deny: Sequence[str]) -> NDArray[np.bool_] | None:
        """Return which labels may be returned, None for all."""
        if allow is None and isinstance(deny, tuple) and not deny:
            return None
        check_is_fitted(self)
        known = self.classes_, self.thesaurus_
        found = ~chosen_labels("deny", deny, *known)
        return found if allow is None else found & chosen_labels("allow", allow, *known)

    @on_snapshot
    def predict(self, texts: Sequence[str], threshold: float | None = None) -> Any:
        """Return the labels of each text whose score is above a threshold, or its class.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        threshold : float, optional
            The score, between 0 and 1; default: 0.5. Not allowed after ``fit`` with classes.

        Returns
        -------
        labels : list of lists, array or matrix
            In the form of the labels of ``fit``: lists of names or numbers by decreasing score,
            the best class of each text, or a 0/1 matrix, dense or sparse.
        """
        check_is_fitted(self)
        if threshold is not None and not _THRESHOLD_RULE.accepts(threshold):
            raise ValueError(f"threshold must be {_THRESHOLD_RULE.describe()}, got {threshold!r}")
        form = self._answer_form()
        if form == "classes":
            return self.base_.predict(self._rows(texts), threshold=threshold)
        above = _DEFAULT_THRESHOLD if threshold is None else float(threshold)
        if form != "lists":
            Y = self._scores(texts, above=above)
            Y.data = np.ones_like(Y.data)
            return Y.toarray().astype(np.int64) if self.base_.dense_answers_ else Y
        # Few texts have more labels above the threshold; k grows until no text may have more.
        k = min(50, len(self.classes_))
        while True:
            ids, scores = self._predict_ids(texts, k=k)
            if k == len(self.classes_) or not (scores[:, -1:] > above).any():
                break
            k = min(4 * k, len(self.classes_))
        kept = (scores > above) & (ids >= 0)
        found = zip(self.classes_[ids], kept, strict=True)
        return [row[good].tolist() for row, good in found]

    def _scores(self, texts: Sequence[str], above: float = -1.0) -> Csr:
        """Return the scores above a threshold; texts without a known word have only classes."""
        rows = self._rows(texts)
        scores = self.base_._score_matrix(rows, None, above=above)
        if not self.base_.multilabel_:
            return scores
        known = np.diff(rows.indptr) > 0
        scores.data[~np.repeat(known, np.diff(scores.indptr))] = 0.0
        scores.eliminate_zeros()
        shape = len(known), len(self.classes_)  # labels with names only have no scores
        return sparse.csr_array((scores.data, scores.indices, scores.indptr), shape=shape)

    @on_snapshot
    def decision_function(self, texts: Sequence[str]) -> Any:
        """Return a matrix of scores.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        scores : csr_array, or ndarray after ``fit`` with classes or a dense matrix
            As :meth:`LabelTree.decision_function`.
        """
        check_is_fitted(self)
        return self.base_._decisions(self._scores(texts))

    def calibrate(self, texts: Sequence[str], labels: Any, *, k: int = _CALIBRATED) -> Self:
        """Fit the map from scores to probabilities that ``predict_proba`` uses.

        Parameters
        ----------
        texts : sequence of str
            Texts that the classifier was not trained on.
        labels : labels
            Their labels, in any form that ``fit`` accepts.
        k : int, default=50
            Number of labels per text to learn from.

        Returns
        -------
        self : TextClassifier
            The classifier; its rankings do not change.
        """
        ids, scores = self._predict_ids(texts, k)
        truth = self._in_own_columns(check_text_labels(labels, len(ids)))
        calibrated = copy(self)
        calibrated.base_ = copy(self.base_)
        calibrated.base_.calibration_ = Calibration.of_ranking(ids, scores, truth)
        self.__dict__ = calibrated.__dict__
        return self

    def _in_own_columns(self, labels: Labels) -> Csr:
        """Return labels of other texts; those that are unknown follow the own ones."""
        own = self.classes_
        if labels.classes is None:
            return labels.matrix
        if self._answer_form() == "names" and labels.classes.tolist() == own.tolist():
            return labels.matrix  # columns in an order of their own
        if own.dtype.kind in "iufb" and labels.classes.dtype.kind not in "iufb":
            raise ValueError(
                f"labels must be labels of the model, got {labels.classes[0]!r}: it has numbers"
            )
        return labels.in_columns_of(own)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator] # of scikit-learn
    @on_snapshot
    def predict_proba(self, texts: Sequence[str]) -> Any:
        """Return probabilities of labels; requires :meth:`calibrate`, except for classes.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        probabilities : csr_array, or ndarray after ``fit`` with classes or a dense matrix
            The probability that a label is true. Those of the classes of a text add up to 1;
            before calibration, they are scores divided by their sum.
        """
        check_is_fitted(self)
        return self.base_._probabilities(self._scores(texts))

    @overload
    def explain(
        self, text: str, label: str | None = None, *, k: None = None, language: str | None = None
    ) -> Explanation: ...

    @overload
    def explain(
        self, text: str, label: None = None, *, k: int, language: str | None = None
    ) -> Explanations: ...

    def explain(
        self,
        text: str,
        label: str | None = None,
        *,
        k: int | None = None,
        language: str | None = None,
    ) -> Any:
        """Explain the score of a label, or those of the best labels, for one text.

        Parameters
        ----------
        text : str
            The text.
        label : str, optional
            The name of a label; default: the best label.
        k : int, optional
            Explain the best k labels.
        language : str, optional
            The language in which labels are named.

        Returns
        -------
        explanation : Explanation, or Explanations if k is given
            What each word contributes to the score, which is that of ``predict_topk``, and the
            score without it; shown with the words marked in the text.
        """
        return snapshot(self)._explain(text, label, k, language)  # noqa: SLF001 - of the same class

    def _explain(self, text: str, label: str | None, k: int | None, language: str | None) -> Any:
        check_is_fitted(self)
        if not isinstance(text, str):
            raise ValueError(f"text must be one string, got {text!r:.60}")  # noqa: TRY004 - as every other bad value
        row = self._rows([text])
        number = None if label is None else self._number(label)
        if not row.nnz and number is None and self._ranker() is None:
            if k is None:
                raise ValueError(_UNKNOWN)
            check_count("k", k)
            return Explanations()
        found = self._explanations(text, row, number, k)
        features, begins, ends = self.vectorizer_.spans(text)
        places = zip(features.tolist(), begins.tolist(), ends.tolist(), strict=True)
        spans = [Span(*place) for place in places]
        shown = Explanations(
            replace(one, text=text, spans=tuple(spans), name=self.label_name(one.label, language))
            for one in (found if isinstance(found, Explanations) else [found])
        )
        return shown if isinstance(found, Explanations) else shown[0]

    def label_name(self, label: str, language: str | None = None) -> str | None:
        """Return what a label is called, None if it has no name.

        Parameters
        ----------
        label : str
            The label.
        language : str, optional
            The language, as for :meth:`Thesaurus.name`.
        """
        check_is_fitted(self)
        name = label if self.thesaurus_ is None else self.thesaurus_.name(label, language)
        return None if name == label else name

    def find_labels(self, words: str, n: int = 10, *, language: str | None = None) -> list[Match]:
        """Return labels whose names have some words, or else those with names spelt alike.

        Parameters
        ----------
        words : str
            Words or parts of words, in any case and order; or a label.
        n : int, default=10
            How many labels.
        language : str, optional
            The language of the names to show.

        Returns
        -------
        found : list of Match
            As :meth:`Thesaurus.search`; a model without a thesaurus has its labels as names.
        """
        check_is_fitted(self)
        named = self.thesaurus_
        if named is None:
            named = Thesaurus.of({"id": str(one), "name": str(one)} for one in self.classes_)
        found = named.search(words, n, language=language)
        if words in self.classes_:
            same = Match(words, named.name(words, language), words, exact=True)
            return [same, *(one for one in found if one.label != words and one.exact)][:n]
        return found

    def _explanations(self, text: str, row: Csr, number: int | None, k: int | None) -> Any:
        """Return explanations of a label, or of the best ones under the labels they have now."""
        checked = check_texts([text])

        def explain(label: int | None, n: int | None) -> Any:
            if label is not None and n is None and self._ranker() is not None:
                return self._explain_candidate(checked[0], row, label)
            label_of = self.classes_.__getitem__
            return explain_point(self.base_, row, label, n, label_of=label_of, names=self._names())

        if number is not None:
            olds = [number] if self._current_ is None else np.flatnonzero(self._current_ == number)
            olds = [old for old in [*olds, number] if old < self._n_ranked]
            if not olds:
                label = self.classes_[number]
                raise ValueError(f"label {label!r} has no training points, so nothing explains it")
            best = max((explain(int(old), k) for old in olds), key=lambda one: one.score)
            return replace(best, label=self.classes_[number], label_id=number)
        if self._current_ is None and self._ranker() is None:
            return explain(None, k)
        ids, _, sources = self._best(checked, 1 if k is None else check_count("k", k))
        pairs = zip(ids[0].tolist(), sources[0].tolist(), strict=True)
        found = [
            replace(explain(source, None), label=self.classes_[label], label_id=label)
            for label, source in pairs
            if label >= 0
        ]
        if k is None and not found:
            raise ValueError("no label is predicted for the text: give the label to explain")
        return Explanations(found) if k is not None else found[0]

    def _explain_candidate(self, text: str, row: Csr, label: int) -> Any:
        """Explain a probability: the words' part is the score of the base, then come two terms.

        These are what the name changes, and what the ranker makes of the score without a name.
        """
        ranker, evidence = cast("Ranker", self._ranker()), cast("NameEvidence", self._evidence_)
        ranking = self._base_ranking(row, self.base_.n_labels_)  # the label may be far down
        found = join_candidates(*ranking, evidence.find([text], n_threads=1))
        whole, alone = ranker.shares(found, label)
        one: Any = without_features(label, self.classes_[label])
        if label < self.base_.n_labels_:
            label_of, names = self.classes_.__getitem__, self._names()
            one = explain_point(self.base_, row, label, None, label_of=label_of, names=names)
        name = evidence.describe(text, label) or "no name"
        terms = [(name, whole - alone), ("rank among candidates", alone - one.score)]
        return one.with_terms(terms, row.shape[1])

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
        known = self.classes_
        if isinstance(label, str) and known.dtype.kind not in "OU":
            known = known.astype(str)  # numbers come from command lines as text
        found: Any = np.flatnonzero(known == label) if np.isscalar(label) else ()
        if not len(found):
            raise ValueError(f"label must be a label of the model, got {label!r}")
        return int(found[0])

    def _names(self) -> Sequence[str]:
        names: Sequence[str] = self.vectorizer_.names_  # type: ignore[assignment] # indexed only
        return names

    def score(self, texts: Sequence[str], labels: Any, sample_weight: Any = None) -> float:
        """Return P@1, the fraction of texts whose best label is correct; of classes, accuracy.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : labels
            Their labels, in any form that ``fit`` accepts.
        sample_weight : array-like of float, shape (n_texts,), optional
            Weights of the texts.

        Returns
        -------
        precision : float
            Between 0 and 1.
        """
        check_is_fitted(self)
        if not self.base_.multilabel_:
            return float(super().score(texts, labels, sample_weight))
        best = self._predict_ids(texts, k=1)[0][:, 0]
        truth = self._in_own_columns(check_text_labels(labels, len(best)))
        right = np.zeros(len(best))
        known = np.flatnonzero((best >= 0) & (best < truth.shape[1]))
        if len(known):
            right[known] = np.asarray(truth[known, best[known]]).ravel() > 0
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
