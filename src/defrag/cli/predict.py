"""``defrag predict``: predict the best labels of points, block by block."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from defrag.classifiers._label_names import label_names
from defrag.cli._console import escaped, examples, print_message, print_next
from defrag.cli._corpora import AnyFromFlag, corpus_flags, form_of_corpus, form_of_matrix
from defrag.cli._data import (
    BaseFlag,
    Form,
    StrictFlag,
    TruncatedFlag,
    check_base,
    form_of_name,
    refuse_texts,
)
from defrag.cli._loading import load_classifier
from defrag.cli._outputs import check_targets
from defrag.cli._prediction import (
    LineFormat,
    PointBlocks,
    PointRanking,
    TextRanking,
    name_lines,
    named,
    text_blocks,
)
from defrag.distributed import predict_ray
from defrag.exceptions import FormatError
from defrag.io.corpora import CORPUS_FORMS, open_corpus
from defrag.io.documents import CorpusOptions  # noqa: TC001 - read by corpus_flags
from defrag.io.files import atomic_writer, display_name, open_input
from defrag.io.formats import RowBlocks
from defrag.io.predictions import format_ranking, json_lines
from defrag.io.xmc import read_svmlight
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from defrag.classifiers._base import Classifier
    from defrag.io.corpora import Corpus
    from defrag.typing import Floats, Ids

__all__ = ["HELP", "predict"]

HELP = (
    "Predict the best labels of points.\n\n"
    "The output has a header with the numbers of points and labels, and a line of label:score "
    "pairs per point, best first; 'defrag evaluate' reads it. With --names the pairs have label "
    "names, separated by tabs, and there is no header; a text classifier always writes "
    "names, and none for a text without a known word. Files are processed block by block, in "
    "bounded memory."
) + examples(
    "defrag predict model.safetensors docs.jsonl --output predictions.txt",
    "defrag predict model.safetensors test.txt --output predictions.txt",
    "defrag predict model.safetensors test.txt --top-k 3 --names",
    "defrag predict model.safetensors docs.jsonl --ray local --output folder",
    "defrag predict model.safetensors docs.parquet --ray local --parquet --output folder",
    "xzcat test.txt.xz | defrag predict model.safetensors - --json | head",
)


class Empty(str, Enum):
    """Prediction for points without features."""

    bias = "bias"
    nothing = "nothing"


@corpus_flags
def predict(
    *,
    options: CorpusOptions,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model file.")],
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Texts or points; labels are ignored.")
    ],
    top_k: Annotated[int, typer.Option(min=1, help="Number of labels per point.")] = 5,
    output: Annotated[str, typer.Option(metavar="FILE", help="Output file; - is stdout.")] = "-",
    names: Annotated[
        bool, typer.Option("--names", help="Write label names instead of ids.")
    ] = False,
    empty: Annotated[
        Empty,
        typer.Option(
            help="Prediction for points without features: the labels with the largest biases, or "
            "none"
        ),
    ] = Empty.bias,
    form: AnyFromFlag = None,
    zero_based: BaseFlag = None,
    n_jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all.")] = -1,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object per point.")
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Predict on the Ray cluster at this address; 'local' uses processes on this "
            "machine. --output is a folder of parts; existing parts are kept.",
        ),
    ] = None,
    parquet: Annotated[
        bool,
        typer.Option(
            "--parquet", help="With --ray, write tables with the columns row, labels and scores."
        ),
    ] = False,
) -> None:
    """Predict the best labels of points."""
    if parquet and (ray is None or as_json):
        raise ValueError("--parquet requires --ray and cannot be combined with --json")
    if ray is None:
        check_targets({"--output": output}, {"MODEL": model, "DATA": data})
    elif "-" in {output, data}:
        raise ValueError("--ray requires a file as DATA and a folder as --output, got -")
    wanted = LineFormat(top_k, empty.value, names, as_json, parquet)
    classifier = load_classifier(model, n_jobs)
    corpus = form_of_corpus(data, form, options)
    if isinstance(classifier, TextClassifier):
        if corpus is None:
            raise ValueError(
                f"{display_name(data)}: {escaped(model)} was trained on texts: give --from FORMAT, "
                f"one of {', '.join(CORPUS_FORMS)}"
            )
        with open_corpus(data, corpus, replace(options, labels="ignored")) as texts:
            if ray is None:
                _predict_texts(classifier, texts, top_k, output, as_json=as_json)
            else:
                _predict_on_ray(model, text_blocks(texts), wanted, (data, output, ray))
        return
    if corpus is not None:
        raise ValueError(
            f"{display_name(data)}: are texts ({corpus}), but {escaped(model)} was trained on "
            "matrices"
        )
    known = _label_names(model, classifier) if names else None
    with _points(
        data,
        form_of_matrix(form),
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
        if ray is None:
            _predict_points(classifier, points, known, wanted, output)
        else:
            _predict_on_ray(model, points, wanted, (data, output, ray))


def _predict_points(
    classifier: Classifier,
    points: RowBlocks | PointBlocks,
    known: Sequence[str] | None,
    wanted: LineFormat,
    output: str,
) -> None:
    ranked = PointRanking(classifier, points, min(wanted.k, classifier.n_labels_), wanted.empty)
    with atomic_writer(output) as file:
        if wanted.as_json:
            _write(file, (json_lines(named(ids, known), scores) for ids, scores in ranked))
        elif known is not None:
            _write(file, (name_lines(named(ids, known), scores) for ids, scores in ranked))
        else:
            _write_text(file, points, ranked, classifier.n_labels_)
    name = escaped(points.name)
    if ranked.n_empty:
        given = "the labels with the largest biases (--empty nothing: none)"
        given = given if wanted.empty == Empty.bias.value else "no labels"
        noun = f"{ranked.n_empty:,} of {points.n_rows:,} points have no features"
        print_message(f"{name}: {noun}: they get {given}")
    if output != "-":
        print_message(f"{points.n_rows:,} points written to {escaped(output)}")
        if known is None:
            print_next(f"defrag evaluate {name} {escaped(output)}")


def _predict_on_ray(
    model: str, blocks: Iterable[Any], lines: LineFormat, places: tuple[str, str, str]
) -> None:
    """Predict blocks on a cluster; ``places`` are the data file, the folder and the address."""
    data, folder, address = places
    settings = {**vars(lines), "data": [Path(data).name, _size(Path(data))]}
    n_points = predict_ray(
        model,
        blocks,
        folder,
        k=lines.k,
        form="parquet" if lines.parquet else "text",
        to_lines=lines,
        settings=settings,
        address=None if address == "local" else address,
        verbose=True,
    )
    print_message(f"{n_points:,} points in the parts of {escaped(folder)}")


def _size(path: Path) -> int:
    """Return the size in bytes of a file, or of all files in a folder."""
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def _predict_texts(
    classifier: TextClassifier, corpus: Corpus, k: int, output: str, *, as_json: bool
) -> None:
    ranked = TextRanking(classifier, corpus, k, as_json=as_json)
    with atomic_writer(output) as file:
        _write(file, ranked)
    name = escaped(corpus.name)
    if ranked.n_unknown:
        share = f"{ranked.n_unknown:,} of {ranked.n_texts:,} texts"
        print_message(f"{name}: {share} have no known word: they get no labels")
    if output != "-":
        print_message(f"{ranked.n_texts:,} texts written to {escaped(output)}")
        print_next(f"defrag evaluate {name} {escaped(output)}")


def _label_names(path: str, classifier: Classifier) -> Sequence[str]:
    try:
        return label_names(classifier)
    except ValueError:
        hint = "give 'defrag train' --label-names"
        raise ValueError(f"{path}: has no label names: {hint}") from None


@contextmanager
def _points(
    data: str,
    form: Form | None,
    zero_based: bool | None,
    n_features: int,
    *,
    strict: bool,
    allow_truncated: bool,
) -> Iterator[RowBlocks | PointBlocks]:
    if (form or form_of_name(data)) is Form.svmlight:
        base = check_base(data, zero_based)
        X, _ = read_svmlight(data, zero_based=base, n_features=n_features, strict=strict)
        yield PointBlocks(display_name(data), X)
        return
    with open_input(data) as stream:
        refuse_texts(stream)
        yield RowBlocks(stream, strict=strict, allow_truncated=allow_truncated)


def _write(file: IO[bytes], lines: Iterable[Iterable[str]]) -> None:
    for block in lines:
        file.write("".join(f"{line}\n" for line in block).encode("utf-8", "surrogateescape"))
        file.flush()


def _write_text(
    file: IO[bytes],
    points: RowBlocks | PointBlocks,
    ranked: Iterable[tuple[Ids, Floats]],
    n_labels: int,
) -> None:
    declared = points.n_rows
    file.write(b"%d %d\n" % (declared, n_labels))
    for labels, scores in ranked:
        file.writelines(format_ranking(labels, scores, n_labels))
        file.flush()
    if points.n_rows != declared:
        message = f"the header declares {declared} points, the file has {points.n_rows}"
        raise FormatError(points.name, message)
