"""Validation of the arrays of a model file before any kernel uses them.

Each check takes a :class:`~defrag.persistence._schema.Part` and the names of arrays, and raises
``ModelFormatError`` with the first value that violates the rule. Long arrays are checked in
blocks, so that a check needs little memory and reads each page of a mapped file once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag import _native
from defrag.persistence._schema import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from defrag.persistence._schema import Part
    from defrag.typing import Offsets

__all__ = [
    "check_csr",
    "check_finite",
    "check_increasing",
    "check_increasing_ids",
    "check_ints",
    "check_length",
    "check_offsets",
    "check_permutation",
    "check_size",
    "check_tree",
    "find_decrease",
    "tree_arrays",
]

BLOCK_ITEMS = 1 << 18
"""Small enough that the temporary arrays of a check stay in the cache."""

LARGEST = 1e12
"""Bound of numbers that are summed over unit rows, so that sums and squares stay finite."""

_TREE_ARRAYS = {
    "first_child": "int32",
    "begin": "int64",
    "end": "int64",
    "order": "int32",
    "objective": "float64",
    "n_rounds": "int32",
}


def check_length(part: Part, name: str, length: int) -> None:
    """Check the number of items of an array."""
    if len(part.arrays[name]) != length:
        part.fail(f"{part.name(name)} must have {length} items, got {len(part.arrays[name])}")


def check_ints(part: Part, name: str, low: int, high: int) -> None:
    """Check that all items are in ``[low, high)``."""
    for start, block in _blocks(part.arrays[name]):
        if block.size and not low <= int(block.min()) <= int(block.max()) < high:
            where = int(np.flatnonzero((block < low) | (block >= high))[0])
            part.fail(f"{part.name(name)} must be in [{low}, {high}), got {block[where]} at "
                      f"{start + where}")  # fmt: skip


def check_finite(part: Part, name: str, *, low: float | None = None) -> None:
    """Check that all items are finite and at least ``low``, if given."""
    for start, block in _blocks(part.arrays[name]):
        good = np.isfinite(block)
        if low is not None:
            good &= block >= low
        if not good.all():
            where = int(np.argmin(good))
            rule = "finite" if low is None else f"finite and >= {low:g}"
            part.fail(f"{part.name(name)} must be {rule}, got {block[where]} at {start + where}")


def check_size(part: Part, name: str, most: float = LARGEST) -> None:
    """Check that numbers are small enough for sums of them to be finite."""
    check_finite(part, name)
    for _, block in _blocks(part.arrays[name]):
        largest = float(max(-block.min(), block.max()))
        if largest > most:
            part.fail(f"{part.name(name)} must be at most {most:g} in size, got {largest:g}")


def check_offsets(part: Part, name: str, total: int) -> None:
    """Check that offsets start at 0, never decrease, and end at ``total``."""
    offsets = part.arrays[name]
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != total:
        ends = "nothing" if not len(offsets) else f"{offsets[0]} to {offsets[-1]}"
        part.fail(f"{part.name(name)} must run from 0 to {total}, got {ends}")
    for start, block in _blocks(offsets, overlap=1):
        falls = block[1:] < block[:-1]
        if falls.any():
            where = int(np.argmax(falls))
            part.fail(f"{part.name(name)} must not decrease, got {block[where + 1]} after "
                      f"{block[where]} at {start + where + 1}")  # fmt: skip


def check_csr(part: Part, indptr: str, indices: str, *, n_rows: int, n_cols: int) -> None:
    """Check that the indices of a sparse matrix are in range and increase in every row.

    Parameters
    ----------
    part : Part
        The model.
    indptr : str
        An array of int64.
    indices : str
        An array of int32 or uint32.
    n_rows, n_cols : int
        The shape of the matrix.
    """
    check_length(part, indptr, n_rows + 1)
    columns = part.arrays[indices]
    check_offsets(part, indptr, len(columns))
    # Viewed as signed, an unsigned index beyond 2^31 is negative, which the check rejects.
    state = _native.inspect_csr(part.arrays[indptr], columns.view(np.int32), n_cols=n_cols)
    if state == _native.CsrState.bad_indices:
        check_ints(part, indices, 0, n_cols)
    if state != _native.CsrState.canonical:
        part.fail(f"{part.name(indices)} must increase within each row of {part.name(indptr)}, "
                  f"got {state.name}")  # fmt: skip


def check_increasing_ids(part: Part, name: str, n_ids: int) -> None:
    """Check that ids increase and are below a bound."""
    ids = part.arrays[name]
    check_ints(part, name, 0, n_ids)
    decreases = ids[1:] <= ids[:-1]
    if decreases.any():
        where = int(np.argmax(decreases))
        part.fail(f"{part.name(name)} must increase, got {ids[where + 1]} after {ids[where]} at "
                  f"{where + 1}")  # fmt: skip


def check_increasing(part: Part, name: str, bounds: Offsets, run: str = "run") -> None:
    """Check that the items of each run increase; ``bounds`` are the offsets of the runs."""
    items = part.arrays[name]
    where = find_decrease(items.__getitem__, len(items), bounds)
    if where is not None:
        part.fail(f"{part.name(name)} must increase within a {run}, got {items[where]} after "
                  f"{items[where - 1]} at {where}")  # fmt: skip


def find_decrease(
    block_of: Callable[[slice], NDArray[Any]], n_items: int, bounds: Offsets
) -> int | None:
    """Return the first item that is not above the one before it in its run, if any."""
    step = BLOCK_ITEMS
    for start in range(0, n_items, step):
        block = block_of(slice(start, start + step + 1))
        decreases = block[1:] <= block[:-1]
        low, high = np.searchsorted(bounds, (start + 1, start + len(block)))
        decreases[bounds[low:high] - (start + 1)] = False  # where another run begins
        if decreases.any():
            return start + 1 + int(np.argmax(decreases))
    return None


def check_permutation(part: Part, name: str) -> None:
    """Check that the items are 0, 1, ... in some order."""
    order = part.arrays[name]
    check_ints(part, name, 0, max(1, len(order)))
    seen = np.zeros(len(order), dtype=bool)
    seen[order] = True
    if not seen.all():
        part.fail(f"{part.name(name)} must have every item once, but {int(np.argmin(seen))} is "
                  "missing")  # fmt: skip


def tree_arrays(prefix: str, *, optional: bool = False) -> dict[str, Array]:
    """Return the schema of a ``BalancedTree`` whose arrays start with ``prefix``."""
    group = prefix if optional else None
    return {f"{prefix}/{name}": Array(dtype, 1, group) for name, dtype in _TREE_ARRAYS.items()}


def check_tree(part: Part, prefix: str, *, arity: int | None = 2) -> dict[str, NDArray[Any]]:
    """Check a tree of flat arrays and return them by their short names.

    Nodes are numbered breadth first: the children of the inner nodes are all nodes but the
    root, in order, and a child follows its parent, which excludes cycles. The items of the children
    are those of the parent, split in place; items increase within a leaf.

    Parameters
    ----------
    part : Part
        The model.
    prefix : str
        Prefix of the names of the arrays.
    arity : int or None, default=2
        Number of children of an inner node; None for any.
    """
    tree = {name: part.arrays[f"{prefix}/{name}"] for name in _TREE_ARRAYS}
    first, order = tree["first_child"], tree["order"]
    if not len(first):
        part.fail(f"{part.name(f'{prefix}/first_child')} must have at least one node, got none")
    for name in _TREE_ARRAYS:
        if name != "order":
            check_length(part, f"{prefix}/{name}", len(first))
    _check_nodes(part, f"{prefix}/first_child", arity)
    _check_ranges(part, prefix, tree)
    check_permutation(part, f"{prefix}/order")
    falls = np.flatnonzero(order[1:] < order[:-1]) + 1
    wrong = np.setdiff1d(falls, tree["begin"][first < 0])
    if len(wrong):
        where = int(wrong[0])
        part.fail(f"{part.name(f'{prefix}/order')} must increase within a leaf, got {order[where]} "
                  f"after {order[where - 1]} at {where}")  # fmt: skip
    check_finite(part, f"{prefix}/objective")
    check_ints(part, f"{prefix}/n_rounds", 0, 2**31)
    return tree


def _check_nodes(part: Part, name: str, arity: int | None) -> None:
    first = part.arrays[name]
    check_ints(part, name, -1, len(first))
    inner = np.flatnonzero(first >= 0)
    late = first[inner] <= inner
    if late.any():
        node = int(inner[np.argmax(late)])
        part.fail(f"{part.name(name)} must have children after their parent, got {first[node]} at "
                  f"{node}")  # fmt: skip
    counts = np.diff(first[inner].astype(np.int64), append=len(first))
    start = int(first[inner[0]]) if len(inner) else len(first)
    if start != 1 or (counts < 1).any() or (arity is not None and (counts != arity).any()):
        wanted = "children" if arity is None else f"{arity} children"
        part.fail(f"{part.name(name)} must give each inner node its own {wanted}, breadth first")


def _check_ranges(part: Part, prefix: str, tree: dict[str, NDArray[Any]]) -> None:
    first, begin, end = tree["first_child"], tree["begin"], tree["end"]
    n_items = len(tree["order"])
    what = f"{part.name(f'{prefix}/begin')} and end"
    if begin[0] != 0 or end[0] != n_items:
        part.fail(f"{what} must give the root [0, {n_items}), got [{begin[0]}, {end[0]})")
    if (begin > end).any():
        node = int(np.argmax(begin > end))
        part.fail(f"{what} must not cross, got [{begin[node]}, {end[node]}) at {node}")
    inner = np.flatnonzero(first >= 0)
    if not len(inner):
        return
    heads = first[inner].astype(np.int64)
    lasts = np.append(heads[1:], len(first)) - 1
    follows = np.append(True, begin[1:] == end[:-1])
    follows[heads] = begin[heads] == begin[inner]
    follows[lasts] &= end[lasts] == end[inner]
    if not follows.all():
        node = int(np.argmin(follows))
        part.fail(f"{what} must cut each node into its children, got [{begin[node]}, {end[node]}) "
                  f"at {node}")  # fmt: skip


def _blocks(array: NDArray[Any], overlap: int = 0) -> Iterator[tuple[int, NDArray[Any]]]:
    flat = array.reshape(-1)
    for start in range(0, len(flat), BLOCK_ITEMS):
        yield start, flat[start : start + BLOCK_ITEMS + overlap]
