"""Corpora: files of texts and the names of their labels, one module per format."""

from __future__ import annotations

from defrag.io.corpora._documents import CorpusOptions, Document, numbered_lines, shown
from defrag.io.corpora._formats import CORPUS_FORMS, Corpus, CorpusForm, corpus_form, open_corpus
from defrag.io.corpora._tables import csv_records

__all__ = [
    "CORPUS_FORMS",
    "Corpus",
    "CorpusForm",
    "CorpusOptions",
    "Document",
    "corpus_form",
    "csv_records",
    "numbered_lines",
    "open_corpus",
    "shown",
]
