"""``defrag train``: train a classifier and write it to a model file.

The flags are those of the command and of all estimators that it can combine; which part takes a
flag is decided in :func:`build_classifier`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defrag import registry
from defrag._parameters import rules_of
from defrag._progress import escaped, progress_pulse
from defrag.classifiers._base import Classifier
from defrag.classifiers.estimate import estimate
from defrag.cli._console import JsonFlag, examples, print_json, print_message, print_next
from defrag.cli._data import (
    COLUMN_FLAGS,
    LabelNamesFlag,
    LabelsFlag,
    Reading,
    ThesaurusFlag,
    VocabularyFlag,
    WeightsFlag,
    check_model_path,
    check_stdout,
    check_targets,
    read_all_names,
)
from defrag.cli._flags import (
    Words,
    argument,
    estimator_flags,
    flag_name,
    option,
    own_flags,
    refuse_flags,
)
from defrag.cli._run import LongRun
from defrag.cli.app import VerbCommand
from defrag.io.corpora import CORPUS_FORMS, CorpusForm
from defrag.presets import PRESETS, choose_for_rows
from defrag.specs import NONE, VARIANTS, checked, compose, parse_value
from defrag.text import TextClassifier, TextVectorizer
from defrag.text.classifier import default_vectorizer
from defrag.typing import Csr

if TYPE_CHECKING:
    import inspect


HELP = (
    "Train a classifier and write it to a model file.\n\n"
    "DATA has texts with label names (JSON lines) or points with label ids (matrices). The "
    "defaults are the recommended settings: a label tree on focused rows; the features of texts "
    "are words and pairs of words. A flag that the chosen classifier does not have is an error. "
    "The most important flags are listed below; 'defrag train --classifier NAME --help' lists all "
    "flags of a classifier and for reading data, and --focus, --agglomerate, --rerank, --impute "
    "or --from before --help lists those of the given part. The same data and seed give the same "
    "bytes for any number of threads."
) + examples(
    "defrag train docs.jsonl model.safetensors",
    "defrag train docs.jsonl model.safetensors --preset best",
    "defrag train docs.jsonl new.safetensors --shape-of model.safetensors",
    "defrag train docs.jsonl model.safetensors --thesaurus subjects.ttl",
    "defrag train docs.csv model.safetensors --text-column body --label-separator ';'",
    "defrag train train.txt model.safetensors",
    "defrag train train.txt model.safetensors --n-trees 3 --label-names labels.txt",
    "defrag train train.txt model.safetensors --classifier parabel --agglomerate xy",
    "defrag train train.txt model.safetensors --rerank identity --target PSP@3 --max-loss 0.5",
    "defrag train train.txt model.safetensors --impute blend",
    "defrag train trainX.txt model.safetensors --labels trainY.txt --no-focus",
)

_DEFAULT = "label-tree"
_CLASSIFIERS = Words(entry.word for entry in registry.entries("classifier"))
_OF_PARTS = {
    "focus": ("focus", ()),
    "rerank": ("refrag", ("co_occurrence",)),
    "impute": ("fiat", ("mode", "prefit", "row_norm")),
}
"""What may stand around a classifier: its word, and its parameters without flags."""

_OF_VECTORIZER = own_flags(TextVectorizer)


@dataclass(frozen=True)
class Parts:
    """What is trained: a classifier, and what stands around it."""

    classifier: Annotated[str, _CLASSIFIERS, option("The classifier.")] = _DEFAULT
    agglomerate: Annotated[
        str,
        Words((NONE, *VARIANTS)),
        option("Grouping of features: none, a variant of the paper, hybrid or tight."),
    ] = NONE
    focus: Annotated[
        bool | None,
        option(
            "Keep only the entries of a row that matter; default: for texts and for "
            "label-tree, unless features are grouped other than by tight.",
            names="--focus/--no-focus",
        ),
    ] = None
    rerank: Annotated[
        str,
        Words((NONE, "identity", "cosine", "block", "paper")),
        option("Re-rank labels in favour of rare ones, with these prototypes."),
    ] = NONE
    impute: Annotated[
        str,
        Words((NONE, "blend", "cosine", "paper", "missing")),
        option("Impute missing features before prediction."),
    ] = NONE

    def used(self, corpus: CorpusForm | None) -> dict[str, bool]:
        """Return which parts stand around the classifier."""
        focus = self.focus
        if focus is None:  # where it costs no precision
            recommended = corpus is not None or self.classifier == _DEFAULT
            focus = recommended and self.agglomerate in {NONE, "tight"}
        return {"focus": focus, "rerank": self.rerank != NONE, "impute": self.impute != NONE}


def train(
    *,
    data: Annotated[str, argument("DATA", "Texts or points with labels; - is stdin.")],
    model: Annotated[str, argument("MODEL", "The model file, usually *.safetensors.")],
    parts: Parts,
    weights: WeightsFlag = "float32",
    label_names: LabelNamesFlag = None,
    vocabulary: VocabularyFlag = None,
    thesaurus: ThesaurusFlag = None,
    validation: Annotated[
        str | None,
        option("Texts with labels on which answers are chosen.", "DATA"),
    ] = None,
    answers: Annotated[
        str | None,
        option(
            "What answers are chosen for: micro-f1 (default), macro-f1, f1@K, precision=P, "
            "recall=R or none.",
            "AIM",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        Words((*PRESETS, "default", "exact")),
        option(
            "best tries other classifiers on held-out points, in up to ten times the training "
            "time; fast takes two fifths to three quarters. With flags of a classifier, its own "
            "preset: fast, default or exact.",
        ),
    ] = None,
    reading: Reading,
    long_run: LongRun,
    labels: LabelsFlag = None,
    random_state: Annotated[int, option("Seed.", names="--random-state --seed")] = 0,
    n_jobs: Annotated[int, option("Number of threads; -1 for all.")] = -1,
    shape_of: Annotated[
        str | None,
        option(
            "Reuse the label trees of a model of older data, so that fewer predictions change.",
            "MODEL",
        ),
    ] = None,
    n_parts: Annotated[
        int | None,
        option(
            "Write a plan of N parts to MODEL instead of training; see train-part and join.",
            "N",
            names="--parts",
            min=1,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        option(
            "Train on the Ray cluster at this address; 'local' uses processes on this machine.",
            "ADDRESS",
        ),
    ] = None,
    as_json: JsonFlag = False,
    **parameters: Any,
) -> None:
    """Train a classifier and write it to a model file."""
    names = {"--label-names": label_names, "--vocabulary": vocabulary}
    named = {"--thesaurus": thesaurus, "--validation": validation}
    inputs = {"DATA": data, "--labels": labels, **names, **named, "--shape-of": shape_of}
    _check_model(model, inputs, as_json=as_json)
    bounded = {"--memory": long_run.memory, "--scratch": long_run.scratch}
    if n_parts is not None:
        refuse_flags("with --parts", {"--shape-of": shape_of, "--ray": ray, **named, **bounded})
    elif ray is not None:
        refuse_flags("with --ray", {"--shape-of": shape_of, **named, **bounded})
    elif thesaurus is not None:
        refuse_flags("with --thesaurus", bounded)
    corpus = reading.texts_form(data)
    of_texts = {name: parameters.pop(name) for name in _OF_VECTORIZER if name in parameters}
    if corpus is None:
        of_texts_only = {flag_name(name): of_texts[name] for name in of_texts}
        refuse_flags("without texts", {**of_texts_only, **named, **bounded, "--answers": answers})
    run: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
    preset = _whole_preset(preset, parts, parameters, {"--parts": n_parts, "--ray": ray})
    estimator = build_classifier(parts, parts.used(corpus), parameters, run)
    if corpus is not None:
        refuse_flags("on texts", {"--vocabulary": vocabulary})
        chosen = bool(parameters) or parts != Parts() or (thesaurus is None and preset is None)
        estimator = _for_texts(
            estimator if chosen else None, of_texts, answers, {"preset": preset, **run}
        )
    stored: dict[str, list[str]] = {}
    X: Any
    Y: Any
    held: Any = None
    keeps = corpus is not None and not (n_parts or ray or thesaurus)
    settings = {"reading": reading, "weights": weights}
    with long_run.running(model, estimator, inputs, settings, may_keep=keeps) as log:
        if corpus is not None:
            X, Y = reading.texts(data, corpus, labels, label_names, required=True)
            held = _validation(validation, reading, label_names)
        else:
            X, Y = reading.labelled_points(data, labels)
            if n_parts is not None:
                refuse_flags("with --parts: join takes it", names)
            stored = read_all_names(label_names, vocabulary, Y.shape[1], X.shape[1])
            estimator = _of_preset(preset, X, Y, run, shape_of) or estimator
        if n_parts is not None:
            _write_plan(estimator, (X, Y), n_parts, model, data)
            return
        begin = time.perf_counter()
        fitted = _fit(estimator, X, Y, ray, shape=shape_of, thesaurus=thesaurus, validation=held)
        found = _found(fitted, (X, Y), model, time.perf_counter() - begin)
        with progress_pulse(f"writing {escaped(model)}"):
            fitted.save(model, weights=weights, **stored)
        log.record(**found)
    _report(found, "points" if corpus is None else "texts", as_json=as_json)


def _check_model(model: str, inputs: dict[str, Any], *, as_json: bool) -> None:
    """Refuse a model file that cannot be written, or that is one of the inputs."""
    check_stdout(model, as_json=as_json)
    check_model_path(model)
    check_targets({"MODEL": model}, inputs)


def _whole_preset(
    preset: str | None, parts: Parts, parameters: dict[str, Any], divided: dict[str, Any]
) -> str | None:
    """Return the preset of the whole model; one of a classifier is added to its parameters.

    - ``divided``: flags of a training that tries no classifiers.
    """
    chosen = bool(parameters) or parts != Parts()
    if preset == "best":
        refuse_flags("with --preset best", divided)
    if preset is None or (preset in PRESETS and not chosen):
        return preset
    if preset == "best":
        raise ValueError("--preset best cannot be combined with flags of the classifier")
    parameters["preset"] = preset
    return None


def _of_preset(
    preset: str | None, X: Csr, Y: Csr, run: dict[str, Any], shape_of: str | None
) -> Any:
    """Return what a preset chooses for rows, and say why; None without one."""
    if preset is None:
        return None
    refuse_flags("on rows with --preset", {"--shape-of": shape_of})
    estimator, reason = choose_for_rows(preset, X, Y, **run)
    if reason:
        print_message(reason)
    return estimator


def _for_texts(
    base: Any, of_texts: dict[str, Any], answers: str | None, run: dict[str, Any]
) -> TextClassifier:
    """Return an unfitted classifier of texts; without flags of texts, the trial decides."""
    vectorizer = checked(default_vectorizer(**of_texts, verbose=1)) if of_texts else None
    aims = {} if answers is None else {"answers": parse_value(answers)}
    model: TextClassifier = checked(TextClassifier(base, vectorizer, **aims, **run))
    return model


def _validation(path: str | None, reading: Reading, label_names: str | None) -> Any:
    """Return the texts and labels on which answers are chosen, if any are given."""
    if path is None:
        return None
    form = reading.texts_form(path)
    if form is None:
        raise ValueError(f"--validation must be a file of texts, got {path}")
    return reading.texts(path, form, label_names=label_names, required=True)


def _fit(estimator: Any, X: Any, Y: Any, ray: str | None, **of_labels: Any) -> Any:
    """Return the estimator trained here or on a cluster, after announcing what it costs."""
    texts = isinstance(estimator, TextClassifier)
    if not texts:
        _announce(estimator, X, Y)
    if ray is not None:
        address = None if ray == "local" else ray
        from defrag.distributed import fit_ray  # noqa: PLC0415 - only for this flag

        return fit_ray(estimator, X, Y, address=address, verbose=True)
    if texts:
        return estimator._fit_announced(X, Y, _announce, **of_labels)
    return estimator.fit(X, Y, shape=of_labels["shape"])


def build_classifier(
    parts: Parts, used: dict[str, bool], parameters: dict[str, Any], run: dict[str, Any]
) -> Any:
    """Return the classifier of some parts and of the parameters that the user has set.

    A parameter goes to every used part that has it (two parts may share a name), otherwise to the
    classifier, otherwise to the groups of features; one that nothing takes is refused.
    """
    word, agglomerate = parts.classifier, parts.agglomerate
    kind = _class(word)
    of_parts: dict[str, dict[str, Any]] = {part: {} for part in _OF_PARTS}
    own: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in parameters.items():
        owners = [part for part in _OF_PARTS if name in _own(part)]
        taking = [part for part in owners if used[part]]
        for part in taking:
            of_parts[part][name] = value
        if taking:
            continue
        if name in rules_of(kind):
            own[name] = value
        elif owners:
            words = " or ".join(f"--{part}" for part in owners)
            raise ValueError(f"{flag_name(name)} changes nothing without {words}")
        elif any(name in rules_of(_class(one)) for one in _CLASSIFIERS):
            raise ValueError(f"{flag_name(name)} is not a parameter of --classifier {word}")
        else:
            others[name] = value
    of_whole = {name: others.pop(name) for name in ("per_member",) if name in others}
    return compose(
        kind(**own, **({} if agglomerate != NONE else run), verbose=1),
        groups=_build_groups(agglomerate, others, of_whole),
        # An explicit Focus instead of None, so that the model file lists its parameters.
        focus=_class("focus")(**of_parts["focus"]) if used["focus"] else None,
        rerank={"co_occurrence": parts.rerank, **of_parts["rerank"]} if used["rerank"] else None,
        impute=_class("fiat")(parts.impute, **of_parts["impute"]) if used["impute"] else None,
        run=run,
        **of_whole,
    )


def _build_groups(word: str, parameters: dict[str, Any], of_whole: dict[str, Any]) -> Any:
    """Return the grouping of a word, or None; refuse parameters that it does not let set."""
    if word == NONE:
        for name in parameters | of_whole:
            raise ValueError(f"{flag_name(name)} changes nothing with --agglomerate none")
        return None
    kind, fixed = VARIANTS[word].kind, VARIANTS[word].fixed
    known = kind().get_params()
    for name in parameters:
        if name in fixed or name not in known:
            raise ValueError(f"{flag_name(name)} cannot be combined with --agglomerate {word}")
    return kind(**fixed, **parameters, verbose=1)


def _write_plan(
    estimator: Any, data: tuple[Any, Any], n_parts: int, path: str, source: str
) -> None:
    """Write a training plan and print the next command."""
    from defrag.distributed import plan, save_plan  # noqa: PLC0415 - only for this flag

    with progress_pulse("planning"):
        found = plan(estimator, *data, n_parts=n_parts)
    save_plan(found, path)
    largest = found.parts[0]
    typer.echo(
        f"{len(found.parts)} parts in {escaped(path)}, the largest with "
        f"{largest.share:.1%} of the work"
    )
    print_next(f"defrag train-part {escaped(path)} {escaped(source)} --part {largest.index}")


def _announce(estimator: Classifier, X: Csr, Y: Csr) -> None:
    print_message(f"training takes {estimate(estimator, X, Y).shown()}")


def _found(fitted: Any, data: tuple[Any, Any], model: str, seconds: float) -> dict[str, Any]:
    """Return what was trained, as ``--json`` and the log give it."""
    X, Y = data
    if isinstance(fitted, TextClassifier):
        sizes = (len(X), len(fitted.vectorizer_.idf_), fitted.base_.n_labels_)
    else:
        sizes = (*X.shape, Y.shape[1])
    found = dict(zip(("points", "features", "labels"), sizes, strict=True))
    return {"model": model, **found, "seconds": seconds}


def _report(found: dict[str, Any], noun: str, *, as_json: bool) -> None:
    if found["model"] == "-":
        return
    size = Path(found["model"]).stat().st_size
    if as_json:
        print_json({**found, "bytes": size})
        return
    model = escaped(found["model"])
    typer.echo(
        f"{found['points']:,} {noun}, {found['features']:,} features, {found['labels']:,} labels: "
        f"{found['seconds']:.1f} s, {size / 1e6:.1f} MB in {model}"
    )
    print_next(f"defrag predict {model} TEST_DATA --output predictions.txt")


# --- Flags of the parts, and the help about them.


def _class(word: str) -> type[Any]:
    return registry.find(word).estimator()


def _own(part: str) -> tuple[str, ...]:
    """Return the flags of a part."""
    word, hidden = _OF_PARTS[part]
    return own_flags(_class(word), *hidden)


def parameter_flags(args: list[str] | None) -> list[inspect.Parameter]:
    """Return the flags of the estimators that a command line names, or of all of them."""
    classifiers: Iterable[str] = _CLASSIFIERS
    groups, parts = ["defrag", "hybrid", "agglomerated"], list(_OF_PARTS)
    if args is not None and not _HELP.intersection(args):
        classifiers = {_value(args, "--classifier") or _DEFAULT}.intersection(_CLASSIFIERS)
        variant = VARIANTS.get(_value(args, "--agglomerate") or NONE)
        groups = [] if variant is None else [variant.clustering, "agglomerated"]
        parts = [one for one in parts if one == "focus" or _value(args, f"--{one}") is not None]
    return estimator_flags(
        *map(_class, (*classifiers, *groups)),
        without=("representation", "preset", "random_state", "n_jobs", "verbose"),
        also=(*(_class(_OF_PARTS[part][0]) for part in parts), TextVectorizer),
        hidden=[name for part in parts for name in _OF_PARTS[part][1]],
    )


_HELP = frozenset({"--help", "-h"})
_SHORT = frozenset({
    "classifier", "agglomerate", "focus", "rerank", "impute", "n_trees", "preset", "labels",
    "label_names", "random_state", "n_jobs", "weights", "help",
})  # fmt: skip
"""Flags that ``defrag train --help`` shows: the twelve most important ones, and --help."""


class TrainCommand(VerbCommand):
    """The command ``train``, whose help shows important flags, or all flags of the named parts."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hide the flags that the help does not cover, then parse."""
        if _HELP.intersection(args):
            self._hide_flags(_named_parts(args))
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def _hide_flags(self, panels: dict[str, str]) -> None:
        """Show the flags in ``panels`` and those of the command; without panels, the short list."""
        params: list[Any] = self.params
        for param in params:
            if param.param_type_name != "option":
                continue
            own = getattr(param, "rich_help_panel", None) is None
            if param.name in panels:
                param.rich_help_panel = panels[param.name]
            elif param.name == "n_trees" and not panels:
                param.rich_help_panel = None
            param.hidden = not (own or param.name in panels if panels else param.name in _SHORT)


