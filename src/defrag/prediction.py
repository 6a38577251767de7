"""Prediction of whole files, block by block, in bounded memory.

``defrag predict`` calls this, on one machine and (:class:`LineFormat`) on the workers of a cluster;
``defrag explain`` reads its point with :func:`open_blocks`. A block is a matrix of points, or a
list of texts for a text classifier: which of them a file must have follows from the model.
"""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from defrag._progress import escaped, progress_bar, progress_pulse
from defrag.classifiers._answers import label_names
from defrag.classifiers._base import Classifier
from defrag.exceptions import DataWarning, FormatError
from defrag.io.corpora import CORPUS_FORMS, Corpus, open_corpus
from defrag.io.documents import CorpusOptions
from defrag.io.files import atomic_writer, display_name, open_input
from defrag.io.parquet import SUFFIX, load_pyarrow, table_bytes
from defrag.io.points import (
    RowBlocks,
    check_base,
    cut_rows,
    form_of_name,
    refuse_texts,
    text_form,
)
from defrag.io.predictions import format_ranking, json_lines, short_floats
from defrag.io.xmc import read_svmlight
from defrag.persistence import load
from defrag.text import TextClassifier
from defrag.typing import Floats, Ids

Model: TypeAlias = Classifier | TextClassifier

_TEXTS_PER_BLOCK = 10_000
_CHARACTERS_PER_BLOCK = 1 << 23


