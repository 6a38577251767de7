"""Tables of texts and of predictions as Parquet: the only module that imports pyarrow, an extra.

``documents.py`` reads corpora with it; ``defrag predict`` and training on Ray write predictions.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from defrag.exceptions import FormatError
from defrag.io.remote import is_uri, open_uri
from defrag.typing import Floats

if TYPE_CHECKING:
    from defrag.io.files import PathLike

SUFFIX = ".parquet"
"""Suffixes of Parquet files."""

_ROWS_AT_A_TIME = 10_000


def load_pyarrow() -> Any:
    """Return pyarrow, with its submodule ``parquet``."""
    try:
        import pyarrow.parquet  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'defrag[parquet]'") from None
    return pyarrow


def is_parquet(path: Path) -> bool:
    """Return whether a path is a Parquet file or a folder that contains one, by name."""
    if path.is_dir():
        return any(_files(path))
    return path.name.endswith(SUFFIX)


def read_batches(
    path: PathLike, choose: Callable[[str, list[str]], list[str]]
) -> Iterator[tuple[str, int, Any]]:
    """Yield the name of a file, the number of the first row of a batch, and the batch, in order.

    - ``path``: the file, its URI, or a folder whose files are read in the order of their names.
    - ``choose``: returns the columns to read, given the name of a file and its columns.
    """
    pyarrow = load_pyarrow()
    folder = Path(path)
    for file in _files(folder) if folder.is_dir() else [path]:
        done = 0
        with open_uri(file) if is_uri(file) else Path(file).open("rb") as stream:
            try:
                table = pyarrow.parquet.ParquetFile(stream)
                columns = choose(str(file), table.schema_arrow.names)
                for batch in table.iter_batches(_ROWS_AT_A_TIME, columns=columns):
                    yield str(file), done, batch
                    done += batch.num_rows
            except (pyarrow.ArrowException, OSError) as error:
                reason = str(error).split("\n", 1)[0]
                raise FormatError(str(file), f"is damaged or not Parquet: {reason}") from None


def table_bytes(labels: NDArray[Any], scores: Floats, first: int) -> bytes:
    """Return a Parquet file of predictions with the columns ``row``, ``labels`` and ``scores``.

    - ``labels``, shape (n, k): ids of labels, padded with -1, or names, padded with "".
    - ``first``: number of the first point, counted from 0.
    """
    pyarrow = load_pyarrow()
    by_id = labels.dtype.kind == "i"
    found = labels >= 0 if by_id else labels != ""
    ends = np.cumsum(found.sum(axis=1))
    offsets = pyarrow.array(np.append(0, ends).astype(np.int32))
    kind = pyarrow.int32() if by_id else pyarrow.string()
    columns = {
        "row": pyarrow.array(np.arange(first, first + len(labels))),
        "labels": pyarrow.ListArray.from_arrays(offsets, pyarrow.array(labels[found], kind)),
        "scores": pyarrow.ListArray.from_arrays(offsets, pyarrow.array(scores[found])),
    }
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))
