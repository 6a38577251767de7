"""``defrag labels``: list the labels of a model of texts, search them by name, and add some."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from defrag._progress import escaped
from defrag.cli._console import JsonFlag, examples, print_json, print_message
from defrag.cli._data import LanguageFlag, check_model_path, check_stdout
from defrag.cli._flags import File, argument, option, refuse_flags
from defrag.persistence import describe
from defrag.prediction import load_classifier
from defrag.text import TextClassifier

HELP = (
    "List the labels of a model of texts, search them by name, or add some.\n\n"
    "Prints labels and their names; labels without training points are marked. --search finds "
    "names that have some words, or else those that are spelt most alike. --add reads labels from "
    "a thesaurus: new ones, and those that have been renamed, withdrawn, or replaced by others. "
    "Nothing is trained."
) + examples(
    "defrag labels model.safetensors --search heat --language de",
    "defrag labels model.safetensors --add news.ttl",
    "defrag labels model.safetensors --add news.jsonl --output new.safetensors",
)


def labels(
    *,
    model: Annotated[str, argument("MODEL", "The model file.")],
    search: Annotated[str | None, "Words of a name, or a label.", "TEXT"] = None,
    top_k: Annotated[int, option("Number of labels that --search prints.", min=1)] = 10,
    language: LanguageFlag = None,
    add: Annotated[File, "A thesaurus with labels to add or change."] = None,
    output: Annotated[File, "Where --add writes; default: MODEL."] = None,
    as_json: JsonFlag = False,
) -> None:
    """List, search and add the labels of a model of texts."""
    if add is None:
        refuse_flags("without --add", {"--output": output})
    else:
        refuse_flags("with --add", {"--search": search, "--language": language})
        check_stdout(output or model, as_json=as_json)
        check_model_path(output or model)
    classifier = load_classifier(model, None)
    if not isinstance(classifier, TextClassifier):
        raise ValueError(f"{model}: was trained on matrices")  # noqa: TRY004 - a wrong file
    if add is not None:
        _add(classifier, model, add, output or model, as_json=as_json)
        return
    found, exact = _found(classifier, search, top_k, language)
    if as_json:
        print_json({"labels": found, "exact": exact})
        return
    if not found:
        print_message("no name of a label is like this")
    elif not exact:
        print_message("no label has these words; did you mean:")
    for one in found:
        matched = one.get("matched", one["name"])
        also = "" if matched == one["name"] else f", also {matched}"
        state = "" if one["points"] else "\tno training points"
        typer.echo(f"{escaped(one['label'])}\t{escaped(one['name'] + also)}{state}")


def _found(
    model: TextClassifier, words: str | None, n: int, language: str | None
) -> tuple[list[dict[str, Any]], bool]:
    """Return labels as dictionaries, and whether they have the words."""
    known, exact = model.classes_.astype(str).tolist(), True
    if words is None:
        rows = [
            {"label": label, "name": model.label_name(label, language) or label} for label in known
        ]
    else:
        found = model.find_labels(words, n, language=language)
        exact = all(one.exact for one in found)
        rows = [{"label": one.label, "name": one.name, "matched": one.matched} for one in found]
    trained = set(known[: model.base_.n_labels_])
    return [{**row, "points": row["label"] in trained} for row in rows], exact


def _add(model: TextClassifier, source: str, path: str, output: str, *, as_json: bool) -> None:
    """Add labels, save the model, and say what has changed."""
    before = len(model.classes_)
    weights = describe(source)["weight_type"] or "float32"
    model.add_labels(path).save(output, weights=weights)
    n_moved = int(np.count_nonzero(model._labels_.current != np.arange(len(model.classes_))))
    counts = {"labels": len(model.classes_), "new": len(model.classes_) - before,
              "withdrawn": 0 if model._labels_.current is None else n_moved}  # fmt: skip
    if as_json:
        print_json({"model": output, **counts})
    else:
        shown = f"{counts['new']:,} new, {counts['withdrawn']:,} withdrawn or replaced"
        typer.echo(f"{counts['labels']:,} labels in {escaped(output)}: {shown}")
