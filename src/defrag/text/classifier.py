"""Texts in, label names out: a vectoriser, a classifier and the names of labels in one model.

This is the class that most users need, and the model that ``defrag train`` writes for texts. Ranks
are asked of the inner classifier by id; names are looked up only for what is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot, save_model, snapshot
from defrag._parameters import SEED_KIND, Choice, Float, Int, fitted, param
from defrag._scikit import ClassifierMixin, available_if, check_is_fitted, clone
from defrag._scratch import Coding, kept
from defrag._validation import check_seed, require_labels
from defrag.classifiers._answers import Calibration, features_of_label, has_probabilities
from defrag.classifiers._base import WEIGHTS_RULE, Classifier
from defrag.classifiers._composite import check_part
from defrag.classifiers._following import Shapes, match_labels, previous_model
from defrag.classifiers._weights import (
    CLASS_WEIGHT,
    STORED_CLASS_WEIGHT,
    check_sample_weight,
    with_class_weight,
)
from defrag.persistence.fields import COUNT, MAX_COUNT, Number, State, Strings
from defrag.persistence.kinds import Child, Unfitted
from defrag.presets import MULTIPLE_OF_TEXTS, PRESETS, Tried, choose, quick, usual
from defrag.text._explaining import explain_text
from defrag.text._labels import (
    NAMES_ONLY,
    LabelTable,
    check_thesaurus,
    names_in_file,
    restore_classes,
    thesaurus_of,
    with_names_only,
)
from defrag.text._texts import (
    Extra,
    Sentence,
    append_columns,
    check_text_labels,
    check_texts,
    extra_rows,
    first_rows,
)
from defrag.text.answers import (
    N_LISTED,
    AimRule,
    Answers,
    Candidate,
    Promise,
    answers_without,
    as_matrix,
    held_out_calibration,
    learn_answers,
    n_points_of,
    pack_answers,
    promise_of,
    unpack_answers,
    with_promises,
)
from defrag.text.naming import LabelNames, Naming, Points, learn_naming
from defrag.text.ranker import LEAST_TEXTS, N_RANKED, fold_of, rank_with
from defrag.text.vectorizer import TextVectorizer, n_features_in_file
from defrag.thesaurus import Match, Thesaurus
from defrag.typing import Csr, Floats, Ids, Seed

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from typing_extensions import Self

    from defrag._native import KernelRows
    from defrag.explain import Explanation, Explanations, LabelFeatures
    from defrag.io.files import PathLike

_K_RULE = Int(1)
_THRESHOLD_RULE = Float(0.0, 1.0)
_DEFAULT_THRESHOLD = 0.5
_TREES_WITH_NAMES = 3


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
        doc="How texts become rows.", default=None, kind="TextVectorizer, optional", kw_only=False
    )
    preset: str | None = param(
        Choice((None, *PRESETS)),
        'Without ``base``: "best" tries three trees and one-vs-rest beside the default on held-out '
        "texts, in at most ten times the training time of the default; ``chosen_`` says what it "
        'found. "fast" takes two fifths to three quarters of it, and is less precise. '
        "None: the default.",
        kind='{"fast", "best"}, optional',
        default=None,
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
    answers: str | None = param(
        AimRule(),
        "What :meth:`predict` answers with, chosen on a fifth of the texts, from 1,000 on, by a "
        "model of half of them: labels for the best micro-F1, ``micro-f1``; for the best mean F1 "
        "of at most K labels, ``f1@K``; as many as are right with a share of P, ``precision=P``; "
        "as few as find a share of R, ``recall=R``; or, where a label has many texts, for its own "
        "best F1, ``macro-f1``. None: scores above 0.5. ``answering_`` says how good they are.",
        default="micro-f1",
    )
    least_precision: float | None = param(
        Float(0.0, 1.0, open_low=True, none=True),
        "A text has no answer unless the best labels of texts like it are right with this share.",
        default=None,
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
    answers_: Answers | None = fitted("Answers or None", "Which labels of a ranking are answers.")
    answering_: str = fitted("str", "What was found about answers, if it was asked.")
    chosen_: str = fitted("str", "Why ``preset`` chose the base, if it did.")
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
            features=lambda part: len(part.children["vectorizer"].names_) + part.state["n_extra"],
            labels="n_labels",
        ),
        Strings(
            "classes_",
            "n_labels",
            optional=True,
            as_array=True,
            name="label_names",
            get=names_in_file,
        ),
        Child("thesaurus_", Thesaurus, optional=True),
        Child("naming_", Naming, optional=True),
        Child("answers_", Answers, optional=True, name="answered"),
        Number("answering_", Sentence()),
        Number("chosen_", Sentence()),
        finish=restore_classes,
        absent={
            "numbered": False,
            "calibration": None,
            "class_weight": None,
            "features": "words",
            "answers": None,
            "least_precision": None,
            "answering": "",
            "preset": None,
            "chosen": "",
        },
        told=("answering", "chosen"),
        # ``extra`` is a function, which cannot be stored.
        parameters={
            "base": Unfitted(),
            "vectorizer": Unfitted(("vectorizer",)),
            "extra": None,
            "class_weight": STORED_CLASS_WEIGHT,
        },
        sizes={
            "features": lambda part: (
                n_features_in_file(part.children["vectorizer"]) + part.state["n_extra"]
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
        validation: tuple[Sequence[str], Any] | None = None,
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
            The default ``base`` then has three trees.
        validation : pair of texts and labels, optional
            Other texts and their labels, on which answers are chosen.

        Returns
        -------
        self : TextClassifier
            The fitted classifier.
        """
        more: Any = {"sample_weight": sample_weight, "shape": shape, "thesaurus": thesaurus,
                     "validation": validation}  # fmt: skip
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
        validation: tuple[Sequence[str], Any] | None = None,
    ) -> None:
        """Train as ``fit``; before the long part, ``announce`` gets the base, rows and labels."""
        named = thesaurus_of(thesaurus)
        self.naming_, self.chosen_ = None, ""
        previous = None if shape is None else previous_model(shape, TextClassifier)
        self._check_parameters()
        seed = check_seed(self.random_state)
        require_labels(self, labels)
        checked = check_texts(texts)
        keeps_shape = previous is not None and previous.thesaurus_ is None
        ranks = named is not None and len(checked) >= LEAST_TEXTS and not keeps_shape
        usual_base = self._unfitted_base(seed, names_rank=ranks, previous=previous)
        known = check_text_labels(labels, len(checked))
        weights = check_sample_weight(usual_base.base, sample_weight, len(checked))
        if self.class_weight is not None:
            given = with_class_weight(self.class_weight, weights, known.matrix, known.classes)
            weights = check_sample_weight(usual_base.base, given, len(checked))
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
        check_thesaurus(known, named)
        blank = self._best_base(usual_base, (X, Y, weights), checked, previous)
        announce(blank, X, Y)
        shapes = None
        if previous is not None:
            own = np.arange(Y.shape[1]) if known.classes is None else known.classes
            n_labels = previous.base_.n_labels_
            found = match_labels(previous.classes_[:n_labels], n_labels, own, Y.shape[1])
            shapes = Shapes(previous.base_, found)
        points = X, Y, weights
        names = None
        if named is not None and known.classes is not None:
            names = LabelNames(with_names_only(known.classes, named), named)
            X, points = self._with_naming(names, blank, checked, points)
        with self.vectorizer_._at_rest():
            self.base_ = blank._fit_canonical(points[0], points[1], shapes, points[2])
        if shapes is not None:
            shapes.check_all_taken()
        self._set_labels(known.classes, known.dense, known.multilabel, names)
        self.answers_, self.answering_ = kept(
            "answers",
            lambda: self._learn_answers(blank, checked, (X, Y, weights), validation),
            Coding(lambda found: pack_answers(*found), unpack_answers),
        )
        if self.calibration is not None:
            self.base_.calibration_ = held_out_calibration(
                self.calibration, blank, (X, Y, weights), seed
            )

    def _with_naming(
        self, names: LabelNames, blank: Classifier, texts: Sequence[str], points: Points
    ) -> tuple[Csr, Points]:
        """Learn what names in the texts mean; return the rows of texts, the points to train on."""

        def rank(some: Points, held: Csr) -> tuple[Ids, Floats]:
            base: Classifier = clone(blank)._fit_canonical(some[0], some[1], None, some[2])
            return base._rank(held, min(N_RANKED, some[1].shape[1]), exhaustive=False)

        learnt = learn_naming(names, texts, points, rank, self._rows, n_threads=self._threads)
        self.naming_, points = learnt
        return first_rows(points[0], len(texts)), points  # in memory once

    def _learn_answers(
        self,
        blank: Classifier,
        texts: Sequence[str],
        points: Points,
        validation: tuple[Sequence[str], Any] | None,
    ) -> tuple[Answers | None, str]:
        """Return what answers are, by other texts or by some held out of a part of the model."""
        if self.answers is None or not self.base_.multilabel_:
            return None, ""
        aims: Any = {"aim": self.answers, "least_precision": self.least_precision}
        if validation is not None:
            others = check_texts(validation[0])
            labels, scores, _ = self._best(others, N_RANKED)
            given = check_text_labels(validation[1], len(labels))
            truth = self._labels_.in_columns(given, self._answer_form())
            made, said = learn_answers(labels, scores, truth, n_points_of(points[1]), **aims)
            if made is None:
                return None, said
            labels, scores, _ = self._best(others, N_LISTED)
            return with_promises(made, said, labels, scores, truth[:, : len(self.classes_)])
        aims["quick"] = self.preset == "fast"
        return answers_without(blank, texts, points, self._labels_, n_threads=self._threads, **aims)

    def _set_labels(
        self,
        classes: NDArray[Any] | None,
        dense: bool,
        multilabel: bool,
        names: LabelNames | None = None,
    ) -> None:
        """Set the labels of a model whose base is trained, from the parts of ``Labels``."""
        self.answers_, self.answering_ = None, ""
        n_labels = self.base_.n_labels_
        self.base_._set_labels(n_labels, None if multilabel else classes, dense_answers=dense,
                               multilabel=multilabel)  # fmt: skip
        self.numbered_ = multilabel and classes is not None and classes.dtype != object
        self.classes_ = self.base_.classes_ if classes is None else classes
        self.naming_ = getattr(self, "naming_", None)
        self._use_thesaurus(None if names is None else names.thesaurus, names)

    def _use_thesaurus(self, thesaurus: Thesaurus | None, names: LabelNames | None = None) -> None:
        """Set what labels are called, and those with names only after those with points."""
        if thesaurus is not None and (self._answer_form() != "lists" or self.numbered_):
            raise ValueError(NAMES_ONLY)
        trained = self.classes_[: self.base_.n_labels_]
        table = self._labels_ = LabelTable(trained, thesaurus, self.naming_, names)
        self.classes_, self.thesaurus_, self.naming_ = table.classes, thesaurus, table.naming

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
        both = found if self.thesaurus_ is None else self.thesaurus_.merged(found)
        changed._use_thesaurus(both, self._labels_.names)
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
        return {"base": lambda: usual().base, "vectorizer": default_vectorizer}

    def _unfitted_base(
        self, seed: int, *, names_rank: bool = False, previous: TextClassifier | None = None
    ) -> Tried:
        """Return an unfitted copy of the base with this seed and the threads of this model.

        With a preset, a model that is trained again has the base of the previous one.
        """
        if self.base is not None and self.preset is not None:
            raise ValueError(f"preset must be None with base, got {self.preset!r}")
        found = Tried("the base", self.base) if self.base is not None else usual()
        if self.base is None and self.preset is not None and previous is not None:
            found = Tried("the previous base", previous.base_)
            self.chosen_ = previous.chosen_
        elif self.base is None and self.preset == "fast":
            found = Tried("the quickest", quick())
        elif self.base is None and names_rank:
            found = usual(_TREES_WITH_NAMES)
        check_part(self, "base", found.base, Classifier)
        run = {"random_state": seed, "n_jobs": self.n_jobs}
        return Tried(found.name, clone(found.base).set_params(**run))

    def _best_base(
        self, usual_base: Tried, points: Points, texts: Sequence[str], previous: Any
    ) -> Classifier:
        """Return the usual base or, with the preset "best", the best on held-out texts."""
        base = usual_base.base
        if self.preset == "best" and previous is None:
            run: Any = {"n_jobs": self.n_jobs}
            options = {"default": usual_base, "multiple": MULTIPLE_OF_TEXTS, **run}
            found, self.chosen_ = choose(*points, fold_of(texts, "preset"), **options)
            base = clone(found).set_params(random_state=base.random_state, **run)
        return base

    def _unfitted_vectorizer(
        self, texts: Sequence[str], Y: Csr, previous: TextVectorizer | None = None
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

            options: Any = {"n_jobs": self.n_jobs, "quickly": self.preset == "fast"}
            vectorizer, reason = choose_features(texts, Y, **options)
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
        weights : {"float32", "float16", "int8", "int4"}, default="float32"
            Type of the weights in the file; smaller types round the weights.
        """
        check_is_fitted(self)
        if not WEIGHTS_RULE.accepts(weights):
            raise ValueError(f"weights must be {WEIGHTS_RULE.describe()}, got {weights!r}")
        save_model(self, path, weights=weights)

    def _rows(self, texts: Sequence[str]) -> Csr:
        """Return texts as rows: the features of the vectoriser, then those of ``extra``."""
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
        answers: bool = False,
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
        answers : bool, default=False
            Whether only labels that :meth:`predict` answers with are returned.

        Returns
        -------
        names : ndarray of objects, shape (n_texts, min(k, n_labels))
            Labels, usually names, by decreasing score; "" where there are fewer. A text without
            a known word has none.
        scores : ndarray of float32, of the same shape
            Their scores between 0 and 1.
        """
        usable = self._usable(allow, deny)
        labels, scores = self._rank_texts(texts, k, usable, answers=answers)
        names = self.classes_[labels].astype(object, copy=False)
        missing = labels < 0
        if np.count_nonzero(missing):  # for a single text faster than any()
            names[missing] = ""
        return names, scores

    def _rank_texts(
        self,
        texts: Sequence[str],
        k: int = 5,
        usable: NDArray[np.bool_] | None = None,
        *,
        answers: bool = False,
    ) -> tuple[Ids, Floats]:
        """Return the best usable labels of each text as places in ``classes_``, and their scores.

        A place is -1 where ``predict_topk`` has no name.
        """
        if not hasattr(self, "classes_"):
            check_is_fitted(self)
        if not _K_RULE.accepts(k):
            raise ValueError(f"k must be {_K_RULE.describe()}, got {k!r}")
        checked = check_texts(texts)
        if not answers:
            return self._best(checked, int(k), usable)[:2]
        labels, scores, kept = self._answered(checked, int(k), usable)
        order = np.argsort(~kept, axis=1, kind="stable")  # answers first
        labels, scores = np.where(kept, labels, -1), np.where(kept, scores, np.float32(0))
        return np.take_along_axis(labels, order, 1), np.take_along_axis(scores, order, 1)

    _predict_ids = on_snapshot(_rank_texts)

    def _best(
        self, texts: Sequence[str], k: int, usable: NDArray[np.bool_] | None = None
    ) -> tuple[Ids, Floats, Ids]:
        """Return the best usable labels of texts, their scores, and the labels that were ranked.

        Those are others where a label has taken the place of older ones.
        """
        points = self._points(texts)
        return self._labels_.best(lambda n: self._ranked(texts, points, n), k, usable)

    def _base_ranking(self, points: Csr | KernelRows, k: int) -> tuple[Ids, Floats]:
        """Return the ranking of points by the base, of more labels if a ranker follows."""
        X = cast("Csr", points) if self.base_._ranks_kernel_rows else _native.as_matrix(points)
        n_asked = k if self._labels_.ranker is None else max(k, N_RANKED)
        labels, scores = self.base_._rank(X, min(n_asked, self.base_.n_labels_), exhaustive=False)
        if _native.count_empty_rows(X):
            nothing_known = X.indptr[1:] == X.indptr[:-1]
            labels[nothing_known], scores[nothing_known] = -1, 0.0
        return labels, scores

    def _ranked(self, texts: Sequence[str], points: Csr | KernelRows, k: int) -> tuple[Ids, Floats]:
        """Return the ranking of points, those of the texts, by the model as it was trained."""
        labels, scores = self._base_ranking(points, k)
        found = self._labels_
        if found.ranker is None or found.evidence is None:
            return labels, scores
        k = min(k, len(self.classes_))
        return rank_with(found.ranker, found.evidence, texts, labels, scores, k=k,
                         n_threads=self._threads)  # fmt: skip

    def _usable(self, allow: Sequence[str] | None, deny: Sequence[str]) -> NDArray[np.bool_] | None:
        """Return which labels may be returned, None for all."""
        if allow is None and isinstance(deny, tuple) and not deny:
            return None
        check_is_fitted(self)
        return self._labels_.usable(allow, deny)

    @on_snapshot
    def predict(self, texts: Sequence[str], threshold: float | None = None) -> Any:
        """Return the answers for each text: labels that are likely enough, or its class.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        threshold : float, optional
            The score, between 0 and 1, above which a label is an answer; default: what ``answers``
            has chosen, or 0.5. Not allowed after ``fit`` with classes.

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
        chosen = threshold is None and self.answers_ is not None
        if chosen:
            ids, _, kept = self._answered(check_texts(texts), N_RANKED)
        elif form == "lists":
            # Few texts have more labels above the threshold; k grows until no text may have more.
            k = min(50, len(self.classes_))
            while True:
                ids, scores = self._predict_ids(texts, k=k)
                if k == len(self.classes_) or not (scores[:, -1:] > above).any():
                    break
                k = min(4 * k, len(self.classes_))
            kept = (scores > above) & (ids >= 0)
        if form == "lists":
            found = zip(self.classes_[ids], kept, strict=True)
            return [row[good].tolist() for row, good in found]
        if chosen:
            Y = as_matrix(ids, kept, len(self.classes_))
        else:
            Y = self._scores(texts, above=above)
            Y.data = np.ones_like(Y.data)
        return Y.toarray().astype(np.int64) if self.base_.dense_answers_ else Y

    def promise(self, recall: float = 0.95) -> Promise:
        """Return what :meth:`shortlist` holds of the labels of texts, as held-out texts have shown.

        Parameters
        ----------
        recall : float, default=0.95
            The asked share, at most 0.99; the least one from 0.5 on that is enough is taken.

        Returns
        -------
        promise : Promise
            The share of the reachable labels, its interval, the share of all known labels, and
            the mean number of candidates. Printed, it is a sentence.
        """
        check_is_fitted(self)
        return promise_of(None if self.answers_ is None else self.answers_.promises, recall)

    def shortlist(
        self,
        texts: Sequence[str],
        recall: float = 0.95,
        *,
        words: int = 0,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] = (),
        language: str | None = None,
    ) -> list[list[Candidate]]:
        """Return the fewest candidates that hold a share of the reachable labels of texts.

        A label is reachable if it is among the best 1,000 of a text; see :meth:`promise`.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        recall : float, default=0.95
            The share, at most 0.99.
        words : int, default=0
            Words or pairs of words to return that speak most for each candidate: 0.1 to 0.2
            milliseconds per candidate.
        allow, deny : sequence of str, optional
            As in :meth:`predict_topk`.
        language : str, optional
            The language of names and descriptions.

        Returns
        -------
        candidates : list of lists of Candidate
            The candidates of each text, best first, with what the thesaurus says of them.
        """
        model = snapshot(self)
        return model._listed(check_texts(texts), model.promise(recall), words,
                             model._usable(allow, deny), language)  # fmt: skip

    def _listed(
        self,
        texts: Sequence[str],
        promise: Promise,
        words: int,
        usable: NDArray[np.bool_] | None,
        language: str | None = None,
    ) -> list[list[Candidate]]:
        """Return the shortlists of texts that a promise is about."""
        labels, scores, sources = self._best(texts, N_LISTED, usable)
        odds = cast("Answers", self.answers_).log_odds(sources, scores)
        known = self._labels_.texts_in(language)
        found = []
        for place, good in enumerate((odds > promise.cut) & (labels >= 0)):
            ids = labels[place, good].tolist()
            said = [repeat(None)] * 2 if known is None else [[one[i] for i in ids] for one in known]
            pairs = self.classes_[ids].tolist(), scores[place, good].tolist()
            # Half of the time of Candidate(...), which for hundreds of them is that of the search.
            rows = zip(*pairs, *said, repeat(()))
            found.append(list(map(tuple.__new__, repeat(Candidate), rows)))
        if words:
            found = [self._with_words(*one, words) for one in zip(texts, found, strict=True)]
        return found

    def _with_words(self, text: str, found: list[Candidate], n: int) -> list[Candidate]:
        """Return candidates of a text with the n words that speak most for each."""
        if not found:
            return found
        # Together they take a tenth of the time; which labels are the best depends on their number.
        why = {one.label: one for one in self.explain(text, k=len(found))}
        explained = [why.get(one.label) or self.explain(text, one.label) for one in found]
        return [
            one._replace(words=tuple(part.name for part in parts.top(n) if part.contribution > 0))
            for one, parts in zip(found, explained, strict=True)
        ]

    def _answered(
        self, texts: Sequence[str], k: int, usable: NDArray[np.bool_] | None = None
    ) -> tuple[Ids, Floats, NDArray[np.bool_]]:
        """Return the best usable labels of texts, their scores, and which of them are answers."""
        ids, scores, sources = self._best(texts, k, usable)
        if self.answers_ is None:
            return ids, scores, (scores > _DEFAULT_THRESHOLD) & (ids >= 0)
        return ids, scores, self.answers_.chosen(sources, scores) & (ids >= 0)

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

    def calibrate(self, texts: Sequence[str], labels: Any, *, k: int = N_RANKED) -> Self:
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
        truth = self._labels_.in_columns(check_text_labels(labels, len(ids)), self._answer_form())
        calibrated = copy(self)
        calibrated.base_ = copy(self.base_)
        calibrated.base_.calibration_ = Calibration.of_ranking(ids, scores, truth)
        self.__dict__ = calibrated.__dict__
        return self

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
        return explain_text(snapshot(self), text, label, k, language)

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
        return self._labels_.name(label, language)

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
        return self._labels_.find(words, n, language)

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
        number = self._labels_.number(label)
        return features_of_label(self.base_, (number, label), self._names(), n)

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
        truth = self._labels_.in_columns(check_text_labels(labels, len(best)), self._answer_form())
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
