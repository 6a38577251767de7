"""Files of commands: the flags that say how data are read, and checks of paths before any work.

:class:`Reading` is the flags of a command that takes texts or matrices, :class:`MatrixReading` of
one that takes matrices only; a parameter of such a type declares them all (``_flags``).
"""

from __future__ import annotations

import errno
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from defrag._progress import escaped, progress_pulse
from defrag._scratch import scratch
from defrag.cli._console import print_message
from defrag.cli._flags import File, Words, option, refuse_flags
from defrag.io import Points, read_points, write_points
from defrag.io.corpora import (
    CORPUS_FORMS,
    CorpusForm,
    LabelledTexts,
    collect_texts,
    open_corpus,
    texts_and_labels,
)
from defrag.io.documents import CorpusOptions, counted
from defrag.io.files import display_name, without_compression
from defrag.io.points import POINT_FORMS, read_names, text_form
from defrag.text._texts import spool_texts
from defrag.typing import Csr

if TYPE_CHECKING:
    from defrag.prediction import AnyBlocks, Model


LabelsFlag = Annotated[File, "The label file, if DATA has features only."]
LabelNamesFlag = Annotated[File, "Names of the labels, one per line, stored in the model."]
VocabularyFlag = Annotated[File, "Names of the features, one per line, stored in the model."]
ThesaurusFlag = Annotated[
    File, "Names of the labels in a thesaurus: JSON lines, a table, or SKOS (.ttl, .nt, .rdf)."
]
LanguageFlag = Annotated[str | None, "Language in which labels are named, such as de.", "CODE"]
_PROPENSITY = "Parameter of the propensities."
PropensityA = Annotated[float | None, option(_PROPENSITY, names="--A", show_default="0.55")]
PropensityB = Annotated[float | None, option(_PROPENSITY, names="--B", show_default="1.5")]
AllowFlag = Annotated[
    list[str] | None,
    "Only these labels; also type=... and scheme=... of the thesaurus; may be repeated.",
    "LABEL",
]
DenyFlag = Annotated[list[str] | None, "None of these labels, given likewise.", "LABEL"]
WeightsFlag = Annotated[
    str,
    Words(("float32", "float16", "int8", "int4")),
    "Type of stored weights; smaller types round them.",
]

_of_texts = partial(option, metavar="TEXT", rich_help_panel="Texts")

# Formats without columns, and those of them that separate labels by spaces.
_WITHOUT_COLUMNS = ("annif", "fasttext", "pecos", "libmultilabel", "lines")
_AT_SPACES = ("libmultilabel", "lines")

# Formats whose labels are in another file, and whose labels may be numbers.
_WITH_LABEL_FILE = ("lines",)
_WITH_NUMBERS = ("jsonl", "pecos", "tsv", "parquet")

COLUMN_FLAGS = ("text_column", "labels_column", "label_separator", "delimiter")
"""Flags for reading tables of texts."""


@dataclass(frozen=True)
class MatrixReading:
    """How matrices are read."""

    form: Annotated[
        str | None,
        Words(POINT_FORMS),
        option("Format of the input; default: by name and content.", names="--from"),
    ] = None
    zero_based: Annotated[
        bool | None,
        option("First feature id of an svmlight file, 0 or 1.", names="--zero-based/--one-based"),
    ] = None
    strict: Annotated[bool, "Treat warnings as errors."] = False
    allow_truncated: Annotated[bool, "Accept fewer points than a header declares."] = False

    @property
    def checks(self) -> dict[str, Any]:
        """How strictly files are read."""
        return {"strict": self.strict, "allow_truncated": self.allow_truncated}

    def points(self, path: str, labels: str | None = None, **sizes: Any) -> Points:
        """Read points; ``sizes`` override the numbers of columns of the file."""
        with progress_pulse(f"reading {escaped(display_name(path))}"):
            return read_points(
                path,
                labels=labels,
                form=self.form,
                zero_based=self.zero_based,
                **sizes,
                **self.checks,
            )

    def labelled_points(self, path: str, labels: str | None = None) -> tuple[Csr, Csr]:
        """Read points that must have labels."""
        found = self.points(path, labels)
        if found.Y is None:
            raise ValueError(f"{display_name(path)}: has no labels: give --labels")
        return found.X, found.Y


