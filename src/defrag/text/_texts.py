"""Validation of texts, label names and computed features, rules of parameters, stems of words.

Called by the vectoriser, the text classifier, and training in parts.
"""

from __future__ import annotations

import gc
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._names import Names
from defrag._parameters import Float, Int
from defrag._scratch import ROWS_AT_A_TIME, Arrays, Scratch, offsets_of
from defrag._validation import (
    LISTS,
    Labels,
    check_labels,
    is_indicator,
    is_list_of_lists,
    named_matrix,
    plain_labels,
)
from defrag.typing import Csr


class Texts(Names):
    """Texts that are checked, and may be mapped from a file; kernels take them as they are."""

    def some(self, places: slice) -> Texts:
        """Return consecutive texts."""
        first, last, _ = places.indices(len(self))
        return Texts(self.data, self.offsets[first : last + 1])


def some_texts(texts: Sequence[str], places: slice) -> Sequence[str]:
    """Return consecutive texts, without decoding them."""
    return texts.some(places) if isinstance(texts, Texts) else texts[places]


def texts_at(texts: Sequence[str], places: NDArray[np.int64]) -> Iterator[str]:
    """Return the texts at some places, one by one."""
    if not isinstance(texts, Texts):
        return (texts[place] for place in places.tolist())
    parts = range(0, len(places), ROWS_AT_A_TIME)
    return (text for i in parts for text in texts.take(places[i : i + ROWS_AT_A_TIME]))


def check_texts(texts: Any) -> Sequence[str]:
    """Return texts as a list of strings in Unicode's normal form C, or those checked before."""
    if isinstance(texts, Texts):
        return texts
    if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
        raise ValueError(f"texts must be a sequence of strings, got {_shown(texts)}")
    if getattr(texts, "ndim", 1) != 1:  # a DataFrame would give the names of its columns
        raise ValueError(
            f"texts must be a sequence of strings, got a {type(texts).__name__} of shape "
            f"{texts.shape}: pass one column of it, or use a classifier of matrices"
        )
    checked = list(texts)
    try:
        is_ascii = list(map(str.isascii, checked))  # several times as fast as a loop
    except TypeError:
        number = next(i for i, text in enumerate(checked) if not isinstance(text, str))
        raise ValueError(f"text {number} must be a string, got {_shown(checked[number])}") from None
    if not all(is_ascii):
        for number in [i for i, ascii_only in enumerate(is_ascii) if not ascii_only]:
            checked[number] = _normalise(number, checked[number])
    return checked


def _normalise(number: int, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"text {number} has a lone surrogate at character {error.start}"
        raise ValueError(message) from None
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


def check_text_labels(labels: Any, n_texts: int) -> Labels:
    """Return validated labels of texts: lists of names or numbers, classes, or a 0/1 matrix.

    Names and numbers have one column for each that occurs; a data frame names its columns.
    """
    if isinstance(labels, Labels):  # those of a scratch folder were checked with their texts
        return labels
    if not hasattr(labels, "__len__") and hasattr(labels, "__array__"):
        labels = np.asarray(labels)
    if isinstance(labels, (str, bytes)) or not (
        hasattr(labels, "__len__") or sparse.issparse(labels)
    ):
        raise ValueError(f"labels must be a sequence of lists of names, got {_shown(labels)}")
    n_given = labels.shape[0] if hasattr(labels, "shape") else len(labels)
    if n_given != n_texts:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{n_texts} texts, {n_given} lists of labels"
        )
    given: Any = plain_labels(labels)
    if sparse.issparse(given) or getattr(given, "ndim", 1) == 2:
        found = check_labels(given, n_rows=n_texts)
        columns = list(getattr(labels, "columns", ()))
        named = len(set(columns)) == len(columns) and all(isinstance(c, str) for c in columns)
        if found.multilabel and columns and named:
            return replace(found, classes=_objects(columns))
        return found
    one_each = len(given) and not any(isinstance(row, (*LISTS, dict)) for row in given)
    if one_each or (is_list_of_lists(given) and is_indicator(given)):
        return check_labels(given, n_rows=n_texts)
    rows = [
        row if type(row) is list else _name_list(number, row) for number, row in enumerate(given)
    ]
    kinds = {type(name) for row in rows for name in row}
    if kinds and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        matrix, numbers = named_matrix([[int(name) for name in row] for row in rows])
        return Labels(matrix, np.array(numbers, dtype=np.int64))
    if kinds - {str} or any("" in row for row in rows):
        rows = _plain_names(rows)
    matrix, names = named_matrix(rows)
    return Labels(matrix, _objects(names))


