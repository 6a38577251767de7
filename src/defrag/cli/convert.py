"""``defrag convert``: convert data files between formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from defrag._progress import escaped
from defrag.cli._console import examples, print_next, print_written
from defrag.cli._data import LabelsFlag, Reading, check_targets, write
from defrag.cli._flags import File, Flags, Words, argument, estimator_flags, flag_name, refuse_flags
from defrag.io import Points
from defrag.io.files import display_name
from defrag.io.points import POINT_FORMS, check_base, form_of_name, form_of_output, write_names
from defrag.persistence import load
from defrag.specs import checked
from defrag.text import TextClassifier, TextVectorizer, text_matrices
from defrag.text.classifier import default_vectorizer
from defrag.text.conversion import Vectorized

HELP = (
    "Convert a data file to another format.\n\n"
    "The formats are xmc, the text of the Extreme Classification Repository, combined or split "
    "into two files (--labels reads, --labels-out writes the label file); svmlight, which has "
    "no header and requires --zero-based or --one-based; and npz, an archive that is read "
    "fastest. The suffix of a name gives the format: .npz; .svm, .svmlight or .libsvm; and .txt, "
    ".xmc or no suffix for xmc. Files with the suffix .gz, .bz2, .xz or .zst are compressed. "
    "Texts become matrices with the features of TextVectorizer; --like takes the features and "
    "labels of a model, for test texts."
) + examples(
    "defrag convert docs.jsonl train.txt --vocabulary-out words.txt --label-names-out labels.txt",
    "defrag convert train.txt train.npz",
    "defrag convert train.svm.xz train.txt --one-based",
    "defrag convert test.svm test.txt --one-based --n-features 5000",
    "defrag convert trainX.txt train.txt --labels trainY.txt",
    "defrag convert train.npz trainX.txt --labels-out trainY.txt",
    "defrag convert - - --from svmlight --to xmc --zero-based < train.svm > train.txt",
)


def parameter_flags(_: list[str] | None) -> Flags:
    """Return the flags of the vectoriser of texts."""
    return estimator_flags(TextVectorizer, without=("n_jobs", "verbose"))


def convert(
    *,
    source: Annotated[str, argument("IN", "The input; - is stdin.")],
    out: Annotated[str, argument("OUT", "The output; - is stdout.")],
    reading: Reading,
    to: Annotated[str | None, Words(POINT_FORMS), "Format of the output; default: by name."] = None,
    labels: LabelsFlag = None,
    labels_out: Annotated[File, "Write the labels to a separate file."] = None,
    label_names: Annotated[File, "Names of the labels of texts whose labels are numbers."] = None,
    n_features: Annotated[int | None, "Number of features; overrides that of IN."] = None,
    n_labels: Annotated[int | None, "Number of labels; overrides that of IN."] = None,
    vocabulary_out: Annotated[File, "Write the feature names of texts."] = None,
    label_names_out: Annotated[File, "Write the label names of texts."] = None,
    like: Annotated[str | None, "Take features and labels from a model of texts.", "MODEL"] = None,
    **parameters: Any,
) -> None:
    """Convert a data file to another format."""
    target: Any = to or form_of_output(out)
    names_out = {"--vocabulary-out": vocabulary_out, "--label-names-out": label_names_out}
    check_targets(
        {"OUT": out, "--labels-out": labels_out, **names_out},
        {"IN": source, "--labels": labels, "--like": like, "--label-names": label_names},
    )
    if labels_out is not None and target != "xmc":
        raise ValueError(f"--labels-out requires an output in the format xmc, got {target}")
    if labels_out is not None and form_of_name(labels_out) is not None:
        raise ValueError(f"--labels-out writes text, got the name {labels_out}")
    if target == "svmlight":
        check_base(out, reading.zero_based)
    corpus = reading.texts_form(source)
    given = {flag_name(name): value for name, value in parameters.items()}
    named = None
    if corpus is not None:
        refuse_flags("on texts", {"--n-features": n_features, "--n-labels": n_labels})
        if like is not None:
            refuse_flags("with --like", given)
        columns = _columns(like, parameters)
        found = reading.texts(source, corpus, labels, label_names)
        named = text_matrices(*found, name=display_name(source), **columns)
        X, Y = named.X, named.Y
    else:
        of_texts = {"--like": like, **names_out, **given, "--label-names": label_names}
        refuse_flags("without texts", of_texts)
        points = reading.points(source, labels, n_features=n_features, n_labels=n_labels)
        X, Y = points.X, points.Y
    for flag, path in (("--labels-out", labels_out), ("--label-names-out", label_names_out)):
        if path is not None and Y is None:
            raise ValueError(f"{flag} {path}: the input has no labels")
    write(out, Points(X, Y, target, reading.zero_based), labels_out)
    print_written(out, target, X, Y)
    if named is not None:
        _write_columns(named, names_out.values())
    if Y is not None and out != "-":
        files = {"labels": labels_out, "vocabulary": vocabulary_out, "label-names": label_names_out}
        also = [f" --{flag} {escaped(path)}" for flag, path in files.items() if path is not None]
        print_next(f"defrag train {escaped(out)} model.safetensors{''.join(also)}")


def _columns(like: str | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what makes the columns: a new vectoriser, or the model of a file."""
    if like is None:
        return {"vectorizer": checked(default_vectorizer(**parameters, n_jobs=-1, verbose=1))}
    model = load(like)
    if not isinstance(model, TextClassifier):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{like}: is a {type(model).__name__}, not a model of texts"
        )
    return {"like": model}


def _write_columns(named: Vectorized, paths: Iterable[str | None]) -> None:
    for path, names in zip(paths, (named.vocabulary, named.label_names), strict=True):
        if path is not None:
            write_names(path, names)
