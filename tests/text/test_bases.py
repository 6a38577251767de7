"""TextClassifier over every classifier of the registry."""

import numpy as np
import pytest

from defrag import (
    Agglomerated,
    Focused,
    Imputed,
    LabelTree,
    Refrag,
    TextClassifier,
    TextVectorizer,
    load,
)
from defrag.agglomeration import Hybrid
from defrag.baselines import Parabel
from defrag.registry import entries
from tests.contract.subject import Subject
from tests.text.data import make_texts

BASES = {entry.word: Subject(entry).new() for entry in entries("classifier", "composite")}
STACKED = {
    "focus and refrag": Refrag(Focused(LabelTree())),
    "focus and imputation": Imputed(Focused(LabelTree())),
    "agglomeration of focus": Agglomerated(Focused(LabelTree()), Hybrid(n_clusters=12)),
    "focus of agglomeration": Focused(Agglomerated(Parabel(), Hybrid(n_clusters=12))),
}


@pytest.mark.parametrize("name", [*BASES, *STACKED])
def test_any_classifier_is_a_base(name, tmp_path):
    base = {**BASES, **STACKED}[name]
    texts, labels = make_texts()
    model = TextClassifier(base, TextVectorizer(2), random_state=0, n_jobs=1)
    model.fit(texts[:90], labels[:90])
    assert model.score(texts[90:], labels[90:]) > 0.5  # by chance: 0.4
    asked = [*texts[90:], "", "xyzzy"]
    names, scores = model.predict_topk(asked, k=3)
    assert names.shape == scores.shape == (32, 3)
    assert set(names.ravel()) <= {*model.classes_, ""}
    assert ((names == "") == (scores == 0)).all() or not scores[names == ""].any()
    assert (names[-2:] == "").all()
    assert (np.diff(scores, axis=1) <= 0).all()
    for row, found in zip(names, model.predict(asked, threshold=0.0), strict=True):
        assert [name for name in row if name] == found[: np.count_nonzero(row != "")]
    model.save(tmp_path / "a")
    again, scores_again = load(tmp_path / "a").predict_topk(asked, k=3)
    assert again.tolist() == names.tolist()
    np.testing.assert_array_equal(scores_again, scores)
