"""A slow twin of the native text parser, written from the format's description.

It reads line by line, token by token, with regular expressions and Python's own numbers.
"""

import io
import re
import warnings
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from defrag.exceptions import FormatError, FormatWarning
from defrag.io.files import InputStream, ReadLimits
from defrag.io.xmc import parse_text

INDEX = re.compile(rb"[0-9]+")
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NON_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
PAIRS_ARE_LABELS = {"labels", "scores"}
LARGEST_FLOAT = Fraction(float(np.finfo(np.float32).max))


class OracleError(Exception):
    """The text breaks a rule."""


@dataclass
class Parsed:
    """Rows as dictionaries from feature to value, and as sorted lists of labels."""

    rows: list = field(default_factory=list)
    labels: list = field(default_factory=list)
    declared: tuple | None = None
    repeated_features: int = 0
    repeated_labels: int = 0
    non_finite: int = 0
    skipped_lines: int = 0


def nearest_float(text):
    """Round a decimal number to the nearest float32 by exact arithmetic; None if too large."""
    sign = -1.0 if text.startswith(b"-") else 1.0
    mantissa, _, exponent = text.lstrip(b"+-").lower().partition(b"e")
    digits = exponent.lstrip(b"+-").lstrip(b"0")  # there may be thousands of zeros
    power = int(digits[:12] or b"0") * (-1 if exponent.startswith(b"-") else 1)
    if not mantissa.strip(b"0."):
        return np.float32(sign * 0.0)
    if abs(power) > 1_000 + len(mantissa):
        return None if power > 0 else np.float32(sign * 0.0)
    exact = Fraction(mantissa.decode()) * Fraction(10) ** power
    if exact >= LARGEST_FLOAT + Fraction(2) ** 103:
        return None
    low = np.float32(float(min(exact, LARGEST_FLOAT)))
    largest = np.finfo(np.float32).max
    candidates = [np.nextafter(low, np.float32(0)), low, np.nextafter(low, largest)]

    def distance(candidate):
        even = int(candidate.view(np.int32)) & 1
        return abs(Fraction(float(candidate)) - exact), even

    return np.float32(sign) * min(candidates, key=distance)


def parse(text, layout, *, n_features=None, n_labels=None, first_feature=0, first_label=0,
          drop_non_finite=False):  # fmt: skip
    """Parse a whole text; return the result and the line of the first broken rule (0: in none)."""
    result = Parsed()
    if not text:
        return result, 0
    limits = {"feature": n_features, "label": n_labels}
    firsts = {"feature": first_feature, "label": first_label}
    rules = layout, limits, firsts, drop_non_finite
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not lines[-1] and text.endswith(b"\n"):
        lines.pop()
    need_header = layout != "svmlight"
    n_blank = 0
    for number, raw in enumerate(lines, 1):
        if raw.startswith(b"#"):
            continue
        line = raw.partition(b"#")[0] if b"#" in raw else raw.removesuffix(b"\r")
        try:
            if need_header:
                result.declared = _header(line, layout)
                kinds = ["label"] if layout in PAIRS_ARE_LABELS else ["feature", "label"]
                for kind, size in zip(kinds, result.declared[1:], strict=False):
                    limits[kind] = size if limits[kind] is None else limits[kind]
                need_header = False
                continue
            if layout == "svmlight" and not line:
                result.skipped_lines += 1
                continue
            pairs, labels = _row(line, result, rules)
        except OracleError:
            return result, number
        result.rows.append(pairs)
        result.labels.append(labels)
        n_blank = n_blank + 1 if not line.strip(b" \t") else 0
    if result.declared:
        extra = min(max(0, len(result.rows) - result.declared[0]), n_blank)
        del result.rows[len(result.rows) - extra :]
        del result.labels[len(result.labels) - extra :]
    return result, 0 if need_header else None


def _header(line, layout):
    tokens = [token for token in re.split(rb"[ \t]+", line) if token]
    numbers = tuple(map(_whole, tokens))
    if len(numbers) != (3 if layout == "combined" else 2) or max(numbers[1:]) >= 2**31:
        raise OracleError
    return numbers


