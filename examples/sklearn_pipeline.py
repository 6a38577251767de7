"""defrag inside a scikit-learn pipeline: text -> tf-idf -> Focus or Hybrid -> linear classifier."""

import pickle
import time
from collections import Counter

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

from defrag import Focus, load_dataset, metrics
from defrag.agglomeration import Hybrid

# Packages that need one of the 40 most popular ones, which scikit-learn can still learn.
texts, labels = load_dataset("debian").texts("train", 6000)
popular = {name for name, _ in Counter(name for row in labels for name in row).most_common(40)}
pairs = [(t, popular & {*row}) for t, row in zip(texts, labels, strict=True) if popular & {*row}]
texts, Y = [t for t, _ in pairs], MultiLabelBinarizer().fit_transform([row for _, row in pairs])
texts, test_texts, Y, Y_test = texts[:-1000], texts[-1000:], Y[:-1000], Y[-1000:]

# Focus and Hybrid are transformers like any other, in front of any classifier.
for name, reduction in {
    "all words": "passthrough",
    "Focus": Focus(random_state=0),
    "Hybrid": Hybrid(max_cluster_size=8, random_state=0),
}.items():
    model = make_pipeline(TfidfVectorizer(), reduction, OneVsRestClassifier(LinearSVC()))
    begin = time.process_time()
    model.fit(texts, Y)
    seconds = time.process_time() - begin
    best = np.argsort(-model.decision_function(test_texts), axis=1, kind="stable")[:, :5]
    report = metrics.evaluate(Y_test, best.astype(np.int32))
    found = "/".join(f"{report[f'P@{k}']:.1f}" for k in (1, 3, 5))
    size = len(pickle.dumps(model[1:])) / 1e6
    print(f"{name}: P@1/3/5 {found}, training {seconds:.1f} s, model {size:.1f} MB")
