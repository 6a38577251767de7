"""Texts to try things on: descriptions of Debian packages, whose labels are their dependencies.

The examples import this module; put your own texts in its place.
"""

from __future__ import annotations

import numpy as np

from defrag import load_dataset


def packages(part: str, n: int) -> tuple[list[str], list[list[str]]]:
    """Return n texts of the bundled data, drawn at random, and the label names of each."""
    data = load_dataset("debian")
    split = data.train if part == "train" else data.test
    rows = np.random.default_rng(0).permutation(split.X.shape[0])[:n]
    X, Y = split.X[rows], split.Y[rows]
    words, labels = (np.split(matrix.indices, matrix.indptr[1:-1]) for matrix in (X, Y))
    texts = [" ".join(data.feature_names[row]) for row in words]
    return texts, [data.label_names[row].tolist() for row in labels]
