"""The classes of a classifier in a model file: numbers, bools and strings, never objects.

Label ids need no array. NumPy strings are stored as rows of code points, so that their type is
preserved and loading needs no more memory than the file has; strings that are Python objects are
stored in UTF-8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._parameters import Choice
from defrag.persistence._checks import check_finite, check_ints, check_length
from defrag.persistence._container import show
from defrag.persistence._schema import Array
from defrag.persistence._strings import pack_strings, string_arrays, unpack_strings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.persistence._schema import Part

__all__ = ["CLASS_ARRAYS", "CLASS_KIND", "pack_classes", "unpack_classes"]

CLASS_KIND = Choice(("ids", "numbers", "bools", "characters", "strings", "names"))
"""Kinds of classes; ``names`` are label names of a multi-label classifier."""

_NUMBERS = tuple(
    f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)
    if (kind, bits) != ("float", 8)
)  # fmt: skip

CLASS_ARRAYS = {
    "classes/numbers": Array(_NUMBERS, group="numbers"),
    "classes/bools": Array("uint8", group="bools"),
    "classes/characters": Array("uint32", 2, "characters"),
    **string_arrays("classes/strings", optional=True),
    **string_arrays("classes/names", optional=True),
}
"""Schema of the classes; at most one of these arrays is present."""


def pack_classes(
    classes: NDArray[Any] | None, *, multilabel: bool = False
) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the kind of the classes, None for ids, and their arrays.

    Parameters
    ----------
    classes : ndarray or None
        The classes, or the names of labels.
    multilabel : bool, default=False
        Whether they are names of labels.

    Raises
    ------
    ValueError
        If their type cannot be stored.
    """
    if classes is None:
        return "ids", {}
    if multilabel:
        return "names", pack_strings("classes/names", classes.tolist())
    kind = classes.dtype.kind
    if classes.dtype.name in _NUMBERS:
        return "numbers", {"classes/numbers": classes}
    if kind == "b":
        return "bools", {"classes/bools": classes.view(np.uint8)}
    if kind == "U":
        plain = np.ascontiguousarray(classes, dtype=classes.dtype.newbyteorder("<"))
        return "characters", {"classes/characters": plain.view("<u4").reshape(len(plain), -1)}
    if kind == "O" and all(isinstance(value, str) for value in classes):
        return "strings", pack_strings("classes/strings", classes.tolist())
    raise ValueError(f"classes_ must be numbers, bools or strings to be saved, got {show(classes)}")


def unpack_classes(part: Part, n_labels: int) -> NDArray[Any] | None:
    """Check and return the classes; None for ids."""
    kind = part.state["classes"]
    for name in part.arrays:
        if name.startswith("classes/") and name.split("/")[1] != kind:
            part.fail(f"{part.name(name)} does not belong to classes that are {kind}")
    if kind == "ids":
        return None
    name = f"classes/{kind}"
    if kind in {"strings", "names"}:
        if not part.has(f"{name}/bytes"):
            part.fail(f"{part.name(name)} is missing from classes that are {kind}")
        classes = np.array([*unpack_strings(part, name, n_labels), None], dtype=object)[:-1]
    else:
        if not part.has(name):
            part.fail(f"{part.name(name)} is missing from classes that are {kind}")
        check_length(part, name, n_labels)
        classes = {"numbers": _numbers, "bools": _bools, "characters": _characters}[kind](
            part, name
        )
    if not (classes[1:] > classes[:-1]).all():
        where = int(np.argmin(classes[1:] > classes[:-1]))
        part.fail(f"{part.name(name)} must increase, got {show(classes[where + 1])} after "
                  f"{show(classes[where])} at {where + 1}")  # fmt: skip
    return classes


def _numbers(part: Part, name: str) -> NDArray[Any]:
    if part.arrays[name].dtype.kind == "f":
        check_finite(part, name)
    return part.arrays[name]


def _bools(part: Part, name: str) -> NDArray[Any]:
    check_ints(part, name, 0, 2)
    return part.arrays[name].view(np.bool_)


def _characters(part: Part, name: str) -> NDArray[Any]:
    points = part.arrays[name]
    if not points.shape[1]:
        part.fail(f"{part.name(name)} must have at least one column, got none")
    check_ints(part, name, 0, 0x110000)
    surrogates = points[(points >= 0xD800) & (points < 0xE000)]
    if surrogates.size:
        part.fail(f"{part.name(name)} must not have surrogates, got {surrogates[0]:#x}")
    return points.view(f"<U{points.shape[1]}").reshape(-1)
