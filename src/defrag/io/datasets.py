"""Data sets by name: the one in the package ``defrag_data``, and others in a folder.

The file of ``defrag_data`` is a sequence of xz streams, which any xz program reads as one. It has
one line of JSON with the names and sizes of the sections, then the sections: names separated
by line feeds, and arrays of little-endian 16-bit integers. A matrix is three arrays: the
number of entries of each row, their columns in increasing order and, for counts, their
values. Plain columns compress better than their differences, because packages built from
one source share most of their words.
"""

from __future__ import annotations

import json
import lzma
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag.exceptions import FormatError
from defrag.io.corpora import LabelledTexts
from defrag.io.xmc import read_xmc
from defrag.typing import Csr


class Repository(NamedTuple):
    """A data set of the Extreme Classification Repository: a row of Table 4 of the paper."""

    title: str
    points: int
    features: int
    labels: int
    test_points: int
    features_per_point: float
    labels_per_point: float
    # Folder of its archive, and what the names of the files in it begin with.
    folder: str
    prefix: str
    # Constants of its propensities.
    A: float = 0.55
    B: float = 1.5
    # Whether the paper has one clustering for all members of an ensemble.
    shares_clustering: bool = False

    @property
    def propensity(self) -> dict[str, float]:
        """The constants A and B as keyword arguments."""
        return {"A": self.A, "B": self.B}


REPOSITORY = {
    one.title.lower(): one
    for one in (
        Repository("EURLex-4K", 15539, 5000, 3993, 3809, 236.8, 5.31, "Eurlex", "eurlex_"),
        Repository("AmazonCat-13K", 1186239, 203882, 13330, 306782, 71.2, 5.04, "AmazonCat",
                   "amazonCat_"),
        Repository("Wiki10-31K", 14146, 101938, 30938, 6616, 673.4, 18.64, "Wiki10", "wiki10_"),
        Repository("Delicious-200K", 196606, 782585, 205443, 100095, 301.2, 75.54,
                   "DeliciousLarge", "deliciousLarge_"),
        Repository("WikiLSHTC-325K", 1778351, 1617899, 325056, 587084, 42.1, 3.19, "WikiLSHTC",
                   "wikiLSHTC_", 0.5, 0.4),
        Repository("Wikipedia-500K", 1813391, 2381304, 501070, 783743, 385.3, 4.77,
                   "WikipediaLarge-500K", "WikipediaLarge-500K_", 0.5, 0.4, True),
        Repository("Amazon-670K", 490449, 135909, 670091, 153025, 75.7, 5.45, "Amazon", "amazon_",
                   0.6, 2.6),
        Repository("Amazon-3M", 1717899, 337067, 2812281, 742507, 49.7, 36.17, "Amazon-3M",
                   "amazon-3M_", 0.6, 2.6, True),
    )
}  # fmt: skip
"""The data sets of the paper by name."""

