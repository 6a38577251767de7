"""Texts and the names of their labels, from a corpus of any format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from defrag.exceptions import FormatError
from defrag.io.corpora import open_corpus
from defrag.io.documents import CorpusOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.io.corpora import Corpus, CorpusForm
    from defrag.io.files import PathLike, ReadLimits

__all__ = ["LabelledTexts", "collect_texts", "read_texts"]


class LabelledTexts(NamedTuple):
    """Texts, and the names of their labels if the file has any."""

    texts: list[str]
    labels: list[list[str]] | None


def read_texts(
    path: PathLike,
    *,
    form: CorpusForm | None = None,
    labels_path: PathLike | None = None,
    text_column: str | None = None,
    labels_column: str | None = None,
    label_separator: str | None = None,
    label_names: Sequence[str] | None = None,
    limits: ReadLimits | None = None,
) -> LabelledTexts:
    r"""Read texts and the names of their labels.

    Parameters
    ----------
    path : path
        The file, encoded as UTF-8; may be compressed, ``-`` is standard input. Or a folder in
        Annif's format: ``x.txt`` with ``x.tsv`` or ``x.key`` for each text.
    form : str, optional
        The format; default: by the suffix of the name.

        - ``jsonl`` (``.jsonl``, ``.json``): objects with a ``text``, or a ``title`` and a
          ``content``, which are joined by a line feed, and ``labels``, a list of names;
        - ``csv``, ``tsv``: tables with a header;
        - ``annif``: ``text<TAB><uri> <uri>``;
        - ``fasttext`` (``.ft``): ``__label__a __label__b text``;
        - ``pecos``: ``0,3<TAB>text``;
        - ``libmultilabel``: ``id<TAB>label label<TAB>text``;
        - ``lines``: texts only, one per line;
        - ``parquet`` (``.parquet``, or a folder of such files): the columns ``text`` and
          ``labels``, lists of strings; needs pyarrow.

        A ``.tsv`` file without a header is read as ``annif``, ``pecos`` or ``libmultilabel`` if
        its lines match exactly one of them.
    labels_path : path, optional
        The labels of ``lines``: names separated by spaces, one line per text.
    text_column, labels_column : str, optional
        The columns of a table, or the keys of JSON lines; default: ``text`` (or ``title`` and
        ``content``), and ``labels`` (or ``subject_uris``) if there is one.
    label_separator : str, optional
        Separator of labels that are written as one string: some characters, ``"space"``, or
        ``"none"`` if each string is one label. Without it, a string in a table or in JSON lines
        that may be several labels (it has white space, a comma, a semicolon or a bar) is an
        error. It replaces the spaces of ``lines`` and ``libmultilabel``; without it, a name
        with a comma, a semicolon or a bar is a warning there.
    label_names : sequence of str, optional
        The names of labels that are numbers (``pecos``, ``target_ind`` of JSON lines); default:
        the numbers.
    limits : ReadLimits, optional
        Limits on the cost of reading.

    Returns
    -------
    texts : list of str
        The texts.
    labels : list of lists of str, or None
        The names of their labels; None if no text has any.

    Raises
    ------
    FormatError
        If the file violates a rule of its format, or if only some texts have labels; names
        the line.
    ValueError
        If the format is not known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_texts
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "docs.jsonl"
    >>> _ = path.write_text('{"text": "quick sort", "labels": ["sorting"]}\n')
    >>> read_texts(path)
    LabelledTexts(texts=['quick sort'], labels=[['sorting']])
    """
    options = CorpusOptions(text_column, labels_column, label_separator, labels_path, label_names)
    with open_corpus(path, form, options, limits) as corpus:
        return collect_texts(corpus)


def collect_texts(corpus: Corpus) -> LabelledTexts:
    """Read all documents of an open corpus; see ``read_texts``."""
    texts: list[str] = []
    labels: list[list[str]] = []
    for line, text, names, file in corpus.documents:
        texts.append(text)
        if names is not None:
            labels.append(names)
        if 0 < len(labels) < len(texts):
            rule = "a text without labels, but others have them"
            raise FormatError(file or corpus.name, rule, line)
    if not texts:
        raise FormatError(corpus.name, "has no texts")
    return LabelledTexts(texts, labels or None)
