"""``defrag info``: describe a file.

Each entry of `_KINDS` is a kind of text file: a test of its first bytes, and its description.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from defrag._progress import progress_pulse
from defrag.cli._console import JsonFlag, escaped, examples, print_json, print_values
from defrag.cli._corpora import (
    AnyFromFlag,
    corpus_flags,
    form_of_corpus,
    form_of_matrix,
    read_corpus,
    text_options,
)
from defrag.cli._data import (
    BaseFlag,
    LabelsFlag,
    StrictFlag,
    TruncatedFlag,
    form_of_name,
    parse,
    read,
)
from defrag.io.documents import CorpusOptions  # noqa: TC001 - read by corpus_flags
from defrag.io.files import display_name, open_input
from defrag.io.groups import parse_groups
from defrag.metrics import balance, normalised_entropy
from defrag.persistence import describe as describe_model

if TYPE_CHECKING:
    from defrag.cli._data import Data
    from defrag.io.corpora import CorpusForm, LabelledTexts
    from defrag.io.files import InputStream
    from defrag.typing import Csr

__all__ = ["HELP", "info"]

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
_MODEL_ENDING = ".safetensors"


@corpus_flags
def info(
    *,
    options: CorpusOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file.")],
    labels: LabelsFlag = None,
    form: AnyFromFlag = None,
    zero_based: BaseFlag = None,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Describe a data file, a group file or a model file."""
    described: dict[str, Any] = {"file": display_name(file)}
    corpus = form_of_corpus(file, form, options)
    if corpus is not None:
        found = text_options(options, corpus, labels, None)
        described |= _describe_texts(read_corpus(file, corpus, found), corpus)
    elif labels or (form_of_matrix(form) or form_of_name(file)) is not None:
        # With flags for data, any file is read as data.
        data = read(
            file,
            labels=labels,
            form=form_of_matrix(form),
            zero_based=zero_based,
            strict=strict,
            allow_truncated=allow_truncated,
        )
        described |= _describe_data(data)
    elif _is_model(file):
        described |= describe_model(file)
    else:
        with open_input(file) as stream, progress_pulse(f"reading {escaped(display_name(file))}"):
            described |= _describe(stream, strict=strict, allow_truncated=allow_truncated)
    if as_json:
        print_json(described)
    else:
        print_values(_for_people(described))


def _for_people(described: dict[str, Any]) -> dict[str, Any]:
    """Add a summary of the file and a next command before the details."""
    file, kind = described["file"], described["kind"]
    features, labels = described.get("features"), described.get("labels")
    if kind == "data":
        known = "without labels" if labels is None else f"with {labels:,} labels"
        what = f"{described['points']:,} points of {features:,} features, {known}"
        command = f"defrag train {file} model.safetensors"
        command = command if labels is not None else f"defrag predict MODEL {file}"
    elif kind == "texts":
        known = "without labels" if labels is None else f"with {labels:,} labels"
        what = f"{described['texts']:,} texts {known}"
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


def _describe(stream: InputStream, *, strict: bool, allow_truncated: bool) -> dict[str, Any]:
    beginning = stream.peek(_BEGINNING_BYTES)
    for looks, describe in _KINDS:
        if looks(beginning):
            return describe(stream)
    return _describe_data(parse(stream, strict=strict, allow_truncated=allow_truncated))


def _looks_like_groups(beginning: bytes) -> bool:
    first = beginning.split(b"\n", 1)[0].split()
    return len(first) == 1 and first[0].isdigit()


def _describe_groups(stream: InputStream) -> dict[str, Any]:
    groups, n_clusters = parse_groups(stream, allow_missing=True)
    described: dict[str, Any] = {
        "kind": "groups",
        "groups": n_clusters,
        "features": len(groups),
        "features in no group": int(np.count_nonzero(groups < 0)),
    }
    if n_clusters:
        described |= {
            "group size": _spread(np.bincount(groups[groups >= 0], minlength=n_clusters)),
            "balance": balance(groups, n_clusters),
            "entropy": normalised_entropy(groups, n_clusters),
        }
    return described


_KINDS = ((_looks_like_groups, _describe_groups),)


def _describe_texts(corpus: LabelledTexts, form: CorpusForm) -> dict[str, Any]:
    texts, labels = corpus
    described: dict[str, Any] = {
        "kind": "texts",
        "form": form,
        "texts": len(texts),
        "characters per text": _spread(np.array([len(text) for text in texts])),
        "empty texts": sum(not text.strip() for text in texts),
        "labels": None,
    }
    if labels is not None:
        counts = Counter(name for row in labels for name in set(row))
        described |= {
            "labels": len(counts),
            "labels per text": _spread(np.array([len(set(row)) for row in labels])),
            "texts without labels": sum(not row for row in labels),
            "texts per label": _spread(np.array(list(counts.values()), dtype=np.int64)),
            "labels of one text": sum(count == 1 for count in counts.values()),
        }
    return described


def _describe_data(data: Data) -> dict[str, Any]:
    X, Y = data.X, data.Y
    described = {
        "kind": "data",
        "form": data.form.value,
        "points": X.shape[0],
        "features": X.shape[1],
        "labels": None if Y is None else Y.shape[1],
        "non-zeros": int(X.nnz),
        "non-zeros per point": _spread(np.diff(X.indptr)),
        "points without features": _empty_rows(X),
        "features never seen": _empty_columns(X),
        "value": _spread(X.data),
    }
    if Y is not None:
        described["labels per point"] = _spread(np.diff(Y.indptr))
        described["points without labels"] = _empty_rows(Y)
        described["labels without points"] = _empty_columns(Y)
    return described


def _spread(values: Any) -> dict[str, float] | None:
    """Return the smallest, the mean and the largest value, or None if there are none."""
    if not len(values):
        return None
    smallest, largest = values.min().item(), values.max().item()
    return {"min": smallest, "mean": float(values.mean(dtype=np.float64)), "max": largest}


def _empty_rows(matrix: Csr) -> int:
    return int(np.count_nonzero(np.diff(matrix.indptr) == 0))


def _empty_columns(matrix: Csr) -> int:
    return int(matrix.shape[1]) - len(np.unique(matrix.indices))
