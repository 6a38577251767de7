"""The page of ``defrag demo``: comparison of methods, missing words, groups, and examples."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from defrag.lab.comparison import (
    ACCURACY,
    COST,
    FIGURES,
    cost_plots,
    label_plots,
    label_tables,
    rare_plot,
    run_facts,
    winners,
)
from defrag.lab.page import Facts, Html, Page, Section
from defrag.lab.plots import NO_PLOTS, can_plot
from defrag.lab.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.lab.comparison import Names
    from defrag.lab.records import Result

__all__ = ["Example", "demo_page"]


@dataclass(frozen=True)
class Example:
    """A point with its best labels.

    Parameters
    ----------
    words : list of str
        Its features with the largest values.
    predicted : list of str
        Names of the best labels, best first.
    right : list of bool
        Which of them are true.
    because : list of str
        The features that contribute most to the score of the first label.
    labels : int
        Number of true labels.
    """

    words: list[str]
    predicted: list[str]
    right: list[bool]
    because: list[str]
    labels: int


def demo_page(
    results: Sequence[Result],
    groups: Sequence[list[str]],
    examples: Sequence[Example],
    *,
    shown_method: str,
    command: str,
    label_names: Names = None,
) -> Page:
    """Return the page of the demonstration.

    Parameters
    ----------
    results : sequence of Result
        The methods.
    groups : sequence of list of str
        Words of some groups.
    examples : sequence of Example
        Points with predictions.
    shown_method : str
        The method that predicted them.
    command : str
        Command line that reproduces the page.
    label_names : sequence of str, optional
        Names of the labels.
    """
    accuracy = table_of("Accuracy on test packages", results, ACCURACY)
    cost = table_of("Cost", results, [key for key in COST if key != "peak_memory"])
    done = [result for result in results if result.statistics]
    erased = [r for r in done if any(record.get("erasure") for record in r.records)]
    rare = [r for r in done if any(record.get("rare") for record in r.records)]
    counted = [r for r in done if any(record.get("labels") for record in r.records)]
    drawn = can_plot() and bool(done)
    plain = () if can_plot() else (NO_PLOTS,)
    return Page(
        "defrag demo",
        "Debian packages: the words of their names and descriptions predict the packages that they "
        "depend on, recommend or suggest. Everything below was just trained and measured on this "
        "machine.",
        [
            Section("Best method by measure", plain, [Facts(winners(accuracy, ["peak_memory"]))]),
            Section("Methods", (), [accuracy, cost], cost_plots(done) if drawn else ()),
            Section(
                "Rare labels",
                ["Re-ranking (REFRAG) raises labels that few training packages have."],
                (),
                rare_plot(rare) if drawn else (),
            ),
            Section(
                "Labels that gain and lose",
                ["Among the most frequent labels of the test packages."],
                label_tables(counted, label_names),
                label_plots(counted, label_names) if drawn else (),
            ),
            Section(
                "Missing words",
                ["Test packages lose some of their words; FIAT imputes them before prediction."],
                (),
                FIGURES["erasure"](erased)[:2] if drawn and erased else (),
            ),
            Section(
                "Groups of words",
                ["Words that DEFRAG-X put into one group, because the same packages use them."],
                [_groups(groups)],
                FIGURES["sizes"](done) if drawn else (),
            ),
            Section(
                "Ten packages",
                [f"Predicted by {shown_method}, best first: ✓ right, ✗ wrong."],
                [_examples(examples)],
            ),
            Section("What was run", (), [Facts({"command": command, **run_facts(results)})]),
        ],
    )


def _groups(groups: Sequence[list[str]]) -> Html:
    items = "".join(f"<li>{escape(' · '.join(words))}</li>" for words in groups)
    return Html(f"<ul>{items}</ul>", "".join(f"- {', '.join(words)}\n" for words in groups))


def _examples(examples: Sequence[Example]) -> Html:
    rows, lines = [], ["| package | predicted | because of |", "|---|---|---|"]
    for one in examples:
        marks = [("✓", "right") if right else ("✗", "wrong") for right in one.right]
        pairs = list(zip(one.predicted, marks, strict=True))
        labels = "".join(
            f'<span class="{kind}">{sign} {escape(name)}</span>' for name, (sign, kind) in pairs
        )
        rows.append(
            f'<tr><th scope="row">{escape(" ".join(one.words))}</th>'
            f'<td class="text"><span class="labels">{labels}</span></td>'
            f'<td class="text">{escape(", ".join(one.because))}</td></tr>'
        )
        shown = ", ".join(f"{sign} {name}" for name, (sign, _) in pairs)
        lines.append(f"| {' '.join(one.words)} | {shown} | {', '.join(one.because)} |")
    html = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Ten packages"><table>'
        '<thead><tr><th scope="col">package</th><th scope="col" class="text">predicted</th>'
        '<th scope="col" class="text">the first because of</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return Html(html, "\n".join(lines) + "\n")