@dataclass(frozen=True)
class Reading(MatrixReading):
    """How texts or matrices are read."""

    form: Annotated[
        str | None,
        Words((*POINT_FORMS, *CORPUS_FORMS)),
        option(
            "Format of the data; default: by name, or by content for matrices.",
            names="--from --format",
        ),
    ] = None
    text_column: Annotated[
        list[str] | None,
        _of_texts(
            "Column or key of the texts; several make one text, such as title, body. Default: "
            "text, or title and content.",
            names="--text-column --text-field",
        ),
    ] = None
    labels_column: Annotated[
        str | None,
        _of_texts("Column or key of the labels; default: labels, label, tags or subjects."),
    ] = None
    label_separator: Annotated[
        str | None, _of_texts("Separator of labels written as one string; also: space, none.")
    ] = None
    delimiter: Annotated[
        str | None,
        _of_texts(
            "Character between fields, or tab; default: what the header of a csv file shows."
        ),
    ] = None
    encoding: Annotated[
        str | None,
        _of_texts("Encoding of texts without a byte order mark, such as latin-1; default: utf-8."),
    ] = None

    @property
    def options(self) -> CorpusOptions:
        """How tables of texts are read."""
        columns = self.text_column, self.labels_column, self.label_separator
        return CorpusOptions(*columns, delimiter=self.delimiter, encoding=self.encoding)

    def texts_form(self, path: str) -> CorpusForm | None:
        """Return the format of a file of texts by the flag or the file name; None for matrices.

        Raises ValueError if a flag is given that the format does not use, or if a folder is not a
        corpus.
        """
        found = text_form(path, self.form)
        if found is None:
            self.refuse_columns("without texts")
            refuse_flags("without texts", {"--encoding": self.encoding})
        elif found in _WITHOUT_COLUMNS:
            ignored = ("label_separator",) if found in _AT_SPACES else ()
            self.refuse_columns(f"with texts in the format {found}", ignored)
        return found

    def refuse_columns(self, where: str, but: tuple[str, ...] = ()) -> None:
        """Raise ValueError if a flag for reading tables is given where it changes nothing."""
        names = [name for name in COLUMN_FLAGS if name not in but]
        refuse_flags(where, {f"--{name.replace('_', '-')}": getattr(self, name) for name in names})

    def texts(
        self,
        path: str,
        form: CorpusForm,
        labels: str | None = None,
        label_names: str | None = None,
        *,
        required: bool = False,
    ) -> LabelledTexts:
        """Read all texts of a file and the names of their labels, and print their number.

        Raises ValueError if the format does not use a file of labels or of label names, or if
        labels are ``required`` and there are none.
        """
        where = f"with texts in the format {form}"
        if form not in _WITH_LABEL_FILE:
            refuse_flags(where, {"--labels": labels})
        if form not in _WITH_NUMBERS:
            refuse_flags(where, {"--label-names": label_names})
        names = None if label_names is None else read_names(label_names, None, "name", "label")
        options = replace(
            self.options,
            labels_path=labels,
            label_names=names,
            labels="required" if required else "optional",
        )
        with (
            progress_pulse(f"reading {escaped(display_name(path))}"),
            open_corpus(path, form, options) as corpus,
        ):
            own = scratch()
            spooled: Any = None if own is None else spool_texts(own, texts_and_labels(corpus))
            found = collect_texts(corpus) if own is None else LabelledTexts(*spooled)
        n_texts = counted(len(found.texts), "text")
        print_message(f"{escaped(corpus.name)}: {n_texts} ({corpus.form})")
        if required and found.labels is None:
            hint = ": give --labels" if form in _WITH_LABEL_FILE else ""
            raise ValueError(f"{display_name(path)}: has no labels{hint}")
        return found

    def blocks(self, model: Model, path: str, model_name: str) -> AbstractContextManager[AnyBlocks]:
        """Open the texts or points of a file for a model, block by block."""
        from defrag.prediction import open_blocks  # noqa: PLC0415 - only for models

        self.texts_form(path)
        return open_blocks(
            model,
            path,
            model_name=model_name,
            form=self.form,
            options=self.options,
            zero_based=self.zero_based,
            **self.checks,
        )


def read_all_names(
    label_names: str | None, vocabulary: str | None, n_labels: int, n_features: int
) -> dict[str, list[str]]:
    """Read the given files of names and return the arguments of ``save``."""
    names = {}
    if label_names is not None:
        names["label_names"] = read_names(label_names, n_labels, "name", "label")
    if vocabulary is not None:
        names["vocabulary"] = read_names(vocabulary, n_features, "word", "feature")
    return names


def write(path: str, points: Points, labels: str | None = None) -> None:
    """Write points in their format; ``-`` is standard output."""
    with progress_pulse(f"writing {escaped(path)}"):
        write_points(path, points, labels=labels)


# --- Checks of paths before any work is done.


def check_stdout(path: str, *, as_json: bool) -> None:
    """Raise ValueError if a file and the result would both go to stdout."""
    if as_json and path == "-":
        raise ValueError("--json and an output of - would both write to standard output")


def check_targets(outputs: dict[str, str | None], inputs: dict[str, str | None]) -> None:
    """Raise ValueError if an output is one of the inputs or another output.

    Files are compared by device and inode, so that links and other spellings of a path are
    found. Devices, FIFOs and standard streams may be read and written by one command.

    - ``outputs``, ``inputs`` (dict of str to str or None): paths by the name of their argument or
      flag; None if not given.
    """
    written: list[tuple[str, str]] = []
    for name, path in outputs.items():
        if path is None or path == "-":
            continue
        for other, source in (*inputs.items(), *written):
            if source is not None and _are_same(path, source):
                raise ValueError(f"{path}: {name} is the same file as {other}")
        written.append((name, path))


def check_model_path(model: str) -> None:
    """Raise an error if a model file cannot be written."""
    if model == "-":
        return
    if model != without_compression(model):
        raise ValueError(f"{model}: a model file is memory-mapped and cannot be compressed")
    path = Path(os.path.realpath(model))
    code = 0
    if path.is_dir():
        code = errno.EISDIR
    elif not path.parent.is_dir():
        code = errno.ENOENT
    elif not path.exists() and not os.access(path.parent, os.W_OK):
        code = errno.EACCES
    if code:
        raise OSError(code, os.strerror(code), model)


def check_report_path(path: Path) -> None:
    """Raise an OSError if a report cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise PermissionError(f"{path}: cannot be written; --report names another file, or none")


def _are_same(path: str, other: str) -> bool:
    if other == "-":
        return False
    if Path(path).is_file() and Path(other).is_file():
        return Path(path).samefile(other)
    if Path(path).exists() or Path(other).exists():
        return False
    return os.path.realpath(path) == os.path.realpath(other)
