"""Save, load and describe models.

A file names the kind of its model by a word of the registry, never by a class, so that it can
only become an estimator of this library. Loading an untrusted file either returns a model whose
arrays have all been checked, or raises ``ModelFormatError``.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from defrag.exceptions import ModelFormatError
from defrag.io.files import PathLike, display_name
from defrag.persistence._container import read_model_file, read_versioned, write_model_file
from defrag.persistence._weights import WEIGHT_TYPES
from defrag.persistence.fields import Part
from defrag.persistence.kinds import find_kind, pack_part, unpack_part, write_part

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def save(estimator: BaseEstimator, path: PathLike, *, weights: str = "float32") -> None:
    """Write a fitted estimator to one file, atomically.

    Equal models give equal bytes. Properties of the machine or of the run are not stored:
    ``n_jobs``, ``verbose``, a generator as ``random_state``, and feature vectors passed as
    ``representation``.

    - ``weights`` {"float32", "float16", "int8", "int4"}: their type in the file. Label trees and
      one-vs-rest models predict with weights of all types as they are stored; others widen float16
      and int8 in memory, and have no int4.
    - Raises TypeError if the estimator is not of this library.
    - Raises ValueError if the model was modified so that :func:`load` would refuse it.
    - Raises OSError if the file cannot be written; an existing file is unchanged.
    """
    description, arrays = pack_part(write_part(estimator, weights))
    # Runs the reader's checks before a byte is written, so that every written file loads.
    _build(display_name(path), description, arrays)
    write_model_file(path, description, arrays)


def load(path: PathLike, *, mmap: bool = True) -> Any:
    """Read an estimator from a file that :func:`save` wrote.

    Parameters
    ----------
    path : path
        The file, which may be untrusted.
    mmap : bool, default=True
        Whether to map the file instead of reading it: processes then share one copy of the
        weights in memory, fitted arrays are read-only, and the model holds a file descriptor.
        Loading reads the whole file to check it, about 1.5 s of CPU per GB. Each
        process also has memory of its own: for a label tree, an eighth to a fifth of the size of
        the file after the first prediction; for a one-vs-rest model, some megabytes. Models of
        other kinds widen weights of float16 or int8 in memory.
        A mapped file may be replaced by :func:`save`, but must not be changed in place by
        other programs: the next call detects this in most cases and raises ModelFormatError,
        but a process that is reading the model at that moment is killed by the system. Use
        False in a server whose files others can write: the file is read into memory once, and
        the checks apply to that copy, so that later changes of the file have no effect.
        Processes forked afterwards share the copy.

    Returns
    -------
    estimator : estimator
        Ready to transform or predict, on one thread; ``set_params(n_jobs=-1)`` for all.

    Raises
    ------
    ModelFormatError
        If the file is damaged, hostile, or written by a newer version.
    OSError
        If the file cannot be read.
    """
    description, arrays = read_model_file(path, mmap=mmap)
    mapped = MappedFile(path) if mmap else None
    model = _build(display_name(path), description, arrays)
    if mapped is not None:
        mapped.check()  # the file was not modified during the checks
        model.mapped_file_ = mapped
    return model


def pack(estimator: BaseEstimator) -> dict[str, NDArray[Any]]:
    """Return a fitted estimator as arrays, for :func:`unpack`."""
    description, arrays = pack_part(write_part(estimator))
    text = json.dumps(description, sort_keys=True).encode()
    return {"description": np.frombuffer(text, dtype=np.uint8), **arrays}


def unpack(arrays: Mapping[str, NDArray[Any]], name: str = "model") -> Any:
    """Return the estimator that :func:`pack` encoded.

    - Raises ModelFormatError if the arrays are damaged; the message begins with ``name``.
    """
    rest = dict(arrays)
    try:
        description = json.loads(rest.pop("description").tobytes())
    except (KeyError, ValueError) as error:
        raise ModelFormatError(name, f"has no description of its model ({error})") from None
    return _build(name, description, rest)


def describe(path: PathLike) -> dict[str, Any]:
    """Describe a model file by its header; only names and types are checked.

    Parameters
    ----------
    path : path
        The file, which may be untrusted.

    Returns
    -------
    description : dict
        JSON values: ``kind``, ``format_version``, ``bytes`` of the file, ``features``,
        ``labels`` (None where there are none), ``groups`` of a clustering, ``members`` of an
        ensemble, ``trees`` and ``nodes`` of all its trees, all ``weights``, their
        ``weight_type``, the ``concepts`` of its thesaurus, whether it has ``label_names`` and a
        ``vocabulary``, ``parameters``, ``chosen``, the numbers that ``fit`` chose, and
        ``sizes``: the bytes of the arrays by the last part of their names.

    Raises
    ------
    ModelFormatError, OSError
        As :func:`load`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from defrag import LabelTree
    >>> from defrag.persistence import describe
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> LabelTree(random_state=0).fit(np.eye(4), [[0], [1], [0, 2], [1]]).save(path)
    >>> found = describe(path)
    >>> found["kind"], found["labels"], found["features"], found["weight_type"]
    ('label_tree', 3, 4, 'float32')
    """
    version, description, arrays = read_versioned(path)
    part = unpack_part(display_name(path), description, arrays)
    found = find_kind(part.kind).sizes(part)
    trees = [one.arrays["first_child"] for one in _walk(part) if one.kind == "tree"]
    forests = [one.arrays for one in _walk(part) if one.has("tree_ptr")]
    nodes = trees + [one["n_children"] for one in forests]
    members = [len(one.children["bases"]) for one in _walk(part) if "bases" in one.children]
    weights = [one.arrays["weights"] for one in _walk(part) if one.has("weights")]
    weights = [one for one in weights if one.dtype.name in WEIGHT_TYPES]  # not those of a ranker
    coded = [one.arrays["node_sizes"] for one in _walk(part) if one.has("node_sizes")]
    types = sorted({array.dtype.name for array in weights} | ({"int4"} if coded else set()))
    thesaurus = part.children.get("thesaurus")
    sizes: Counter[str] = Counter()
    for name, array in arrays.items():
        # The two arrays of a list of strings are listed under the name of the list.
        sizes[re.sub(r"/(bytes|offsets)$", "", name).rsplit("/", 1)[-1]] += array.nbytes
    return {
        "kind": part.kind,
        "format_version": version,
        "bytes": Path(path).stat().st_size,
        "features": found.get("features"),
        "labels": found.get("labels"),
        "groups": found.get("groups"),
        "members": sum(members) if members else None,
        "trees": len(trees) + sum(len(one["tree_ptr"]) - 1 for one in forests),
        "nodes": sum(len(one) for one in nodes),
        "weights": sum(map(len, weights)) + sum(int(sizes.sum()) for sizes in coded),
        "weight_type": ", ".join(types) or None,
        "concepts": thesaurus.state["n_concepts"] if thesaurus else None,
        "label_names": part.has("label_names/bytes"),
        "vocabulary": part.has("vocabulary/bytes"),
        "parameters": part.parameters,
        "chosen": {
            f"{one.kind}.{name}": one.state[name]
            for one in _walk(part)
            for state in (find_kind(one.kind).states if one.parameters else ())
            for name in state.told
            if name in one.state
        },
        "sizes": dict(sorted(sizes.items())),
    }


def _walk(part: Part) -> Iterator[Part]:
    yield part
    for inner in part.children.values():
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _walk(one)


def _build(path: str, description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    part = unpack_part(path, description, arrays)
    return find_kind(part.kind).read(part)


# --- Detection of mapped files that were modified in place.

_QUIET_SECONDS = 0.001
"""How long a file that was unchanged is not checked again.

