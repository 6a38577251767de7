"""Scratch folders: arrays of a training in files, which it maps, and from which it continues.

Training code says what it keeps, and in which blocks it can be made. Without a folder nothing is
written and everything is made at once, in memory. Inside ``with Scratch(...)`` the same arrays lie
in files: the system takes their pages from memory when it is short, and a training that was killed
finds what its predecessor made. A file grows by whole blocks, and a record that is replaced
atomically says how many of them are valid.
"""

from __future__ import annotations

import fcntl
import json
import math
import mmap
import shutil
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from defrag import _native
from defrag._progress import progress_pulse, resident_bytes
from defrag.typing import Csr, Ids, Offsets

if TYPE_CHECKING:
    from typing_extensions import Self

Arrays: TypeAlias = "dict[str, NDArray[Any]]"
Made = TypeVar("Made")

ROWS_AT_A_TIME = 1 << 16
"""Rows, or texts, in a block."""

# Buffers of kernels below this stay on the heap.
_LEAST_BYTES = 1 << 24
RUN = "run.record"
# Pages are given back when so much of the bound is in use; looked at so often.
_FULL, _WATCH_SECONDS = 0.9, 0.05

_current: ContextVar[Scratch | None] = ContextVar("scratch", default=None)


class Scratch:
    """The folder of one training; see the module.

    - ``folder``: is made if it does not exist; its files must not be changed by others.
    - ``identity``: what the training depends on; files of another one are removed.
    - ``memory`` (optional): pages of the files are given back when the process has more bytes.
    - ``strict``: whether the next block is refused with MemoryError if more is in no file.
    """

    def __init__(
        self,
        folder: Path,
        identity: dict[str, Any],
        memory: int | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self.folder = folder
        self._memory, self._strict, self._largest = memory, strict, 0
        self._maps: list[weakref.ref[mmap.mmap]] = []
        self._ended = threading.Event()
        self._identity = json.dumps(identity, sort_keys=True)
        self._uses: Counter[str] = Counter()
        self.continued = False
        self.busy = False  # what is made inside a block is made again if it is lost
        # Buffers in memory are faster: the system has larger pages for them.
        least = _LEAST_BYTES if memory is None else max(_LEAST_BYTES, memory // 4)
        self.storage = _native.FileStorage(str(folder), least, (memory or 1 << 62) // 2)

    def __enter__(self) -> Self:
        run = self.folder / RUN
        self.folder.mkdir(parents=True, exist_ok=True)
        others = set(self.folder.iterdir())
        if others and run not in others:
            raise ValueError(f"{self.folder}: is not empty, and no scratch folder of defrag")
        self._lock = run.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise ValueError(f"{self.folder}: another training uses it") from None
        self._lock.seek(0)
        self.continued = self._lock.read() == self._identity
        if not self.continued:
            for other in others - {run}:
                other.unlink()
            self._lock.truncate(0)
            self._lock.write(self._identity)
            self._lock.flush()
        self._token = _current.set(self)
        if self._memory is not None:
            threading.Thread(target=self._watch, args=(self._memory,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._lock.close()  # and with it the lock
        _current.reset(self._token)

    def _watch(self, most: int) -> None:
        while not self._ended.wait(_WATCH_SECONDS):
            resident, own = resident_bytes()
            self._largest = max(self._largest, own)
            if resident < _FULL * most:
                continue
            for one in list(self._maps):
                if (found := one()) is not None:
                    give_back(found)
            self.storage.give_back()

    def watch(self, array: NDArray[Any]) -> None:
        """Give the pages of a mapped array back, too."""
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        self._maps.append(weakref.ref(owner))

    def remove(self) -> None:
        """Delete the folder; arrays that are still mapped stay valid."""
        shutil.rmtree(self.folder)

    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.stat().st_size for file in self.folder.iterdir())

    def grow(self, name: str, blocks: Callable[[Arrays], Iterable[Arrays]]) -> Arrays:
        """Return arrays that are made in blocks; ``blocks`` takes those that are there already."""
        self._uses[name] += 1
        self._check_memory()
        stem = f"{name} {self._uses[name]}".replace(" ", "-")
        record = self.folder / f"{stem}.record"
        known: dict[str, Any] = {"done": False, "arrays": {}}
        if record.exists():
            known = json.loads(record.read_text(encoding="utf-8"))
        if not known["done"]:
            self.busy = True
            try:
                with ExitStack() as stack, progress_pulse(name):
                    files: dict[str, BinaryIO] = {}
                    for arrays in blocks(self._mapped(stem, known["arrays"])):
                        for key, array in arrays.items():
                            rest = array.shape[1:] if array.ndim else None
                            one = known["arrays"].setdefault(key, [array.dtype.str, 0, rest])
                            if key not in files:
                                opened = self._open(stem, key, one)
                                files[key] = stack.enter_context(opened)
                            files[key].write(np.ascontiguousarray(array).tobytes())
                            one[1] += len(array) if array.ndim else 1
                        for file in files.values():
                            file.flush()
                        _replace(record, json.dumps(known))
                known["done"] = True
                _replace(record, json.dumps(known))
            finally:
                self.busy = False
        return self._mapped(stem, known["arrays"])

    def _check_memory(self) -> None:
        if self._strict and self._memory is not None and self._largest > self._memory:
            raise MemoryError(
                f"{self._memory >> 20:,} MB are too little: {self._largest >> 20:,} MB were needed "
                "that no file can hold; with more --memory this training continues"
            )

    def _open(self, stem: str, key: str, known: list[Any]) -> BinaryIO:
        """Open a file for what follows its valid part."""
        path = self._file(stem, key)
        path.touch()
        file = path.open("r+b")
        file.truncate(file.seek(known[1] * math.prod(known[2] or ()) * np.dtype(known[0]).itemsize))
        return file

    def _file(self, stem: str, key: str) -> Path:
        return self.folder / f"{stem}.{key.replace('/', '.')}"

    def _mapped(self, stem: str, arrays: dict[str, list[Any]]) -> Arrays:
        found = {}
        for key, (kind, size, rest) in arrays.items():
            shape = (size,) if rest is None else (size, *rest)
            if size and math.prod(shape):  # a plain array, because slicing an np.memmap is slow
                mapped = np.memmap(self._file(stem, key), dtype=kind, mode="r", shape=shape)
                self.watch(mapped)
                found[key] = np.asarray(mapped)
            else:
                found[key] = np.zeros(shape, dtype=kind)
            if rest is None:
                found[key] = found[key].reshape(())
        return found


def give_back(pages: mmap.mmap) -> None:
    """Let the system have the pages of a shared map, which it reads again when they are needed."""
    if hasattr(pages, "madvise"):
        with suppress(ValueError):  # closed meanwhile
            pages.madvise(mmap.MADV_DONTNEED)


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def offsets_of(lengths: NDArray[Any]) -> Offsets:
    """Return where each of some items begins, and the end of the last."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def scratch() -> Scratch | None:
    """Return the scratch folder in use, if there is one."""
    return _current.get()


def keeps() -> bool:
    """Return whether what is made now is kept."""
    found = _current.get()
    return found is not None and not found.busy


def storage() -> Any:
    """Return where kernels put large buffers; None for memory."""
    found = _current.get()
    return None if found is None else found.storage


class Coding(NamedTuple):
    """How something is kept: as arrays by name, from which it is made again."""

    pack: Callable[[Any], Arrays]
    unpack: Callable[[Arrays], Any]


AN_ARRAY = Coding(lambda array: {"values": array}, lambda arrays: arrays["values"])
AS_JSON = Coding(
    lambda value: {"text": np.frombuffer(json.dumps(value).encode(), np.uint8)},
    lambda arrays: json.loads(arrays["text"].tobytes()),
)


def kept(name: str, make: Callable[[], Made], coding: Coding = AN_ARRAY) -> Made:
    """Return what ``make`` makes, or what an earlier run made."""
    found = _current.get()
    if found is None or found.busy:
        return make()

    def blocks(known: Arrays) -> Iterable[Arrays]:
        # None after a kill that lost only the record of the end.
        return [] if known else [coding.pack(make())]

    made: Made = coding.unpack(found.grow(name, blocks))
    return made


def kept_rows(name: str, n_rows: int, make: Callable[[slice], Csr]) -> Csr:
    """Return a matrix of which ``make`` makes some rows, each independent of the others."""
    found = _current.get()
    if found is None or found.busy:
        return make(slice(0, n_rows))

    def blocks(known: Arrays) -> Iterable[Arrays]:
        first = len(known.get("sizes", ()))
        for begin in range(first, max(n_rows, 1), ROWS_AT_A_TIME):
            rows = make(slice(begin, min(begin + ROWS_AT_A_TIME, n_rows)))
            yield {
                "sizes": np.diff(rows.indptr).astype(np.int32),
                "indices": rows.indices.astype(np.int32, copy=False),
                "data": rows.data,
                "width": np.array([rows.shape[1]][first + begin :], dtype=np.int64),
            }

    arrays = found.grow(name, blocks)
    shape = n_rows, int(arrays["width"][0])
    parts = offsets_of(arrays["sizes"]), arrays["indices"], arrays["data"]
    return _native.csr_from_parts(parts, shape)


def kept_groups(
    folder: Scratch, name: str, X: Csr, begin: Offsets, points: Ids
) -> Callable[[int], Csr]:
    """Return a function that returns the rows of a group of points, read one after another.

    A group may have rows from everywhere. Here X is read once, in order, and its rows are written
    by block and group: a group lies in as many places as there are blocks.

    - ``begin``, ``points``: group g is ``points[begin[g]:begin[g + 1]]``, in increasing order.
    """
    n_groups, width = len(begin) - 1, X.shape[1]
    edges = np.arange(0, X.shape[0] + ROWS_AT_A_TIME, ROWS_AT_A_TIME)
    # Of the points of group g, those at places[g, b] to places[g, b + 1] are in block b.
    places = np.stack(
        [a + np.searchsorted(points[a:b], edges) for a, b in pairwise(begin.tolist())]
    )
    n_rows = np.diff(places, axis=1).T

    def blocks(known: Arrays) -> Iterable[Arrays]:
        ends = np.cumsum(n_rows.sum(axis=1))
        for b in range(int(np.searchsorted(ends, len(known.get("sizes", ())), "right")), len(ends)):
            some = [points[places[g, b] : places[g, b + 1]] for g in range(n_groups)]
            rows = X[np.concatenate(some)]
            sizes = np.diff(rows.indptr).astype(np.int32)
            yield {"sizes": sizes, "indices": rows.indices, "data": rows.data}

    arrays = folder.grow(name, blocks)
    first_row = offsets_of(n_rows.ravel())
    n_entries = [
        np.bincount(np.repeat(np.arange(n_groups), counts), arrays["sizes"][a:b], n_groups)
        for counts, (a, b) in zip(n_rows, pairwise(first_row[::n_groups].tolist()), strict=True)
    ]
    first_entry = offsets_of(np.concatenate(n_entries).astype(np.int64))

    def rows_of(group: int) -> Csr:
        def all_of(key: str, first: Offsets) -> NDArray[Any]:
            bounds = np.stack([first[:-1], first[1:]], axis=1).reshape(-1, n_groups, 2)[:, group]
            return np.concatenate([arrays[key][a:b] for a, b in bounds.tolist()])

        indptr = offsets_of(all_of("sizes", first_row))
        parts = indptr, all_of("indices", first_entry), all_of("data", first_entry)
        return _native.csr_from_parts(parts, (len(indptr) - 1, width))

    return rows_of
