"""``defrag train``: train a classifier and write it to a model file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from defrag._progress import progress_pulse
from defrag.agglomeration import Agglomerated, Defrag, Hybrid
from defrag.cli._console import (
    JsonFlag,
    escaped,
    examples,
    print_json,
    print_message,
    print_next,
)
from defrag.cli._corpora import (
    AnyFromFlag,
    corpus_flags,
    form_of_corpus,
    form_of_matrix,
    read_labelled,
    text_options,
)
from defrag.cli._data import (
    BaseFlag,
    LabelNamesFlag,
    LabelsFlag,
    StrictFlag,
    TruncatedFlag,
    VocabularyFlag,
    read,
    read_all_names,
)
from defrag.cli._estimate import estimate
from defrag.cli._flags import estimator_flags, flag_name, refuse_flags
from defrag.cli._help import TrainCommand
from defrag.cli._models import (
    VECTORIZER_FLAGS,
    Agglomeration,
    Base,
    Impute,
    Rerank,
    Weights,
    build_composed,
    build_vectorizer,
    classifiers,
    focuses,
)
from defrag.cli._outputs import check_model_path, check_stdout, check_targets
from defrag.cli._plans import write_plan
from defrag.distributed import fit_ray
from defrag.focusing import Focus
from defrag.imputation import Fiat
from defrag.io.documents import CorpusOptions  # noqa: TC001 - read by corpus_flags
from defrag.io.files import display_name
from defrag.reranking import Refrag
from defrag.text import TextClassifier, TextVectorizer

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.cli._data import Data
    from defrag.typing import Csr

__all__ = ["COMMAND", "HELP", "train"]

COMMAND = TrainCommand

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
    "defrag train docs.jsonl new.safetensors --shape-of model.safetensors",
    "defrag train docs.csv model.safetensors --text-column body --label-separator ';'",
    "defrag train train.txt model.safetensors",
    "defrag train train.txt model.safetensors --n-trees 3 --label-names labels.txt",
    "defrag train train.txt model.safetensors --classifier parabel --agglomerate xy",
    "defrag train train.txt model.safetensors --rerank identity --target PSP@3 --max-loss 0.5",
    "defrag train train.txt model.safetensors --impute blend",
    "defrag train trainX.txt model.safetensors --labels trainY.txt --no-focus",
)


@estimator_flags(
    *classifiers(),
    Defrag,
    Hybrid,
    Agglomerated,
    without=("representation", "random_state", "n_jobs", "verbose"),
    also=(Refrag, Fiat, TextVectorizer, Focus),
    hidden=("co_occurrence", "mode", "prefit", "row_norm"),
)
@corpus_flags
def train(
    *,
    context: typer.Context,  # noqa: ARG001 - the flags are read from it
    options: CorpusOptions,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Texts or points with labels; - is stdin.")
    ],
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="The model file, usually *.safetensors.")
    ],
    classifier: Annotated[Base, typer.Option(help="The classifier.")] = Base("label-tree"),
    agglomerate: Annotated[
        Agglomeration,
        typer.Option(help="Grouping of features: none, a variant of the paper, or Hybrid."),
    ] = Agglomeration("none"),
    focus: Annotated[
        bool | None,
        typer.Option(
            "--focus/--no-focus",
            help="Keep only the entries of a row that matter; default: for texts and for "
            "label-tree, unless features are grouped.",
        ),
    ] = None,
    rerank: Annotated[
        Rerank, typer.Option(help="Re-rank labels in favour of rare ones, with these prototypes.")
    ] = Rerank.none,
    impute: Annotated[
        Impute, typer.Option(help="Impute missing features before prediction.")
    ] = Impute.none,
    weights: Annotated[
        Weights, typer.Option(help="Type of stored weights; smaller types round them.")
    ] = Weights.float32,
    label_names: LabelNamesFlag = None,
    vocabulary: VocabularyFlag = None,
    form: AnyFromFlag = None,
    zero_based: BaseFlag = None,
    labels: LabelsFlag = None,
    random_state: Annotated[int, typer.Option("--random-state", "--seed", help="Seed.")] = 0,
    n_jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all.")] = -1,
    shape_of: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Reuse the label trees of a model of older data, so that fewer predictions "
            "change.",
        ),
    ] = None,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    parts: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Write a plan of N parts to MODEL instead of training; see train-part and join.",
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Train on the Ray cluster at this address; 'local' uses processes on this "
            "machine.",
        ),
    ] = None,
    as_json: JsonFlag = False,
    **parameters: Any,
) -> None:
    """Train a classifier and write it to a model file."""
    task = _Task(data, model, parts, ray, shape_of, weights.value, as_json)
    _check_files(task, labels, label_names, vocabulary)
    _check_division(task)
    corpus = form_of_corpus(data, form, options)
    of_texts = _take_vectorizer_flags(parameters, texts=corpus is not None)
    words = classifier.value, agglomerate.value
    run: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
    estimator = build_composed(
        *words,
        parameters,
        focus=focuses(*words, texts=corpus is not None) if focus is None else focus,
        rerank=rerank,
        impute=impute,
        run=run,
    )
    if corpus is not None:
        refuse_flags("on texts", {"--vocabulary": vocabulary})
        found = text_options(options, corpus, labels, label_names)
        text_classifier = TextClassifier(estimator, build_vectorizer(of_texts), **run)
        _train_on_texts(task, text_classifier, *read_labelled(data, corpus, found))
        return
    points = read(
        data,
        labels=labels,
        form=form_of_matrix(form),
        zero_based=zero_based,
        strict=strict,
        allow_truncated=allow_truncated,
    )
    _train_on_points(task, estimator, points, label_names, vocabulary)


class _Task(NamedTuple):
    """Where the data are, how the classifier is trained, and how the model is written."""

    data: str
    model: str
    parts: int | None
    ray: str | None
    shape_of: str | None
    weights: str
    as_json: bool


class _Trained(NamedTuple):
    """Numbers of points, features and labels, and the training time in seconds."""

    points: int
    features: int
    labels: int
    seconds: float


def _check_files(
    task: _Task, labels: str | None, label_names: str | None, vocabulary: str | None
) -> None:
    """Refuse a model that cannot be written, or that would replace a file that is read."""
    check_stdout(task.model, as_json=task.as_json)
    check_model_path(task.model)
    check_targets(
        {"MODEL": task.model},
        {
            "DATA": task.data,
            "--labels": labels,
            "--label-names": label_names,
            "--vocabulary": vocabulary,
            "--shape-of": task.shape_of,
        },
    )


def _check_division(task: _Task) -> None:
    """Refuse flags that a plan of parts or a cluster ignores."""
    if task.parts is not None:
        refuse_flags("with --parts", {"--shape-of": task.shape_of, "--ray": task.ray})
    elif task.ray is not None:
        refuse_flags("with --ray", {"--shape-of": task.shape_of})


def _take_vectorizer_flags(parameters: dict[str, Any], *, texts: bool) -> dict[str, Any]:
    """Remove the parameters of the vectoriser and return them; refuse them without texts."""
    taken = {name: parameters.pop(name) for name in VECTORIZER_FLAGS if name in parameters}
    if not texts:
        refuse_flags("without texts", {flag_name(name): value for name, value in taken.items()})
    return taken


def _train_on_texts(
    task: _Task, estimator: TextClassifier, texts: list[str], labels: list[list[str]]
) -> None:
    if task.parts is not None:
        write_plan(estimator, texts, labels, task.parts, task.model, task.data)
        return
    begin = time.perf_counter()
    if task.ray is None:
        estimator._fit_announced(texts, labels, _announce, shape=task.shape_of)
    else:
        estimator = fit_ray(estimator, texts, labels, address=_address(task.ray), verbose=True)
    seconds = time.perf_counter() - begin
    n_features = len(estimator.vectorizer_.idf_)
    _save(task, estimator)
    _report(task, _Trained(len(texts), n_features, len(estimator.classes_), seconds), "texts")


def _train_on_points(
    task: _Task,
    estimator: Classifier,
    points: Data,
    label_names: str | None,
    vocabulary: str | None,
) -> None:
    X, Y = points.X, points.Y
    if Y is None:
        raise ValueError(f"{display_name(task.data)}: has no labels: give --labels")
    if task.parts is not None:
        given = {"--label-names": label_names, "--vocabulary": vocabulary}
        refuse_flags("with --parts: join takes it", given)
        write_plan(estimator, X, Y, task.parts, task.model, task.data)
        return
    names = read_all_names(label_names, vocabulary, n_labels=Y.shape[1], n_features=X.shape[1])
    _announce(estimator, X, Y)
    begin = time.perf_counter()
    if task.ray is None:
        estimator.fit(X, Y, shape=task.shape_of)
    else:
        estimator = fit_ray(estimator, X, Y, address=_address(task.ray), verbose=True)
    seconds = time.perf_counter() - begin
    _save(task, estimator, **names)
    _report(task, _Trained(*X.shape, Y.shape[1], seconds), "points")


def _address(ray: str) -> str | None:
    """Return the address of a cluster, or None for processes on this machine."""
    return None if ray == "local" else ray


def _save(task: _Task, estimator: Classifier | TextClassifier, **names: list[str]) -> None:
    with progress_pulse(f"writing {escaped(task.model)}"):
        estimator.save(task.model, weights=task.weights, **names)


def _announce(estimator: Classifier, X: Csr, Y: Csr) -> None:
    print_message(f"training takes {estimate(estimator, X, Y).shown()}")


def _report(task: _Task, trained: _Trained, noun: str) -> None:
    model = task.model
    if model == "-":
        return
    size = Path(model).stat().st_size
    if task.as_json:
        print_json({"model": model, **trained._asdict(), "bytes": size})
    else:
        typer.echo(
            f"{trained.points:,} {noun}, {trained.features:,} features, {trained.labels:,} labels: "
            f"{trained.seconds:.1f} s, {size / 1e6:.1f} MB in {escaped(model)}"
        )
        print_next(f"defrag predict {escaped(model)} TEST_DATA --output predictions.txt")
