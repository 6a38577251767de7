"""Predictions as text: with ids, with names, or as JSON lines.

With ids, a file has a header ``n L`` and a line ``label:score label:score ...`` per point. With
names, the pairs ``name:score`` are separated by tabs, and there is no header. A JSON line is
``{"labels": ["libc6"], "scores": [0.9]}``; its labels may also be ids. ``defrag predict`` writes
all three, ``defrag evaluate`` reads them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._validation import refuse_broken
from defrag.exceptions import FormatError
from defrag.io.documents import numbered_lines, shown
from defrag.io.files import InputStream, PathLike, atomic_writer
from defrag.io.xmc import parse_text
from defrag.typing import Csr, Floats, Ids, MatrixLike


def parse_predictions(
    stream: InputStream,
    *,
    n_labels: int | None = None,
    strict: bool = False,
    allow_truncated: bool = False,
) -> Csr:
    """Read predicted labels with ids from an open stream, as a matrix of scores, also of zero."""
    checks = {"strict": strict, "allow_truncated": allow_truncated}
    return parse_text(stream, "scores", n_labels=n_labels, **checks).pairs


def write_predictions(path: PathLike, scores: MatrixLike) -> None:
    """Write predicted labels and their scores, best first; ties are broken by label id.

    Parameters
    ----------
    path : path
        The file, as for ``write_xmc``.
    scores : sparse matrix of shape (n, L)
        The scores, as returned by ``decision_function``. All stored entries are written,
        including zeros.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from scipy import sparse
    >>> from defrag.io import write_predictions
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "predictions.txt"
    >>> write_predictions(path, sparse.csr_array([[0.5, 0.0, 0.9], [0.0, 2.0, 0.0]]))
    >>> print(path.read_text(), end="")
    2 3
    2:0.9 0:0.5
    1:2
    """
    scores = _check_scores(scores)
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, rows))
    ranked = sparse.csr_array(
        (scores.data[order], scores.indices[order], scores.indptr), shape=scores.shape
    )
    with atomic_writer(path) as file:
        file.write(b"%d %d\n" % scores.shape)
        file.writelines(_native.format_rows(ranked, layout="features"))


def format_ranking(labels: Ids, scores: Floats, n_labels: int) -> Iterator[bytes]:
    """Yield the lines of ``write_predictions`` for ids of labels, best first, padded with -1."""
    found = labels >= 0
    indptr = np.append(0, np.cumsum(found.sum(axis=1)))
    shape = (len(labels), n_labels)
    ranked = sparse.csr_array((scores[found], labels[found], indptr), shape=shape)
    yield from _native.format_rows(ranked, layout="features")


def json_lines(rows: list[list[Any]], scores: Floats) -> Iterator[str]:
    """Yield one JSON object per point: ``{"labels": [...], "scores": [...]}``.

    - ``rows``: names or ids of the labels of each point, best first.
    - ``scores``, shape (n, k): their scores; those beyond the labels of a point are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.io.predictions import json_lines
    >>> list(json_lines([["a", "b"]], np.float32([[0.9, 0.1, 0]])))
    ['{"labels": ["a", "b"], "scores": [0.9, 0.1]}']
    """
    for labels, values in zip(rows, short_floats(scores), strict=True):
        yield json.dumps({"labels": labels, "scores": values[: len(labels)].tolist()})


def short_floats(scores: Floats) -> NDArray[np.float64]:
    """Return doubles that print with as few digits as the floats."""
    return scores.astype(str).astype(np.float64)


def _check_scores(scores: MatrixLike) -> Csr:
    """Return validated scores; unlike ``check_matrix``, keep stored zeros."""
    refuse_broken(scores, name="scores")
    checked: Csr = sparse.csr_array(sparse.csr_matrix(scores, dtype=np.float32, copy=True))
    if not np.isfinite(checked.data).all():
        bad = checked.data[~np.isfinite(checked.data)][0]
        raise ValueError(f"scores must be finite, got {bad}")
    n_scores = checked.nnz
    checked.has_sorted_indices = checked.has_canonical_format = False
    checked.sum_duplicates()
    if checked.nnz < n_scores:
        raise ValueError("scores must not repeat a label in a row")
    return checked


# --- Predictions with names, and JSON lines.

_LONGEST_HEADER_BYTES = 1 << 16


def prediction_form(stream: InputStream) -> Literal["ids", "names", "json"]:
    """Return the format of predictions by their first line; the stream is not advanced.

    The header of the format with ids is two numbers, which cannot be a line of names: a name is
    followed by a colon and a score.
    """
    first = stream.peek_line(0, _LONGEST_HEADER_BYTES).strip()
    if first.startswith(b"{"):
        return "json"
    words = first.split()
    return "ids" if words and all(word.isdigit() for word in words) else "names"


def parse_named_predictions(
    stream: InputStream, form: Literal["names", "json"]
) -> tuple[list[list[Any]], list[list[float]]]:
    """Read the labels, names or ids, and the scores of each point from an open stream."""
    parse = _parse_json if form == "json" else _parse_names
    rows, scores, kinds = [], [], set()
    for number, line in numbered_lines(stream):
        try:
            labels, values = parse(line)
        except ValueError as error:
            raise FormatError(stream.name, str(error), number) from None
        kinds |= {type(label) for label in labels}
        if len(kinds) > 1:
            raise FormatError(stream.name, "ids and names in one file", number)
        if len(set(labels)) < len(labels):
            raise FormatError(stream.name, "a label is repeated in the line", number)
        if not all(math.isfinite(value) for value in values):
            raise FormatError(stream.name, "a score is not finite", number)
        rows.append(labels)
        scores.append(values)
    return rows, scores


def _parse_json(line: str) -> tuple[list[Any], list[float]]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", type(error).__name__)
        raise ValueError(f"invalid JSON: {what}") from None
    labels, scores = (
        item.get(key) if isinstance(item, dict) else None for key in ("labels", "scores")
    )
    if (
        not isinstance(labels, list)
        or not isinstance(scores, list)
        or len(labels) != len(scores)
        or not all(type(label) in (int, str) for label in labels)
        or not all(type(score) in (int, float) for score in scores)
    ):
        raise ValueError(f"expected 'labels' and as many 'scores', got {shown(line)}")
    try:
        return labels, [float(score) for score in scores]
    except OverflowError:
        raise ValueError("a score is not finite") from None


def _parse_names(line: str) -> tuple[list[Any], list[float]]:
    labels, scores = [], []
    for pair in line.split("\t") if line else []:
        name, _, score = pair.rpartition(":")
        try:
            scores.append(float(score))
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"expected name:score, got {shown(pair)}")
        labels.append(name)
    return labels, scores
