"""``defrag suggest``: suggest the labels of one text on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from defrag._progress import escaped
from defrag.cli._console import JsonFlag, examples, print_json, print_message, terminal
from defrag.cli._data import AllowFlag, DenyFlag, LanguageFlag
from defrag.cli._flags import argument, option
from defrag.explain import Explanation
from defrag.io.files import open_input
from defrag.prediction import load_classifier
from defrag.text import TextClassifier

HELP = (
    "Suggest the labels of one text.\n\n"
    "Prints labels, best first, with their scores as bars. --why also shows the words behind each "
    "label, marked in the text where the terminal has colours. --recall prints a shortlist for "
    "whoever chooses among the labels, a language model or a person."
) + examples(
    'defrag suggest model.safetensors "a text to be labelled"',
    "defrag suggest model.safetensors --why < letter.txt",
    "cat letter.txt | defrag suggest model.safetensors --top-k 3 --json",
    "defrag suggest model.safetensors --recall 0.9 --json < letter.txt",
)

_BAR_WIDTH = 30
_WORDS = 5
_MAX_NAME_WIDTH = 40
# Smaller contributions would be printed as zero.
_MIN_SHOWN = 0.0005
# Characters shown on both sides of a marked word of a long text.
_CONTEXT = 40
_SHORT_TEXT = 600


class Suggested(NamedTuple):
    """A suggested label, its score, and its name if it has one."""

    label: str
    score: float
    name: str | None

    @property
    def title(self) -> str:
        """What is shown: the name and the label."""
        return self.label if self.name is None else f"{self.name} ({self.label})"


def suggest(
    *,
    model: Annotated[str, argument("MODEL", "The model file.")],
    text: Annotated[str, argument("TEXT", "The text; - is stdin.", show_default=False)] = "-",
    top_k: Annotated[int, option("Number of labels.", min=1)] = 5,
    threshold: Annotated[float, option("Minimum score of a label.", min=0.0, max=1.0)] = 0.0,
    answers: Annotated[bool, "Only labels that are likely enough to be answers."] = False,
    recall: Annotated[
        float | None,
        option(
            "As few labels as hold this share of the reachable ones, instead of --top-k.",
            min=0.0,
            max=0.99,
        ),
    ] = None,
    why: Annotated[bool, "Show the words behind each label."] = False,
    language: LanguageFlag = None,
    allow: AllowFlag = None,
    deny: DenyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Suggest the labels of one text."""
    classifier = load_classifier(model, None)
    if not isinstance(classifier, TextClassifier):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{model}: was trained on matrices, which have no texts: use 'defrag predict'"
        )
    if recall is not None and answers:
        raise ValueError("--answers changes nothing with --recall")
    words = _read_text() if text == "-" else text
    if language is not None and classifier.thesaurus_ is None:
        raise ValueError(f"--language changes nothing: {model} has no thesaurus")
    asked: dict[str, Any] = {"allow": allow, "deny": deny or (), "answers": answers}
    promise = None if recall is None else classifier.promise(recall)
    if recall is None:
        names, scores = classifier.predict_topk([words], k=top_k, **asked)
        ranked = list(zip(names[0], scores[0], strict=True))
    else:
        asked.pop("answers")
        ranked = [one[:2] for one in classifier.shortlist([words], recall, **asked)[0]]
        print_message(f"expected: {promise}")
    found = [
        Suggested(str(label), float(score), classifier.label_name(str(label), language))
        for label, score in ranked
        if label != "" and score >= threshold
    ]
    reasons = [classifier.explain(words, one.label) for one in found] if why else []
    if as_json:
        kind = classifier._labels_.score_kind
        held = {} if promise is None else {"promise": promise._asdict()}
        print_json({"scores": kind, **held, **_as_dict(found, reasons)})
    elif found:
        _show(found, reasons)
    else:
        print_message("no label: the text has no known word, or none is likely enough")


def _read_text() -> str:
    if sys.stdin.isatty():
        print_message("reading the text from standard input; end it with Ctrl-D")
    with open_input("-") as stream:
        content = stream.read_all()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"<stdin>: must be UTF-8, got another byte at {error.start}") from error


def _as_dict(found: list[Suggested], reasons: Sequence[Explanation]) -> dict[str, Any]:
    labels: list[dict[str, Any]] = [
        {name: value for name, value in one._asdict().items() if value is not None} for one in found
    ]
    for label, reason in zip(labels, reasons, strict=False):
        label["why"] = [
            {"word": one.name, "adds": one.contribution, "without": one.without}
            for one in reason.top(_WORDS)
        ]
    return {"labels": labels}


def _show(found: list[Suggested], reasons: Sequence[Explanation]) -> None:
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - not for --json
    from rich.text import Text  # noqa: PLC0415 - as above

    from defrag.explain.showing import bar, excerpt  # noqa: PLC0415 - as above

    console = terminal()
    names = [escaped(one.title) for one in found]
    width = min(_MAX_NAME_WIDTH, max(map(cell_len, names)))
    for place, (name, score) in enumerate(zip(names, (one.score for one in found), strict=True)):
        shown = name if cell_len(name) > width else set_cell_size(name, width)
        drawn = Text.assemble(
            (shown, "bold"), f"  {score:.4f}  ", (bar(score, _BAR_WIDTH), "green")
        )
        console.print(drawn, soft_wrap=True)
        if reasons:
            console.print(Text(f"  {_words(reasons[place])}", style="dim"), soft_wrap=True)
            if console.is_terminal:
                console.print(excerpt(reasons[place], context=_CONTEXT, short=_SHORT_TEXT), "")


def _words(reason: Explanation) -> str:
    """Return the words with noticeable contributions, and the contributions."""
    shown = [
        f"{escaped(one.name)} {one.contribution:+.3f}"
        for one in reason.top(_WORDS)
        if abs(one.contribution) >= _MIN_SHOWN
    ]
    return ", ".join(shown) or "no single word"
