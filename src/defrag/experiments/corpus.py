"""The data of an experiment: a name, a fingerprint, and files that processes share."""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag._validation import check_matrix
from defrag.io import Split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.typing import Csr

__all__ = ["Corpus", "Facts", "read_shared"]

_PARTS = ("train.X", "train.Y", "test.X", "test.Y")
_ARRAYS = ("indptr", "indices", "data")


@dataclass(frozen=True)
class Facts:
    """Name, fingerprint and sizes of a corpus, as records have them.

    Attributes
    ----------
    name : str
        What people call it.
    fingerprint : str
        A hash of all matrices.
    points, features, labels, test_points : int
        Sizes.
    """

    name: str
    fingerprint: str
    points: int
    features: int
    labels: int
    test_points: int

    def to_json(self) -> dict[str, Any]:
        """Return a dict for a JSON file."""
        return asdict(self)


class Corpus:
    """Training and test points of an experiment.

    Parameters
    ----------
    name : str
        What people call it; not part of the fingerprint.
    train, test : Split
        The points.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.io import Split
    >>> half = Split(np.eye(4), np.eye(4)[:, :2])
    >>> Corpus("toy", half, half).facts.points
    4
    """

    def __init__(self, name: str, train: Split, test: Split) -> None:
        matrices = {
            "train.X": train.X,
            "train.Y": train.Y,
            "test.X": test.X,
            "test.Y": test.Y,
        }
        self._matrices = {
            part: check_matrix(matrix, name=f"{part[-1]} of {name}")
            for part, matrix in matrices.items()
        }
        for axis, noun in (("X", "feature"), ("Y", "label")):
            ours, theirs = (self._matrices[f"{half}.{axis}"].shape[1] for half in ("train", "test"))
            if ours != theirs:
                raise ValueError(f"{name}: {ours} {noun}s in training, {theirs} in the test points")
        self.facts = Facts(
            name,
            _fingerprint(self._matrices),
            *self._matrices["train.X"].shape,
            self._matrices["train.Y"].shape[1],
            self._matrices["test.X"].shape[0],
        )

    @property
    def train(self) -> Split:
        """The training points."""
        return Split(self._matrices["train.X"], self._matrices["train.Y"])

    @property
    def test(self) -> Split:
        """The test points."""
        return Split(self._matrices["test.X"], self._matrices["test.Y"])

    def sampled(self, n_points: int, seed: int = 0) -> Corpus:
        """Return a corpus with some of the training points, chosen at random.

        Parameters
        ----------
        n_points : int
            Number of training points; all of them if there are fewer.
        seed : int, default=0
            Seed of the choice.
        """
        if n_points >= self.facts.points:
            return self
        rows = np.sort(np.random.default_rng(seed).permutation(self.facts.points)[:n_points])
        train = Split(self.train.X[rows], self.train.Y[rows])
        return Corpus(f"{self.facts.name}, {n_points:,} points", train, self.test)

    @contextmanager
    def shared(self) -> Iterator[Path]:
        """Write the matrices to a temporary folder, from which processes map them."""
        with tempfile.TemporaryDirectory(prefix="defrag-") as place:
            folder = Path(place)
            for part, matrix in self._matrices.items():
                np.save(folder / f"{part}.shape.npy", np.array(matrix.shape))
                for array in _ARRAYS:
                    np.save(folder / f"{part}.{array}.npy", getattr(matrix, array))
            yield folder


def read_shared(folder: Path) -> tuple[Split, Split]:
    """Map the training and test points that :meth:`Corpus.shared` has written."""
    matrices = []
    for part in _PARTS:
        indptr, indices, data = (
            np.load(folder / f"{part}.{array}.npy", mmap_mode="r") for array in _ARRAYS
        )
        shape = tuple(np.load(folder / f"{part}.shape.npy").tolist())
        matrix = sparse.csr_array((data, indices, indptr), shape=shape)
        matrix.has_canonical_format = True
        matrices.append(matrix)
    return Split(*matrices[:2]), Split(*matrices[2:])


def _fingerprint(matrices: dict[str, Csr]) -> str:
    found = hashlib.sha256()
    for part in _PARTS:
        matrix = matrices[part]
        found.update(f"{part} {matrix.shape} {matrix.nnz}\n".encode())
        found.update(matrix.indptr.astype("<i8").tobytes())
        found.update(matrix.indices.astype("<i4").tobytes())
        found.update(matrix.data.astype("<f4").tobytes())
    return found.hexdigest()[:16]