_FOLDERS = ("debian-deps", "tibkat-core", "yso-finna-en", *REPOSITORY)
_DESCRIPTIONS = {
    "debian": "Debian packages: words of name and description, and the packages that each "
    "one depends on, recommends or suggests",
    "debian-deps": "Debian packages as text files, the source of the data set 'debian'",
    "tibkat-core": "library records in German and English with GND subjects",
    "yso-finna-en": "titles of Finnish library records with YSO subjects",
    **{name: f"{one.title} of the Extreme Classification Repository, the paper's split"
       for name, one in REPOSITORY.items()},
}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Points and their labels.

    Attributes
    ----------
    X : csr_array of float32, shape (n_points, n_features)
        Features.
    Y : csr_array of float32, shape (n_points, n_labels)
        Labels, 0 or 1.
    """

    X: Csr
    Y: Csr


@dataclass(frozen=True)
class Dataset:
    """A data set with a fixed split.

    Attributes
    ----------
    name : str
        Name for `load_dataset`.
    train, test : Split
        Training and test points.
    label_names, feature_names : ndarray of str objects, or None
        Names of the columns of Y and X, if known.
    description : str
        One sentence.
    """

    name: str
    train: Split
    test: Split
    label_names: NDArray[Any] | None
    feature_names: NDArray[Any] | None
    description: str

    @property
    def propensity(self) -> dict[str, float]:
        """Constants A and B of the propensities, for `evaluate` and `Refrag`."""
        return REPOSITORY.get(self.name, REPOSITORY["eurlex-4k"]).propensity

    def texts(self, part: str = "train", n: int | None = None) -> LabelledTexts:
        """Return points as texts of their words, and the names of their labels.

        Parameters
        ----------
        part : {"train", "test"}, default="train"
            The points.
        n : int, optional
            Number of points, drawn at random but the same in every call; default: all, in order.

        Examples
        --------
        >>> from defrag import load_dataset
        >>> texts, labels = load_dataset("debian").texts("test", 1000)
        >>> texts[2][:35]
        'client connections contains desktop'
        >>> labels[2]
        ['libc6', 'libfreerdp-client3-3', 'libfreerdp3-3', 'libwinpr3-3']
        """
        if part not in {"train", "test"}:
            raise ValueError(f"part must be 'train' or 'test', got {part!r}")
        if self.label_names is None or self.feature_names is None:
            raise ValueError(f"data set {self.name!r} has no names of features and labels")
        split: Split = getattr(self, part)
        rows = (
            slice(None) if n is None else np.random.default_rng(0).permutation(split.X.shape[0])[:n]
        )
        X, Y = split.X[rows], split.Y[rows]
        words, labels = (np.split(one.indices, one.indptr[1:-1]) for one in (X, Y))
        return LabelledTexts(
            [" ".join(self.feature_names[row]) for row in words],
            [self.label_names[row].tolist() for row in labels],
        )


def load_dataset(name: str) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        ``"debian"`` is in a package of its own, ``defrag[data]``. The others are read from the
        folder of that name in the folder named by the environment variable ``DEFRAG_DATA``:
        ``"debian-deps"``, ``"tibkat-core"``, ``"yso-finna-en"``, and the data sets of the paper,
        from ``"eurlex-4k"`` to ``"amazon-3m"``, with the files of the Extreme Classification
        Repository.

    Returns
    -------
    data : Dataset
        The data set; the features of ``"debian"`` are word counts weighted by `tf_idf`.

    Examples
    --------
    >>> from defrag.io.datasets import load_dataset
    >>> data = load_dataset("debian")
    >>> data.train.X.shape, data.train.Y.shape
    ((57024, 41315), (57024, 59614))
    >>> data.label_names[data.train.Y[[0]].indices][:2].tolist()
    ['alex4-data', 'game-data-packager']
    """
    if name == "debian":
        return _load_debian()
    if name in _FOLDERS:
        return _load_folder(name)
    known = ", ".join(repr(other) for other in ("debian", *_FOLDERS))
    raise ValueError(f"name must be one of {known}, got {name!r}")


