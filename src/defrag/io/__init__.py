"""Readers and writers of data files: points, groups, predictions, word vectors, data sets."""

from __future__ import annotations

from defrag.io.corpora import LabelledTexts, read_texts
from defrag.io.datasets import Dataset, Split, load_dataset
from defrag.io.files import ReadLimits
from defrag.io.groups import read_groups, write_groups
from defrag.io.npz import write_npz
from defrag.io.points import Points, read_points, write_points
from defrag.io.predictions import write_predictions
from defrag.io.word_vectors import WordVectors, read_word_vectors
from defrag.io.xmc import read_xmc, write_xmc

__all__ = [
    "Dataset",
    "LabelledTexts",
    "Points",
    "ReadLimits",
    "Split",
    "WordVectors",
    "load_dataset",
    "read_groups",
    "read_points",
    "read_texts",
    "read_word_vectors",
    "read_xmc",
    "write_groups",
    "write_npz",
    "write_points",
    "write_predictions",
    "write_xmc",
]
