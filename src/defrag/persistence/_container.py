"""The container of models: one safetensors file, memory-mapped and treated as untrusted.

A file is 8 bytes with the length of the header (little endian), the header, and the payload::

    {"__metadata__": {"checksums": "5d1c84a1 09b2...", "description": "<JSON text>"},
     "labels": {"dtype": "I32", "shape": [41315], "data_offsets": [0, 165260]}, ...}

``checksums`` are those of the description and of every array with its name, type and shape, sorted
by name; any damage of one place is noticed. Files without them are read, too. The checksum of an
array is the CRC-32 of its bytes, of which every whole mebibyte is first folded into a sixteenth by
adding its sixteen parts as 64-bit integers: that takes 0.1 s of CPU per GB instead of 0.3 s, and
still notices all damage within 64 KiB that CRC-32 notices.

The description is JSON inside JSON, because safetensors allows only text as metadata. It has
the name of the library, the version of the format, and the model (see ``kinds``). Every
safetensors tool reads such a file. This reader is stricter: the header has at most 4 MiB and no
duplicate keys, numbers fit in 64 bits, names are lower case, types are numeric, arrays are
aligned, and every byte of the payload belongs to exactly one array. Arrays are ordered by width,
widest first, then by name, so that they are aligned without gaps and equal models give equal
bytes. No allocation is larger than the size of the file justifies.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from defrag.exceptions import ModelFormatError
from defrag.io.files import PathLike, atomic_writer, display_name, open_nonblocking

FORMAT_VERSION = 1
"""The newest version that this library reads, and the one that it writes."""

LIBRARY = "defrag"
MAX_HEADER_BYTES = 4 << 20
"""Enough for names and shapes: strings such as label names are arrays. Bounds parsed JSON."""

MAX_AXES = 4
MAX_NAME_LENGTH = 200

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(f"<{code}")
    for name, code in (
        ("I8", "i1"), ("U8", "u1"), ("I16", "i2"), ("U16", "u2"), ("F16", "f2"), ("I32", "i4"),
        ("U32", "u4"), ("F32", "f4"), ("I64", "i8"), ("U64", "u8"), ("F64", "f8"),
    )
}  # fmt: skip
"""Types of arrays. No booleans: as a bool, a byte other than 0 and 1 is undefined."""

_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*")
_SHOWN_LENGTH = 60
_FOLDED, _FOLDS = 1 << 20, 16
_GZIP_MAGIC, _XZ_MAGIC = b"\x1f\x8b", b"\xfd7zXZ\x00"


def show(value: Any) -> str:
    """Format a value from a file for an error message: printable, one line, not too long."""
    text = ascii(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 3]}..."


def write_model_file(
    path: PathLike, description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a description and arrays atomically.

    - ``path``: the file. It is not compressed, so that it can be mapped.
    - ``description``: JSON values; ``library`` and ``format_version`` are added.
    - ``arrays``: numeric; names are lower-case letters, digits and ``_``, with ``/`` between parts.
    - Raises ValueError if the reader would refuse the file.
    - Raises OSError if the file cannot be written; an existing file is unchanged.
    """
    name = os.fsdecode(path)
    if name.endswith((".gz", ".xz")):
        raise ValueError(f"a model file is memory-mapped and cannot be compressed, got {name!r}")
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    described = _describe(description)
    metadata = {"checksums": "", "description": described}
    header: dict[str, Any] = {"__metadata__": metadata}
    checksums = {"": _checksum_of_text(described)}
    offset = 0
    for key, array in ordered:
        dtype = _DTYPE_NAMES.get(array.dtype.newbyteorder("<"))
        if dtype is None or array.ndim > MAX_AXES or not _is_name(key):
            raise ValueError(f"array {key!r} of {array.dtype} and {array.ndim} axes cannot be "
                             "stored in a model file")  # fmt: skip
        header[key] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        checksums[key] = _checksum(_plain_bytes(array), _entry(key, dtype, array.shape))
        offset += array.nbytes
    metadata["checksums"] = " ".join(checksums[key] for key in sorted(checksums))
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(f"the header of a model file has at most {MAX_HEADER_BYTES} bytes, "
                         f"got {len(text)}")  # fmt: skip
    with atomic_writer(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(_plain_bytes(array).data)


def read_model_file(
    path: PathLike, *, mmap: bool = True, checked: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a description and arrays; check all rules that do not depend on the kind of model.

    - ``mmap``: whether to map the file: arrays are read-only views, pages are read on first use,
      and processes share one copy. A mapped file may be replaced, as :func:`write_model_file` does,
      but not modified in place. Otherwise the file is read into memory.
    - ``checked``: whether a file without checksums is refused.
    - Raises ModelFormatError if the file violates a rule, OSError if it cannot be read.
    """
    reader = _Reader(display_name(path))
    description, arrays = reader.read(os.fspath(path), mmap=mmap)
    reader.check_arrays(arrays, required=checked)
    return description, arrays


def read_versioned(path: PathLike) -> tuple[int, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the format version and what a file holds; only the header has been read."""
    reader = _Reader(display_name(path))
    description, arrays = reader.read(os.fspath(path), mmap=True)
    return reader.version, description, arrays


def _describe(description: Mapping[str, Any]) -> str:
    whole = {"library": LIBRARY, "format_version": FORMAT_VERSION, **description}
    return json.dumps(whole, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _plain_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of an array in a file."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return plain.reshape(-1).view(np.uint8)


def _checksum(data: NDArray[np.uint8], entry: str) -> str:
    """Return the checksum of the bytes of an array and of its entry in the header."""
    value = zlib.crc32(entry.encode())
    whole = len(data) - len(data) % _FOLDED
    for chunk in data[:whole].view("<u8").reshape(-1, _FOLDS, _FOLDED // _FOLDS // 8):
        value = zlib.crc32(np.add.reduce(chunk, axis=0), value)
    return f"{zlib.crc32(data[whole:].data, value):08x}"


def _checksum_of_text(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _entry(name: str, dtype: str, shape: Sequence[int]) -> str:
    return f"{name} {dtype} {list(shape)}"


def _is_name(name: str) -> bool:
    return len(name) <= MAX_NAME_LENGTH and _NAME.fullmatch(name) is not None


class _Reader:
    """Reader of one file, whose name is used in error messages."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.version = 0
        self.checksums: list[str] = []

    def fail(self, message: str) -> NoReturn:
        raise ModelFormatError(self.name, message)

    def read(self, path: str, *, mmap: bool) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if path == "-":
            self.fail("a model is read from a file, not from standard input")
        with open(path, "rb", opener=open_nonblocking) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                self.fail("is not a regular file")
            size = status.st_size
            header = self._read_header(file, size)
            description = self._read_description(header.pop("__metadata__", None))
            start = file.tell()
            places = {
                name: self._read_place(name, entry, start, size) for name, entry in header.items()
            }
            self._check_cover(places, size - start)
            data = self._map(file, size) if mmap else self._load(file, size, status.st_mtime_ns)
        # Plain arrays, because slicing an np.memmap is slow.
        plain = np.asarray(data)
        return description, {
            name: plain[start + begin : start + end].view(dtype).reshape(shape)
            for name, (begin, end, dtype, shape) in places.items()
        }

    def _read_header(self, file: IO[bytes], size: int) -> dict[str, Any]:
        prefix = file.read(8)
        if prefix.startswith((_GZIP_MAGIC, _XZ_MAGIC)):
            self.fail("is compressed; a model file is memory-mapped, so decompress it first")
        if len(prefix) < 8:
            self.fail(f"a model file has at least 8 bytes, got {len(prefix)}")
        if re.fullmatch(rb"[\t\n\r\x20-\x7e]{8}", prefix):
            self.fail("is text, not a model file: give the model first, then the data")
        length = int.from_bytes(prefix, "little")
        if length > MAX_HEADER_BYTES:
            self.fail(f"the header must have at most {MAX_HEADER_BYTES} bytes, got {length}; "
                      "is this a model file?")  # fmt: skip
        if length > size - 8:
            self.fail(f"the header has {length} bytes, but the file ends after {size}")
        text = file.read(length)
        if len(text) < length:
            self.fail(f"the file ended after {8 + len(text)} bytes while it was read")
        header = self._parse(text, "the header")
        if not isinstance(header, dict):
            self.fail(f"the header must be a JSON object, got {show(header)}")
        return header

    def _parse(self, text: bytes | str, what: str) -> Any:
        try:
            return json.loads(
                text.decode("utf-8") if isinstance(text, bytes) else text,
                object_pairs_hook=_unique,
                parse_int=_number,
                parse_float=_number,
                parse_constant=_number,
            )
        except UnicodeDecodeError as error:
            self.fail(f"{what} is not UTF-8 at byte {error.start}")
        except json.JSONDecodeError as error:
            self.fail(f"{what} is not JSON: {error.msg} at character {error.pos}")
        except RecursionError:
            self.fail(f"{what} is nested too deeply")
        except ValueError as error:  # from _unique and _number
            self.fail(f"{what} has {error}")

    def _read_description(self, metadata: Any) -> dict[str, Any]:
        if not isinstance(metadata, dict) or set(metadata) - {"checksums"} != {"description"}:
            self.fail("must have one 'description' as its metadata: is this a model of defrag?")
        text, checksums = metadata["description"], metadata.get("checksums")
        if not isinstance(text, str):
            self.fail(f"the description must be text, got {show(text)}")
        if checksums is not None:
            self.checksums = str(checksums).split(" ")
            self._check("the description", _checksum_of_text(text), 0)
        description = self._parse(text, "the description")
        if not isinstance(description, dict):
            self.fail(f"the description must be a JSON object, got {show(description)}")
        library, version = (description.pop(key, None) for key in ("library", "format_version"))
        if library != LIBRARY:
            self.fail(f"library must be {LIBRARY!r}, got {show(library)}")
        if type(version) is not int or version < 1:
            self.fail(f"format_version must be an int >= 1, got {show(version)}")
        if version > FORMAT_VERSION:
            self.fail(f"has format version {version}, but this version of defrag reads up to "
                      f"{FORMAT_VERSION}; install a newer one")  # fmt: skip
        self.version = version
        return description

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], *, required: bool) -> None:
        """Compare the arrays with their checksums."""
        if not self.checksums and required:
            self.fail("has no checksums")
        if self.checksums and len(self.checksums) != 1 + len(arrays):
            self.fail(f"there must be {1 + len(arrays)} checksums, got {len(self.checksums)}")
        for number, (name, array) in enumerate(sorted(arrays.items()) if self.checksums else (), 1):
            entry = _entry(name, _DTYPE_NAMES[array.dtype], array.shape)
            checksum = _checksum(array.reshape(-1).view(np.uint8), entry)
            self._check(f"array {name!r}", checksum, number)

    def _check(self, what: str, found: str, number: int) -> None:
        wanted = self.checksums[number]
        if found != wanted:
            self.fail(f"{what} is damaged: its checksum is {found}, not {show(wanted)}")

    def _read_place(
        self, name: str, entry: Any, start: int, size: int
    ) -> tuple[int, int, np.dtype[Any], tuple[int, ...]]:
        """Check one entry of the header, with Python integers, which do not overflow."""
        if not _is_name(name):
            self.fail("the name of an array must be lower-case letters, digits, '_' and '/', at "
                      f"most {MAX_NAME_LENGTH}, got {show(name)}")  # fmt: skip
        what = f"array {name!r}"
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            self.fail(f"{what} must have dtype, shape and data_offsets, got {show(entry)}")
        code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(code, str) or code not in DTYPES:
            self.fail(f"dtype of {what} must be one of {', '.join(DTYPES)}, got {show(code)}")
        dtype = DTYPES[code]
        if not _are_sizes(shape) or len(shape) > MAX_AXES:
            self.fail(f"shape of {what} must be at most {MAX_AXES} ints >= 0, got {show(shape)}")
        if math.prod(n for n in shape if n) * dtype.itemsize >= 2**63:
            self.fail(f"shape of {what} is too large: {show(shape)}")
        if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
            self.fail(f"data_offsets of {what} must be begin <= end, both ints >= 0, "
                      f"got {show(offsets)}")  # fmt: skip
        begin, end = offsets
        if end > size - start:
            self.fail(f"{what} ends at {end}, but the payload has {size - start} bytes")
        needed = math.prod(shape) * dtype.itemsize
        if end - begin != needed:
            self.fail(f"{what} needs {needed} bytes, but its data_offsets have {end - begin}")
        if (start + begin) % dtype.itemsize:
            self.fail(f"{what} must start at a multiple of {dtype.itemsize}, got {start + begin}")
        return begin, end, dtype, tuple(shape)

    def _check_cover(self, places: dict[str, tuple[int, int, Any, Any]], size: int) -> None:
        """Check that every byte of the payload is in exactly one array."""
        reached = 0
        for begin, end, name in sorted(
            (place[0], place[1], name) for name, place in places.items()
        ):
            if begin < reached:
                self.fail(f"array {name!r} begins at {begin}, inside the array before it")
            if begin > reached:
                self.fail(f"array {name!r} begins at {begin}, but the array before it ends at "
                          f"{reached}")  # fmt: skip
            reached = end
        if reached != size:
            self.fail(f"the arrays end at {reached}, but the payload has {size} bytes")

    def _map(self, file: IO[bytes], size: int) -> NDArray[np.uint8]:
        try:
            return np.memmap(cast("Any", file), dtype=np.uint8, mode="r", shape=(size,))
        except OSError as error:
            raise type(error)(error.errno, error.strerror, self.name) from error

    def _load(self, file: IO[bytes], size: int, changed_ns: int) -> NDArray[np.uint8]:
        try:
            data = np.empty(size, dtype=np.uint8)
        except MemoryError as error:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), self.name) from error
        file.seek(0)
        # One system call reads at most 2 GiB; a buffered file repeats it.
        n_read = file.readinto(data.data)  # type: ignore[attr-defined]
        if n_read != size:
            self.fail(f"the file ended after {n_read} bytes while it was read")
        now = os.fstat(file.fileno())
        if (now.st_size, now.st_mtime_ns) != (size, changed_ns):
            self.fail("was changed while it was read")
        data.flags.writeable = False
        return data


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(n) is int and n >= 0 for n in values)


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; refuse duplicate keys, which readers interpret differently."""
    result = dict(items)
    if len(result) < len(items):
        twice = next(key for key, n in Counter(key for key, _ in items).items() if n > 1)
        raise ValueError(f"the key {show(twice)} twice")
    return result


def _number(digits: str) -> int | float:
    """Parse a JSON number that is finite and, if integral, fits in 64 bits."""
    whole = digits.lstrip("-").isdigit()
    # The length is checked first: Python parses long integers in quadratic time.
    value: int | float = int(digits) if whole and len(digits) <= 20 else float(digits)
    if whole and not -(2**63) <= value < 2**63:
        raise ValueError(f"a number beyond 64 bits: {show(digits)}")
    if not math.isfinite(value):
        raise ValueError(f"a number that is not finite: {show(digits)}")
    return value
