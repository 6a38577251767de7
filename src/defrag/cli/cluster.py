"""``defrag cluster``: find groups of features and write them as the official group file."""

from __future__ import annotations

from typing import Annotated, Any

from defrag import registry
from defrag._progress import escaped, progress_pulse
from defrag.agglomeration import Defrag, FeatureClustering
from defrag.cli._console import JsonFlag, examples, print_json, print_message
from defrag.cli._data import LabelsFlag, MatrixReading, check_stdout, check_targets, write
from defrag.cli._flags import File, Flags, Words, argument, estimator_flags, flag_name, option
from defrag.io import Points, read_word_vectors, write_groups
from defrag.io.points import read_names
from defrag.metrics import balance
from defrag.specs import VARIANTS

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

# They set the values of groups, which a group file does not contain.
_VALUE_PARAMETERS = ("pooling", "scale")


def parameter_flags(_: list[str] | None) -> Flags:
    """Return the flags of all clusterings."""
    clusterings = (entry.estimator() for entry in registry.entries("clustering"))
    return estimator_flags(*clusterings, without=("representation", "verbose"))


def cluster(
    *,
    data: Annotated[str, argument("DATA", "Training data; - is stdin.")],
    groups: Annotated[str, argument("GROUPS", "The group file; - is stdout.")],
    method: Annotated[
        str,
        Words(entry.word for entry in registry.entries("clustering")),
        "DEFRAG, another clustering, or a baseline: random groups of equal size, groups by a "
        "hash, or only the features with the most energy.",
    ] = "defrag",
    preset: Annotated[
        str | None,
        Words(VARIANTS),
        option(
            "Variant of DEFRAG: DEFRAG-X, -XY or -N of the paper, or Hybrid (half of the "
            "groups are the features with the most energy, the others random buckets).",
            show_default="x",
        ),
    ] = None,
    representation: Annotated[
        str | None,
        "The vector of a feature: its points, its labels, or a word vector from a file "
        "(with --vocabulary).",
        "x|xy|FILE",
    ] = None,
    vocabulary: Annotated[File, "Names of the features, one per line."] = None,
    reading: MatrixReading,
    labels: LabelsFlag = None,
    agglomerated: Annotated[File, "Also write DATA with features replaced by groups."] = None,
    as_json: JsonFlag = False,
    **parameters: Any,
) -> None:
    """Find groups of features and write them as a group file."""
    check_stdout(groups, as_json=as_json)
    inputs = {"DATA": data, "--labels": labels}
    named = {"--representation": representation, "--vocabulary": vocabulary}
    check_targets({"GROUPS": groups, "--agglomerated": agglomerated}, {**inputs, **named})
    if agglomerated is None:
        for name in _VALUE_PARAMETERS:
            if name in parameters:
                raise ValueError(f"{flag_name(name)} changes nothing without --agglomerated")
    elif agglomerated == "-" and (as_json or groups == "-"):
        raise ValueError("--agglomerated - would share standard output")
    if representation is not None:
        parameters["representation"] = representation
    estimator = _estimator(method, preset, parameters)
    points = reading.points(data, labels)
    _set_word_vectors(estimator, vocabulary, points)
    with progress_pulse("pooling features", enabled=preset == "hybrid"):
        estimator.fit(points.X, points.Y)
    write_groups(groups, estimator.labels_, estimator.n_clusters_)
    if agglomerated is not None:
        write(agglomerated, points.with_features(estimator.transform(points.X)))
    _report(estimator, as_json=as_json)


def _estimator(method: str, preset: str | None, parameters: dict[str, Any]) -> FeatureClustering:
    kind: type[FeatureClustering] = registry.find(method).estimator()
    fixed: dict[str, Any] = {}
    flag = f"--method {method}"
    if kind is Defrag:
        preset = preset or "x"
        kind, fixed = VARIANTS[preset].kind, VARIANTS[preset].fixed
        flag = f"--preset {preset}"
    elif preset is not None:
        raise ValueError(f"--preset cannot be combined with --method {method}")
    known = kind().get_params()
    for name in parameters:
        if name in fixed or name not in known:
            raise ValueError(f"{flag_name(name)} cannot be combined with {flag}")
    return kind(**fixed, **parameters, verbose=1)


def _set_word_vectors(estimator: FeatureClustering, vocabulary: str | None, points: Points) -> None:
    """Replace a representation that names a file by the word vectors in it."""
    given = estimator.get_params().get("representation", "x")
    if given in {"x", "xy"}:
        if vocabulary is not None:
            raise ValueError("--vocabulary requires a --representation of word vectors")
        return
    if vocabulary is None:
        hint = "word vectors require --vocabulary (or use x or xy)"
        raise ValueError(f"--representation {given}: {hint}")
    n_features = points.X.shape[1]
    words = read_names(vocabulary, n_features, "word", "feature")
    with progress_pulse(f"reading {escaped(given)}"):
        vectors, found = read_word_vectors(given, words)
    print_message(f"{given} has vectors for {found.sum()} of {n_features} features")
    estimator.set_params(representation=vectors)


def _report(estimator: FeatureClustering, *, as_json: bool) -> None:
    n_dropped = int((estimator.labels_ < 0).sum())
    n_features, n_groups = len(estimator.labels_), estimator.n_clusters_
    if as_json:
        counts = {"n_features": n_features, "n_clusters": n_groups, "n_dropped": n_dropped}
        print_json({**counts, "balance": balance(estimator.labels_, n_groups)})
    else:
        dropped = f", {n_dropped} dropped" if n_dropped else ""
        print_message(f"{n_features} features in {n_groups} groups{dropped}")
