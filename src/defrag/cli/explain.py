"""``defrag explain``: the features behind the score of a label."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defrag.cli._console import JsonFlag, escaped, examples, print_json, terminal
from defrag.cli._corpora import (
    AnyFromFlag,
    corpus_flags,
    form_of_corpus,
    form_of_matrix,
    refuse_columns,
)
from defrag.cli._data import BaseFlag, StrictFlag, TruncatedFlag, read
from defrag.cli._loading import label_of_word, load_classifier
from defrag.explain import Explanations
from defrag.io.corpora import CORPUS_FORMS, open_corpus
from defrag.io.documents import CorpusOptions  # noqa: TC001 - read by corpus_flags
from defrag.io.files import display_name
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from defrag.cli._corpora import AnyForm
    from defrag.typing import Csr

__all__ = ["HELP", "explain"]

HELP = (
    "Explain the score of a label for a point or a text.\n\n"
    "Prints what each feature adds to the score, and the score without the feature. Without a "
    "point or a text, prints the features that count most for --label."
) + examples(
    'defrag explain model.safetensors --text "a text to be labelled"',
    "defrag explain model.safetensors docs.jsonl --row 3 --label sorting",
    "defrag explain model.safetensors docs.csv --text-column body --row 3",
    "defrag explain model.safetensors test.txt --row 0 --top-k 3 --json",
    "defrag explain model.safetensors --label sorting",
)


@corpus_flags
def explain(
    *,
    options: CorpusOptions,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model file.")],
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="Texts or points; --row selects one.")
    ] = None,
    row: Annotated[int, typer.Option(min=0, help="The point of DATA; the first is 0.")] = 0,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="A text.")] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Name or id of the label; default: the best."),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="Number of best labels to explain.")
    ] = None,
    features: Annotated[int, typer.Option(min=1, help="Number of features to show.")] = 10,
    form: AnyFromFlag = None,
    zero_based: BaseFlag = None,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Explain the score of a label for a point or a text."""
    if data is not None and text is not None:
        raise ValueError("give DATA or --text, not both")
    if label is not None and top_k is not None:
        raise ValueError("give --label or --top-k, not both")
    if data is None and text is None and label is None:
        raise ValueError("give DATA with --row, --text or --label")
    if data is None:
        refuse_columns("without DATA", options)
    classifier = load_classifier(model)
    word: Any = None if label is None else label_of_word(classifier, label)
    if data is None and text is None:
        found: Any = classifier.label_features(word, n=features)
        _print(found, found.as_dict() if as_json else None, features)
        return
    if isinstance(classifier, TextClassifier):
        given: Any = text if data is None else _text_of(data, form, row, model, options)
    elif data is None:
        raise ValueError(f"{model}: was trained on matrices: give DATA instead of --text")
    else:
        kind = form_of_corpus(data, form, options)
        if kind is not None:
            raise ValueError(
                f"{display_name(data)}: are texts ({kind}), but {escaped(model)} was trained on "
                "matrices"
            )
        points = read(
            data,
            form=form_of_matrix(form),
            zero_based=zero_based,
            strict=strict,
            allow_truncated=allow_truncated,
        )
        given = _row_of(points.X, row, classifier.n_features_in_, display_name(data), model)
    found = classifier.explain(given, k=top_k) if word is None else classifier.explain(given, word)
    several = found if isinstance(found, Explanations) else [found]
    for one in several:
        _print(one, one.as_dict(features) if as_json else None, features)


def _print(found: Any, values: dict[str, Any] | None, n: int) -> None:
    if values is not None:
        print_json(values)
    else:
        terminal().print(found.table(n))


def _text_of(data: str, form: AnyForm | None, row: int, model: str, options: CorpusOptions) -> str:
    kind = form_of_corpus(data, form, options)
    if kind is None:
        raise ValueError(
            f"{display_name(data)}: {escaped(model)} was trained on texts: give --from FORMAT, "
            f"one of {', '.join(CORPUS_FORMS)}"
        )
    n_texts = 0
    with open_corpus(data, kind, replace(options, labels="ignored")) as corpus:
        for n_texts, document in enumerate(corpus.documents, 1):
            if n_texts == row + 1:
                return document.text
    raise ValueError(f"{display_name(data)}: --row must be below {n_texts}, got {row}")


def _row_of(X: Csr, row: int, n_features: int, name: str, model: str) -> Csr:
    if X.shape[1] != n_features:
        raise ValueError(
            f"{name}: {X.shape[1]} features, but {escaped(model)} was trained on {n_features}"
        )
    if row >= X.shape[0]:
        raise ValueError(f"{name}: --row must be below {X.shape[0]}, got {row}")
    return X[[row]]