def spool_texts(
    scratch: Scratch, documents: Iterator[tuple[str, list[str] | None]]
) -> tuple[Texts, Labels | None]:
    """Write texts and their labels, if all have any, to a scratch folder; return them mapped."""

    def blocks(known: Arrays) -> Iterator[Arrays]:
        n_known = len(known.get("lengths", ()))
        numbers: dict[str, int] = {}
        if known:
            for name in Names(known["names"], offsets_of(known["name_lengths"])):
                numbers[name] = len(numbers)
        for _ in islice(documents, n_known):
            pass
        while part := list(islice(documents, ROWS_AT_A_TIME)):
            texts = Names.of(check_texts([text for text, _ in part]))
            lists = [labels for _, labels in part if labels is not None]
            own = check_text_labels(lists, len(lists))
            names = [] if own.classes is None else own.classes.tolist()
            new = [name for name in names if name not in numbers]
            for name in new:
                numbers[name] = len(numbers)
            place = np.array([numbers[name] for name in names], dtype=np.int32)
            fresh = Names.of(new)
            yield {
                "texts": texts.data,
                "lengths": np.diff(texts.offsets),
                "labels": place[own.matrix.indices],
                "sizes": np.diff(own.matrix.indptr).astype(np.int32),
                "names": fresh.data,
                "name_lengths": np.diff(fresh.offsets),
            }

    # A block makes and drops so many objects that collections of all would take most of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        found = scratch.grow("texts", blocks)
    finally:
        if collects:
            gc.enable()
    texts = Texts(found["texts"], offsets_of(found["lengths"]))
    if not len(found["sizes"]):
        return texts, None
    names = list(Names(found["names"], offsets_of(found["name_lengths"])))
    rank = np.empty(len(names), dtype=np.int32)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names), dtype=np.int32)
    indptr, ones = offsets_of(found["sizes"]), np.ones(len(found["labels"]), dtype=np.float32)
    matrix = _native.csr_from_parts((indptr, rank[found["labels"]], ones), (len(texts), len(names)))
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    matrix.sort_indices()
    matrix.has_canonical_format = True
    return texts, Labels(matrix, _objects(sorted(names)))


def _objects(names: list[str]) -> NDArray[Any]:
    return np.array([*names, None], dtype=object)[:-1]


def _name_list(number: int, given: Any) -> list[Any]:
    if isinstance(given, str) and "," in given:
        raise ValueError(
            f"labels of text {number} must be a list of names, got {_shown(given)}: split it, as "
            'in name.split(","), or pass [name] if it is one label'
        )
    if isinstance(given, str):
        return [given]
    if isinstance(given, (bytes, dict)) or not hasattr(given, "__iter__"):
        raise ValueError(f"labels of text {number} must be a list of names, got {_shown(given)}")
    return list(given)


def _plain_names(rows: list[list[Any]]) -> list[list[str]]:
    for number, row in enumerate(rows):
        for name in row:
            if not isinstance(name, str) or not name:
                raise ValueError(
                    f"labels of text {number} must be strings that are not empty, got "
                    f"{_shown(name)}"
                )
    return [list(map(str, row)) for row in rows]  # those of NumPy are of another type


