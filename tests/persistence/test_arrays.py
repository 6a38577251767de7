"""Every array of every kind of file: what is wrong with one of them is refused by its name.

Rules about several arrays, and values within the bounds of a type, are in the other modules.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from defrag import load
from tests.helpers.model_drafts import Draft, put, refuse

COMPAT = Path(__file__).parents[1] / "compat" / "0.1.0"
FILES = {path.stem: path for path in sorted(COMPAT.glob("*.safetensors"))}
OPTIONAL = {"scale"}
"""Arrays that a file may do without."""
ANY_VALUE = {"codes", "hash_keys", "n_rounds", "weights"}
"""Integers that may have the largest value of their type."""
ANY_NUMBER = {("leml", "labels"), ("leml-int8", "labels")}
"""Arrays of which a file may have fewer items: the panels of label factors have room for more."""


def harms(file, name, array):
    """Yield what may be wrong with an array, and what is then said."""
    last, told = name.rpartition("/")[2], re.escape(f"'{name}'")
    if last not in OPTIONAL:
        yield None, rf"array {told} .*(is missing|is required|must be present)"
    other = np.int64 if array.dtype == np.float64 else np.float64
    yield array.astype(other), rf"array {told} must be \d-D of .*, got \d-D of {other.__name__}$"
    yield array[None], rf"array {told} must be \d-D of .*, got \d-D of {array.dtype}$"
    if (file, last) not in ANY_NUMBER:
        yield array[:-1].copy(), r"(array|model) '.*' .*must"
    if array.dtype.kind == "f":
        for value in (np.nan, -np.inf):
            yield with_last(array, value), rf"array {told} must be finite.*, got {value} at \d+$"
        return
    bounds = np.iinfo(array.dtype)
    if bounds.min < 0:
        yield with_last(array, bounds.min), rf"array ({told}|'.*/begin' and end) must"
    if last not in ANY_VALUE:
        yield with_last(array, bounds.max), r"array '.*' .*must"


def with_last(array, value):
    changed = array.copy()
    changed.flat[-1] = value
    return changed


@pytest.mark.parametrize("file", FILES)
def test_wrong_array_is_refused_by_name(tmp_path, file):
    data = FILES[file].read_bytes()
    draft = Draft(data)
    for name, entry in draft.header.items():
        array = draft.array(name).reshape(entry["shape"])
        if array.size and not re.search(r"/[1-9]", name):  # of equal parts, the first
            for harm, message in harms(file, name, array):
                refuse(tmp_path, data, put(name, harm), message)


def test_unchanged_drafts_load(tmp_path):
    for path in FILES.values():
        (tmp_path / "a").write_bytes(Draft(path.read_bytes()).to_bytes())
        load(tmp_path / "a")
