"""Texts as sparse rows: words, pairs of words or character n-grams, weighted by tf-idf.

Kernels cut and count words, because Python would take most of the time of a prediction. Here are
the fitted features and their names, where a feature is found in a text, for explanations, and
vocabularies that keep their ids when a model is trained again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot
from defrag._names import Names
from defrag._native import KernelRows, Terms, TextCorpus, TextFeatures
from defrag._parameters import VERBOSE, Int, fitted, param
from defrag._progress import progress_bar
from defrag._scikit import TransformerMixin, check_is_fitted
from defrag._scratch import Arrays, Coding, keeps, kept, kept_rows
from defrag.persistence.fields import COUNT, LARGEST, Array, Number, Part, State, Strings
from defrag.persistence.kinds import Rewritten
from defrag.text._texts import (
    Lengths,
    LineWeights,
    Sentence,
    StemmerName,
    check_texts,
    load_stemmer,
    some_texts,
    stem_words,
)
from defrag.typing import Csr, Floats, Ids, Offsets

if TYPE_CHECKING:
    from sklearn.utils import Tags

# --- The names of the features of texts.


def features_of_pairs(word_feature: Ids, n_features: int) -> Ids:
    """Return the ids of the features that are pairs, not words, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> features_of_pairs(np.array([3, -1, 0]), 5).tolist()
    [1, 2, 4]
    """
    of_pair = np.ones(n_features, dtype=np.bool_)
    of_pair[word_feature[word_feature >= 0]] = False
    return np.flatnonzero(of_pair).astype(np.int32)


class FeatureNames:
    """The names of features, built on demand.

    ``n_lines`` first lines of texts have features of their own; the rest is as in the vectoriser.
    """

    def __init__(self, words: Sequence[str], word_feature: Ids, pairs: Ids, n_lines: int) -> None:
        self._words, self._word_feature, self._pairs = words, word_feature, pairs
        self._n_blocks = 1 + n_lines

    @cached_property
    def _places(self) -> Ids:
        """The word of each feature, or the pair p as ``-1 - p``."""
        known = np.flatnonzero(self._word_feature >= 0)
        places = np.empty(len(known) + len(self._pairs), dtype=np.int32)
        places[self._word_feature[known]] = known
        pairs = features_of_pairs(self._word_feature, len(places))
        places[pairs] = -1 - np.arange(len(pairs))
        return places

    def __len__(self) -> int:
        return len(self._places) * self._n_blocks

    def __getitem__(self, feature: int) -> str:
        """Return the name of a feature; those beyond the vocabulary are of ``extra``."""
        if feature >= len(self):
            return f"extra[{feature - len(self)}]"
        block, feature = divmod(feature, len(self._places))
        place = int(self._places[feature])
        words = [place] if place >= 0 else self._pairs[-1 - place].tolist()
        return (f"line {block}: " if block else "") + " ".join(self._words[i] for i in words)


# --- Positions of features in a text.

# Conjoining Hangul letters: the only characters besides marks that compose with the previous
# character.
_JAMO = ((0x1100, 0x1200), (0xA960, 0xA980), (0xD7B0, 0xD800))


class TextSpans(NamedTuple):
    """Features of a text, in its order, and the characters that each occurrence covers.

    ``text[begin:end]`` is the word, the pair of words and what stands between them, or the part of
    a word that an n-gram covers.
    """

    features: Ids
    begins: Offsets
    ends: Offsets


def normalise_with_places(text: str) -> tuple[str, NDArray[np.int64] | None]:
    """Return a text in normal form C and the original position of each of its characters.

    The positions end with the length of ``text``; they are None if it is in normal form.
    """
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text, None
    begins = [place for place, character in enumerate(text) if _begins_cluster(character)]
    if not begins or begins[0] > 0:
        begins.insert(0, 0)
    ends = [*begins[1:], len(text)]
    clusters = [
        unicodedata.normalize("NFC", text[begin:end])
        for begin, end in zip(begins, ends, strict=True)
    ]
    places = np.full(sum(map(len, clusters)) + 1, -1, dtype=np.int64)
    starts = [0, *accumulate(map(len, clusters))]
    for cluster, start, begin in zip(clusters, starts, begins, strict=False):
        # What is left of a cluster that is not composed into one character begins with it.
        places[start : start + len(cluster)] = begin
    places[-1] = len(text)
    return "".join(clusters), places


def _begins_cluster(character: str) -> bool:
    if unicodedata.category(character)[0] == "M":
        return False
    return not any(low <= ord(character) < high for low, high in _JAMO)


# --- Vocabularies whose features keep their ids from a previous vocabulary.


def follow_terms(previous: Terms, found: Terms) -> Terms:
    """Return found terms with the ids that they have in another vocabulary.

    New terms get the ids after those, words before pairs. Terms of the other vocabulary that were
    not found keep their ids with an idf of 0, so they are ignored in texts.

    Examples
    --------
    >>> import numpy as np
    >>> ids, none = np.arange(2, dtype=np.int32), np.zeros(0, np.int32)
    >>> old = Terms(["b", "d"], ids, none, np.ones(2, np.float32))
    >>> new = Terms(["a", "d"], ids, none, np.full(2, 3.0, np.float32))
    >>> both = follow_terms(old, new)
    >>> both.words, both.word_feature.tolist(), both.idf.tolist()
    (['a', 'b', 'd'], [2, 0, 1], [0.0, 3.0, 3.0])
    """
    words = sorted({*previous.words, *found.words}, key=str.encode)
    place = {word: number for number, word in enumerate(words)}
    old_place, new_place = (
        np.array([place[word] for word in terms.words], dtype=np.int64)
        for terms in (previous, found)
    )
    n_old, n_new = len(previous.idf), len(found.idf)
    word_feature = np.full(len(words), -1, dtype=np.int32)
    word_feature[old_place] = previous.word_feature
    ids = np.full(n_new, -1, dtype=np.int64)  # of the found terms
    has_feature = found.word_feature >= 0
    ids[found.word_feature[has_feature]] = word_feature[new_place[has_feature]]
    old_pairs = old_place[previous.pairs.reshape(-1, 2)]
    new_pairs = new_place[found.pairs.reshape(-1, 2)]
    new_pair_feature = features_of_pairs(found.word_feature, n_new)
    known = _find(_keys(new_pairs, len(words)), _keys(old_pairs, len(words)))
    old_pair_feature = np.append(features_of_pairs(previous.word_feature, n_old), -1)
    ids[new_pair_feature] = old_pair_feature[known]
    fresh = ids < 0
    ids[fresh] = n_old + np.arange(np.count_nonzero(fresh))
    word_feature[new_place[has_feature]] = ids[found.word_feature[has_feature]]
    idf = np.zeros(n_old + np.count_nonzero(fresh), dtype=np.float32)
    idf[ids] = found.idf
    pairs = np.concatenate([old_pairs, new_pairs[known < 0]]).astype(np.int32)
    return Terms(words, word_feature, pairs.ravel(), idf)


def _keys(pairs: NDArray[np.int64], n_words: int) -> NDArray[np.int64]:
    return pairs[:, 0] * n_words + pairs[:, 1]


def _find(keys: NDArray[np.int64], among: NDArray[np.int64]) -> Ids:
    """Return the place of each key among others, or -1."""
    order = np.argsort(among, kind="stable")
    places = np.append(order, -1)[np.searchsorted(among, keys, sorter=order)]
    found = np.append(among, -1)[places] == keys
    return np.where(found, places, -1).astype(np.int32)


def nth_lines(texts: Sequence[str], n: int) -> list[str]:
    """Return the n-th line of each text, counted from 0; empty where there are fewer."""
    return [(text.split("\n", n + 1)[n : n + 1] or [""])[0] for text in texts]


def _pack_terms(terms: Terms) -> Arrays:
    words = Names.of(terms.words)
    others = terms._asdict() | {"words": words.data, "offsets": words.offsets}
    return {name: np.asarray(array) for name, array in others.items()}


def _unpack_terms(arrays: Arrays) -> Terms:
    words = Names(arrays["words"], arrays["offsets"])
    return Terms(words, arrays["word_feature"], arrays["pairs"], arrays["idf"])


_OF_TERMS = Coding(_pack_terms, _unpack_terms)


def _finish_vectorizer(part: Part, model: TextVectorizer) -> None:
    """Check that words, pairs and features of a file match, and build what it does not contain."""
    n_single = int(np.count_nonzero(model.word_feature_ >= 0))
    part.check_length("pairs", 2 * (len(model.idf_) - n_single))
    model.pairs_ = model.pairs_.reshape(-1, 2)
    try:
        model._prepare()
    except ValueError as error:
        part.fail(f"{part.name('words')}: {error}")
    try:
        if model.stemmer is not None:
            load_stemmer(model.stemmer)
    except ImportError:
        pass  # a model can be inspected without PyStemmer
    except ValueError as error:
        part.fail(str(error))


def n_features_in_file(part: Part) -> int:
    """Return the number of features of a vectoriser in a model file."""
    lines = part.parameters.get("lines")
    return part.size("idf") * (1 + (len(lines) if isinstance(lines, list) else 0))


class TextVectorizer(TransformerMixin, Estimator):
    r"""Turn texts into sparse, L2-normalised rows of tf-idf values.

    A word is a run of at least two letters, marks, digits, connectors and joiners, in lower
    case; runs of scripts that are written without spaces become overlapping pairs of
    characters. The tables of characters are part of this library, so that a text has the same
    words on every machine and Python.

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

    ngrams: int = param(
        Int(1, 2),
        "1 for words, 2 for words and pairs of words that follow each other.",
        default=1,
        kw_only=False,
    )
    characters: int | tuple[int, int] | None = param(
        Lengths(1, 64),
        "Lengths of character n-grams, which replace words: 4, or (3, 5) for all from 3 to 5. "
        "They are taken from each word with a space before and after it. Good for languages "
        "that inflect and compound words, such as Finnish.",
        default=None,
    )
    stemmer: str | None = param(
        StemmerName(),
        'Name of a stemmer of PyStemmer, such as "finnish", which reduces words before they '
        "are counted; needs ``pip install defrag[stem]``.",
        default=None,
    )
    min_df: int = param(
        Int(1, 2**31 - 1), "Minimum number of training texts that contain a feature.", default=2
    )
    max_features: int | None = param(
        Int(1, 2**31 - 1, none=True),
        "Maximum number of features; the most frequent are kept. Default: no limit.",
        default=None,
    )
    lines: tuple[float, ...] | None = param(
        LineWeights(),
        "Weights of the first lines of texts, such as titles: (0.6,) gives the first line features "
        "of its own beside those of the whole text, whose weight is 1.",
        default=None,
    )
    verbose: int = param(VERBOSE, "Whether to show a progress bar on a terminal.", default=0)

    words_: Sequence[str] = fitted(
        "sequence of str", "The words, or n-grams, of the features, by their UTF-8."
    )
    word_feature_: Ids = fitted(
        "ndarray of int32", "The feature of each word; -1 for one that is only part of a pair."
    )
    pairs_: Ids = fitted(
        "ndarray of int32, shape (n_pairs, 2)",
        "The words of each pair; their features are those that no word has, rising. Unless "
        "``shape`` was given, they follow those of words.",
    )
    idf_: Floats = fitted(
        "ndarray of float32, shape (n_features,)",
        "The inverse document frequency of each feature; 0 for one of ``shape`` alone.",
    )
    trial_: str = fitted("str", "Why a ``TextClassifier`` chose these parameters, if it did.")

    _state = State(
        Number(rule=COUNT, name="n_words", get=lambda model: len(model.words_)),
        Strings("words_", "n_words"),
        Array("word_feature_", "int32", length="n_words", low=-1,
              below=lambda part: max(1, part.size("idf"))),
        Array("pairs_", "int32", below="n_words", get=lambda model: model.pairs_.ravel()),
        Array("idf_", low=0, most=LARGEST),
        Number("trial_", Sentence()),
        finish=_finish_vectorizer,
        absent={"trial": "", "lines": None},
        told=("trial",),
        # JSON has no tuples.
        parameters={
            name: Rewritten(
                rule, unpack=lambda value: tuple(value) if isinstance(value, list) else value
            )
            for name, rule in {"characters": Lengths(1, 64), "lines": LineWeights()}.items()
        },
        sizes={"features": n_features_in_file},
    )  # fmt: skip

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

    def _cuts_as(self, other: TextVectorizer) -> bool:
        """Return whether texts have the same words, or n-grams, in another vectoriser."""
        ways = [(Lengths.bounds(one.characters), one.stemmer, one.lines) for one in (self, other)]
        return ways[0] == ways[1]

    @all_or_nothing
    def _fit(self, texts: Sequence[str], rows: list[Csr], shape: TextVectorizer | None) -> None:
        self._check_parameters()
        if shape is not None and not (hasattr(shape, "idf_") and self._cuts_as(shape)):
            raise ValueError(
                "shape must be a fitted TextVectorizer with the same characters, stemmer and "
                f"lines, got {shape!r}"
            )
        if self.characters is not None and self.ngrams != 1:
            raise ValueError(f"ngrams must be 1 with characters, got {self.ngrams!r}")
        corpora: list[TextCorpus] = []

        least, most = Lengths.bounds(self.characters)

        def choose() -> Terms:
            corpora.append(self._read(texts, self._threads))
            return _native.choose_terms(
                corpora[0],
                pairs=self.ngrams == 2,
                least=least,
                most=most,
                min_df=int(self.min_df),
                max_features=None if self.max_features is None else int(self.max_features),
                n_threads=self._threads,
            )

        def weigh(some: slice) -> Csr:
            own = some_texts(texts, some)
            if not corpora:
                return _native.as_matrix(self._weigh(own))
            # All texts, whose words are freed as rows are written.
            whole = features.weigh_corpus(corpora.pop(), n_threads=self._threads)
            return _native.as_matrix(self._with_lines(whole, own))

        terms = kept("features", choose, _OF_TERMS)
        if keeps():
            corpora.clear()
        if not len(terms.idf):
            what = "word" if self.characters is None else "n-gram"
            noun = "text" if len(texts) == 1 else "texts"
            raise ValueError(
                f"texts must have a {what} that occurs in at least {self.min_df} of them, got "
                f"{len(texts)} {noun} without one"
            )
        if shape is not None:
            terms = follow_terms(shape._terms(), terms)
        features = _native.text_features(terms, Lengths.bounds(self.characters))
        self.features_ = features
        # Before Python's strings are made, so that not all is in memory at a time.
        rows.append(kept_rows("rows", len(texts), weigh))
        self.words_ = terms.words if isinstance(terms.words, Names) else list(terms.words)
        self.word_feature_ = terms.word_feature
        self.pairs_ = terms.pairs.reshape(-1, 2)
        self.idf_ = terms.idf
        self.trial_ = ""
        self._prepare(features)

    def _read(self, texts: Sequence[str], n_threads: int) -> TextCorpus:
        with progress_bar("reading texts", enabled=self.verbose > 0) as progress:
            corpus = _native.TextCorpus(texts, n_threads=n_threads, progress=progress)
        if self.stemmer is not None:
            stems = stem_words(self.stemmer, corpus.words())
            corpus.replace_words(stems, n_threads=n_threads)
        return corpus

    def _terms(self) -> Terms:
        """Return the features as the kernels take them."""
        words = self.words_
        return Terms(
            words if isinstance(words, Names) else list(words),
            np.ascontiguousarray(self.word_feature_),
            np.ascontiguousarray(self.pairs_.ravel()),
            np.ascontiguousarray(self.idf_),
        )

    def _prepare(self, features: TextFeatures | None = None) -> None:
        """Build what model files do not contain: the tables of the kernels, and the names."""
        if features is None:
            features = _native.text_features(self._terms(), Lengths.bounds(self.characters))
        self.features_ = features
        n_lines = len(self.lines or ())
        self.names_ = FeatureNames(self.words_, self.word_feature_, self.pairs_, n_lines)

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """Free the tables of the kernels meanwhile, in a training that must save memory."""
        if keeps():
            del self.features_
        yield
        if keeps():
            self._prepare()

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
        return _native.as_matrix(self._weigh(check_texts(texts)))

    def _weigh(self, texts: Sequence[str]) -> Csr | KernelRows:
        """Return the rows of validated texts; see :meth:`transform`.

        Kernels take them as they are: building a scipy matrix takes longer than a short row.
        """
        return self._with_lines(self._weigh_whole(texts), texts)

    def _weigh_whole(self, texts: Sequence[str]) -> Csr | KernelRows:
        if self.stemmer is None:
            return self.features_.weigh(texts, n_threads=self._threads)
        corpus = self._read(texts, self._threads)
        return self.features_.weigh_corpus(corpus, n_threads=self._threads)

    def _with_lines(self, rows: Csr | KernelRows, texts: Sequence[str]) -> Csr | KernelRows:
        """Return rows with the features of the first lines of their texts behind their own."""
        if not self.lines:
            return rows
        blocks = [rows]
        for n, weight in enumerate(self.lines):
            block = _native.as_matrix(self._weigh_whole(nth_lines(texts, n)))
            block.data *= np.float32(weight)
            blocks.append(block)
        return _native.unit_rows(
            _native.join_columns(blocks, n_threads=self._threads), n_threads=self._threads
        )

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
        found, before = [self._spans(text)], 0
        for n in range(len(self.lines or ())):
            line = nth_lines([text], n)[0]
            features, begins, ends = self._spans(line)
            found.append(TextSpans(features + np.int32((n + 1) * len(self.idf_)), begins + before,
                                   ends + before))  # fmt: skip
            before += len(line) + 1
        return TextSpans(*map(np.concatenate, zip(*found, strict=True)))

    def _spans(self, text: str) -> TextSpans:
        normal, places = normalise_with_places(text)
        words, word_begins, word_ends = _native.split_words(normal)
        stems = words if self.stemmer is None else stem_words(self.stemmer, words)
        found = _native.find_features(self.features_, stems)
        begins = word_begins[found.first] + found.begins
        # An n-gram may be the space next to a word, or beyond the word of a stem that differs.
        first, last = word_begins[found.last] + 1, word_ends[found.last]
        ends = np.clip(word_begins[found.last] + found.ends, first, last)
        begins = np.minimum(begins, ends - 1)
        if places is not None:
            # A span ends where the cluster of its last character does.
            after = np.searchsorted(places, places[ends - 1], side="right")
            begins, ends = places[begins], places[np.minimum(after, len(places) - 1)]
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
            self._prepare()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags
