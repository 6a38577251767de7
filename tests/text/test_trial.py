"""Which features `TextClassifier` chooses by itself, and what it says about it."""

import numpy as np
import pytest

from defrag import TextClassifier, TextVectorizer, load
from defrag.distributed import fit_part, join, plan
from defrag.persistence import describe
from defrag.text import _trial

STEMS = ["kissa", "koira", "hevonen", "lintu", "kala", "karhu", "susi", "kettu"]


@pytest.fixture(autouse=True)
def _few_texts(monkeypatch):
    monkeypatch.setattr(_trial, "LEAST_TEXTS", 1000)
    monkeypatch.setattr(_trial, "_SHARE", 3)


def corpus(n_texts, *, inflected):
    """Return texts of one labelled word, which has the label inside if it is inflected."""
    rng = np.random.default_rng(0)
    labels = rng.choice(STEMS, n_texts).tolist()
    ends = ["".join(rng.choice(list("aeioulnst"), 4)) for _ in labels]
    middles = ends if inflected else [""] * n_texts
    parts = zip(labels, middles, ends, strict=True)
    return [f"{stem}{middle} {end}" for stem, middle, end in parts], labels


@pytest.mark.parametrize(
    ("inflected", "characters", "begins"),
    [(False, None, "words and pairs of words: nDCG@5 "), (True, 4, "characters of 4: nDCG@5 ")],
)
def test_trial_chooses_features_and_says_why(tmp_path, inflected, characters, begins):
    texts, labels = corpus(1200, inflected=inflected)
    runs = {"random_state": 0, "n_jobs": 1}, {"random_state": 1, "n_jobs": 2}
    models = [TextClassifier(**run).fit(texts, labels) for run in runs]
    reasons = [model.vectorizer_.trial_ for model in models]
    assert [model.vectorizer_.characters for model in models] == [characters] * 2
    assert reasons[0] == reasons[1]
    assert reasons[0].startswith(begins)
    assert "on 100 held-out texts" in reasons[0]
    models[0].save(tmp_path / "a")
    assert load(tmp_path / "a").vectorizer_.trial_ == reasons[0]
    assert describe(tmp_path / "a")["chosen"]["text_vectorizer.trial"] == reasons[0]
    given = TextVectorizer(ngrams=2 if characters is None else 1, characters=characters)
    same = TextClassifier(vectorizer=given, random_state=0).fit(texts, labels)
    assert same.vectorizer_.trial_ == ""
    np.testing.assert_equal(same.predict_topk(texts), models[0].predict_topk(texts))


def test_titles_get_features_of_their_own_where_they_tell(tmp_path):
    texts, labels = corpus(1200, inflected=False)
    others = np.random.default_rng(1).choice(STEMS, (len(texts), 3)).tolist()
    titled = [f"{text}\n{' '.join(words)}" for text, words in zip(texts, others, strict=True)]
    model = TextClassifier(random_state=0).fit(titled, labels)
    assert model.vectorizer_.lines == (0.6,)
    assert model.vectorizer_.trial_.startswith("words and pairs of words, and those of line 1: ")
    assert " with features of line 1" in model.vectorizer_.trial_
    model.save(tmp_path / "m")
    again, text = load(tmp_path / "m"), "kissa\nkoira susi"
    assert again.predict([text]) == model.predict([text]) == ["kissa"]
    assert [span.feature for span in again.explain(text).spans if span.end == 5]
    assert "line 1: kissa" in again.explain(text, "kissa").names
    same = TextClassifier(random_state=0).fit([f"front page\n{text}" for text in texts], labels)
    assert same.vectorizer_.lines is None


def test_few_texts_are_not_tried():
    texts, labels = corpus(1000, inflected=True)
    lists = [*([one] for one in labels[1:]), []]
    model = TextClassifier(random_state=0).fit([*texts[1:], "x"], lists)
    untried = "words and pairs of words: not tried on fewer than 1,000 texts"
    assert (model.vectorizer_.ngrams, model.vectorizer_.trial_) == (2, untried)


def test_words_are_not_tried_on_request():
    model = TextClassifier(features="words", random_state=0).fit(*corpus(1200, inflected=True))
    assert (model.vectorizer_.ngrams, model.vectorizer_.trial_) == (2, "")


def test_retrained_model_keeps_its_features():
    texts, labels = corpus(1200, inflected=True)
    first = TextClassifier(random_state=0).fit(texts, labels)
    again = TextClassifier(random_state=0).fit(texts[:300], labels[:300], shape=first)
    assert again.vectorizer_.characters == 4
    assert again.vectorizer_.trial_ == first.vectorizer_.trial_


def test_parts_have_the_features_of_fit():
    texts, labels = corpus(1200, inflected=True)
    model = TextClassifier(random_state=0)
    todo = plan(model, texts, labels, n_parts=1)
    joined = join(todo, [fit_part(todo, 0, texts, labels)])
    assert joined.vectorizer_.trial_ == model.fit(texts, labels).vectorizer_.trial_
    np.testing.assert_array_equal(joined.predict_topk(texts)[0], model.predict_topk(texts)[0])


def test_features_that_no_two_texts_share_lose():
    _, labels = corpus(1200, inflected=True)
    ends = (chr(0x3B1 + i % 24) + chr(0x430 + i // 24) for i in range(len(labels)))
    texts = [label + end for label, end in zip(labels, ends, strict=True)]
    model = TextClassifier(random_state=0).fit(texts, labels)
    assert "nDCG@5 0.0 of words and pairs" in model.vectorizer_.trial_
    assert model.vectorizer_.characters == 4