COMMAND = TrainCommand


def _named_parts(args: list[str]) -> dict[str, str]:
    """Return the panels of the flags of all parts that a command line names."""
    words = {flag: _value(args, f"--{flag}") for flag in ("classifier", "agglomerate", *_OF_PARTS)}
    texts = {_value(args, "--from"), _value(args, "--format")}.intersection(CORPUS_FORMS)
    panels = dict.fromkeys((*_OF_VECTORIZER, *COLUMN_FLAGS) if texts else (), "Texts")
    for flag, word in words.items():
        names: tuple[str, ...] = ()
        panel = f"Parameters of --{flag}"
        if flag in _OF_PARTS and word not in {None, NONE}:
            names = _own(flag)
        elif flag == "classifier" and word in _CLASSIFIERS:
            names, panel = own_flags(_class(str(word))), f"{panel} {word}"
        elif flag == "agglomerate" and word in VARIANTS:
            variant = VARIANTS[str(word)]
            names = (*own_flags(variant.kind, *variant.fixed), "per_member")
            panel = f"{panel} {word}"
        panels |= dict.fromkeys(names, panel)
    return panels


def _value(args: list[str], flag: str) -> str | None:
    """Return the value of a flag, given as ``--flag value`` or ``--flag=value``.

    For a flag without a value, it is the next word or empty: only its presence matters.
    """
    for place, word in enumerate(args):
        if word == flag:
            return args[place + 1] if place + 1 < len(args) else ""
        if word.startswith(f"{flag}="):
            return word.split("=", 1)[1]
    return None
