"""Points and labels as numpy archives, without pickle.

An archive contains ``X_indptr``, ``X_indices``, ``X_data`` and ``X_shape``, and the same four
arrays with ``Y`` if there are labels. Archives of ``scipy.sparse.save_npz`` are read as
features without labels. Text is slow to read and large; this is what the commands write for data
that are read often. An archive comes from anywhere: its sizes are checked before they cost memory.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray
from scipy import sparse

from defrag._validation import canonical_csr, check_labels, check_matrix
from defrag.exceptions import FormatError
from defrag.io.files import InputStream, PathLike, atomic_writer
from defrag.typing import Csr, LabelsLike, MatrixLike

_PARTS = ("indptr", "indices", "data", "shape")
_NAMES = {
    *_PARTS,
    "format",
    "_is_array",
    *(f"{matrix}_{part}" for matrix in "XY" for part in _PARTS),
}
_PIECE_BYTES = 1 << 20
_HEADER = re.compile(
    rb"\{'descr': '([^']{1,20})', 'fortran_order': (?:True|False), "
    rb"'shape': \(((?:[0-9]{1,18}L?,? ?)*)\),? ?\}[ \n]*"
)
_DAMAGES = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, MemoryError, NotImplementedError,
    OSError, OverflowError, RuntimeError,
)  # fmt: skip
"""Exceptions that ``zipfile`` raises for a damaged archive in memory."""


def parse_npz(
    stream: InputStream, *, n_features: int | None = None, n_labels: int | None = None
) -> tuple[Csr, Csr | None]:
    """Read points and, if the archive has them, their labels from an open stream.

    A number of columns that the caller knows is not compared with the limits.
    """
    name = stream.name
    packed = stream.read_all()
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            members = _check_members(stream, archive.infolist(), len(packed))
            arrays = {key: _read_array(archive, member) for key, member in members.items()}
    except FormatError:
        raise
    except _DAMAGES as error:
        raise FormatError(name, f"is a damaged archive: {error or 'too large'}") from error
    except (ValueError, TypeError) as error:
        raise FormatError(name, f"is not an archive of matrices: {error}") from error
    layout = arrays.pop("format", None)
    if layout is not None and layout.tobytes().rstrip(b"\0") != b"csr":
        raise FormatError(name, "contains a sparse matrix that is not csr")
    if set(arrays) == set(_PARTS):
        arrays = {f"X_{part}": array for part, array in arrays.items()}
    wanted = [("X", "feature", n_features), ("Y", "label", n_labels)]
    wanted = wanted if len(arrays) > len(_PARTS) else wanted[:1]
    if set(arrays) != {f"{matrix}_{part}" for matrix, *_ in wanted for part in _PARTS}:
        raise FormatError(name, f"expected the arrays of X and Y, got {sorted(arrays)[:9]}")
    found = []
    for matrix, noun, width in wanted:
        one = _matrix(name, matrix, [arrays[f"{matrix}_{part}"] for part in _PARTS])
        if width is None:
            stream.limits.check_columns(name, noun, one.shape[1], one.nnz)
        found.append(one)
    X = found[0]
    try:
        return X, check_labels(found[1], n_rows=X.shape[0]).matrix if len(found) > 1 else None
    except ValueError as error:
        raise FormatError(name, str(error)) from error


def write_npz(path: PathLike, X: MatrixLike, Y: LabelsLike | None = None) -> None:
    """Write points and their labels; ``read_points`` restores the same bits.

    Parameters
    ----------
    path : path
        The archive, as for ``write_xmc``.
    X : matrix of shape (n, d)
        Finite features.
    Y : labels of n points, optional
        An indicator matrix, label lists, or one class per point.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import write_npz
    >>> write_npz(pathlib.Path(tempfile.mkdtemp()) / "test.npz", [[0, 0.5], [2, 0]])
    """
    matrices = {"X": check_matrix(X, name="X")}
    if Y is not None:
        matrices["Y"] = check_labels(Y, n_rows=matrices["X"].shape[0]).matrix
    with atomic_writer(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, matrix in matrices.items():
            arrays: list[NDArray[Any]] = [
                matrix.indptr.astype(np.int64),
                matrix.indices.astype(np.int32),
                matrix.data.astype(np.float32),
                np.array(matrix.shape, dtype=np.int64),
            ]
            for part, array in zip(_PARTS, arrays, strict=True):
                # A fixed time stamp, so that equal data give equal bytes.
                member = zipfile.ZipInfo(f"{name}_{part}.npy", (1980, 1, 1, 0, 0, 0))
                with archive.open(member, "w", force_zip64=True) as target:
                    npy_format.write_array(target, array, allow_pickle=False)


def _check_members(
    stream: InputStream, members: list[zipfile.ZipInfo], size: int
) -> dict[str, zipfile.ZipInfo]:
    """Check names and sizes of the members of an archive of ``size`` bytes.

    The names are a closed set and each occurs at most once, so that a directory that lists a
    part of the archive many times cannot make it be read many times.
    """
    result = {member.filename.removesuffix(".npy"): member for member in members}
    if not set(result) <= _NAMES or len(result) != len(members):
        found = sorted(member.filename.removesuffix(".npy") for member in members)
        raise FormatError(stream.name, f"expected the arrays of X and Y, got {found[:9]}")
    for member in members:
        if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise zipfile.BadZipFile(f"{member.filename} has a compression that numpy never uses")
    stream.limits.check_expansion(stream.name, size, sum(member.file_size for member in members))
    result.pop("_is_array", None)  # of a scipy array, in place of a matrix
    return result


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array; the sizes in its header are compared with the size of the member."""
    with archive.open(member) as source:
        if source.read(8) != b"\x93NUMPY\x01\x00":
            raise ValueError(f"{member.filename} is not version 1.0 of the array format")
        header = source.read(int.from_bytes(source.read(2), "little"))
        # numpy's own reader of headers evaluates Python literals.
        found = _HEADER.fullmatch(header)
        if found is None:
            raise ValueError(f"{member.filename} has a header that is not of a numeric array")
        dtype = np.dtype(found[1].decode("ascii"))
        shape = [int(size) for size in re.findall(rb"[0-9]+", found[2])]
        if dtype.kind not in "iufSU" or len(shape) > 1:
            raise ValueError(f"{member.filename} has {dtype} of shape {tuple(shape)}")
        n_items = shape[0] if shape else 1
        n_bytes = member.file_size - source.tell()
        if n_items * dtype.itemsize != n_bytes:
            raise ValueError(f"{member.filename} declares {n_items} items in {n_bytes} bytes")
        data = bytearray(n_bytes)
        done = 0
        while done < n_bytes:
            piece = source.read(min(_PIECE_BYTES, n_bytes - done))
            if not piece:
                raise EOFError(f"{member.filename} ends too early")
            data[done : done + len(piece)] = piece
            done += len(piece)
        if source.read(1):  # reading past the end also verifies the checksum
            raise ValueError(f"{member.filename} has more bytes than it declares")
    return np.frombuffer(data, dtype=dtype)


def _matrix(name: str, matrix: str, arrays: list[NDArray[Any]]) -> Csr:
    indptr, indices, data, shape = arrays
    whole = all(array.dtype.kind in "iu" for array in (indptr, indices, shape))
    if (
        not whole
        or data.dtype.kind not in "iuf"
        or len(shape) != 2
        or not 0 <= min(shape) <= max(shape) < 2**63
    ):
        raise FormatError(name, f"the arrays of {matrix} do not form a matrix")
    if len(indptr) != int(shape[0]) + 1:
        message = f"{matrix} has {shape[0]} rows, but {len(indptr)} row pointers"
        raise FormatError(name, message)
    try:
        result = canonical_csr(
            sparse.csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1]))),
            name=matrix,
        )
    except ValueError as error:
        raise FormatError(name, f"{matrix} cannot be read: {error}") from error
    if not np.isfinite(result.data).all():
        raise FormatError(name, f"{matrix} has values that are not finite")
    return result
