"""The group file of the official DEFRAG program.

The first line has the number of groups K. Each of the next K lines describes a group: its
size and the ids of its features, counted from 0 and separated by blanks, with a blank at the
end of the line. Three groups of five features::

    3
    2 0 3
    2 1 4
    1 2

Every feature belongs to exactly one group.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from defrag.exceptions import FormatError
from defrag.io._text import check_limit
from defrag.io.atomic import atomic_writer
from defrag.io.files import open_input

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from defrag.io.files import InputStream, PathLike
    from defrag.typing import Ids, Offsets

__all__ = ["parse_groups", "read_groups", "write_groups"]

_WHOLE_NUMBERS = re.compile(rb"[0-9 \t]*")


def read_groups(
    path: PathLike, n_features: int | None = None, *, allow_missing: bool = False
) -> Ids:
    r"""Read the group of each feature.

    Parameters
    ----------
    path : path
        The group file; may be compressed, ``-`` is standard input.
    n_features : int, optional
        Number of features; default: the largest id plus one.
    allow_missing : bool, default=False
        Whether features without a group are allowed.

    Returns
    -------
    groups : array of shape (n_features,), int32
        The group of each feature, or -1 if it has none.

    Raises
    ------
    FormatError
        If the file is not a partition of the features; names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_groups
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "groups.txt"
    >>> _ = path.write_text("3\n2 0 3 \n2 1 4 \n1 2 \n")
    >>> read_groups(path)
    array([0, 1, 2, 0, 1], dtype=int32)
    """
    with open_input(path) as stream:
        return parse_groups(stream, n_features, allow_missing=allow_missing)[0]


def parse_groups(
    stream: InputStream, n_features: int | None = None, *, allow_missing: bool = False
) -> tuple[Ids, int]:
    """Read groups from an open stream; return them and their number.

    The number includes empty groups, which do not occur in the array.
    """
    check_limit("n_features", n_features)
    name, lines = stream.name, stream.read_all().split(b"\n")
    lines = [line.removesuffix(b"\r") for line in lines]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise FormatError(name, "the file is empty")
    head = _numbers(name, lines[0], 1)
    if len(head) != 1:
        raise FormatError(name, f"the first line must be the number of groups, got {len(head)}", 1)
    if head[0] != len(lines) - 1:
        raise FormatError(name, f"{head[0]} groups declared, but there are {len(lines) - 1}", 1)
    groups = [_group(name, line, number) for number, line in enumerate(lines[1:], 2)]
    return _partition(name, groups, n_features, allow_missing=allow_missing), len(groups)


def write_groups(path: PathLike, groups: ArrayLike, n_clusters: int | None = None) -> None:
    r"""Write the group of each feature; ``read_groups`` restores the same array.

    Parameters
    ----------
    path : path
        The file, as for ``write_xmc``.
    groups : array-like of shape (n_features,)
        The group of each feature, counted from 0, or -1 if it has none.
    n_clusters : int, optional
        Number of groups, including empty ones; default: the largest id plus one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import write_groups
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "groups.txt"
    >>> write_groups(path, [0, 1, 1])
    >>> path.read_text()
    '2\n1 0 \n2 1 2 \n'
    """
    ids = np.asarray(groups)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise ValueError(f"groups must be a 1-D array of ints, got {ids.ndim}-D of {ids.dtype}")
    if ids.size and ids.min() < -1:
        raise ValueError(f"groups must be >= 0, or -1 to drop, got {ids.min()}")
    order = np.argsort(ids, kind="stable")
    order = order[ids[order] >= 0]
    sizes = np.bincount(ids[order].astype(np.int64), minlength=n_clusters or 0)
    if n_clusters is not None and len(sizes) > n_clusters:
        raise ValueError(f"groups must be below n_clusters ({n_clusters}), got {len(sizes) - 1}")
    with atomic_writer(path) as file:
        file.write(b"%d\n" % len(sizes))
        for members in np.split(order, np.cumsum(sizes)[:-1]) if len(sizes) else []:
            line = " ".join(map(str, [len(members), *members.tolist()]))
            file.write(line.encode() + b" \n")


def _numbers(name: str, line: bytes, number: int) -> Offsets:
    if not _WHOLE_NUMBERS.fullmatch(line):
        raise FormatError(name, f"expected whole numbers >= 0, got {_quote(line)}", number)
    parts = line.split()
    longest = max(parts, key=len, default=b"")
    if len(longest) > 18:
        raise FormatError(name, f"a number of more than 18 digits: {_quote(longest)}", number)
    return np.array(parts, dtype=np.int64)


def _quote(line: bytes) -> str:
    text = ascii(line[:40].decode("latin-1"))
    return text if len(line) <= 40 else text[:-1] + "...'"


def _group(name: str, line: bytes, number: int) -> Offsets:
    numbers = _numbers(name, line, number)
    if not len(numbers):
        raise FormatError(name, "a group must begin with its size, got an empty line", number)
    size, members = int(numbers[0]), numbers[1:]
    if size != len(members):
        raise FormatError(name, f"group of size {size}, but {len(members)} features", number)
    if len(members) and members.max() >= 2**31 - 1:
        raise FormatError(name, f"feature index {members.max()} is too large", number)
    return members


def _partition(
    name: str, groups: list[Offsets], n_features: int | None, *, allow_missing: bool
) -> Ids:
    """Return the group of each feature; check that the groups are a partition."""
    members = np.concatenate([*groups, np.zeros(0, dtype=np.int64)])
    lines = np.repeat(np.arange(len(groups)) + 2, [len(group) for group in groups])
    width = int(members.max()) + 1 if n_features is None and len(members) else n_features or 0
    outside = np.flatnonzero(members >= width)
    if len(outside):
        message = f"feature index {members[outside[0]]}, but there are {width} features"
        raise FormatError(name, message, int(lines[outside[0]]))
    if width > len(members) and not allow_missing:
        # Checked before the array is allocated: one large id must not cost gigabytes.
        absent = np.setdiff1d(np.arange(len(members) + 1), members)[0]
        raise FormatError(name, f"{width} features, but feature {absent} is in no group")
    order = np.argsort(members, kind="stable")
    twice = order[1:][np.diff(members[order]) == 0]
    if len(twice):
        first = twice.min()
        message = f"feature {members[first]} is in a group already"
        raise FormatError(name, message, int(lines[first]))
    result = np.full(width, -1, dtype=np.int32)
    result[members] = lines - 2
    return result