A system call can take a tenth of the time of predicting one row.
"""


class MappedFile:
    """State of a mapped file at the time it was loaded.

    A file that is replaced, as :func:`defrag.save` does, has another inode, and the map keeps
    the old content. A file that is overwritten keeps its inode: the map then has unchecked
    bytes, or ends too early, which kills the process on the next access. Size and modification
    time reveal this, unless the file is modified within the same millisecond or during the
    call that uses it.
    """

    def __init__(self, path: PathLike) -> None:
        self._name = os.fspath(path)
        self._path = os.path.realpath(path)
        self._file, self._content = _file_state(self._path)
        self._quiet_until = 0.0

    def check(self) -> None:
        """Raise ModelFormatError if the file was modified in place."""
        now = time.monotonic()
        if now < self._quiet_until:
            return
        try:
            file, content = _file_state(self._path)
        except OSError:  # removed or inaccessible: the map is unchanged
            return
        if file == self._file and content != self._content:
            raise ModelFormatError(
                self._name,
                "was modified in place after it was mapped; load it again, and replace models by "
                "renaming, or load them with mmap=False",
            )
        self._quiet_until = now + _QUIET_SECONDS

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Reduce to None in a copy, whose arrays are not mapped."""
        return type(None), ()


def _file_state(path: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the identity of the file, its size and its modification time."""
    status = os.stat(path)  # noqa: PTH116 - in the path of every prediction
    return (status.st_dev, status.st_ino), (status.st_size, status.st_mtime_ns)
