"""``defrag info``: describe a file of texts, data, groups or a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from defrag._progress import escaped, progress_pulse
from defrag.cli._console import JsonFlag, examples, print_json, print_values
from defrag.cli._data import LabelsFlag, Reading
from defrag.cli._flags import argument
from defrag.io.files import display_name, open_input
from defrag.io.groups import parse_groups
from defrag.io.points import form_of_name, parse_points
from defrag.metrics import describe_groups, describe_points, describe_texts
from defrag.persistence import describe as describe_model

HELP = (
    "Describe a file of texts or data, a group file or a model file.\n\n"
    "A file with a name such as docs.jsonl contains texts. A file whose first line is one number "
    "is a group file; models are detected by their first bytes or by the name *.safetensors; all "
    "other files are data."
) + examples(
    "defrag info docs.jsonl",
    "defrag info train.txt.xz",
    "defrag info trainX.txt --labels trainY.txt",
    "defrag info train.svm --one-based",
    "defrag info groups.txt --json",
    "defrag info model.safetensors",
)

_BEGINNING_BYTES = 4096
_MOST_TEXTS = 20_000
_MODEL_ENDING = ".safetensors"


def info(
    *,
    file: Annotated[str, argument("FILE", "The file.")],
    labels: LabelsFlag = None,
    reading: Reading,
    as_json: JsonFlag = False,
) -> None:
    """Describe a data file, a group file or a model file."""
    described: dict[str, Any] = {"file": display_name(file)}
    corpus = reading.texts_form(file)
    if corpus is not None:
        texts = reading.texts(file, corpus, labels)
        described |= {"kind": "texts", "form": corpus, **describe_texts(*texts)}
        described |= _repeated(texts[0])
    elif labels or (reading.form or form_of_name(file)) is not None:
        # With flags for data, any file is read as data.
        points = reading.points(file, labels)
        described |= {"kind": "data", "form": points.form, **describe_points(points.X, points.Y)}
    elif _is_model(file):
        described |= describe_model(file)
    else:
        with open_input(file) as stream, progress_pulse(f"reading {escaped(display_name(file))}"):
            first = stream.peek(_BEGINNING_BYTES).split(b"\n", 1)[0].split()
            if len(first) == 1 and first[0].isdigit():
                groups = parse_groups(stream, allow_missing=True)
                described |= {"kind": "groups", **describe_groups(*groups)}
            else:
                points = parse_points(stream, **reading.checks)
                described |= {"kind": "data", "form": points.form}
                described |= describe_points(points.X, points.Y)
    if as_json:
        print_json(described)
    else:
        print_values(_for_people(described))


def _repeated(texts: Sequence[str]) -> dict[str, Any]:
    """Return the shares of entries that repeat others, by features that texts may have."""
    from defrag.agglomeration.tight import repeated_share  # noqa: PLC0415 - slow to import
    from defrag.text.classifier import default_vectorizer  # noqa: PLC0415 - slow to import

    some = texts[:: max(1, -(-len(texts) // _MOST_TEXTS))]
    found = {}
    with progress_pulse("comparing features"):
        for name, lengths in (("words and pairs", None), ("characters 3 to 5", (3, 5))):
            try:
                X = default_vectorizer(characters=lengths).fit_transform(some)
            except ValueError:  # no feature occurs in two texts
                continue
            found[f"repeated entries of {name}"] = repeated_share(X)
    return found


def _for_people(described: dict[str, Any]) -> dict[str, Any]:
    """Add a summary of the file and a next command before the details."""
    file, kind = described["file"], described["kind"]
    features, labels = described.get("features"), described.get("labels")
    if kind in {"data", "texts"}:
        noun = f"points of {features:,} features," if kind == "data" else "texts"
        known = "without labels" if labels is None else f"with {labels:,} labels"
        what = f"{described['points' if kind == 'data' else 'texts']:,} {noun} {known}"
        command = f"defrag train {file} model.safetensors"
        command = command if labels is not None else f"defrag predict MODEL {file}"
    elif kind == "groups":
        what = f"{described['groups']:,} groups of {features:,} features"
        command = f"defrag agglomerate DATA {file} OUT"
    elif labels is not None:
        over = described.get("parameters", {}).get("base")
        base = f" of {over['kind']}" if isinstance(over, dict) else ""
        what = f"{kind}{base}: predicts {labels:,} labels from {features:,} features"
        if kind == "text_classifier":
            what = f"{kind}{base}: predicts {labels:,} labels from texts, by {features:,} features"
        command = f"defrag predict {file} DATA"
    else:
        what = f"{kind}: transforms {features:,} features"
        command = f'defrag.load("{file}").transform(X)'
    return {"file": file, "what": what, "next": command, **_flat(described)}


def _flat(described: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model and of its nested models, one per line."""
    result = dict(described)
    nested = [("", result.pop("parameters", {}))]
    while nested:
        owner, values = nested.pop(0)
        for name, value in values.items():
            if isinstance(value, dict):
                result[f"{owner}{name}"] = value.get("kind")
                nested.append((f"{owner}{name}.", value.get("parameters", {})))
            else:
                result[f"{owner}{name}"] = value
    return result


def _is_model(file: str) -> bool:
    """Return whether a file is a model, by its first bytes or by its name."""
    if file.endswith(_MODEL_ENDING):
        return True
    if not Path(file).is_file():  # a model is memory-mapped, so it is never a pipe or stdin
        return False
    with Path(file).open("rb") as stream:
        return stream.read(9)[8:] == b"{"  # after the length of the header
