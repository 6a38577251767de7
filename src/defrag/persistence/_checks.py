"""Validation of the arrays of a model file before any kernel uses them.

Each check of a :class:`~defrag.persistence.fields.Part` takes the names of arrays, and raises
``ModelFormatError`` with the first value that violates the rule. Long arrays are checked in
blocks, so that a check needs little memory and reads each page of a mapped file once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from defrag import _native
from defrag.exceptions import ModelFormatError
from defrag.typing import Offsets

BLOCK_ITEMS = 1 << 18
"""Small enough that the temporary arrays of a check stay in the cache."""

LARGEST = 1e12
"""Bound of numbers that are summed over unit rows, so that sums and squares stay finite."""


class Checks:
    """The arrays of a model file, and the rules that they may have to obey."""

    arrays: dict[str, NDArray[Any]]
    path: str
    prefix: str

    def fail(self, message: str) -> NoReturn:
        """Raise ModelFormatError with the name of the file."""
        raise ModelFormatError(self.path, message)

    def name(self, array: str) -> str:
        """Return the name of an array in error messages."""
        return f"array '{self.prefix}{array}'"

    def refuse(self, array: str, rule: str) -> NoReturn:
        """Raise ModelFormatError about an array that must obey a rule."""
        self.fail(f"{self.name(array)} must {rule}")

    def refuse_any(self, name: str, wrong: NDArray[np.bool_], rule: str, found: Any) -> None:
        """Fail at the first wrong item of an array; ``found`` has what it is."""
        if wrong.any():
            where = int(np.argmax(wrong))
            self.refuse(name, f"{rule}, got {found[where]} at {where}")

    def refuse_order(self, name: str, rule: str, items: NDArray[Any], where: int) -> None:
        """Fail at an item that is in a wrong order with the one before it."""
        self.refuse(name, f"{rule}, got {items[where]} after {items[where - 1]} at {where}")

    def check_length(self, name: str, length: int) -> None:
        """Check the number of items of an array."""
        if len(self.arrays[name]) != length:
            self.refuse(name, f"have {length} items, got {len(self.arrays[name])}")

    def check_ints(self, name: str, low: int, high: int) -> None:
        """Check that all items are in ``[low, high)``."""
        for start, block in _blocks(self.arrays[name]):
            if block.size and not low <= int(block.min()) <= int(block.max()) < high:
                where = int(np.flatnonzero((block < low) | (block >= high))[0])
                self.refuse(name, f"be in [{low}, {high}), got {block[where]} at {start + where}")

    def check_finite(self, name: str, *, low: float | None = None) -> None:
        """Check that all items are finite and at least ``low``, if given."""
        for start, block in _blocks(self.arrays[name]):
            good = np.isfinite(block)
            if low is not None:
                good &= block >= low
            if not good.all():
                where = int(np.argmin(good))
                rule = "finite" if low is None else f"finite and >= {low:g}"
                self.refuse(name, f"be {rule}, got {block[where]} at {start + where}")

    def check_size(self, name: str, most: float = LARGEST) -> None:
        """Check that numbers are small enough for sums of them to be finite."""
        self.check_finite(name)
        for _, block in _blocks(self.arrays[name]):
            largest = float(max(-block.min(), block.max()))
            if largest > most:
                self.refuse(name, f"be at most {most:g} in size, got {largest:g}")

    def check_offsets(self, name: str, total: int) -> None:
        """Check that offsets start at 0, never decrease, and end at ``total``."""
        offsets = self.arrays[name]
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != total:
            ends = "nothing" if not len(offsets) else f"{offsets[0]} to {offsets[-1]}"
            self.refuse(name, f"run from 0 to {total}, got {ends}")
        for start, block in _blocks(offsets, overlap=1):
            falls = block[1:] < block[:-1]
            if falls.any():
                self.refuse_order(name, "not decrease", offsets, start + 1 + int(np.argmax(falls)))

    def check_csr(self, indptr: str, indices: str, *, n_rows: int, n_cols: int) -> None:
        """Check that the indices of a sparse matrix are in range and increase in every row."""
        self.check_length(indptr, n_rows + 1)
        columns = self.arrays[indices]
        self.check_offsets(indptr, len(columns))
        # Viewed as signed, an unsigned index beyond 2^31 is negative, which the check rejects.
        state = _native.inspect_csr(self.arrays[indptr], columns.view(np.int32), n_cols=n_cols)
        if state == _native.CsrState.bad_indices:
            self.check_ints(indices, 0, n_cols)
        if state != _native.CsrState.canonical:
            rule = f"increase within each row of {self.name(indptr)}"
            self.refuse(indices, f"{rule}, got {state.name}")

    def check_increasing_ids(self, name: str, n_ids: int) -> None:
        """Check that ids increase and are below a bound."""
        ids = self.arrays[name]
        self.check_ints(name, 0, n_ids)
        decreases = ids[1:] <= ids[:-1]
        if decreases.any():
            self.refuse_order(name, "increase", ids, 1 + int(np.argmax(decreases)))

    def check_increasing(self, name: str, bounds: Offsets, run: str = "run") -> None:
        """Check that the items of each run increase; ``bounds`` are the offsets of the runs."""
        items = self.arrays[name]
        where = find_decrease(items.__getitem__, len(items), bounds)
        if where is not None:
            self.refuse_order(name, f"increase within a {run}", items, where)

    def check_permutation(self, name: str) -> None:
        """Check that the items are 0, 1, ... in some order."""
        order = self.arrays[name]
        self.check_ints(name, 0, max(1, len(order)))
        seen = np.zeros(len(order), dtype=bool)
        seen[order] = True
        if not seen.all():
            self.refuse(name, f"have every item once, but {int(np.argmin(seen))} is missing")


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


def _blocks(array: NDArray[Any], overlap: int = 0) -> Iterator[tuple[int, NDArray[Any]]]:
    flat = array.reshape(-1)
    for start in range(0, len(flat), BLOCK_ITEMS):
        yield start, flat[start : start + BLOCK_ITEMS + overlap]
