"""Stems in place of words, by an extra that may be missing."""

import sys

import numpy as np
import pytest

from defrag import TextVectorizer, load
from defrag.text import _texts as _stemming
from tests.helpers.model_drafts import inside, refuse
from tests.oracles.words import vectorise

TEXTS = ["running dogs run", "the dog runs", "cats and a running cat", ""]


@pytest.fixture
def without_stemmer(monkeypatch):
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    _stemming.load_stemmer.cache_clear()
    yield
    _stemming.load_stemmer.cache_clear()


@pytest.mark.parametrize("options", [{}, {"ngrams": 2}, {"characters": (3, 4)}])
def test_rows_are_those_of_stems(options):
    stemmer = pytest.importorskip("Stemmer").Stemmer("english")
    names, wanted = vectorise(TEXTS, min_df=1, stem=stemmer.stemWord, **options)
    ours = TextVectorizer(stemmer="english", min_df=1, **options)
    rows = ours.fit_transform(TEXTS)
    assert ours.get_feature_names_out().tolist() == names
    np.testing.assert_allclose(rows.toarray(), wanted, rtol=1e-6)
    for texts in (TEXTS, TEXTS * 50):
        np.testing.assert_array_equal(ours.transform(texts).toarray()[:4], rows.toarray())


def test_a_span_is_the_whole_word():
    pytest.importorskip("Stemmer")
    ours = TextVectorizer(stemmer="english").fit(TEXTS)
    features, begins, ends = ours.spans("Running!")
    assert ours.get_feature_names_out()[features].tolist() == ["run"]
    assert (begins.tolist(), ends.tolist()) == ([0], [7])
    grams = TextVectorizer(stemmer="english", characters=3).fit(TEXTS)
    _, begins, ends = grams.spans("Running!")
    assert begins.tolist() == [0, 0, 1]
    assert ends.tolist() == [2, 3, 4]


def test_result_is_equal_for_any_threads():
    pytest.importorskip("Stemmer")
    texts = [f"running{i % 7} dogs{i % 11} run" for i in range(5000)]
    one = TextVectorizer(2, stemmer="english", n_jobs=1).fit_transform(texts)
    many = TextVectorizer(2, stemmer="english", n_jobs=3).fit_transform(texts)
    assert (one != many).nnz == 0


def test_the_file_names_the_stemmer(tmp_path):
    pytest.importorskip("Stemmer")
    ours = TextVectorizer(stemmer="english").fit(TEXTS)
    ours.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert loaded.stemmer == "english"
    assert (loaded.transform(TEXTS) != ours.transform(TEXTS)).nnz == 0


def test_a_file_with_an_unknown_stemmer_is_refused(tmp_path):
    pytest.importorskip("Stemmer")
    TextVectorizer(stemmer="english").fit(TEXTS).save(tmp_path / "a")
    unknown = inside("parameters", stemmer="klingon")
    refuse(tmp_path, (tmp_path / "a").read_bytes(), unknown, "stemmer must be one of .*'klingon'")


def test_without_the_extra(without_stemmer):  # noqa: ARG001 - a fixture
    with pytest.raises(
        ImportError, match=r"stemmer='finnish' needs PyStemmer: pip install .defrag\[stem\]"
    ):
        TextVectorizer(stemmer="finnish").fit(TEXTS)
    assert TextVectorizer().fit_transform(TEXTS).nnz


@pytest.mark.parametrize("stemmer", ["klingon", "English", "", 3])
def test_no_such_stemmer(stemmer):
    pytest.importorskip("Stemmer")
    with pytest.raises(ValueError, match=r"stemmer (of TextVectorizer )?must be"):
        TextVectorizer(stemmer=stemmer).fit(TEXTS)