def _shown(value: Any) -> str:
    text = " ".join(repr(value).splitlines())
    return text if len(text) <= 60 else text[:57] + "..."


# --- The rule of ``characters``: lengths of character n-grams.


@dataclass(frozen=True)
class Lengths:
    """None, an integer in ``[low, high]``, or a pair of such integers in ascending order."""

    low: int
    high: int
    kind: ClassVar[str] = "int or tuple of two ints"

    def describe(self) -> str:
        return f"an int in [{self.low}, {self.high}], two of them in ascending order, or None"

    def accepts(self, value: Any) -> bool:
        rule = Int(self.low, self.high)
        if not isinstance(value, (tuple, list)):
            return value is None or rule.accepts(value)
        return len(value) == 2 and all(map(rule.accepts, value)) and value[0] <= value[1]

    @staticmethod
    def bounds(value: Any) -> tuple[int, int]:
        """Return the minimum and maximum length; (0, 0) for None."""
        if value is None:
            return 0, 0
        least, most = value if isinstance(value, (tuple, list)) else (value, value)
        return int(least), int(most)


@dataclass(frozen=True)
class LineWeights:
    """The rule of ``lines``: None, or weights above 0 of at most eight lines."""

    kind: ClassVar[str] = "tuple of floats"

    def describe(self) -> str:
        return "one to eight weights above 0 and up to 10, or None"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, (tuple, list)):
            return value is None
        rule = Float(0.0, 10.0, open_low=True)
        return 1 <= len(value) <= 8 and all(map(rule.accepts, value))


# --- Stems of words, by PyStemmer.


class StemmerName:
    """The rule of ``stemmer``: None, or the name of an algorithm of PyStemmer.

    Whether the algorithm exists is checked when words are stemmed, so that a model can be
    inspected without PyStemmer.
    """

    kind: ClassVar[str] = "str"

    def describe(self) -> str:
        return "the name of a stemmer, such as 'finnish', or None"

    def accepts(self, value: Any) -> bool:
        return value is None or (
            isinstance(value, str) and re.fullmatch("[a-z][a-z_]{0,30}", value) is not None
        )


class Sentence:
    """The rule of a sentence that explains a choice."""

    kind: ClassVar[str] = "str"

    def describe(self) -> str:
        return "a string of at most 1,000 characters"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and len(value) <= 1000


def stem_words(stemmer: str, words: list[str]) -> list[str]:
    """Return the stem of each word."""
    # A word that is only a suffix has an empty stem; the word itself is kept.
    stems: list[str] = load_stemmer(stemmer).stemWords(words)
    return [stem or word for stem, word in zip(stems, words, strict=True)]


@cache
def load_stemmer(name: str) -> Any:
    """Return a stemmer of PyStemmer."""
    try:
        import Stemmer  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"stemmer={name!r} needs PyStemmer: pip install 'defrag[stem]'"
        raise ImportError(message) from error
    known = Stemmer.algorithms()
    if name not in known:
        raise ValueError(f"stemmer must be one of {', '.join(known)}, got {name!r}")
    # Each word is stemmed once per call, so PyStemmer's cache (size 0 here) would not help.
    return Stemmer.Stemmer(name, 0)


# --- Dense features of texts that the user computes, such as embeddings.

Extra: TypeAlias = Callable[[list[str]], Any]
"""Takes m texts, returns an array of shape (m, n_extra)."""


def extra_rows(
    extra: Extra, texts: Sequence[str], weight: float, n_columns: int | None = None
) -> Any:
    """Compute extra features and scale each row to length ``weight``; zero rows stay zero."""
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


def first_rows(X: Csr, n: int) -> Csr:
    """Return the first rows of a matrix, without a copy of their values."""
    ends = X.indptr[: n + 1]
    parts = X.data[: ends[-1]], X.indices[: ends[-1]], ends
    result = sparse.csr_array(parts, shape=(n, X.shape[1]), copy=False)
    result.has_canonical_format = True
    return result
