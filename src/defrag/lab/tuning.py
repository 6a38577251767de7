"""What ``defrag tune`` does: settings of a model of texts, tried on held-out texts within a budget.

One thing is changed at a time: the features, then the classifier, then its cost C, each with the
best of what was tried before. Every fifth text is held out, equal texts together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defrag.io import LabelledTexts
from defrag.lab.corpus import some_texts
from defrag.lab.page import COLUMNS, Page, Row, Section, Table, listed
from defrag.lab.peer_program import timed
from defrag.lab.plots import NO_PLOTS, Series, can_plot, lines
from defrag.lab.records import single
from defrag.metrics.ranking import ndcg, precision
from defrag.specs import FOCUS, parse_composite, with_setting
from defrag.text import TextClassifier
from defrag.text.classifier import default_vectorizer
from defrag.text.ranker import fold_of

FEATURES: dict[str, dict[str, Any]] = {
    "words and pairs": {},
    "characters of 4": {"characters": 4},
    "characters of 5": {"characters": 5},
}
CLASSIFIERS = {"a tree": "label-tree", "three trees": "label-tree:n_trees=3", "DiSMEC": "dismec"}
COSTS = (1.0, 0.5, 2.0)

SHOWN = ("P@1", "nDCG@5", "train_wall")
"""Columns of the table of trials."""

_HELD_OUT, _K = 0.2, 5


@dataclass(frozen=True)
class Trial:
    """Settings, and how good they are on held-out texts; None for what the budget left out."""

    features: str
    classifier: str
    cost: float
    found: dict[str, float] | None = None

    @property
    def name(self) -> str:
        """The settings in words."""
        return f"{self.features}, {self.classifier}, C={self.cost:g}"

    @property
    def gain(self) -> float:
        """What the best trial has most of."""
        return -1.0 if self.found is None else self.found["nDCG@5"]

    def model(self, **run: Any) -> TextClassifier:
        """Return the unfitted model; ``run`` is its seed and its threads."""
        word = with_setting(CLASSIFIERS[self.classifier], "C", self.cost)
        _, base = parse_composite(word, FOCUS)
        return TextClassifier(base, default_vectorizer(**FEATURES[self.features]), **run)


def run_trials(
    data: LabelledTexts, *, budget: float, say: Callable[[str], None], **run: Any
) -> list[Trial]:
    """Try settings until the next one would take more than what is left of the budget.

    - ``budget``: seconds on the clock; the first trial is always run.
    - ``say``: told what was found.
    - ``run``: ``random_state`` and ``n_jobs``.
    """
    held = fold_of(data.texts, "held out") < _HELD_OUT
    if not held.any() or held.all():
        raise ValueError(f"{len(data.texts)} texts are too few to hold some out")
    begin = time.monotonic()
    done: list[Trial] = []
    slowest: dict[str, float] = {}
    for trial in _next_trials(done):
        left = budget - (time.monotonic() - begin)
        expected = max(slowest.get(trial.classifier, 0.0), max(slowest.values(), default=0.0) / 2)
        if done and expected > left:
            done.append(trial)
            say(f"{trial.name}: left out, {left:.0f} of {budget:.0f} seconds are left")
            continue
        found = _measured(trial, data, held, run)
        slowest[trial.classifier] = max(slowest.get(trial.classifier, 0.0), found["train_wall"])
        done.append(Trial(trial.features, trial.classifier, trial.cost, found))
        say(f"{trial.name}: nDCG@5 {found['nDCG@5']:.2f} after {found['train_wall']:.1f} s")
    return done


def best_of(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the highest nDCG@5; of equal ones, the first, which is the simplest."""
    return max(trials, key=lambda one: one.gain)


def _next_trials(done: list[Trial]) -> Iterator[Trial]:
    """Yield the trials that are to be run, given the results of those before."""
    first = Trial(next(iter(FEATURES)), next(iter(CLASSIFIERS)), COSTS[0])
    for name in FEATURES:
        yield Trial(name, first.classifier, first.cost)
    features = best_of(done).features
    for name in list(CLASSIFIERS)[1:]:
        yield Trial(features, name, first.cost)
    classifier = best_of(done).classifier
    for cost in COSTS[1:]:
        yield Trial(features, classifier, cost)


def _measured(
    trial: Trial, data: LabelledTexts, held: NDArray[np.bool_], run: dict[str, Any]
) -> dict[str, float]:
    """Train on the texts that are not held out, and measure on the others."""
    train, test = (some_texts(data, np.flatnonzero(part).tolist()) for part in (~held, held))
    model = trial.model(**run).set_params(answers=None)
    took, _ = timed(model.fit, *train)
    found, true = model.predict_topk(test.texts, _K)[0], test.labels
    k = min(_K, found.shape[1])
    gains = {"P@1": precision(true, found), f"nDCG@{_K}": ndcg(true, found, k)}
    return {**gains, "train_wall": took["wall"]}


# --- What is shown.


def table_of_trials(trials: Sequence[Trial]) -> Table:
    """Return the table of trials on held-out texts."""
    rows = [
        Row(one.name, note="left out: the budget was over") if one.found is None
        else Row(one.name, single(one.found))
        for one in trials
    ]  # fmt: skip
    return Table("Settings, on held-out texts", [COLUMNS[key] for key in SHOWN], rows, "settings")


def tuning_page(trials: Sequence[Trial], facts: dict[str, str]) -> Page:
    """Return the page of some trials."""
    run = [one for one in trials if one.found is not None]
    series = [
        Series(one.name, [found["train_wall"]], [found["nDCG@5"]])
        for one in run
        if (found := one.found) is not None
    ]
    axes = ("training, s", "nDCG@5")
    caption = "Up and to the left is better."
    plot = [lines("Gain and time", caption, series, axes)] if can_plot() else []
    lead = f"{len(run)} settings were tried; the best is {best_of(trials).name}."
    plain = () if can_plot() else (NO_PLOTS,)
    return Page("defrag tune", lead, [
        Section("Trials", plain, [table_of_trials(trials)], plot),
        Section("What was run", (), [listed(facts)]),
    ])  # fmt: skip
