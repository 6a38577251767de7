"""``defrag convert``: convert data files between formats."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from defrag.cli._console import escaped, examples, print_next, print_written
from defrag.cli._corpora import (
    AnyFromFlag,
    corpus_flags,
    form_of_corpus,
    form_of_matrix,
    read_corpus,
    text_options,
)
from defrag.cli._data import (
    BaseFlag,
    Data,
    Form,
    LabelsFlag,
    StrictFlag,
    TruncatedFlag,
    check_base,
    form_of_name,
    form_of_output,
    read,
    write,
)
from defrag.cli._flags import estimator_flags, flag_name, refuse_flags
from defrag.cli._outputs import check_targets
from defrag.cli._text_conversion import find_columns, write_names
from defrag.io.documents import CorpusOptions  # noqa: TC001 - read by corpus_flags
from defrag.io.files import display_name
from defrag.text import TextVectorizer

__all__ = ["HELP", "convert"]

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


@estimator_flags(TextVectorizer, without=("n_jobs", "verbose"))
@corpus_flags
def convert(
    *,
    options: CorpusOptions,
    context: typer.Context,  # noqa: ARG001 - the flags are read from it
    source: Annotated[str, typer.Argument(metavar="IN", help="The input; - is stdin.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="The output; - is stdout.")],
    form: AnyFromFlag = None,
    to: Annotated[
        Form | None, typer.Option("--to", help="Format of the output; default: by name.")
    ] = None,
    zero_based: BaseFlag = None,
    labels: LabelsFlag = None,
    labels_out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the labels to a separate file.")
    ] = None,
    label_names: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Names of the labels of texts whose labels are numbers."),
    ] = None,
    n_features: Annotated[
        int | None, typer.Option(help="Number of features; overrides that of IN.")
    ] = None,
    n_labels: Annotated[
        int | None, typer.Option(help="Number of labels; overrides that of IN.")
    ] = None,
    words_out: Annotated[
        str | None,
        typer.Option("--vocabulary-out", metavar="FILE", help="Write the feature names of texts."),
    ] = None,
    names_out: Annotated[
        str | None,
        typer.Option("--label-names-out", metavar="FILE", help="Write the label names of texts."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Take features and labels from a model of texts."),
    ] = None,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    **parameters: Any,
) -> None:
    """Convert a data file to another format."""
    target = to or form_of_output(out)
    check_targets(
        {
            "OUT": out,
            "--labels-out": labels_out,
            "--vocabulary-out": words_out,
            "--label-names-out": names_out,
        },
        {"IN": source, "--labels": labels, "--like": like, "--label-names": label_names},
    )
    if labels_out is not None:
        _check_split(target, labels_out)
    if target is Form.svmlight:
        check_base(out, zero_based)
    corpus = form_of_corpus(source, form, options)
    of_texts = {"--like": like, "--vocabulary-out": words_out, "--label-names-out": names_out}
    named = None
    if corpus is not None:
        refuse_flags("on texts", {"--n-features": n_features, "--n-labels": n_labels})
        columns = find_columns(like, parameters)
        found = text_options(options, corpus, labels, label_names)
        named = columns.vectorize(display_name(source), read_corpus(source, corpus, found))
        data = Data(named.X, named.Y, target)
    else:
        of_texts |= {flag_name(name): parameters[name] for name in parameters}
        refuse_flags("without texts", of_texts | {"--label-names": label_names})
        data = read(
            source,
            labels=labels,
            form=form_of_matrix(form),
            zero_based=zero_based,
            n_features=n_features,
            n_labels=n_labels,
            strict=strict,
            allow_truncated=allow_truncated,
        )
    for flag, path in (("--labels-out", labels_out), ("--label-names-out", names_out)):
        if path is not None and data.Y is None:
            raise ValueError(f"{flag} {path}: the input has no labels")
    write(out, replace(data, form=target, zero_based=zero_based), labels=labels_out)
    print_written(out, target.value, data.X, data.Y)
    if named is not None:
        write_names(words_out, named.vocabulary)
        write_names(names_out, named.label_names)
    if data.Y is not None and out != "-":
        files = {"labels": labels_out, "vocabulary": words_out, "label-names": names_out}
        also = [f" --{flag} {escaped(path)}" for flag, path in files.items() if path is not None]
        print_next(f"defrag train {escaped(out)} model.safetensors{''.join(also)}")


def _check_split(target: Form, labels_out: str) -> None:
    if target is not Form.xmc:
        raise ValueError(f"--labels-out requires an output in the format xmc, got {target.value}")
    if form_of_name(labels_out) is not None:
        raise ValueError(f"--labels-out writes text, got the name {labels_out}")
