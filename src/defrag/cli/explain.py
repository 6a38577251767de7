"""``defrag explain``: the features behind the score of a label."""

from __future__ import annotations

from typing import Annotated, Any

from defrag.cli._console import JsonFlag, examples, print_json, terminal
from defrag.cli._data import LanguageFlag, Reading
from defrag.cli._flags import argument, option, refuse_flags
from defrag.explain import Explanations
from defrag.prediction import AnyBlocks, Model, load_classifier
from defrag.text import TextClassifier

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


def explain(
    *,
    model: Annotated[str, argument("MODEL", "The model file.")],
    data: Annotated[str | None, argument("DATA", "Texts or points; --row selects one.")] = None,
    row: Annotated[int, option("The point of DATA; the first is 0.", min=0)] = 0,
    text: Annotated[str | None, "A text.", "TEXT"] = None,
    label: Annotated[str | None, "Name or id of the label; default: the best.", "LABEL"] = None,
    top_k: Annotated[int | None, option("Number of best labels to explain.", min=1)] = None,
    features: Annotated[int, option("Number of features to show.", min=1)] = 10,
    language: LanguageFlag = None,
    reading: Reading,
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
        reading.refuse_columns("without DATA")
    classifier = load_classifier(model, None)
    word: Any = None if label is None else _label_of(classifier, label)
    if data is None and text is None:
        found: Any = classifier.label_features(word, n=features)
        _print(found, found.as_dict() if as_json else None, features)
        return
    given: Any = text
    if data is not None:
        with reading.blocks(classifier, data, model) as blocks:
            given = _point_of(blocks, row)
    elif not isinstance(classifier, TextClassifier):
        raise ValueError(f"{model}: was trained on matrices: give DATA instead of --text")
    of_texts: dict[str, Any] = {"language": language}
    if not isinstance(classifier, TextClassifier):
        refuse_flags("with a model of matrices", {"--language": language})
        of_texts = {}
    found = classifier.explain(given, word, k=top_k, **of_texts)
    several = found if isinstance(found, Explanations) else [found]
    for one in several:
        _print(one, one.as_dict(features) if as_json else None, features)


def _label_of(model: Model, word: str) -> Any:
    """Return the label that a word denotes: a name, a class, or otherwise an id."""
    if isinstance(model, TextClassifier):
        return word
    if model.class_names_ is not None:
        return next((one for one in model.class_names_ if str(one) == word), word)
    if model.label_names_ is not None and word in model.label_names_:
        return word
    return int(word) if word.isdecimal() else word


def _point_of(blocks: AnyBlocks, row: int) -> Any:
    """Return a text, or a matrix of one point."""
    n_points = 0
    for block in blocks:
        is_texts = isinstance(block, list)
        size = len(block) if is_texts else block.shape[0]
        if row < n_points + size:
            return block[row - n_points] if is_texts else block[[row - n_points]]
        n_points += size
    raise ValueError(f"{blocks.name}: --row must be below {n_points}, got {row}")


def _print(found: Any, values: dict[str, Any] | None, n: int) -> None:
    if values is not None:
        print_json(values)
    else:
        terminal().print(found.table(n))
