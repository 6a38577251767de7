"""One label per text: cross-validation, a grid, calibration and ensembles of scikit-learn."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline

from defrag import TextClassifier, load_dataset

data = load_dataset("debian").texts()
sections = np.array([(names or [""])[0].split("-")[0] for names in data.labels])
common = [name for name, n in zip(*np.unique(sections, return_counts=True), strict=True) if n > 60]
kept = np.flatnonzero(np.isin(sections, common[:12]))
texts, y = [data.texts[i] for i in kept], sections[kept]
texts, test, y, y_test = train_test_split(texts, y, random_state=0, stratify=y)

ours = TextClassifier(random_state=0)
scoring = ["accuracy", "f1_micro", "neg_log_loss"]
found = cross_validate(ours, texts, y, cv=3, scoring=scoring, error_score="raise")
for name in scoring:
    print(f"{name}: {found[f'test_{name}'].mean():.3f}")

grid = {"base__base__C": [0.5, 2.0], "vectorizer__ngrams": [1, 2]}
search = GridSearchCV(ours, grid, cv=3, error_score="raise").fit(texts, y)
print("best:", search.best_params_)

theirs = make_pipeline(TfidfVectorizer(), LogisticRegression())
members = [("ours", ours), ("theirs", theirs)]
for model in (
    ours,
    theirs,
    CalibratedClassifierCV(ours, cv=3),
    VotingClassifier(members, voting="soft"),
    StackingClassifier(members, cv=3),
):
    fitted = model.fit(texts, y)
    sums = fitted.predict_proba(test).sum(axis=1)
    name = type(model).__name__
    print(f"{name}: accuracy {fitted.score(test, y_test):.3f}, sums {sums.min():.3f}")
