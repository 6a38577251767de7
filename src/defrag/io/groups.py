"""The group file of the official DEFRAG program.

The first line has the number of groups K. Each of the next K lines describes a group: its
size and the ids of its features, counted from 0 and separated by blanks, with a blank at the
end of the line. Three groups of five features::

    3
    2 0 3
    2 1 4
    1 2

Every feature belongs to exactly one group. ``defrag cluster`` writes such files and ``agglomerate``
reads them, so that groups can be compared with those of that program; parsing is by numpy arrays,
since a file has as many groups as a model has features.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import ArrayLike

from defrag._validation import check_groups
from defrag.exceptions import FormatError
from defrag.io.files import InputStream, PathLike, ReadLimits, atomic_writer, open_input
from defrag.io.xmc import check_limit
from defrag.typing import Ids, Offsets

_NO_NUMBER = re.compile(rb"[^0-9 \t\n]")
_MAX_DIGITS = 18


def read_groups(
    path: PathLike,
    n_features: int | None = None,
    *,
    allow_missing: bool = False,
    limits: ReadLimits | None = None,
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
    limits : ReadLimits, optional
        Limits on the expansion of compressed files and on columns without entries.

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
    with open_input(path, limits) as stream:
        return parse_groups(stream, n_features, allow_missing=allow_missing)[0]


def parse_groups(
    stream: InputStream, n_features: int | None = None, *, allow_missing: bool = False
) -> tuple[Ids, int]:
    """Read groups from an open stream; return them and their number.

    The number includes empty groups, which do not occur in the array.
    """
    check_limit("n_features", n_features)
    name = stream.name
    text = b"".join(stream.lines()).replace(b"\r\n", b"\n").removesuffix(b"\r").rstrip(b" \t\n")
    if not text:
        raise FormatError(name, "the file is empty")
    head, _, body = text.partition(b"\n")
    numbers, counts = _numbers(name, head, 1)
    if len(numbers) != 1:
        message = f"the first line must be the number of groups, got {len(numbers)}"
        raise FormatError(name, message, 1)
    n_lines = body.count(b"\n") + 1 if head != text else 0
    if numbers[0] != n_lines:
        raise FormatError(name, f"{numbers[0]} groups declared, but there are {n_lines}", 1)
    if not n_lines:
        return np.full(n_features or 0, -1, dtype=np.int32), 0
    numbers, counts = _numbers(name, body, 2)
    members, sizes = _members(name, numbers, counts)
    if n_features is None:
        n_features = int(members.max(initial=-1)) + 1
        stream.limits.check_columns(name, "feature", n_features, len(members))
    return _partition(name, members, sizes, n_features, allow_missing=allow_missing), n_lines


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
    ids, n_clusters = check_groups(groups, n_clusters=n_clusters)
    order = np.argsort(ids, kind="stable")
    order = order[ids[order] >= 0]
    sizes = np.bincount(ids[order], minlength=n_clusters)
    with atomic_writer(path) as file:
        file.write(b"%d\n" % len(sizes))
        for members in np.split(order, np.cumsum(sizes)[:-1]) if len(sizes) else []:
            line = " ".join(map(str, [len(members), *members.tolist()]))
            file.write(line.encode() + b" \n")


def _numbers(name: str, text: bytes, first_line: int) -> tuple[Offsets, Offsets]:
    """Return the whole numbers of a text, and how many of them each line has."""
    is_digit = np.frombuffer(text, dtype=np.uint8) >= ord("0")  # separators have codes below
    edges = np.diff(is_digit, prepend=False, append=False).nonzero()[0]
    begins, lengths = edges[::2], np.diff(edges)[::2]
    bad, rule = _NO_NUMBER.search(text), ""
    if bad is not None:
        place = bad.start()
        line = text[text.rfind(b"\n", 0, place) + 1 :].split(b"\n", 1)[0]
        rule = f"expected whole numbers >= 0, got {_quote(line)}"
    elif lengths.max(initial=0) > _MAX_DIGITS:
        place = int(begins[np.argmax(lengths > _MAX_DIGITS)])
        rule = f"a number of more than 18 digits: {_quote(text[place:].split(maxsplit=1)[0])}"
    if rule:
        raise FormatError(name, rule, first_line + text.count(b"\n", 0, place))
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    n_before = np.searchsorted(begins, np.append(ends, len(text)))
    found = np.fromstring(text, dtype=np.int64, sep=" ")[: len(begins)]  # of blanks, it makes a 0
    return found, np.diff(n_before, prepend=0)


def _quote(line: bytes) -> str:
    text = ascii(line[:40].decode("latin-1"))
    return text if len(line) <= 40 else text[:-1] + "...'"


def _members(name: str, numbers: Offsets, counts: Offsets) -> tuple[Offsets, Offsets]:
    """Return the members of all groups, and the sizes of the groups."""
    if not counts.all():
        line = int(np.argmin(counts)) + 2
        raise FormatError(name, "a group must begin with its size, got an empty line", line)
    starts = np.cumsum(counts) - counts
    wrong = numbers[starts] != counts - 1
    if wrong.any():
        where = int(np.argmax(wrong))
        message = f"group of size {numbers[starts[where]]}, but {counts[where] - 1} features"
        raise FormatError(name, message, where + 2)
    members = np.delete(numbers, starts)
    if members.max(initial=0) >= 2**31 - 1:
        where = int(np.argmax(members >= 2**31 - 1))
        line = int(np.searchsorted(np.cumsum(counts - 1), where, side="right")) + 2
        raise FormatError(name, f"feature index {members[where]} is too large", line)
    return members, counts - 1


def _partition(
    name: str, members: Offsets, sizes: Offsets, width: int, *, allow_missing: bool
) -> Ids:
    """Return the group of each feature; check that the groups are a partition."""
    lines = np.repeat(np.arange(len(sizes)) + 2, sizes)
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