class Blocks:
    """Texts, or points in memory, in blocks; :class:`RowBlocks` reads points from a stream.

    - ``name``: name of the file in messages.
    - ``n_rows`` (optional): number of points, if it is known.
    """

    def __init__(self, name: str, blocks: Iterable[Any], n_rows: int | None = None) -> None:
        self.name, self.n_rows = name, n_rows
        self._blocks = blocks

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the blocks."""
        return iter(self._blocks)


AnyBlocks: TypeAlias = Blocks | RowBlocks


@dataclass(frozen=True)
class LineFormat:
    """What is predicted for a point, and how it is written.

    An instance is a function of a model, a block and the number of its first point, so that the
    workers of a cluster can write their own parts.

    Parameters
    ----------
    k : int, default=5
        Number of labels per point.
    empty : {"bias", "nothing"}, default="bias"
        Labels of points without features: those with the largest biases, or none.
    names : bool, default=False
        Whether label names are written instead of ids; those of texts always are.
    as_json : bool, default=False
        Whether lines are JSON objects.
    parquet : bool, default=False
        Whether a table is written instead of lines.
    allow, deny : sequence of str, optional
        Labels of texts that may be written, and that may not, as in ``predict_topk``.
    """

    k: int = 5
    empty: str = "bias"
    names: bool = False
    as_json: bool = False
    parquet: bool = False
    allow: Sequence[str] | None = None
    deny: Sequence[str] = ()

    def __call__(self, model: Model, block: Any, first: int) -> Iterator[bytes]:
        """Yield the lines or the table of a block; ``first`` is the number of its first point."""
        if self.parquet:
            of_points: Any = {"empty": self.empty, "names": self.names}
            of_texts: Any = {"allow": self.allow, "deny": self.deny}
            options = of_texts if isinstance(model, TextClassifier) else of_points
            labels, scores = model.predict_topk(block, k=self.k, **options)
            if isinstance(model, TextClassifier) and model.classes_.dtype != object:
                labels = labels.astype(str).astype(object)  # classes may be numbers
            yield table_bytes(labels, scores, first)
            return
        yield from self.lines(model, *self.rank(model, block))

    def has_header(self, model: Model) -> bool:
        """Return whether a header with the numbers of points and labels precedes the lines."""
        return not (self.names or self.as_json or isinstance(model, TextClassifier))

    def rank(self, model: Model, block: Any) -> tuple[Any, Floats]:
        """Return the best labels of a block and their scores."""
        if isinstance(model, TextClassifier):
            return model.predict_topk(block, k=self.k, allow=self.allow, deny=self.deny)
        with warnings.catch_warnings():
            # The caller reports empty points once, for all blocks.
            warnings.simplefilter("ignore", DataWarning)
            return model.predict_topk(block, k=min(self.k, model.n_labels_), empty=self.empty)

    def rank_ids(self, model: Model, block: Any) -> tuple[Ids, Floats]:
        """Return the best labels of a block as ids, and their scores."""
        if isinstance(model, TextClassifier):
            return model._predict_ids(block, k=self.k)
        return self.rank(model, block)

    def lines(self, model: Model, labels: Any, scores: Floats) -> Iterator[bytes]:
        """Yield the lines of some points."""
        if self.has_header(model):
            yield from format_ranking(labels, scores, model.n_labels_)
            return
        if isinstance(model, TextClassifier):
            rows = [[str(name) for name in row if name != ""] for row in labels.tolist()]
        else:
            rows = _named(labels, label_names(model) if self.names else None)
        for line in (json_lines if self.as_json else _name_lines)(rows, scores):
            yield f"{line}\n".encode("utf-8", "surrogateescape")


class Predicted(NamedTuple):
    """Numbers of points, and of those without features or, for texts, without a known word."""

    n_points: int
    n_bare: int


def predict_file(
    model: str | Model,
    data: str,
    output: str = "-",
    *,
    lines: LineFormat | None = None,
    **reading: Any,
) -> Predicted:
    r"""Predict the labels of the points or texts of a file.

    Parameters
    ----------
    model : path or classifier
        The model.
    data : path
        The points or texts; their labels are ignored. ``-`` is standard input.
    output : path, default="-"
        The file to write, atomically; ``-`` is standard output.
    lines : LineFormat, optional
        What is written.
    **reading : Any
        How the file is read; see :func:`open_blocks`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag import TextClassifier
    >>> from defrag.prediction import predict_file
    >>> model = TextClassifier(random_state=0)
    >>> _ = model.fit(["quick sort", "a sort", "hash", "a hash"], [["a"], ["a"], ["b"], ["b"]])
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "docs.jsonl").write_text('{"text": "a sort"}\n{"text": "unknown"}\n')
    >>> predict_file(model, str(folder / "docs.jsonl"), str(folder / "out.txt"))
    Predicted(n_points=2, n_bare=1)
    >>> (folder / "out.txt").read_text().partition(":")[0]
    'a'
    """
    found = model if isinstance(model, (Classifier, TextClassifier)) else load_classifier(model)
    name = model if isinstance(model, str) else "the model"
    with open_blocks(found, data, model_name=name, **reading) as blocks:
        return predict_blocks(found, blocks, output, lines or LineFormat())


def load_classifier(path: str, n_jobs: int | None = -1) -> Model:
    """Load the classifier of a model file.

    - Raises ValueError if the file holds another kind of model.
    """
    with progress_pulse(f"reading {escaped(path)}"):
        model = load(path)
    if not isinstance(model, (Classifier, TextClassifier)):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{path}: is a {type(model).__name__}, not a classifier"
        )
    model.set_params(n_jobs=n_jobs)
    return model


@contextmanager
def open_blocks(
    model: Model,
    data: str,
    *,
    model_name: str = "the model",
    form: str | None = None,
    options: CorpusOptions | None = None,
    zero_based: bool | None = None,
    strict: bool = False,
    allow_truncated: bool = False,
) -> Iterator[AnyBlocks]:
    """Open the points or texts of a file for a model.

    - ``model_name``: name of the model in messages.
    - ``form`` (optional): format of the file; default: by its name, then by its content.
    - ``options`` (optional): how tables of texts are read.
    - ``zero_based`` (optional): first feature id of an svmlight file.
    - ``strict``, ``allow_truncated``: see :func:`defrag.io.read_points`.
    - Raises ValueError if the file has texts but the model was trained on matrices, or the other
      way round, or if the numbers of features differ.
    """
    corpus_form = text_form(data, form)
    name = display_name(data)
    if isinstance(model, TextClassifier):
        if corpus_form is None:
            raise ValueError(
                f"{name}: {escaped(model_name)} was trained on texts: give --from FORMAT, "
                f"one of {', '.join(CORPUS_FORMS)}"
            )
        ignoring = replace(options or CorpusOptions(), labels="ignored")
        with open_corpus(data, corpus_form, ignoring) as corpus:
            yield Blocks(corpus.name, _text_blocks(corpus))
        return
    if corpus_form is not None:
        raise ValueError(
            f"{name}: are texts ({corpus_form}), but {escaped(model_name)} was trained on matrices"
        )
    n_features = model.n_features_in_
    if (form or form_of_name(data)) == "svmlight":
        base = check_base(data, zero_based)
        X, _ = read_svmlight(data, zero_based=base, n_features=n_features, strict=strict)
        yield Blocks(name, cut_rows(X), X.shape[0])
        return
    with open_input(data) as stream:
        refuse_texts(stream)
        blocks = RowBlocks(stream, strict=strict, allow_truncated=allow_truncated)
        if blocks.n_features != n_features:
            raise ValueError(
                f"{name}: {blocks.n_features} features, but {escaped(model_name)} "
                f"was trained on {n_features}"
            )
        yield blocks


def predict_blocks(model: Model, blocks: AnyBlocks, output: str, lines: LineFormat) -> Predicted:
    """Predict the labels of blocks and write them to a file; see :func:`predict_file`.

    A file ``*.npz`` is a sparse matrix of scores, as of ``scipy.sparse.save_npz``, whose columns
    are the labels of the model by id, for texts in the order of ``classes_``.
    """
    if output.endswith(".npz"):
        return _write_matrix(model, blocks, output, lines)
    declared = blocks.n_rows
    n_points = n_bare = 0
    header = lines.has_header(model)  # only of points, whose number is declared
    bar = progress_pulse if declared is None else progress_bar
    with atomic_writer(output) as file, bar("predicting") as progress:
        if header:
            file.write(b"%d %d\n" % (declared or 0, model.n_labels_))
        for block in blocks:
            labels, scores = lines.rank(model, block)
            file.writelines(lines.lines(model, labels, scores))
            file.flush()
            n_points += len(labels)
            if isinstance(model, TextClassifier):
                n_bare += sum(row[:1] == [""] for row in labels.tolist())
            else:
                n_bare += int(np.count_nonzero(np.diff(block.indptr) == 0))
            if progress is not None and declared is not None:
                progress(min(1.0, n_points / max(1, declared)))
        if header and n_points != declared:
            message = f"the header declares {declared} points, the file has {n_points}"
            raise FormatError(blocks.name, message)
    return Predicted(n_points, n_bare)


def _write_matrix(model: Model, blocks: AnyBlocks, output: str, lines: LineFormat) -> Predicted:
    """Predict the labels of blocks and write them as a matrix, which is in memory as a whole."""
    if lines.names or lines.as_json:
        raise ValueError(f"{output}: a matrix has no names: give neither --names nor --json")
    parts, n_bare = [], 0
    for block in blocks:
        ids, scores = lines.rank_ids(model, block)
        found = ids >= 0
        indptr = np.append(0, np.cumsum(found.sum(axis=1)))
        shape = len(ids), len(model.classes_)
        parts.append(sparse.csr_array((scores[found], ids[found], indptr), shape=shape))
        n_bare += int(np.count_nonzero(~found.any(axis=1)))
    matrix = sparse.csr_array(sparse.vstack(parts, format="csr"))
    matrix.sort_indices()
    with atomic_writer(output) as file:
        sparse.save_npz(file, matrix)
    return Predicted(matrix.shape[0], n_bare)


def predict_parts(model: Model, blocks: AnyBlocks, parts: Parts, lines: LineFormat) -> int:
    """Write the missing parts of a prediction, and return the number of points of all parts."""
    with progress_pulse("predicting"):
        for part, first, block in parts.missing(blocks):
            with atomic_writer(part) as file:
                file.writelines(lines(model, block, first))
    return parts.n_points


ToLines: TypeAlias = "Callable[[Any, Any, int], Iterable[bytes]]"
"""A :class:`LineFormat`, or another function with its arguments."""


class Parts:
    """A folder of predictions with a file per block, of which a second call writes those missing.

    - ``model``: the file of the model, whose checksum is among the settings of the folder.
    - ``lines``: what a part is; its fields are among the settings.
    - ``settings``: further JSON values that distinguish this prediction from others.
    - Raises ValueError if the folder has parts of another model or other settings.
    """

    # Readers of folders of tables skip names that begin with an underscore.
    _SETTINGS = "_prediction.json"

    def __init__(
        self, folder: Path, model: str, lines: ToLines, settings: Mapping[str, Any]
    ) -> None:
        self.folder, self.n_points = folder.absolute(), 0
        self._suffix = ""
        own: dict[str, Any] = {}
        if isinstance(lines, LineFormat):
            own = vars(lines)
            if lines.parquet:
                load_pyarrow()  # fails before any work is done
                self._suffix = SUFFIX
        self.identity = _identity(model)
        self._claim({"model": self.identity, **own, **settings})

    def missing(self, blocks: Iterable[Any]) -> Iterator[tuple[Path, int, Any]]:
        """Yield the files to write, the number of their first points, and their blocks."""
        for number, block in enumerate(blocks):
            first = self.n_points
            self.n_points += block.shape[0] if hasattr(block, "shape") else len(block)
            part = self.folder / f"part-{number:06d}{self._suffix}"
            if not part.exists():
                yield part, first, block

    def _claim(self, settings: dict[str, Any]) -> None:
        """Write the settings of a prediction to its folder, or check those in it."""
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self._SETTINGS
        text = json.dumps(settings, sort_keys=True)
        if path.exists():
            if path.read_text(encoding="utf-8") != text:
                raise ValueError(
                    f"{folder}: has parts of another prediction: choose another folder"
                )
            return
        if any(folder.iterdir()):
            raise ValueError(f"{folder}: is not empty and has no {self._SETTINGS}")
        with atomic_writer(path) as file:
            file.write(text.encode())


def _identity(path: str) -> list[int]:
    """Return the size and a checksum of a file."""
    checksum = 0
    with open(path, "rb") as file:  # noqa: PTH123 - a path as text
        while piece := file.read(1 << 20):
            checksum = zlib.crc32(piece, checksum)
        return [file.tell(), checksum]


def _text_blocks(corpus: Corpus) -> Iterator[list[str]]:
    """Yield the texts of a corpus in blocks of bounded size."""
    texts: list[str] = []
    n_characters = 0
    for document in corpus.documents:
        texts.append(document.text)
        n_characters += len(document.text)
        if len(texts) == _TEXTS_PER_BLOCK or n_characters >= _CHARACTERS_PER_BLOCK:
            yield texts
            texts, n_characters = [], 0
    if texts:
        yield texts


def _named(labels: Ids, names: Sequence[str] | None) -> list[list[Any]]:
    """Return the names of labels that are padded with -1, or their ids if ``names`` is None."""
    found = [[int(label) for label in row if label >= 0] for row in labels]
    return found if names is None else [[names[label] for label in row] for row in found]


def _name_lines(rows: list[list[str]], scores: Floats) -> Iterator[str]:
    """Yield one line per point: pairs ``name:score``, separated by tabs."""
    for names, values in zip(rows, short_floats(scores), strict=True):
        pairs = zip(names, values[: len(names)], strict=True)
        yield "\t".join(f"{escaped(name)}:{value:.9g}" for name, value in pairs)
