"""The data of an experiment: a name, a fingerprint, and files that processes share.

``compare`` and ``planning`` make a corpus; the process of a run maps its files.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag._progress import progress_pulse
from defrag._validation import check_matrix
from defrag.io import LabelledTexts, Split
from defrag.text.classifier import default_vectorizer
from defrag.text.vectorizer import TextVectorizer
from defrag.typing import Csr

_PARTS = ("train.X", "train.Y", "test.X", "test.Y")
_ARRAYS = ("indptr", "indices", "data")
# One of so many training points is held out to choose settings.
_HELD_OUT = 5


@dataclass(frozen=True)
class Facts:
    """Name, fingerprint (a hash of all matrices) and sizes of a corpus, as records have them.

    ``A`` and ``B`` are the constants of its propensities.
    """

    name: str
    fingerprint: str
    points: int
    features: int
    labels: int
    test_points: int
    A: float = 0.55
    B: float = 1.5

    @property
    def constants(self) -> dict[str, float]:
        """The constants of the propensities as keyword arguments."""
        return {"A": self.A, "B": self.B}


class Corpus:
    """Training and test points of an experiment.

    Parameters
    ----------
    name : str
        Name in tables; not part of the fingerprint.
    train, test : Split
        The points.
    A, B : float
        Constants of the propensities.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.io import Split
    >>> half = Split(np.eye(4), np.eye(4)[:, :2])
    >>> Corpus("toy", half, half).facts.points
    4
    """

    def __init__(
        self, name: str, train: Split, test: Split, *, A: float = 0.55, B: float = 1.5
    ) -> None:
        given = (train.X, train.Y, test.X, test.Y)
        self._matrices = {
            part: check_matrix(matrix, name=f"{part[-1]} of {name}")
            for part, matrix in zip(_PARTS, given, strict=True)
        }
        for axis, noun in (("X", "feature"), ("Y", "label")):
            ours, theirs = (self._matrices[f"{half}.{axis}"].shape[1] for half in ("train", "test"))
            if ours != theirs:
                raise ValueError(f"{name}: {ours} {noun}s in training, {theirs} in the test points")
        checked = list(self._matrices.values())
        self.train, self.test = Split(*checked[:2]), Split(*checked[2:])
        sizes = *self.train.X.shape, self.train.Y.shape[1], self.test.X.shape[0]
        self.facts = Facts(name, _fingerprint(self._matrices), *sizes, A, B)

    def sampled(self, n_points: int, n_test: int | None = None, seed: int = 0) -> Corpus:
        """Return a corpus with some of the points, chosen at random.

        Parameters
        ----------
        n_points : int
            Number of training points; all of them if there are fewer.
        n_test : int, optional
            Number of test points; all of them if there are fewer, or if None.
        seed : int, default=0
            Seed of the choice.
        """
        facts, name = self.facts, self.facts.name
        train, test = self.train, self.test
        if n_points < facts.points:
            train = _rows(train, _draw(facts.points, seed)[:n_points])
            name += f", {n_points:,} points"
        if n_test is not None and n_test < facts.test_points:
            test = _rows(test, _draw(facts.test_points, seed)[:n_test])
            name += f", {n_test:,} test points"
        return self if name == facts.name else Corpus(name, train, test, **facts.constants)

    def held_out(self, seed: int = 0) -> Corpus:
        """Return a corpus whose test points are a fifth of the training points of this one.

        Parameters
        ----------
        seed : int, default=0
            Seed of the choice.
        """
        order = _draw(self.facts.points, seed)
        n_test = max(1, self.facts.points // _HELD_OUT)
        train, test = (_rows(self.train, rows) for rows in (order[n_test:], order[:n_test]))
        name = f"{self.facts.name}, held-out training points"
        return Corpus(name, train, test, **self.facts.constants)

    def with_constants(self, A: float | None, B: float | None) -> Corpus:
        """Return the corpus with other constants of propensities, where they are given."""
        facts = self.facts
        self.facts = replace(facts, A=facts.A if A is None else A, B=facts.B if B is None else B)
        return self

    @contextmanager
    def shared(self) -> Iterator[Path]:
        """Write the matrices to a temporary folder, from which processes map them.

        Raises
        ------
        OSError
            If there is no room for them.
        """
        arrays = [getattr(matrix, name) for matrix in self._matrices.values() for name in _ARRAYS]
        needed = sum(array.nbytes for array in arrays)
        with tempfile.TemporaryDirectory(prefix="defrag-") as place:
            folder = Path(place)
            free = shutil.disk_usage(folder).free
            if free < needed:  # numpy's message counts items, not bytes
                raise OSError(
                    errno.ENOSPC,
                    f"the matrices of {self.facts.name} take {needed:,} bytes, {free:,} are free",
                    tempfile.gettempdir(),
                )
            for part, matrix in self._matrices.items():
                np.save(folder / f"{part}.shape.npy", np.array(matrix.shape))
                for array in _ARRAYS:
                    np.save(folder / f"{part}.{array}.npy", getattr(matrix, array))
            yield folder


def corpus_of_texts(
    name: str,
    train: LabelledTexts,
    test: LabelledTexts,
    *,
    vectorizer: TextVectorizer | None = None,
) -> tuple[Corpus, list[str]]:
    """Return a corpus of texts, and the names of its labels.

    The vectoriser, or the default one, is fitted to the training texts. Labels that only the test
    texts have cannot be predicted, and count as missed.

    Examples
    --------
    >>> from defrag.io import LabelledTexts
    >>> texts = LabelledTexts(["sort"] * 2 + ["hash"] * 2, [["sorting"]] * 2 + [["hashing"]] * 2)
    >>> corpus_of_texts("toy", texts, texts)[1]
    ['hashing', 'sorting']
    """
    vectorizer = vectorizer or default_vectorizer(verbose=1)
    X = vectorizer.fit_transform(train.texts)
    with progress_pulse("vectorising the test texts"):
        X_test = vectorizer.transform(test.texts)
    names = sorted(set(chain(*train.labels or (), *test.labels or ())))
    columns = {label: place for place, label in enumerate(names)}
    halves = (Split(X, indicators(train.labels or [], columns)),
              Split(X_test, indicators(test.labels or [], columns)))  # fmt: skip
    return Corpus(name, *halves), names


def split_by_order(
    train: LabelledTexts, test: LabelledTexts, keys: Sequence[Sequence[str]]
) -> tuple[LabelledTexts, LabelledTexts]:
    """Return other parts: as many texts as before are the test, those with the largest keys.

    Keys are dates or numbers, one for each text of both parts; equal ones keep their order.

    Examples
    --------
    >>> from defrag.io import LabelledTexts
    >>> parts = LabelledTexts(["b", "d"], [["x"], ["y"]]), LabelledTexts(["a"], [["y"]])
    >>> split_by_order(*parts, [["2024-05"], ["2026-01"], ["2023-11"]])[1]
    LabelledTexts(texts=['d'], labels=[['y']])
    """
    for number, given in enumerate(keys):
        if len(given) != 1:
            raise ValueError(f"text {number} must have one value to order by, got {given}")
    words = [one[0] for one in keys]
    try:
        order = np.argsort([float(one) for one in words], kind="stable").tolist()
    except ValueError:
        order = sorted(range(len(words)), key=words.__getitem__)
    labels = [*(train.labels or ()), *(test.labels or ())]
    both, cut = LabelledTexts([*train.texts, *test.texts], labels), len(train.texts)
    return some_texts(both, order[:cut]), some_texts(both, order[cut:])


def some_texts(texts: LabelledTexts, rows: Iterable[int]) -> LabelledTexts:
    """Return some of the texts, with their labels."""
    rows, labels = list(rows), texts.labels or []
    return LabelledTexts([texts.texts[i] for i in rows], [labels[i] for i in rows])


def indicators(labels: Sequence[Sequence[str]], columns: Mapping[str, int]) -> Csr:
    """Return labels as a matrix of ones; ``columns`` has the place of every label."""
    rows = [sorted({columns[name] for name in names}) for names in labels]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(indptr[-1]))
    ones = np.ones(len(indices), dtype=np.float32)
    return sparse.csr_array((ones, indices, indptr), shape=(len(rows), len(columns)))


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


def place_of(name: str) -> str:
    """Return the data set of a corpus; the name of a sample begins with that of its data set."""
    return name.partition(", ")[0]


def _draw(n_rows: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(n_rows)


def _rows(points: Split, rows: NDArray[np.int64]) -> Split:
    """Return some of the points, in their order."""
    kept = np.sort(rows)
    return Split(points.X[kept], points.Y[kept])


def _fingerprint(matrices: dict[str, Csr]) -> str:
    found = hashlib.sha256()
    for part in _PARTS:
        matrix = matrices[part]
        found.update(f"{part} {matrix.shape} {matrix.nnz}\n".encode())
        found.update(matrix.indptr.astype("<i8").tobytes())
        found.update(matrix.indices.astype("<i4").tobytes())
        found.update(matrix.data.astype("<f4").tobytes())
    return found.hexdigest()[:16]
