"""Texts as sparse rows: words, pairs of words or character n-grams, weighted by tf-idf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot
from defrag._native import Terms
from defrag._parameters import Int
from defrag._progress import progress_bar
from defrag.text._feature_names import FeatureNames
from defrag.text._following import follow_terms
from defrag.text._lengths import Lengths
from defrag.text._spans import TextSpans, normalise_with_places, to_original
from defrag.text._stemming import StemmerName, stem_words
from defrag.text._texts import check_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from defrag._native import KernelRows, TextCorpus, TextFeatures
    from defrag.typing import Csr, Floats, Ids

__all__ = ["TextVectorizer"]


class TextVectorizer(TransformerMixin, Estimator):
    r"""Turn texts into sparse, L2-normalised rows of tf-idf values.

    A word is a run of at least two letters, marks, digits, connectors and joiners, in lower
    case; runs of scripts that are written without spaces become overlapping pairs of
    characters. The tables of characters are part of this library, so that a text has the same
    words on every machine and Python.

    Parameters
    ----------
    ngrams : {1, 2}, default=1
        1 for words, 2 for words and pairs of words that follow each other.
    characters : int or tuple of two ints, optional
        Lengths of character n-grams, which replace words: 4, or (3, 5) for all from 3 to 5. They
        are taken from each word with a space before and after it. Good for languages that inflect
        and compound words, such as Finnish.
    stemmer : str, optional
        Name of a stemmer of PyStemmer, such as "finnish", which reduces words before they are
        counted; needs ``pip install defrag[stem]``.
    min_df : int, default=2
        Minimum number of training texts that contain a feature.
    max_features : int, optional
        Maximum number of features; the most frequent are kept. Default: no limit.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; -1 for all. The result is the same for any.
    verbose : int, default=0
        Show a progress bar on a terminal.

    Attributes
    ----------
    words_ : sequence of str
        The words, or n-grams, of the features, by their UTF-8.
    word_feature_ : ndarray of int32
        The feature of each word; -1 for one that is only part of a pair.
    pairs_ : ndarray of int32, shape (n_pairs, 2)
        The words of each pair; their features are those that no word has, rising. Unless
        ``shape`` was given, they follow those of words.
    idf_ : ndarray of float32, shape (n_features,)
        The inverse document frequency of each feature; 0 for one of ``shape`` alone.

    Notes
    -----
    A feature that occurs t times in a text has the value ``(1 + ln t) * idf`` before rows are
    divided by their length, with ``idf = ln((1 + n) / (1 + df)) + 1`` for a feature of df out of n
    texts: ``TfidfVectorizer(sublinear_tf=True)`` of scikit-learn.

    Examples
    --------
    >>> from defrag import TextVectorizer
    >>> texts = ["a fast sorting library", "a library for sparse data", "fast sparse data"]
    >>> vectorizer = TextVectorizer(ngrams=2).fit(texts)
    >>> vectorizer.get_feature_names_out().tolist()
    ['data', 'fast', 'library', 'sparse', 'sparse data']
    >>> vectorizer.transform(["Sparse DATA, again: data"]).toarray().astype(float).round(2)
    array([[0.77, 0.  , 0.  , 0.45, 0.45]])
    """

    def __init__(
        self,
        ngrams: int = 1,
        *,
        characters: int | tuple[int, int] | None = None,
        stemmer: str | None = None,
        min_df: int = 2,
        max_features: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.ngrams = ngrams
        self.characters = characters
        self.stemmer = stemmer
        self.min_df = min_df
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.verbose = verbose

    parameter_rules: ClassVar[dict[str, Any]] = {
        "ngrams": Int(1, 2),
        "characters": Lengths(1, 64),
        "stemmer": StemmerName(),
        "min_df": Int(1, 2**31 - 1),
        "max_features": Int(1, 2**31 - 1, none=True),
        "n_jobs": Int(none=True),
        "verbose": Int(0),
    }

    def fit(
        self, texts: Sequence[str], y: Any = None, *, shape: TextVectorizer | None = None
    ) -> TextVectorizer:
        """Learn the features.

        Parameters
        ----------
        texts : sequence of str
            Training texts.
        y : object, optional
            Not used.
        shape : TextVectorizer, optional
            A fitted vectoriser whose features keep their ids, with the same ``characters`` and
            ``stemmer``. New features follow; those that the texts do not have are kept, but
            ignored when texts are transformed.

        Returns
        -------
        self : TextVectorizer
            The fitted vectoriser.
        """
        self.fit_transform(texts, y, shape=shape)
        return self

    def fit_transform(
        self,
        texts: Sequence[str],
        y: Any = None,  # noqa: ARG002 - as above
        *,
        shape: TextVectorizer | None = None,
    ) -> Csr:
        """Learn the features and return the rows of the training texts.

        Parameters
        ----------
        texts : sequence of str
            Training texts.
        y : object, optional
            Not used.
        shape : TextVectorizer, optional
            As in ``fit``.

        Returns
        -------
        X : csr_array, shape (n_texts, n_features)
            L2-normalised tf-idf values, float32.
        """
        rows: list[Csr] = []
        self._fit(check_texts(texts), rows, shape)
        return rows[0]

    def cuts_as(self, other: TextVectorizer) -> bool:
        """Return whether texts have the same words, or n-grams, in another vectoriser."""
        lengths = [Lengths.bounds(one.characters) for one in (self, other)]
        return lengths[0] == lengths[1] and self.stemmer == other.stemmer

    @all_or_nothing
    def _fit(self, texts: list[str], rows: list[Csr], shape: TextVectorizer | None) -> None:
        self.check_parameters()
        if shape is not None and not (hasattr(shape, "idf_") and self.cuts_as(shape)):
            raise ValueError(
                "shape must be a fitted TextVectorizer with the same characters and stemmer, got "
                f"{shape!r}"
            )
        if self.characters is not None and self.ngrams != 1:
            raise ValueError(f"ngrams must be 1 with characters, got {self.ngrams!r}")
        threads = _native.n_threads(self.n_jobs)
        corpus = self._read(texts, threads)
        terms = _native.choose_terms(
            corpus,
            pairs=self.ngrams == 2,
            characters=Lengths.bounds(self.characters),
            min_df=int(self.min_df),
            max_features=None if self.max_features is None else int(self.max_features),
            n_threads=threads,
        )
        if not len(terms.idf):
            what = "word" if self.characters is None else "n-gram"
            noun = "text" if len(texts) == 1 else "texts"
            raise ValueError(
                f"texts must have a {what} that occurs in at least {self.min_df} of them, got "
                f"{len(texts)} {noun} without one"
            )
        if shape is not None:
            terms = follow_terms(shape.terms(), terms)
        features = _native.text_features(terms, Lengths.bounds(self.characters))
        rows.append(features.weigh_corpus(corpus, n_threads=threads))
        del corpus  # before Python's strings are made, so that not all is in memory at a time
        self.words_: Sequence[str] = list(terms.words)
        self.word_feature_: Ids = terms.word_feature
        self.pairs_: Ids = terms.pairs.reshape(-1, 2)
        self.idf_: Floats = terms.idf
        self._set_features(features)

    def _read(self, texts: list[str], n_threads: int) -> TextCorpus:
        with progress_bar("reading texts", enabled=self.verbose > 0) as progress:
            corpus = _native.TextCorpus(texts, n_threads=n_threads, progress=progress)
        if self.stemmer is not None:
            stems = stem_words(self.stemmer, corpus.words())
            corpus.replace_words(stems, n_threads=n_threads)
        return corpus

    def terms(self) -> Terms:
        """Return the features as the kernels take them."""
        return Terms(
            list(self.words_),
            np.ascontiguousarray(self.word_feature_),
            np.ascontiguousarray(self.pairs_.ravel()),
            np.ascontiguousarray(self.idf_),
        )

    def prepare(self) -> None:
        """Build what model files do not contain: the tables of the kernels, and the names."""
        lengths = Lengths.bounds(self.characters)
        self._set_features(_native.text_features(self.terms(), lengths))

    def _set_features(self, features: TextFeatures) -> None:
        self.features_ = features
        self.names_ = FeatureNames(self.words_, self.word_feature_, self.pairs_)

    @on_snapshot
    def transform(self, texts: Sequence[str]) -> Csr:
        """Turn texts into rows.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        X : csr_array, shape (n_texts, n_features)
            L2-normalised tf-idf values, float32. A text without a known word is an empty row.
        """
        if not hasattr(self, "idf_"):  # the general check is slow for a single text
            check_is_fitted(self)
        return _native.as_matrix(self.weigh(check_texts(texts)))

    def weigh(self, texts: list[str]) -> Csr | KernelRows:
        """Return the rows of validated texts; see :meth:`transform`.

        Kernels take them as they are: building a scipy matrix takes longer than a short row.
        """
        threads = _native.n_threads(self.n_jobs)
        if self.stemmer is None:
            return self.features_.weigh(texts, n_threads=threads)
        corpus = self._read(texts, threads)
        return self.features_.weigh_corpus(corpus, n_threads=threads)

    @on_snapshot
    def spans(self, text: str) -> TextSpans:
        """Find the features of a text in it.

        Parameters
        ----------
        text : str
            A text.

        Returns
        -------
        spans : TextSpans
            ``features``, and ``begins`` and ``ends`` of what each of their occurrences covers: a
            word, a pair of words, or the part of a word that an n-gram covers.

        Examples
        --------
        >>> from defrag import TextVectorizer
        >>> vectorizer = TextVectorizer(2).fit(["sparse data", "Sparse data"])
        >>> text = "Very SPARSE, data!"
        >>> features, begins, ends = vectorizer.spans(text)
        >>> [text[begin:end] for begin, end in zip(begins, ends)]
        ['SPARSE', 'data', 'SPARSE, data']
        >>> vectorizer.get_feature_names_out()[features].tolist()
        ['sparse', 'data', 'sparse data']
        """
        check_is_fitted(self)
        check_texts([text])
        normal, places = normalise_with_places(text)
        words, word_begins, word_ends = _native.split_words(normal)
        stems = words if self.stemmer is None else stem_words(self.stemmer, words)
        found = _native.find_features(self.features_, stems)
        begins = word_begins[found.first] + found.begins
        ends = np.minimum(word_begins[found.last] + found.ends, word_ends[found.last])
        # Of a stem that differs from its word, an n-gram may be beyond the word.
        begins = np.minimum(begins, ends - 1)
        if places is not None:
            begins, ends = to_original(places, begins, ends)
        return TextSpans(found.features, begins, ends)

    @on_snapshot
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002 - scikit-learn's signature
        """Return the features as strings; the words of a pair are joined by a space.

        Parameters
        ----------
        input_features : object, optional
            Not used.

        Returns
        -------
        names : ndarray of object, shape (n_features,)
            The names.
        """
        check_is_fitted(self)
        return np.array([self.names_[i] for i in range(len(self.names_))], dtype=object)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        made_again = {"features_", "names_"}
        return {name: value for name, value in state.items() if name not in made_again}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "words_"):
            self.prepare()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags
