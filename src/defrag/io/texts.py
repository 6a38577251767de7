"""Texts and the names of their labels, from a corpus of any format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from defrag.exceptions import FormatError
from defrag.io.corpora import open_corpus

if TYPE_CHECKING:
    from defrag.io.corpora import Corpus, CorpusForm
    from defrag.io.files import PathLike
    from defrag.io.limits import ReadLimits

__all__ = ["LabelledTexts", "collect_texts", "read_texts"]


class LabelledTexts(NamedTuple):
    """Texts, and the names of their labels where the file has any."""

    texts: list[str]
    labels: list[list[str]] | None


def read_texts(
    path: PathLike, *, form: CorpusForm | None = None, limits: ReadLimits | None = None
) -> LabelledTexts:
    r"""Read texts and the names of their labels.

    Parameters
    ----------
    path : path
        The file, encoded as UTF-8; may be compressed, ``-`` is standard input.
    form : {"jsonl"}, optional
        The format; default: by the suffix of the name. JSON lines have a ``text``, or a
        ``title`` and a ``content``, which are joined by a line feed, and ``labels``.
    limits : ReadLimits, optional
        Bounds of what reading may cost.

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
    with open_corpus(path, form, limits=limits) as corpus:
        return collect_texts(corpus)


def collect_texts(corpus: Corpus) -> LabelledTexts:
    """Read all documents of an open corpus; see ``read_texts``."""
    texts: list[str] = []
    labels: list[list[str]] = []
    for line, text, names in corpus.documents:
        texts.append(text)
        if names is not None:
            labels.append(names)
        if 0 < len(labels) < len(texts):
            raise FormatError(corpus.name, "a text without labels, but others have them", line)
    if not texts:
        raise FormatError(corpus.name, "has no texts")
    return LabelledTexts(texts, labels or None)
