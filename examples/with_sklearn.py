"""defrag inside a scikit-learn pipeline: text -> tf-idf -> Focus or Hybrid -> linear classifier."""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from defrag import Focus, load_dataset, metrics
from defrag.agglomeration import Hybrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.io import Split

# A slice of the bundled data as text: Debian packages and the popular ones they need.
data = load_dataset("debian")
popular = np.sort(np.argsort(-data.train.Y.sum(axis=0), kind="stable")[:40])


def texts_and_labels(split: Split, n_rows: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return texts and label matrix of the first packages that need a popular one."""
    rows = np.flatnonzero(split.Y[:, popular].sum(axis=1))[:n_rows]
    words = (data.feature_names[split.X[[row]].indices] for row in rows)
    return [" ".join(some) for some in words], split.Y[rows][:, popular].toarray().astype(int)


train_texts, train_labels = texts_and_labels(data.train, 4000)
test_texts, test_labels = texts_and_labels(data.test, 1000)

# Focus and Hybrid are transformers like any other, with a seed.
for name, reduction in {
    "all words": "passthrough",
    "Focus": Focus(random_state=0),
    "Hybrid": Hybrid(max_cluster_size=8, random_state=0),
}.items():
    model = make_pipeline(TfidfVectorizer(), reduction, OneVsRestClassifier(LinearSVC()))
    begin = time.process_time()
    model.fit(train_texts, train_labels)
    seconds = time.process_time() - begin
    scores = model.decision_function(test_texts)
    best = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)[:, :5]
    report = metrics.evaluate(test_labels, best)
    found = "/".join(f"{report[f'P@{k}']:.1f}" for k in (1, 3, 5))
    size = len(pickle.dumps(model[1:])) / 1e6
    print(f"{name}: P@1/3/5 {found}, training {seconds:.1f} s, model {size:.1f} MB")
