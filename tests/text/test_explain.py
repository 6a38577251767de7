"""Explanations of the labels of texts."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MaxAbsScaler

from defrag import Agglomerated, DiSMEC, Focused, LabelTree, TextClassifier, TextVectorizer, load
from defrag.agglomeration import Tight
from defrag.classifiers.pipeline import TopKPipeline

TEXTS = [
    "sparse matrix library", "dense matrix products", "a library for quick sorting",
    "merge sorting of large files", "copy large files", "sorting matrix files",
]  # fmt: skip
LABELS = [["algebra"], ["algebra"], ["sorting"], ["sorting", "files"], ["files"], ["sorting"]]
TEXT = "Sorting a LARGE matrix, sorting: <large> files \N{SLICE OF PIZZA}"


def fitted(base=None, vectorizer=None):
    return TextClassifier(base, vectorizer, random_state=0).fit(TEXTS, LABELS)


GROUPED = Agglomerated(Focused(LabelTree()), Tight())


@pytest.mark.parametrize(
    ("base", "vectorizer"),
    [
        *((None, one) for one in (None, TextVectorizer(), TextVectorizer(2))),
        *((one, TextVectorizer(characters=(3, 4))) for one in (None, GROUPED)),
    ],
    ids=["default", "words", "pairs", "characters", "tight groups of characters"],
)
def test_words_add_up_to_the_score_and_to_the_text(base, vectorizer):
    model = fitted(base, vectorizer)
    names, scores = model.predict_topk([TEXT], k=3)
    found = model.explain(TEXT, k=3)
    assert [one.label for one in found] == names[0].tolist()
    every = model.vectorizer_.get_feature_names_out()
    for one, score in zip(found, scores[0], strict=True):
        assert one.score == pytest.approx(score, abs=1e-6)
        assert one.base + one.contributions.sum() == pytest.approx(one.score, abs=1e-9)
        assert one.names == every[one.features].tolist()
        pieces = one.segments()
        assert "".join(piece.text for piece in pieces) == TEXT
        assert sum(piece.weight for piece in pieces) == pytest.approx(one.contributions.sum())


def test_important_word_is_marked_at_every_place():
    one = fitted(DiSMEC(), TextVectorizer()).explain(TEXT, "sorting")
    weights = {}
    for piece in one.segments():
        weights.setdefault(piece.text.lower(), []).append(piece.weight)
    assert one.names[0] == "sorting"
    assert weights["sorting"] == pytest.approx([one.contributions[0] / 2] * 2)
    html = one._repr_html_()
    assert "&lt;" in html
    assert "<large>" not in html
    assert html.count(">sorting</mark>") == 1
    assert html.count(">Sorting</mark>") == 1


def test_decomposed_accents_are_marked_in_the_text_as_it_is():
    model = TextClassifier(DiSMEC(), TextVectorizer(min_df=1), random_state=0)
    model.fit(["caf\N{LATIN SMALL LETTER E WITH ACUTE} bar", "tea house"], ["coffee", "tea"])
    text = "A cafe\N{COMBINING ACUTE ACCENT}!"
    pieces = model.explain(text, "coffee").segments()
    assert [piece.text for piece in pieces] == ["A ", "cafe\N{COMBINING ACUTE ACCENT}", "!"]
    assert pieces[1].weight > 0


def test_a_text_without_a_known_word_has_no_labels_to_explain():
    model = fitted()
    assert model.explain("unheard of", k=3) == ()
    with pytest.raises(ValueError, match="the text has no known word"):
        model.explain("")
    one = model.explain("unheard of", "files")
    assert one.score == one.base
    assert [piece.text for piece in one.segments()] == ["unheard of"]


def test_unexplainable_input_raises():
    model = fitted()
    with pytest.raises(ValueError, match=r"^label must be a label of the model, got 'x'$"):
        model.explain(TEXT, "x")
    with pytest.raises(ValueError, match=r"got 'file': did you mean files\?$"):
        model.explain(TEXT, "file")
    with pytest.raises(ValueError, match=r"^label must be a label of the model, got 3$"):
        model.label_features(3)
    with pytest.raises(ValueError, match="text must be one string, got \\['a'\\]"):
        model.explain(["a"])
    for text in (TEXT, "unheard of"):
        with pytest.raises(ValueError, match=r"^k must be an int >= 1, got 0$"):
            model.explain(text, k=0)


def test_words_of_a_label_score_as_texts_of_one_word(tmp_path):
    model = fitted(LabelTree(), TextVectorizer())
    model.save(tmp_path / "model.safetensors")
    for same in (model, load(tmp_path / "model.safetensors")):
        found = same.label_features("files", n=2)
        for name, score in zip(found.names, found.scores, strict=True):
            assert same.explain(name, "files").score == pytest.approx(score)
        assert found.scores[0] > found.base


def test_a_pipeline_explains_by_the_names_of_its_steps():
    words = TfidfVectorizer()
    model = TopKPipeline([("words", words), ("scale", MaxAbsScaler()), ("none", None),
                          ("labels", LabelTree(random_state=0))])  # fmt: skip
    model.fit(TEXTS, np.array([0, 0, 1, 1, 2, 1]))
    one = model.explain("sorting a large matrix")
    assert one.score == pytest.approx(model.predict_topk(["sorting a large matrix"], 1)[1][0, 0])
    assert set(one.names) == {"sorting", "large", "matrix"}
    assert len(model.explain(["large files"], k=2)) == 2
    assert "matrix" in model.label_features(0).names
    assert model.steps[-1][1].vocabulary_ is None  # the step is as it was
