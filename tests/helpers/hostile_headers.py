"""Load hostile files with little memory: ``python -m tests.helpers.hostile_headers FOLDER``.

A process of its own, because the limit on memory holds for all of it.
"""

import sys
from pathlib import Path

import pytest

from defrag import load
from defrag.exceptions import ModelFormatError
from tests.helpers.model_drafts import Draft, X, assemble, small_defrag
from tests.helpers.processes import limit_memory


def hostile(good):
    """Yield files that claim to be large, or grow when they are parsed."""
    yield assemble(b"{}", length=2**40)
    yield assemble(b"{}", length=4 << 20)
    for item in (b"[]", b"{}", b"0.5", b'{"a":0}', b'"\xc3\xa4"'):
        n_items = (4 << 20) // (len(item) + 1) - 10
        yield assemble(b'{"a":[' + b",".join([item] * n_items) + b"]}")
    for shape, offsets in (([2**40], [0, 2**43]), ([2**60], [0, 96]), ([0, 2**61], [0, 0])):
        draft = Draft(good)
        draft.header["energy"].update(shape=shape, data_offsets=offsets)
        yield draft.to_bytes()
    for n_clusters in (2**31 - 1, 2**40):
        draft = Draft(good)
        draft.model["state"]["n_clusters"] = n_clusters
        draft.model["parameters"]["pooling"] = "mean"
        yield draft.to_bytes()
    draft = Draft(good)
    draft.model["kind"] = "x" * (3 << 20)
    yield draft.to_bytes()


def main(folder):
    path = folder / "model"
    model = small_defrag()
    model.save(path)
    load(path).transform(X)  # all that is loaded lazily
    files = list(hostile(path.read_bytes()))
    limit_memory((256 << 20) + 2 * max(map(len, files)))
    for mmap in (True, False):
        for data in files:
            path.write_bytes(data)
            with pytest.raises(ModelFormatError, match=str(path)):
                load(path, mmap=mmap)
        with path.open("wb") as file:  # a terabyte of holes, to which a header fits
            text = b'{"__metadata__":{"description":"{\\"library\\":\\"defrag\\",'
            text += b'\\"format_version\\":1,\\"model\\":0}"},"a":{"dtype":"U8","shape":'
            text += b'[1099511627776],"data_offsets":[0,1099511627776]}}'
            file.write(assemble(text))
            file.truncate(file.tell() + 2**40)
        with pytest.raises(OSError, match=f"Cannot allocate memory: '{path}'"):
            load(path, mmap=mmap)
    model.save(path)
    load(path, mmap=False).transform(X)
    sys.stdout.write(f"{len(files)} files refused\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