def _whole(token):
    if not INDEX.fullmatch(token) or len(token) > 18:
        raise OracleError
    return int(token)


def _id(token, kind, limits, firsts):
    index = _whole(token) - firsts[kind]
    limit = limits[kind] if limits[kind] is not None else 2**31 - 1
    if not 0 <= index < limit:
        raise OracleError
    return index


def _row(line, result, rules):
    layout, limits, firsts, drop_non_finite = rules
    tokens = [token for token in re.split(rb"[ \t]+", line) if token]
    labels = []
    begins_with_blank = line[:1] in (b" ", b"\t")
    if layout in ("combined", "svmlight") and tokens and not begins_with_blank:
        head = tokens[0].partition(b":")[0]
        if b":" not in tokens[0] or not INDEX.fullmatch(head):
            ids = [_id(t, "label", limits, firsts) for t in tokens.pop(0).split(b",")]
            labels = sorted(set(ids))
            result.repeated_labels += len(ids) - len(labels)
    kind = "label" if layout in PAIRS_ARE_LABELS else "feature"
    pairs = {}
    for token in tokens:
        head, colon, tail = token.partition(b":")
        index = _id(head, kind, limits, firsts)
        value = _value(tail, drop_non_finite) if colon else np.float32(1)
        if value is None:
            result.non_finite += 1
            continue
        if layout == "labels":
            value = np.float32(value > 0)
        if value == 0 and layout != "scores":
            continue
        pairs.setdefault(index, []).append(value)
    return _joined(pairs, result, layout), labels


def _joined(pairs, result, layout):
    joined = {}
    for index, values in sorted(pairs.items()):
        repeats = len(values) - 1
        if repeats and layout == "scores":
            raise OracleError
        if layout == "labels":
            result.repeated_labels += repeats
            joined[index] = np.float32(1)
            continue
        result.repeated_features += repeats
        total = float(values[0])
        for value in values[1:]:
            total += float(value)
        with np.errstate(over="ignore"):
            total = np.float32(total)
        if not np.isfinite(total):
            raise OracleError
        if total != 0 or layout == "scores":
            joined[index] = total
    return joined


def _value(text, drop_non_finite):
    value = None
    if NUMBER.fullmatch(text):
        value = nearest_float(text)
    elif not NON_FINITE.fullmatch(text):
        raise OracleError
    if value is None and not drop_non_finite:
        raise OracleError
    return value


def native(text, layout, **options):
    """Parse a text with the native parser, from memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        stream = InputStream(io.BytesIO(text), "text", limits=ReadLimits(max_columns=2**31))
        return parse_text(stream, layout, strict=False, allow_truncated=True, **options)


def assert_same(text, layout, **options):
    """Check that both parsers give the same matrices bit by bit, or refuse the same line."""
    expected, bad_line = parse(text, layout, **options)
    if bad_line is not None:
        with pytest.raises(FormatError, match="text:" if bad_line else "text: ") as caught:
            native(text, layout, **options)
        assert (caught.value.line or 0) == bad_line, text
        return
    found = native(text, layout, **options)
    for name in ("repeated_features", "repeated_labels", "non_finite", "skipped_lines"):
        assert getattr(found, name).count == getattr(expected, name), (text, name)
    assert found.declared_rows == (expected.declared and expected.declared[0])
    if layout == "labels":
        _assert_rows(found.labels, [dict.fromkeys(row, 1.0) for row in expected.rows], text)
        return
    _assert_rows(found.pairs, expected.rows, text)
    if layout in ("combined", "svmlight"):
        labels = [dict.fromkeys(row, 1.0) for row in expected.labels]
        _assert_rows(found.labels, labels, text)


def _assert_rows(matrix, rows, text):
    assert matrix.shape[0] == len(rows), text
    indices = [index for row in rows for index in row]
    values = np.array([value for row in rows for value in row.values()], dtype=np.float32)
    assert np.diff(matrix.indptr).tolist() == [len(row) for row in rows], text
    assert matrix.indices.tolist() == indices, text
    assert matrix.data.tobytes() == values.tobytes(), text
