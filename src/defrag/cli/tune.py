"""``defrag tune``: choose the settings of a model of texts (:mod:`defrag.lab.tuning`)."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from defrag._progress import escaped, progress_pulse
from defrag.cli._console import JsonFlag, examples, print_json, print_message, print_next
from defrag.cli._data import Reading, WeightsFlag, check_model_path
from defrag.cli._flags import argument, option
from defrag.cli.compare import Reports, command_line
from defrag.lab.tuning import best_of, run_trials, table_of_trials, tuning_page

HELP = (
    "Choose the settings of a model of texts, and train it.\n\n"
    "Tries features, numbers of trees, one-vs-rest and C, one after the other, by training on four "
    "fifths of the texts and measuring nDCG@5 on the last. Trials end when the seconds of --budget "
    "are over; then the best model is trained on all texts and written to MODEL."
) + examples(
    "defrag tune docs.jsonl model.safetensors",
    "defrag tune docs.jsonl model.safetensors --budget 600 --report tune.html",
)


def tune(
    *,
    data: Annotated[str, argument("DATA", "Texts with labels.")],
    model: Annotated[str, argument("MODEL", "The model file, usually *.safetensors.")],
    budget: Annotated[float, option("Seconds for trials.", min=0.0)] = 300.0,
    weights: WeightsFlag = "float32",
    reading: Reading,
    random_state: Annotated[int, option("Seed.", names="--random-state --seed")] = 0,
    n_jobs: Annotated[int, "Number of threads; -1 for all."] = -1,
    reports: Reports,
    as_json: JsonFlag = False,
) -> None:
    """Choose the settings of a model of texts, and train it."""
    check_model_path(model)
    form = reading.texts_form(data)
    if form is None:
        raise ValueError(f"{data}: tune takes texts, and its name shows no format of texts")
    texts = reading.texts(data, form, required=True)
    run = {"random_state": random_state, "n_jobs": n_jobs}
    trials = run_trials(texts, budget=budget, say=print_message, **run)
    best = best_of(trials)
    with progress_pulse(f"training {best.name} on all texts"):
        fitted = best.model(**run).fit(*texts)
    fitted.save(model, weights=weights)
    facts = {"command": command_line(), "answers": fitted.answering_}
    reports.write(lambda: tuning_page(trials, facts))
    if as_json:
        print_json({"best": best.name, "trials": table_of_trials(trials).to_json()})
        return
    Console().print(table_of_trials(trials).to_rich())
    typer.echo(f"{escaped(model)}: {best.name}, trained on {len(texts.texts):,} texts")
    reports.tell()
    print_next(f"defrag suggest {escaped(model)} TEXT")
