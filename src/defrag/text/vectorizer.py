"""Texts as sparse rows: words and pairs of words, weighted by tf-idf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot
from defrag._parameters import Int
from defrag._progress import progress_bar
from defrag.text._texts import check_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from defrag._native import TextFeatures, TokenizedTexts
    from defrag.typing import Csr, Floats, Ids

__all__ = ["TextVectorizer"]


class TextVectorizer(TransformerMixin, Estimator):
    r"""Turn texts into sparse rows of tf-idf values.

    A word is a run of at least two letters, marks, digits, connectors and joiners, in lower
    case; runs of scripts that are written without spaces become overlapping pairs of
    characters. The tables of characters are part of this library, so that a text has the same
    words on every machine and Python.

    Parameters
    ----------
    ngrams : {1, 2}, default=1
        1 for words, 2 for words and pairs of words that follow each other.
    min_df : int, default=2
        The least number of training texts that a feature occurs in.
    max_features : int, optional
        Keep this many features, those that occur most often; default: all.
    n_jobs : int, optional
        Threads, as in scikit-learn; -1 for all. They change no bit.
    verbose : int, default=0
        Show a progress bar on a terminal.

    Attributes
    ----------
    words_ : sequence of str
        The words of the features, by their UTF-8.
    word_feature_ : ndarray of int32
        The feature of each word; -1 for one that is only part of a pair.
    pairs_ : ndarray of int32, shape (n_pairs, 2)
        The words of each pair; the features of pairs follow those of words.
    idf_ : ndarray of float32, shape (n_features,)
        The inverse document frequency of each feature.

    Notes
    -----
    A feature that occurs t times in a text has the value ``(1 + ln t) * idf``, with
    ``idf = ln((1 + n) / (1 + df)) + 1`` for a feature of df out of n texts. Rows are not
    normalised: the classifiers of this library do that.

    Examples
    --------
    >>> from defrag import TextVectorizer
    >>> texts = ["a fast sorting library", "a library for sparse data", "fast sparse data"]
    >>> vectorizer = TextVectorizer(ngrams=2).fit(texts)
    >>> vectorizer.get_feature_names_out().tolist()
    ['data', 'fast', 'library', 'sparse', 'sparse data']
    >>> vectorizer.transform(["Sparse DATA, again: data"]).toarray().astype(float).round(2)
    array([[2.18, 0.  , 0.  , 1.29, 1.29]])
    """

    def __init__(
        self,
        ngrams: int = 1,
        *,
        min_df: int = 2,
        max_features: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.ngrams = ngrams
        self.min_df = min_df
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.verbose = verbose

    parameter_rules: ClassVar[dict[str, Any]] = {
        "ngrams": Int(1, 2),
        "min_df": Int(1),
        "max_features": Int(1, none=True),
        "n_jobs": Int(none=True),
        "verbose": Int(0),
    }

    def fit(self, texts: Sequence[str], y: Any = None) -> TextVectorizer:
        """Find the features.

        Parameters
        ----------
        texts : sequence of str
            Training texts.
        y : object, optional
            Not used.

        Returns
        -------
        self : TextVectorizer
            The fitted vectoriser.
        """
        self.fit_transform(texts, y)
        return self

    def fit_transform(self, texts: Sequence[str], y: Any = None) -> Csr:  # noqa: ARG002 - as above
        """Find the features and return the rows of the training texts.

        Parameters
        ----------
        texts : sequence of str
            Training texts.
        y : object, optional
            Not used.

        Returns
        -------
        X : csr_array, shape (n_texts, n_features)
            tf-idf values, float32.
        """
        counts: list[Csr] = []
        self._fit(check_texts(texts), counts)
        return self._weigh(counts.pop())

    @all_or_nothing
    def _fit(self, texts: list[str], counts: list[Csr]) -> None:
        self.check_parameters()
        threads = _native.n_threads(self.n_jobs)
        with progress_bar("reading texts", enabled=self.verbose > 0) as progress:
            tokenized = _native.tokenize(texts, n_threads=threads, progress=progress)
        words = _count(tokenized.indptr, tokenized.tokens, len(tokenized.words), threads)
        frequent = _document_frequency(words) >= self.min_df
        matrix = _keep_columns(words, np.flatnonzero(frequent), threads)
        pairs = np.zeros((0, 2), dtype=np.int32)
        if self.ngrams == 2:
            pairs, counted = _count_pairs(tokenized, frequent, self.min_df, threads)
            matrix = sparse.csr_array(sparse.hstack([matrix, counted], format="csr"))
        if not matrix.shape[1]:
            raise ValueError(
                f"texts must have a word that occurs in at least {self.min_df} of them, got "
                f"{len(texts)} texts without one"
            )
        kept = self._most_frequent(matrix)
        if len(kept) < matrix.shape[1]:
            matrix = _keep_columns(matrix, kept, threads)
        self._set_features(tokenized.words, np.flatnonzero(frequent), pairs, kept)
        n_texts = len(texts)
        ratio = (1.0 + n_texts) / (1.0 + _document_frequency(matrix))
        self.idf_: Floats = (np.log(ratio) + 1.0).astype(np.float32)
        counts.append(matrix)

    def _most_frequent(self, counts: Csr) -> NDArray[np.int64]:
        """Return the columns to keep, in their order."""
        if self.max_features is None or self.max_features >= counts.shape[1]:
            return np.arange(counts.shape[1])
        totals = np.asarray(counts.sum(axis=0)).ravel()
        order = np.argsort(-totals, kind="stable")
        return np.sort(order[: self.max_features])

    def _set_features(
        self, words: list[str], frequent: NDArray[Any], pairs: Ids, kept: NDArray[np.int64]
    ) -> None:
        n_words = len(frequent)
        feature = np.full(n_words + len(pairs), -1, dtype=np.int32)
        feature[kept] = np.arange(len(kept), dtype=np.int32)
        kept_pairs = pairs[feature[n_words:] >= 0]
        used = feature[:n_words] >= 0
        # A pair is named by the places of its words among the frequent ones.
        place = np.full(len(words), -1, dtype=np.int32)
        place[frequent] = np.arange(n_words, dtype=np.int32)
        used[place[kept_pairs].ravel()] = True
        number = np.cumsum(used, dtype=np.int32) - 1
        self.words_: Sequence[str] = [words[frequent[i]] for i in np.flatnonzero(used)]
        self.word_feature_: Ids = feature[:n_words][used]
        self.pairs_: Ids = number[place[kept_pairs]].reshape(-1, 2).astype(np.int32)
        self.features_: TextFeatures = self.make_features()

    def make_features(self) -> TextFeatures:
        """Return the tables that the kernel looks features up in."""
        n_words = int(np.count_nonzero(self.word_feature_ >= 0))
        n_features = n_words + len(self.pairs_)
        return _native.TextFeatures(
            list(self.words_),
            np.ascontiguousarray(self.word_feature_),
            np.ascontiguousarray(self.pairs_.ravel()),
            np.arange(n_words, n_features, dtype=np.int32),
            n_features=n_features,
        )

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
            tf-idf values, float32. A text without a known word is an empty row.
        """
        if not hasattr(self, "idf_"):  # the general check is slow for a single text
            check_is_fitted(self)
        threads = _native.n_threads(self.n_jobs)
        counts = _native.count_features(self.features_, check_texts(texts), len(self.idf_), threads)
        return self._weigh(counts)

    def _weigh(self, counts: Csr) -> Csr:
        values = np.log(counts.data, out=counts.data)
        values += np.float32(1.0)
        values *= self.idf_[counts.indices]
        return counts

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
        words = [self.words_[i] for i in np.flatnonzero(self.word_feature_ >= 0).tolist()]
        pairs = [f"{self.words_[i]} {self.words_[j]}" for i, j in self.pairs_.tolist()]
        return np.array([*words, *pairs], dtype=object)

    def __getstate__(self) -> dict[str, Any]:
        # The tables of the kernel are made again.
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "features_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "words_"):
            self.features_ = self.make_features()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags


