"""Corpora: files of texts and the names of their labels, one module per format."""

from __future__ import annotations

from defrag.io.corpora._documents import CorpusOptions, Document, counted, numbered_lines, shown
from defrag.io.corpora._formats import (
    CORPUS_FORMS,
    Corpus,
    CorpusForm,
    corpus_form,
    likely_forms,
    open_corpus,
)
from defrag.io.corpora._tables import csv_records

__all__ = [
    "CORPUS_FORMS",
    "Corpus",
    "CorpusForm",
    "CorpusOptions",
    "Document",
    "corpus_form",
    "counted",
    "csv_records",
    "likely_forms",
    "numbered_lines",
    "open_corpus",
    "shown",
]
