"""``defrag predict``: predict the best labels of points, block by block."""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from enum import Enum
from typing import IO, TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from defrag._progress import progress_bar, progress_pulse
from defrag.classifiers._base import Classifier
from defrag.cli._console import escaped, examples, print_message, print_next
from defrag.cli._data import (
    BaseFlag,
    Form,
    FromFlag,
    StrictFlag,
    TruncatedFlag,
    check_base,
    form_of_name,
)
from defrag.cli._targets import check_targets
from defrag.exceptions import DataWarning, FormatError
from defrag.io.atomic import atomic_writer
from defrag.io.blocks import RowBlocks, cut_rows
from defrag.io.files import display_name, open_input
from defrag.io.predictions import format_ranking
from defrag.io.svmlight import read_svmlight
from defrag.persistence import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from defrag.typing import Csr, Floats, Ids

__all__ = ["HELP", "predict"]

HELP = (
    "Predict the best labels of points.\n\n"
    "The output has a header with the numbers of points and labels, and a line of label:score "
    "pairs per point, best first; 'defrag evaluate' reads it. With --names the pairs have label "
    "names, separated by tabs, and there is no header. Text is processed block by block, in "
    "bounded memory."
) + examples(
    "defrag predict model.safetensors test.txt --output predictions.txt",
    "defrag predict model.safetensors test.txt --top-k 3 --names",
    "xzcat test.txt.xz | defrag predict model.safetensors - --json | head",
)


class Empty(str, Enum):
    """What points without features get."""

    bias = "bias"
    nothing = "nothing"


def predict(
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model file.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The points; labels are ignored.")],
    top_k: Annotated[int, typer.Option(min=1, help="Number of labels per point.")] = 5,
    output: Annotated[str, typer.Option(metavar="FILE", help="Output file; - is stdout.")] = "-",
    names: Annotated[
        bool, typer.Option("--names", help="Write label names instead of ids.")
    ] = False,
    empty: Annotated[
        Empty,
        typer.Option(help="What points without features get: the labels of the biases, or none"),
    ] = Empty.bias,
    form: FromFlag = None,
    zero_based: BaseFlag = None,
    n_jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all.")] = -1,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object per point.")
    ] = False,
) -> None:
    """Predict the best labels of points."""
    check_targets({"--output": output}, {"MODEL": model, "DATA": data})
    classifier = _load(model, n_jobs)
    known = _label_names(model, classifier) if names else None
    with _points(
        data,
        form,
        zero_based,
        classifier.n_features_in_,
        strict=strict,
        allow_truncated=allow_truncated,
    ) as points:
        if points.n_features != classifier.n_features_in_:
            raise ValueError(
                f"{display_name(data)}: {points.n_features} features, but {escaped(model)} "
                f"was trained on {classifier.n_features_in_}"
            )
        ranked = _Ranking(classifier, points, min(top_k, classifier.n_labels_), empty.value)
        with atomic_writer(output) as file:
            if as_json:
                _write(file, (_json_lines(*pair, known) for pair in ranked))
            elif known is not None:
                _write(file, (_name_lines(*pair, known) for pair in ranked))
            else:
                _write_text(file, points, ranked, classifier.n_labels_)
    if ranked.n_empty:
        told = "labels of the biases (--empty nothing gives none)"
        told = told if empty is Empty.bias else "no labels"
        noun = f"{ranked.n_empty:,} of {points.n_rows:,} points have no features"
        print_message(f"{escaped(display_name(data))}: {noun}: they get {told}")
    if output != "-":
        print_message(f"{points.n_rows:,} points written to {escaped(output)}")
        if not (as_json or names):
            print_next(f"defrag evaluate {escaped(display_name(data))} {escaped(output)}")


class _Rows:
    """Blocks of points in memory."""

    def __init__(self, name: str, X: Csr) -> None:
        self.name = name
        self.n_rows, self.n_features = X.shape
        self._blocks = cut_rows(X)

    def __iter__(self) -> Iterator[Csr]:
        return self._blocks


