"""``defrag cluster``: find groups of features and write them as the official group file."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defrag import registry
from defrag._progress import progress_pulse
from defrag.agglomeration import Defrag
from defrag.cli._console import JsonFlag, escaped, examples, print_json, print_message
from defrag.cli._data import (
    BaseFlag,
    FromFlag,
    LabelsFlag,
    StrictFlag,
    TruncatedFlag,
    read,
    read_names,
    write,
)
from defrag.cli._flags import estimator_flags, flag_name
from defrag.cli._models import PRESETS, Preset
from defrag.cli._outputs import check_stdout, check_targets
from defrag.io import read_word_vectors, write_groups
from defrag.metrics import balance

if TYPE_CHECKING:
    from defrag.agglomeration import FeatureClustering
    from defrag.cli._data import Data

__all__ = ["HELP", "Method", "cluster"]

HELP = (
    "Find groups of features and write them as a group file.\n\n"
    "A group file has the number of groups, then one line per group with its size and its "
    "features. It is the format of the official program; 'defrag agglomerate' reads it."
) + examples(
    "defrag cluster train.txt groups.txt",
    "defrag cluster train.txt groups.txt --representation xy --max-cluster-size 16 --seed 1",
    "defrag cluster train.txt groups.txt --preset hybrid --agglomerated train_small.txt",
    "defrag cluster trainX.txt groups.txt --labels trainY.txt --preset xy",
    "defrag cluster train.txt groups.txt --representation glove.txt --vocabulary words.txt",
    "defrag cluster train.txt groups.txt --method itdc --n-clusters 1000",
)

Method = Enum("Method", {e.word: e.word for e in registry.entries("clustering")}, type=str)  # type: ignore[misc] # the registry names the members
_DEFRAG = Method("defrag")

# They set the values of groups, which a group file does not contain.
_VALUE_PARAMETERS = ("pooling", "scale")


@estimator_flags(
    *(e.estimator() for e in registry.entries("clustering")),
    without=("representation", "verbose"),
)
def cluster(
    *,
    context: typer.Context,  # noqa: ARG001 - the flags are read from it
    data: Annotated[str, typer.Argument(metavar="DATA", help="Training data; - is stdin.")],
    groups: Annotated[str, typer.Argument(metavar="GROUPS", help="The group file; - is stdout.")],
    method: Annotated[
        Method,
        typer.Option(
            help="DEFRAG, another clustering, or a baseline: random groups of equal size, groups "
            "by a hash, or only the features with the most energy."
        ),
    ] = _DEFRAG,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="Variant of DEFRAG: DEFRAG-X, -XY or -N of the paper, or Hybrid (half of the "
            "groups are the features with the most energy, the others random buckets).",
            show_default="x",
        ),
    ] = None,
    representation: Annotated[
        str | None,
        typer.Option(
            metavar="x|xy|FILE",
            help="The vector of a feature: its points, its labels, or a word vector from a file "
            "(with --vocabulary).",
        ),
    ] = None,
    vocabulary: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Names of the features, one per line."),
    ] = None,
    form: FromFlag = None,
    zero_based: BaseFlag = None,
    labels: LabelsFlag = None,
    agglomerated: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write DATA with features replaced by groups."),
    ] = None,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    as_json: JsonFlag = False,
    **parameters: Any,
) -> None:
    """Find groups of features and write them as a group file."""
    check_stdout(groups, as_json=as_json)
    check_targets(
        {"GROUPS": groups, "--agglomerated": agglomerated},
        {
            "DATA": data,
            "--labels": labels,
            "--representation": representation,
            "--vocabulary": vocabulary,
        },
    )
    if agglomerated is None:
        for name in _VALUE_PARAMETERS:
            if name in parameters:
                raise ValueError(f"{flag_name(name)} changes nothing without --agglomerated")
    elif agglomerated == "-" and (as_json or groups == "-"):
        raise ValueError("--agglomerated - would share standard output")
    if representation is not None:
        parameters["representation"] = representation
    estimator = _estimator(method.value, preset, parameters)
    points = read(
        data,
        labels=labels,
        form=form,
        zero_based=zero_based,
        strict=strict,
        allow_truncated=allow_truncated,
    )
    _set_word_vectors(estimator, vocabulary, points)
    with progress_pulse("pooling features", enabled=preset is Preset.hybrid):
        estimator.fit(points.X, points.Y)
    write_groups(groups, estimator.labels_, estimator.n_clusters_)
    if agglomerated is not None:
        write(agglomerated, points.with_features(estimator.transform(points.X)))
    _report(estimator, as_json=as_json)


def _estimator(method: str, preset: Preset | None, parameters: dict[str, Any]) -> FeatureClustering:
    kind: type[FeatureClustering] = registry.find(method).estimator()
    fixed: dict[str, Any] = {}
    flag = f"--method {method}"
    if kind is Defrag:
        preset = preset or Preset.x
        kind, fixed = PRESETS[preset]
        flag = f"--preset {preset.value}"
    elif preset is not None:
        raise ValueError(f"--preset cannot be combined with --method {method}")
    known = kind().get_params()
    for name in parameters:
        if name in fixed or name not in known:
            raise ValueError(f"{flag_name(name)} cannot be combined with {flag}")
    return kind(**fixed, **parameters, verbose=1)


def _set_word_vectors(estimator: FeatureClustering, vocabulary: str | None, points: Data) -> None:
    """Replace a representation that names a file by the word vectors in it."""
    given = estimator.get_params().get("representation", "x")
    if given in {"x", "xy"}:
        if vocabulary is not None:
            raise ValueError("--vocabulary requires a --representation of word vectors")
        return
    if vocabulary is None:
        raise ValueError(
            f"--representation {given}: word vectors require --vocabulary (or use x or xy)"
        )
    n_features = points.X.shape[1]
    words = read_names(vocabulary, n_features, "word", "feature")
    with progress_pulse(f"reading {escaped(given)}"):
        vectors, found = read_word_vectors(given, words)
    print_message(f"{given} has vectors for {found.sum()} of {n_features} features")
    estimator.set_params(representation=vectors)


def _report(estimator: FeatureClustering, *, as_json: bool) -> None:
    n_dropped = int((estimator.labels_ < 0).sum())
    if as_json:
        print_json(
            {
                "n_features": len(estimator.labels_),
                "n_clusters": estimator.n_clusters_,
                "n_dropped": n_dropped,
                "balance": balance(estimator.labels_, estimator.n_clusters_),
            }
        )
    else:
        dropped = f", {n_dropped} dropped" if n_dropped else ""
        print_message(
            f"{len(estimator.labels_)} features in {estimator.n_clusters_} groups{dropped}"
        )
