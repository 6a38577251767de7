"""Models as people exchange them: a folder, or a repository of the Hub of Hugging Face.

It has one file, and a card that is made from the model and says what it is. ``huggingface_hub`` is
asked only for names that are no folders, and nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from defrag.io.files import PathLike, atomic_writer
from defrag.metrics import evaluate
from defrag.persistence import describe, load
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["from_pretrained", "push_to_hub", "save_pretrained"]

MODEL_FILE, CARD_FILE = "model.safetensors", "README.md"
_LICENCES = ("model", "data", "labels")
_EDGES = (0, 1, 3, 11, 101)
"""Labels are shown by the number of their training texts, from each of these to the next."""


def save_pretrained(
    model: TextClassifier,
    folder: PathLike,
    *,
    title: str = "",
    data: str = "",
    licences: Mapping[str, str] | None = None,
    test: tuple[Sequence[str], Any] | None = None,
    weights: str = "float32",
) -> Path:
    """Write a model and its card to a folder.

    Parameters
    ----------
    model : TextClassifier
        Fitted.
    folder : path
        The folder; it is made if it does not exist.
    title : str, optional
        What the model is called; default: the name of the folder.
    data : str, optional
        What the training texts are and where they come from.
    licences : dict, optional
        Of ``"model"``, ``"data"`` and ``"labels"``; the card says which are not stated.
    test : pair of texts and lists of labels, optional
        Other texts than those of training: the card then has figures, also for rare labels.
    weights : {"float32", "float16", "int8", "int4"}, default="float32"
        As ``save`` of the model.

    Returns
    -------
    folder : Path
        With ``model.safetensors`` and ``README.md``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag import TextClassifier
    >>> from defrag.hub import from_pretrained, save_pretrained
    >>> texts, labels = ["quick sort", "merge sort", "hash map"], [["sorts"], ["sorts"], ["maps"]]
    >>> model = TextClassifier(random_state=0).fit(texts, labels)
    >>> folder = save_pretrained(model, pathlib.Path(tempfile.mkdtemp()) / "sorts")
    >>> from_pretrained(folder).predict_topk(["quick sort"], k=1)[0].tolist()
    [['sorts']]
    """
    if not isinstance(model, TextClassifier):
        raise TypeError(f"model must be a TextClassifier, got a {type(model).__name__}")
    stated = dict(licences or {})
    if unknown := set(stated) - set(_LICENCES):
        raise ValueError(f"licences must be of {', '.join(_LICENCES)}, got {sorted(unknown)}")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    model.save(target / MODEL_FILE, weights=weights)
    data = data or "The training texts are not described."
    said = {"title": title or target.resolve().name, "data": data}
    card = _card(model, target / MODEL_FILE, said, stated, _figures(model, test))
    with atomic_writer(target / CARD_FILE) as file:
        file.write(card.encode())
    return target


def from_pretrained(
    name: PathLike, *, revision: str | None = None, token: str | None = None
) -> TextClassifier:
    """Load a model from a folder, or from the Hub.

    Parameters
    ----------
    name : path or str
        A folder, or else the name of a repository, ``who/what``, which needs
        ``pip install 'defrag[hub]'``.
    revision : str, optional
        A branch, tag or commit of the repository; a commit never changes.
    token : str, optional
        Token of the Hub; default: that of ``hf auth login``.

    Returns
    -------
    model : TextClassifier
        The model. Its file is checked as by :func:`defrag.load`, and runs no code.
    """
    path = Path(name) / MODEL_FILE
    if not path.is_file():
        if Path(name).is_dir() or os.fspath(name).count("/") != 1:
            raise FileNotFoundError(f"{path} does not exist, and is no repository who/what")
        asked: Any = {"repo_id": os.fspath(name), "filename": MODEL_FILE}
        path = Path(_hub().hf_hub_download(**asked, revision=revision, token=token))
    model = load(path)
    if not isinstance(model, TextClassifier):
        raise TypeError(f"{path} must be of a TextClassifier, got a {type(model).__name__}")
    return model


def push_to_hub(
    model: TextClassifier,
    repository: str,
    *,
    private: bool = False,
    token: str | None = None,
    **card: Any,
) -> str:
    """Write a model and its card to a repository of the Hub, which is made if it does not exist.

    Parameters
    ----------
    model : TextClassifier
        Fitted.
    repository : str
        Its name, ``who/what``.
    private : bool, default=False
        Whether a new repository is private.
    token : str, optional
        Token of the Hub; default: that of ``hf auth login``.
    **card
        As of :func:`save_pretrained`.

    Returns
    -------
    url : str
        The address of the commit.
    """
    api = _hub().HfApi(token=token)
    with tempfile.TemporaryDirectory() as name:
        folder = save_pretrained(model, name, **{"title": repository, **card})
        api.create_repo(repository, private=private, exist_ok=True)
        done = api.upload_folder(
            repo_id=repository, folder_path=folder, commit_message="Model and card by defrag"
        )
    return str(done.commit_url)


def _hub() -> ModuleType:
    try:
        import huggingface_hub  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("the Hub needs huggingface_hub: pip install 'defrag[hub]'") from None
    found: ModuleType = huggingface_hub
    return found


# --- The card.

_CARD = """\
---
{head}
---
# {title}

