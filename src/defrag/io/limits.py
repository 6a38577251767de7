"""Limits on the cost of reading a file."""

from __future__ import annotations

from dataclasses import dataclass

from defrag.exceptions import FormatError

__all__ = ["ReadLimits"]

_FREE_BYTES = 64 << 20
"""Size up to which the ratio is not checked: small enough for any machine."""

_COLUMNS_PER_ENTRY = 1024


@dataclass(frozen=True)
class ReadLimits:
    r"""Bounds that keep a small file from costing much memory.

    Parameters
    ----------
    max_ratio : float, default=200
        How many times its own size a compressed file or archive may expand to. Sparse text
        expands by 3 to 7. Not applied to the first 64 MiB.
    max_bytes : int, default=2**36
        Number of bytes that a compressed file or archive may expand to.
    max_columns : int, default=2**24
        Number of features or labels that a file may declare if it has fewer than one entry
        per 1024 of them. A number that the caller passes to the reader is not checked.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import ReadLimits, read_xmc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "wide.txt"
    >>> _ = path.write_text("1 2 2000000000\n0 1:1\n")
    >>> read_xmc(path, limits=ReadLimits(max_columns=2**31))[1].shape
    (1, 2000000000)
    """

    max_ratio: float = 200.0
    max_bytes: int = 1 << 36
    max_columns: int = 1 << 24

    def check_expansion(self, name: str, packed: int, unpacked: int) -> None:
        """Raise FormatError if ``packed`` bytes may not expand to ``unpacked`` bytes."""
        if unpacked > self.max_bytes:
            rule = f"more than {self.max_bytes} bytes (max_bytes)"
        elif unpacked > max(_FREE_BYTES, self.max_ratio * packed):
            rule = f"more than {self.max_ratio:g} times its size (max_ratio)"
        else:
            return
        raise FormatError(
            name, f"expands to {rule}: decompress it first, or pass other limits to the reader"
        )

    def check_columns(self, name: str, noun: str, n_columns: int, n_entries: int) -> None:
        """Raise FormatError if there are too many columns for the number of entries."""
        if n_columns > max(self.max_columns, _COLUMNS_PER_ENTRY * n_entries):
            raise FormatError(
                name,
                f"{n_columns} {noun}s, but only {n_entries} entries: pass n_{noun}s or other "
                "limits to the reader if this is intended",
            )
