"""``defrag predict``: predict the best labels of points, block by block (:mod:`prediction`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from defrag._progress import escaped
from defrag.classifiers._answers import label_names
from defrag.cli._console import examples, print_message, print_next
from defrag.cli._data import AllowFlag, DenyFlag, Reading, check_targets
from defrag.cli._flags import Words, argument, option, refuse_flags
from defrag.distributed import predict_ray
from defrag.io.corpora import corpus_files
from defrag.io.remote import is_uri
from defrag.prediction import (
    LineFormat,
    Model,
    Parts,
    Predicted,
    load_classifier,
    predict_blocks,
    predict_parts,
)
from defrag.text import TextClassifier

HELP = (
    "Predict the best labels of points.\n\n"
    "The output has a header with the numbers of points and labels, and a line of label:score "
    "pairs per point, best first; 'defrag evaluate' reads it. With --names the pairs have label "
    "names, separated by tabs, and there is no header; a text classifier always writes "
    "names, and none for a text without a known word. Files are processed block by block, in "
    "bounded memory. An output *.npz is a sparse matrix of scores for scipy."
) + examples(
    "defrag predict model.safetensors docs.jsonl --output predictions.txt",
    "defrag predict model.safetensors test.txt --output predictions.txt",
    "defrag predict model.safetensors test.txt --top-k 3 --names",
    "defrag predict model.safetensors test.txt --top-k 50 --output scores.npz",
    "defrag predict model.safetensors docs.jsonl --ray local --output folder",
    "defrag predict model.safetensors docs.parquet --parquet --output folder",
    "xzcat test.txt.xz | defrag predict model.safetensors - --json | head",
)


def predict(
    *,
    model: Annotated[str, argument("MODEL", "The model file.")],
    data: Annotated[str, argument("DATA", "Texts or points; labels are ignored.")],
    top_k: Annotated[int, option("Number of labels per point.", min=1)] = 5,
    output: Annotated[
        str,
        "Output file; - is stdout. FOLDER/ gets a file per block, and existing ones are kept.",
        "FILE",
    ] = "-",
    names: Annotated[bool, "Write label names instead of ids."] = False,
    empty: Annotated[
        str,
        Words(("bias", "nothing")),
        "Prediction for points without features: the labels with the largest biases, or none",
    ] = "bias",
    allow: AllowFlag = None,
    deny: DenyFlag = None,
    reading: Reading,
    n_jobs: Annotated[int, "Number of threads; -1 for all."] = -1,
    as_json: Annotated[bool, option("Write one JSON object per point.", names="--json")] = False,
    ray: Annotated[
        str | None,
        "Predict on the Ray cluster at this address; 'local' uses processes on this "
        "machine. --output is a folder of parts; existing parts are kept.",
        "ADDRESS",
    ] = None,
    parquet: Annotated[
        bool, "Write a folder of tables with the columns row, labels and scores."
    ] = False,
) -> None:
    """Predict the best labels of points."""
    in_parts = ray is not None or parquet or output.endswith("/")
    if parquet and as_json:
        raise ValueError("--parquet cannot be combined with --json")
    if not in_parts:
        check_targets({"--output": output}, {"MODEL": model, "DATA": data})
    elif "-" in {output, data}:
        flag = "--parquet" if ray is None else "--ray"
        raise ValueError(f"{flag} requires a file as DATA and a folder as --output, got -")
    lines = LineFormat(top_k, empty, names, as_json, parquet, allow, tuple(deny or ()))
    classifier = load_classifier(model, n_jobs)
    if not isinstance(classifier, TextClassifier):
        refuse_flags("with a model of matrices", {"--allow": allow, "--deny": deny})
    if names:
        _check_names(model, classifier)
    with reading.blocks(classifier, data, model) as blocks:
        if in_parts:
            settings = {"data": [Path(data).name, _size(data)]}
            if ray is None:
                parts = Parts(Path(output), model, lines, settings)
                n_points = predict_parts(classifier, blocks, parts, lines)
            else:
                address = None if ray == "local" else ray
                on: dict[str, Any] = {"settings": settings, "address": address, "verbose": True}
                n_points = predict_ray(model, blocks, output, lines=lines, **on)
            print_message(f"{n_points:,} points in the parts of {escaped(output)}")
            return
        done = predict_blocks(classifier, blocks, output, lines)
    texts = isinstance(classifier, TextClassifier)
    _tell(blocks.name, done, output, empty, texts=texts, evaluable=texts or not names)


def _check_names(path: str, model: Model) -> None:
    """Refuse a model without label names."""
    try:
        if not isinstance(model, TextClassifier):
            label_names(model)
    except ValueError:
        hint = "give 'defrag train' --label-names"
        raise ValueError(f"{path}: has no label names: {hint}") from None


def _tell(
    name: str, done: Predicted, output: str, empty: str, *, texts: bool, evaluable: bool
) -> None:
    """Print what was predicted, and the command that evaluates it."""
    name, share = escaped(name), f"{done.n_bare:,} of {done.n_points:,}"
    if done.n_bare and texts:
        print_message(f"{name}: {share} texts have no known word: they get no labels")
    elif done.n_bare:
        given = "the labels with the largest biases (--empty nothing: none)"
        given = given if empty == "bias" else "no labels"
        print_message(f"{name}: {share} points have no features: they get {given}")
    if output != "-":
        noun = "texts" if texts else "points"
        print_message(f"{done.n_points:,} {noun} written to {escaped(output)}")
        if evaluable:
            print_next(f"defrag evaluate {name} {escaped(output)}")


def _size(data: str) -> int:
    """Return the size in bytes of a file, or of all files in a folder; 0 for those of a store."""
    paths = map(Path, () if is_uri(data) else corpus_files(data))
    files = [file for path in paths for file in (path.iterdir() if path.is_dir() else [path])]
    return sum(file.stat().st_size for file in files)