Suggests labels for texts, out of {n_labels:,}, and shows which words speak for each of them.
Trained with [defrag](https://pypi.org/project/defrag/).

## Use

```python
# pip install 'defrag[hub]'
from defrag.hub import from_pretrained

model = from_pretrained({name})  # who/what, or a folder
labels, scores = model.predict_topk(["a text"], k=5)
print(model.explain("a text"))
```

Scores are {scores}. `predict` returns answers: {answers}.

## Labels and data

{data}

{trained:,} labels have training texts{assignments}; {named:,} more are known by their names only.
{names}{frequent}

## Figures

{figures}

## Licences

{licences}

## File

`{file}`: {megabytes:.1f} MB, {features:,} features, weights {weight_type}, SHA-256
`{checksum}`. Loading it runs no code. Made by

    {model}
"""


def _card(
    model: TextClassifier,
    path: Path,
    said: Mapping[str, str],
    licences: Mapping[str, str],
    figures: str,
) -> str:
    """Return the card of a model that is in a file."""
    facts, points, thesaurus = describe(path), _points(model), model.thesaurus_
    languages = [] if thesaurus is None else [code for code in thesaurus.languages if code]
    head = {"library_name": "defrag", "pipeline_tag": "text-classification", "language": languages,
            "license": licences.get("model"), "tags": ["multi-label", "safetensors"]}  # fmt: skip
    best = sorted(points, key=lambda label: (-points[label], str(label)))[:5]
    shown = (f"{model.label_name(label) or label} ({points[label]:,})" for label in best)
    return _CARD.format(
        head="\n".join(f"{key}: {json.dumps(value)}" for key, value in head.items() if value),
        **said,
        name=json.dumps(said["title"]),
        n_labels=len(model.classes_),
        scores="no probabilities" if model._labels_.ranker is None else "probabilities",
        answers=model.answering_ or "labels with a score above 0.5",
        trained=model.base_.n_labels_,
        assignments=f", {sum(points.values()):,} assignments" if points else "",
        named=len(model.classes_) - model.base_.n_labels_,
        names="" if thesaurus is None else f"Names: {repr(thesaurus)[1:-1]}. ",
        frequent=f"The most frequent: {', '.join(shown)}." if points else "",
        figures=figures,
        licences="\n".join(f"- {what}: {licences.get(what, 'not stated')}" for what in _LICENCES),
        file=MODEL_FILE,
        megabytes=facts["bytes"] / 1e6,
        features=facts["features"],
        weight_type=facts["weight_type"],
        checksum=hashlib.sha256(path.read_bytes()).hexdigest(),
        model=" ".join(repr(model).split()),
    )


def _points(model: TextClassifier) -> dict[Any, int]:
    """Return the training texts of each label, nothing if the model does not know them."""
    for part in (model.answers_, model.naming_):
        if part is not None and len(part.points):
            return dict(zip(model.classes_.tolist(), part.points.tolist(), strict=False))
    return {}


def _figures(model: TextClassifier, test: tuple[Sequence[str], Any] | None) -> str:
    """Return how good a model is on other texts, and for rare labels."""
    if test is None:
        return "Not measured."
    (texts, truth), points = test, _points(model)
    found = model.predict_topk(texts, k=5)
    k = found[0].shape[1]  # fewer than 5 if there are fewer labels
    values = evaluate(truth, found, k=(1, k))
    names = dict.fromkeys(("P@1", f"P@{k}", f"nDCG@{k}", f"R@{k}"))
    shown = ", ".join(f"{name} {values[name]:.1f}" for name in names)
    lines = [f"On {len(texts):,} texts that the model was not trained on, in percent: {shown}."]
    if not points:
        return lines[0]
    asked, hits = Counter[int](), Counter[int]()
    for labels, best in zip(truth, found[0].tolist(), strict=True):
        for label in labels:
            place = bisect_right(_EDGES, points.get(label, 0)) - 1
            asked[place] += 1
            hits[place] += label in best
    lines += ["", f"| training texts of a label | its assignments | found among the best {k} |",
              "|---|---|---|"]  # fmt: skip
    for place, (low, high) in enumerate(pairwise((*_EDGES, None))):
        if asked[place]:
            words = f"{low} or more" if high is None else f"{low} to {high - 1}" if low else "none"
            lines.append(f"| {words} | {asked[place]:,} | {hits[place] / asked[place]:.1%} |")
    return "\n".join(lines)