def tf_idf(counts: Csr, document_frequency: NDArray[Any], n_documents: int) -> Csr:
    """Return tf-idf weights of word counts, with L2-normalised rows.

    A count c of a word that occurs in f of the n training documents becomes
    ``(1 + ln c) * (1 + ln((1 + n) / (1 + f)))``.

    - ``counts``, shape (n_points, n_words): word counts; stored entries are at least 1.
    - ``document_frequency``, shape (n_words,): number of training documents that contain each word.

    Examples
    --------
    >>> from scipy import sparse
    >>> counts = sparse.csr_array([[1, 1], [0, 2]])
    >>> tf_idf(counts, [1, 2], 2).toarray().round(4)
    array([[0.8148, 0.5797],
           [0.    , 1.    ]], dtype=float32)
    """
    frequency = np.asarray(document_frequency, dtype=np.float64)
    rarity = 1.0 + np.log((1.0 + n_documents) / (1.0 + frequency))
    values = (1.0 + np.log(counts.data.astype(np.float64))) * rarity[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    lengths = np.sqrt(np.bincount(rows, values**2, minlength=counts.shape[0]))
    weighted = (values / lengths[rows]).astype(np.float32)
    return sparse.csr_array((weighted, counts.indices, counts.indptr), shape=counts.shape)


def read_bundle(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read the header of a bundled data set, with version and sizes, and its sections by name."""
    name = os.fspath(path)
    try:
        content = lzma.decompress(Path(path).read_bytes())
        line, _, body = content.partition(b"\n")
        header = json.loads(line)
        sizes = [(str(section), int(size)) for section, size in header["sections"]]
    except (lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise FormatError(name, f"not a bundled data set: {error}") from error
    if header.get("format") != 1:
        raise FormatError(name, f"format must be 1, got {header.get('format')!r}")
    total = sum(size for _, size in sizes)
    if any(size < 0 for _, size in sizes) or total != len(body):
        raise FormatError(name, f"sections of {total} bytes, but the file has {len(body)}")
    sections, first = {}, 0
    for section, size in sizes:
        sections[section] = body[first : first + size]
        first += size
    return header, sections


def _load_debian() -> Dataset:
    try:
        from defrag_data import DEBIAN  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "data set 'debian' needs its package: pip install 'defrag[data]'"
        ) from error
    header, sections = read_bundle(DEBIAN)
    n_features, n_labels = int(header["n_features"]), int(header["n_labels"])
    parts = ("train", "test")
    counts = [_matrix(sections, f"{part}.words", n_features, np.int32) for part in parts]
    frequency = np.bincount(counts[0].indices, minlength=n_features)
    rows = [tf_idf(words, frequency, counts[0].shape[0]) for words in counts]
    labels = [_matrix(sections, f"{part}.labels", n_labels, np.float32) for part in parts]
    train, test = map(Split, rows, labels)
    names, words = (_names(sections[one]) for one in ("label_names", "feature_names"))
    return Dataset("debian", train, test, names, words, _DESCRIPTIONS["debian"])


def _matrix(sections: dict[str, bytes], prefix: str, n_columns: int, dtype: type) -> Csr:
    lengths = np.frombuffer(sections[prefix + ".lengths"], dtype="<u2")
    indices = np.frombuffer(sections[prefix + ".columns"], dtype="<u2").astype(np.int32)
    indptr = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=indptr[1:])
    stored = sections.get(prefix + ".counts")
    data = np.ones(len(indices), dtype) if stored is None else np.frombuffer(stored, dtype="<u2")
    if len(indices) != indptr[-1] or len(data) != indptr[-1] or indices.max() >= n_columns:
        raise FormatError("debian.xz", f"the arrays of {prefix} do not fit together")
    result = sparse.csr_array(
        (data.astype(dtype), indices, indptr), shape=(len(lengths), n_columns)
    )
    result.has_canonical_format = True
    return result


def _names(text: bytes) -> NDArray[Any]:
    return np.array(text.decode("utf-8").splitlines(), dtype=object)


def _load_folder(name: str) -> Dataset:
    place = os.environ.get("DEFRAG_DATA")
    if not place:
        raise FileNotFoundError(
            f"data set {name!r} is not bundled: "
            f"set DEFRAG_DATA to the folder that contains the folder {name!r}"
        )
    folder = _folder_of(Path(place), name)
    path, labels = _files_of(folder, name, "train")
    train = Split(*read_xmc(path, labels_path=labels))
    path, labels = _files_of(folder, name, "test")
    # Ids of test files beyond those of the training points would be of another data set.
    n_features, n_labels = train.X.shape[1], train.Y.shape[1]
    test = Split(*read_xmc(path, labels_path=labels, n_features=n_features, n_labels=n_labels))
    names, words = (
        _names(lzma.decompress(path.read_bytes())) if path.is_file() else None
        for path in (folder / "labels.txt.xz", folder / "vocab.txt.xz")
    )
    return Dataset(name, train, test, names, words, _DESCRIPTIONS[name])


# Names of files without their packing: those of all our data sets and of later versions of the
# repository, and the split form; the archives have names of their own.
_FORMS = {
    "train": (("train.txt",), ("trn_X_Xf.txt", "trn_X_Y.txt")),
    "test": (("test.txt",), ("tst_X_Xf.txt", "tst_X_Y.txt")),
}
_PACKED = ("", ".xz", ".gz")


def _folder_of(place: Path, name: str) -> Path:
    """Return the folder of a data set, which may have the name it has in its archive."""
    known = [name]
    if name in REPOSITORY:
        one = REPOSITORY[name]
        known += sorted({one.title, f"{one.title}.bow", one.folder})
    return next((place / one for one in known if (place / one).is_dir()), place / name)


def _files_of(folder: Path, name: str, part: str) -> tuple[Path, Path | None]:
    """Return the file of the training or the test points, and that of their labels, if any."""
    combined, split = _FORMS[part]
    own = ((f"{REPOSITORY[name].prefix}{part}.txt",), split) if name in REPOSITORY else ()
    for form in (combined, *own):
        for packing in _PACKED:
            paths = [folder / f"{file}{packing}" for file in form]
            if all(path.is_file() for path in paths):
                return paths[0], paths[1] if len(paths) > 1 else None
    forms = " or ".join(" and ".join(form) for form in dict.fromkeys((combined, *own)))
    raise FileNotFoundError(
        f"data set {name!r} requires {forms} in {folder}, plain or as .xz or .gz; DEFRAG_DATA is "
        f"{os.fspath(folder.parent)!r}"
    )