def _load(path: str, n_jobs: int) -> Classifier:
    with progress_pulse(f"reading {escaped(path)}"):
        model = load(path)
    if not isinstance(model, Classifier):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{path}: is a {type(model).__name__}, not a classifier"
        )
    model.set_params(n_jobs=n_jobs)
    return model


def _label_names(path: str, classifier: Classifier) -> Sequence[str]:
    names: Sequence[str] | None = getattr(classifier, "label_names_", None)
    if names is None:
        raise ValueError(f"{path}: has no label names: give 'defrag train' --label-names")
    return names


@contextmanager
def _points(
    data: str,
    form: Form | None,
    zero_based: bool | None,
    n_features: int,
    *,
    strict: bool,
    allow_truncated: bool,
) -> Iterator[RowBlocks | _Rows]:
    if (form or form_of_name(data)) is Form.svmlight:
        base = check_base(data, zero_based)
        X, _ = read_svmlight(data, zero_based=base, n_features=n_features, strict=strict)
        yield _Rows(display_name(data), X)
        return
    with open_input(data) as stream:
        yield RowBlocks(stream, strict=strict, allow_truncated=allow_truncated)


class _Ranking:
    """The best labels of blocks of points, and how many of the points had no features."""

    def __init__(
        self, classifier: Classifier, points: RowBlocks | _Rows, k: int, empty: str
    ) -> None:
        self.classifier, self.points, self.k, self.empty = classifier, points, k, empty
        self.n_empty = 0

    def __iter__(self) -> Iterator[tuple[Ids, Floats]]:
        declared, done = self.points.n_rows, 0
        with progress_bar("predicting") as progress:
            for block in self.points:
                self.n_empty += int(np.count_nonzero(np.diff(block.indptr) == 0))
                with warnings.catch_warnings():
                    # Told once, with the number of all blocks.
                    warnings.simplefilter("ignore", DataWarning)
                    ranked = self.classifier.predict_topk(block, k=self.k, empty=self.empty)
                yield ranked
                done += block.shape[0]
                if progress is not None:
                    progress(min(1.0, done / max(1, declared)))


def _write(file: IO[bytes], lines: Iterable[Iterable[str]]) -> None:
    for block in lines:
        file.write("".join(f"{line}\n" for line in block).encode("utf-8", "surrogateescape"))
        file.flush()


def _write_text(
    file: IO[bytes],
    points: RowBlocks | _Rows,
    ranked: Iterable[tuple[Ids, Floats]],
    n_labels: int,
) -> None:
    declared = points.n_rows
    file.write(b"%d %d\n" % (declared, n_labels))
    for labels, scores in ranked:
        file.writelines(format_ranking(labels, scores, n_labels))
        file.flush()
    if points.n_rows != declared:
        # The header has been written already.
        message = f"the header declares {declared} points, the file has {points.n_rows}"
        raise FormatError(points.name, message)


def _json_lines(labels: Ids, scores: Floats, names: Sequence[str] | None) -> Iterator[str]:
    for ids, values in zip(labels, _short(scores), strict=True):
        found = [int(label) for label in ids if label >= 0]
        shown: list[Any] = found if names is None else [names[label] for label in found]
        yield json.dumps({"labels": shown, "scores": values[: len(found)].tolist()})


def _name_lines(labels: Ids, scores: Floats, names: Sequence[str]) -> Iterator[str]:
    for ids, values in zip(labels, _short(scores), strict=True):
        pairs = zip(ids, values, strict=True)
        yield "\t".join(f"{escaped(names[i])}:{value:.6g}" for i, value in pairs if i >= 0)


def _short(scores: Floats) -> Any:
    """Return doubles that print with as few digits as the floats."""
    return scores.astype(str).astype(np.float64)
