"""defrag inside a scikit-learn pipeline: text -> tf-idf -> Hybrid -> linear classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from defrag import Hybrid, load_dataset, metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.io import Split

# A slice of the bundled data as text: Debian packages and the popular ones they need.
data = load_dataset("debian")
popular = np.sort(np.argsort(-data.train.Y.sum(axis=0), kind="stable")[:40])


def texts_and_labels(split: Split, n_rows: int) -> tuple[list[str], NDArray[np.int64]]:
    """Give texts and label matrix of the first packages that need a popular one."""
    rows = np.flatnonzero(split.Y[:, popular].sum(axis=1))[:n_rows]
    words = (data.feature_names[split.X[[row]].indices] for row in rows)
    return [" ".join(some) for some in words], split.Y[rows][:, popular].toarray().astype(int)


train_texts, train_labels = texts_and_labels(data.train, 4000)
test_texts, test_labels = texts_and_labels(data.test, 1000)

# The two lines: Hybrid is a transformer like any other, with a seed.
hybrid = Hybrid(max_cluster_size=8, random_state=0)
model = make_pipeline(TfidfVectorizer(), hybrid, OneVsRestClassifier(LinearSVC()))

model.fit(train_texts, train_labels)
scores = model.decision_function(test_texts)
best = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)[:, :5]
print(f"{hybrid.n_features_in_} words in {hybrid.n_clusters_} groups")
print(f"P@1 {metrics.precision(test_labels, best, k=1):.1f}")