def _count(indptr: Any, tokens: Ids, n_columns: int, n_threads: int) -> Csr:
    """Count the numbers of a sequence per text: pooled into groups of one feature each."""
    sequence = _native.csr_from_parts(
        (indptr, tokens, np.ones(len(tokens), dtype=np.float32)), (len(indptr) - 1, n_columns)
    )
    return _keep_columns(sequence, np.arange(n_columns), n_threads)


def _keep_columns(counts: Csr, kept: NDArray[np.int64], n_threads: int) -> Csr:
    """Return some columns of a matrix, whose rows may repeat a column: repeats are added up."""
    groups = np.full(counts.shape[1], -1, dtype=np.int32)
    groups[kept] = np.arange(len(kept), dtype=np.int32)
    return _native.agglomerate(
        counts, groups, n_groups=len(kept), mean_nonzero=False, scale=None, n_threads=n_threads
    )


def _count_pairs(
    tokenized: TokenizedTexts, frequent: NDArray[np.bool_], min_df: int, n_threads: int
) -> tuple[Ids, Csr]:
    """Return the pairs of neighbouring words that occur in ``min_df`` texts, and their counts.

    Both words of such a pair occur in as many, so that pairs of rarer words are not counted.
    """
    tokens, indptr = tokenized.tokens, tokenized.indptr
    known = frequent[tokens] if len(tokens) else np.zeros(0, dtype=bool)
    begins = known[:-1] & known[1:]
    last = indptr[1:-1] - 1
    begins[last[(last >= 0) & (last < len(begins))]] = False  # the next word is another text's
    places = np.flatnonzero(begins)
    keys = tokens[places].astype(np.int64) << 32 | tokens[places + 1]
    pairs, numbers = np.unique(keys, return_inverse=True)
    bounds = np.searchsorted(places, indptr)
    counts = _count(bounds.astype(np.int64), numbers.astype(np.int32), len(pairs), n_threads)
    kept = np.flatnonzero(_document_frequency(counts) >= min_df)
    words = np.stack([pairs[kept] >> 32, pairs[kept] & 0xFFFFFFFF], axis=1)
    return words.astype(np.int32), _keep_columns(counts, kept, n_threads)


def _document_frequency(counts: Csr) -> NDArray[np.int64]:
    return np.bincount(counts.indices, minlength=counts.shape[1])
