"""What ``defrag demo`` shows: a model of texts, trained, measured and explained on a page.

The command calls :func:`run_demo`, prints the tables and writes the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from rich.table import Table as RichTable
from rich.text import Text

from defrag import TextClassifier
from defrag._progress import progress_pulse
from defrag.io import LabelledTexts, load_dataset
from defrag.lab.corpus import some_texts
from defrag.lab.page import COLUMNS, Html, Page, Row, Section, Table, listed
from defrag.lab.peer_program import timed
from defrag.lab.plots import NO_PLOTS, Plot, Series, bars, can_plot, lines
from defrag.lab.records import machine, single, size_of, versions
from defrag.lab.texts import DEPTH, FREQUENCIES, metrics_of_model

SHOWN = ("P@1", "P@5", "nDCG@5", "micro-F1", "train_wall", "predict_ms", "model_bytes")
"""Columns of the table of models."""

_QUICK_TRAIN, _QUICK_TEST = 4000, 1000
_SHARES = (0.1, 0.3, 1.0)
_N_EXAMPLES, _N_WORDS, _K = 10, 4, 5


@dataclass(frozen=True)
class Example:
    """A test text with its best labels.

    ``predicted`` are the best labels, ``right`` which of them are true, ``answers`` which are
    likely enough to be answers, and ``because`` the words behind the first one.
    """

    text: str
    predicted: list[str]
    right: list[bool]
    answers: list[bool]
    because: list[str]


@dataclass(frozen=True)
class Demo:
    """What was found: numbers of models by the texts they were trained on, and examples."""

    n_test: int
    rows: list[Row]
    numbers: list[dict[str, float]]
    examples: list[Example]
    facts: dict[str, str]


def run_demo(*, quick: bool, random_state: int, n_jobs: int, say: Callable[[str], None]) -> Demo:
    """Train and measure models on more and more of the bundled texts.

    - ``quick``: whether only some of the texts are used.
    - ``random_state``, ``n_jobs``: seed and number of threads.
    - ``say``: is told what happens.
    """
    with progress_pulse("loading the bundled texts"):
        data = load_dataset("debian")
        train = data.texts("train", _QUICK_TRAIN if quick else None)
        test = data.texts("test", _QUICK_TEST if quick else None)
    order = np.random.default_rng(random_state).permutation(len(train.texts))
    rows, numbers, facts = [], [], {}
    for share in _SHARES:
        n_texts = max(2, int(share * len(order)))
        own = some_texts(train, np.sort(order[:n_texts]))
        model = TextClassifier(random_state=random_state, n_jobs=n_jobs)
        took, _ = timed(model.fit, *own)
        asked, _ = timed(model.predict_topk, test.texts, DEPTH)
        values = {
            **metrics_of_model(model, own, test),
            "predict_ms": 1e3 * asked["wall"] / len(test.texts),
            "train_wall": took["wall"],
            "model_bytes": float(size_of(model)),
        }
        numbers.append({**values, "texts": float(n_texts)})
        rows.append(Row(f"{n_texts:,}", single(values)))
        n_labels = len(model.classes_)
        say(f"{n_texts:,} texts, {n_labels:,} labels: trained in {took['wall']:.1f} s")
        facts = {"features": model.vectorizer_.trial_ or "words and pairs of words",
                 "answers": model.answering_}  # fmt: skip
    described = {**versions(), **machine(), "threads": n_jobs}
    facts["run on"] = ", ".join(f"{name} {value}" for name, value in described.items())
    return Demo(len(test.texts), rows, numbers, _examples(model, test, random_state), facts)


def _examples(model: TextClassifier, test: LabelledTexts, seed: int) -> list[Example]:
    """Return some test texts with their best labels."""
    gold = test.labels or []
    known = [i for i, row in enumerate(gold) if row]
    found = []
    for i in sorted(np.random.default_rng(seed).permutation(known)[:_N_EXAMPLES].tolist()):
        text = test.texts[i]
        names = [one for one in model.predict_topk([text], _K)[0][0].tolist() if one]
        answers, true = set(model.predict([text])[0]), set(gold[i])
        why = model.explain(text, names[0]).top(_N_WORDS) if names else []
        found.append(
            Example(
                text,
                names,
                [one in true for one in names],
                [one in answers for one in names],
                [one.name for one in why if one.contribution > 0],
            )
        )
    return found


# --- Tables on a terminal, and the page.

# The signs are needed where there is no colour.
_RIGHT, _WRONG = ("+", "green"), ("-", "red")
_MOST_CHARACTERS = 90


def table_of_models(demo: Demo) -> Table:
    """Return the table of all models."""
    title = f"Models of more and more texts, on {demo.n_test:,} test packages"
    return Table(title, [COLUMNS[key] for key in SHOWN], demo.rows, "texts")


def example_table(examples: Sequence[Example]) -> RichTable:
    """Return the table of texts and their best labels."""
    table = RichTable(
        title="What packages depend on, by their descriptions",
        caption=f"{_RIGHT[0]} right, {_WRONG[0]} wrong; bold: answers.",
        show_lines=True,
    )
    for head in ("description", "dependencies, best first", "the first because of"):
        table.add_column(head)
    for one in examples:
        predicted = Text()
        for name, right, answer in zip(one.predicted, one.right, one.answers, strict=True):
            sign, colour = _RIGHT if right else _WRONG
            predicted.append(f"{sign}{name} ", style=f"bold {colour}" if answer else colour)
        text = one.text if len(one.text) <= _MOST_CHARACTERS else one.text[:_MOST_CHARACTERS] + "…"
        table.add_row(Text(text), predicted, Text(", ".join(one.because)))
    return table


def demo_page(demo: Demo, *, command: str) -> Page:
    """Return the page of the demonstration; ``command`` reproduces it."""
    last = demo.numbers[-1]
    lead = (
        f"From {last['texts']:,.0f} descriptions of Debian packages, a model has learnt in "
        f"{last['train_wall']:.1f} seconds what a package depends on: of {demo.n_test:,} other "
        f"packages, {last['P@1']:.0f}% really depend on the first label of the model, which takes "
        f"{last['predict_ms']:.2f} milliseconds to find it. All of this has just been trained and "
        "measured on this machine."
    )
    plain = () if can_plot() else (NO_PLOTS,)
    return Page(
        "defrag demo",
        lead,
        [
            Section("Ten packages", ["✓ right, ✗ wrong, best first; answers are underlined."],
                    [_examples_block(demo.examples)]),
            Section("Models", plain, [table_of_models(demo)],
                    _plots(demo.numbers) if can_plot() else ()),
            Section("What was run", (), [listed({"command": command, **demo.facts})]),
        ],
    )  # fmt: skip


def _plots(numbers: list[dict[str, float]]) -> list[Plot]:
    """Return gain and time by the number of texts, and recall by frequency."""
    x = [one["texts"] for one in numbers]
    names = [f"{name} texts" for name in FREQUENCIES]
    recall = [numbers[-1].get(f"R@5 {name}", 0.0) for name in FREQUENCIES]
    gains = [Series(key, x, [one[key] for one in numbers]) for key in ("P@1", "nDCG@5", "micro-F1")]
    took = [Series("training", x, [one["train_wall"] for one in numbers])]
    return [
        lines("More texts", "Gain by the number of training texts.", gains,
              ("training texts", "percent")),
        lines("Time", "Seconds of training, from strings to the model.", took,
              ("training texts", "seconds")),
        bars("Rare labels", "Recall among the best five, by the training texts of a label.",
             [Series("recall", [], recall)], names, ("training texts of a label", "percent")),
    ]  # fmt: skip


def _examples_block(examples: Sequence[Example]) -> Html:
    rows, plain = [], ["| package | predicted | because of |", "|---|---|---|"]
    for one in examples:
        labels, shown = "", []
        for name, right, answer in zip(one.predicted, one.right, one.answers, strict=True):
            kind, sign = ("right", "✓") if right else ("wrong", "✗")
            named = f"<u>{escape(name)}</u>" if answer else escape(name)
            labels += f'<span class="{kind}">{sign} {named}</span>'
            shown.append(f"{sign} {name}")
        because = ", ".join(one.because)
        rows.append(
            f'<tr><th scope="row">{escape(one.text)}</th>'
            f'<td class="text"><span class="labels">{labels}</span></td>'
            f'<td class="text">{escape(because)}</td></tr>'
        )
        plain.append(f"| {one.text} | {', '.join(shown)} | {because} |")
    html = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Ten packages"><table>'
        '<thead><tr><th scope="col">package</th><th scope="col" class="text">predicted</th>'
        '<th scope="col" class="text">the first because of</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return Html(html, "\n".join(plain) + "\n")
