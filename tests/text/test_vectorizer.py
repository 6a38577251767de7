"""Texts as rows: against the slow twin and scikit-learn."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from defrag import TextVectorizer, load
from defrag.text._texts import load_stemmer
from tests.helpers.model_drafts import inside, put, refuse
from tests.oracles.words import vectorise
from tests.text.data import ids

TEXTS = [
    "The quick brown fox jumps over the lazy dog",
    "the lazy dog sleeps; the fox_2 does not",
    "A dog, a fox and 42 quick jumps",
    "",
    "nothing in common -- at all",
    "quick quick quick brown dog",
]


def test_decomposed_accents_are_composed():
    model = TextVectorizer(min_df=1).fit(["cafe\u0301 noir"])
    assert model.get_feature_names_out().tolist() == ["café", "noir"]
    assert model.transform(["CAF\u00c9"]).nnz == 1


@pytest.mark.slow
def test_long_document_is_vectorised():
    text = " ".join(f"w{i % 1000}" for i in range(2_200_000))
    assert len(text) > 10_000_000
    found = TextVectorizer(min_df=1).fit_transform([text])
    assert found.shape == (1, 1000)
    np.testing.assert_allclose(found.data, 1000**-0.5, rtol=1e-6)


def assert_rows(ours, texts, wanted):
    """Check the rows of fit and of transform, of few and of many texts."""
    first = ours.fit_transform(texts)
    few, many = ours.transform(texts), ours.transform(texts * 128)[-len(texts) :]
    for rows in (first, few, many):
        assert rows.dtype == np.float32
        assert rows.has_canonical_format
        np.testing.assert_allclose(rows.toarray(), wanted, rtol=1e-6)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text("ab cd_1.Zé中文", max_size=30), min_size=1, max_size=12),
    st.sampled_from([{}, {"ngrams": 2}, {"characters": (3, 3)}, {"characters": (1, 5)}]),
    st.integers(1, 3),
    st.sampled_from([None, 1, 4]),
)
def test_rows_equal_oracle(texts, options, min_df, max_features):
    limits = {"min_df": min_df, "max_features": max_features}
    names, wanted = vectorise(texts, **options, **limits)
    ours = TextVectorizer(**options, **limits)
    if not names:
        message = rf"must have a (word|n-gram) that occurs in at least {min_df} of them"
        with pytest.raises(ValueError, match=message):
            ours.fit(texts)
        return
    assert ours.fit(texts).get_feature_names_out().tolist() == names
    assert_rows(ours, texts, wanted)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.text("ab cd_1.Z", max_size=30), min_size=1, max_size=12),
    st.integers(1, 2),
    st.integers(1, 3),
)
def test_ascii_rows_are_those_of_scikit_learn(texts, ngrams, min_df):
    theirs = TfidfVectorizer(ngram_range=(1, ngrams), min_df=min_df, sublinear_tf=True)
    if min_df > len(texts):
        return
    check_against(theirs, TextVectorizer(ngrams, min_df=min_df), texts)


def check_against(theirs, ours, texts):
    """Check the rows against those of a vectoriser of scikit-learn, whose names are sorted."""
    try:
        wanted = theirs.fit_transform(texts).toarray()
    except ValueError:
        with pytest.raises(ValueError, match=r"must have a (word|n-gram)"):
            ours.fit(texts)
        return
    names = theirs.get_feature_names_out().tolist()
    found = ours.fit(texts).get_feature_names_out().tolist()
    assert sorted(found) == names
    assert_rows(ours, texts, wanted[:, [names.index(name) for name in found]])


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.text("abcd", min_size=2, max_size=6), max_size=6), min_size=1, max_size=9),
    st.sampled_from([(4, 4), (3, 5), (1, 2)]),
)
def test_character_rows_are_those_of_scikit_learn(texts, lengths):
    texts = [" ".join(words) for words in texts]
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=lengths, sublinear_tf=True)
    check_against(theirs, TextVectorizer(characters=lengths, min_df=1), texts)


def test_one_length_of_n_grams():
    one = TextVectorizer(characters=3, min_df=1).fit(TEXTS)
    two = TextVectorizer(characters=(3, 3), min_df=1).fit(TEXTS)
    assert one.get_feature_names_out().tolist() == two.get_feature_names_out().tolist()


def test_most_frequent_features_are_kept():
    theirs = CountVectorizer(ngram_range=(1, 2), max_features=3)
    theirs.fit(["x1 x2 x1 x2 x1 x2", "x1 x2 other", "x1 words x1"])
    ours = TextVectorizer(2, min_df=1, max_features=3)
    rows = ours.fit_transform(["x1 x2 x1 x2 x1 x2", "x1 x2 other", "x1 words x1"])
    assert set(ours.get_feature_names_out()) == set(theirs.get_feature_names_out())
    assert rows.shape == (3, 3)


def test_a_pair_whose_words_are_dropped_is_still_found():
    texts = ["aa bb", "aa bb", "cc cc cc cc cc", "cc cc"]
    ours = TextVectorizer(2, min_df=1, max_features=3).fit(texts)
    # Equally often as the pair, "bb" comes after "aa" and both before the pair.
    assert ours.get_feature_names_out().tolist() == ["aa", "cc", "cc cc"]
    ours = TextVectorizer(2, min_df=1, max_features=3).fit([*texts, "zz aa bb", "aa", "cc aa bb"])
    assert ours.get_feature_names_out().tolist() == ["aa", "cc", "cc cc"]
    ours.word_feature_ = np.full_like(ours.word_feature_, -1)
    ours.idf_ = ours.idf_[2:]
    ours._prepare()
    assert ours.get_feature_names_out().tolist() == ["cc cc"]
    assert (ours.transform(texts).toarray().ravel() > 0).tolist() == [False, False, True, True]


@pytest.mark.parametrize("n_texts", [1, 200])
def test_features_of_weight_zero_are_not_stored(n_texts):
    ours = TextVectorizer(2, min_df=1).fit(["aa bb"])
    ours.idf_ = np.float32([0, 1, 0])
    ours._prepare()
    rows = ours.transform(["aa bb"] * n_texts)
    assert rows.indices.tolist() == [1] * n_texts


@pytest.mark.parametrize("options", [{"ngrams": 2}, {"characters": (2, 3)}])
def test_first_lines_are_blocks_of_their_own(tmp_path, options):
    texts = ["Quick sort\nof fast lists\nmore", "quick lists", "", "\nfast\r\nquick sort"] * 3
    plain = TextVectorizer(min_df=1, **options).fit(texts)
    model = TextVectorizer(min_df=1, lines=(0.5, 2), **options)
    lines = [[*text.split("\n"), ""][:2] for text in texts]
    blocks = [plain.transform(texts), *(plain.transform([two[i] for two in lines]) for i in (0, 1))]
    wanted = np.hstack([w * X.toarray() for w, X in zip((1, 0.5, 2), blocks, strict=True)])
    length = np.linalg.norm(wanted, axis=1, keepdims=True)
    assert_rows(model, texts, wanted / np.where(length > 0, length, 1))
    names = model.get_feature_names_out().tolist()
    n = len(plain.idf_)
    assert names[:n] == plain.get_feature_names_out().tolist()
    assert names[n:] == [f"line {i}: {name}" for i in (1, 2) for name in names[:n]]
    features, begins, ends = model.spans(texts[0])
    assert set(features) == set(model.transform(texts[:1]).indices)
    for i, begin, end in zip((features // n).tolist(), begins.tolist(), ends.tolist(), strict=True):
        first = (0, 0, 11)[i]
        assert first <= begin < end <= (len(texts[0]), 10, 24)[i]
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.lines == (0.5, 2)
    assert loaded.transform(texts).data.tobytes() == model.transform(texts).data.tobytes()


@pytest.mark.parametrize("lines", [(), (0.0,), (1.0,) * 9, 0.5, ("a",)])
def test_bad_weights_of_lines_are_refused(lines):
    with pytest.raises(ValueError, match="lines of TextVectorizer must be one to eight weights"):
        TextVectorizer(lines=lines).fit(TEXTS)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "texts must be a sequence of strings, got 'one text'"),
        (["good", 3], "text 1 must be a string, got 3"),
        (["good", b"bytes"], "text 1 must be a string"),
        (["good", "bad \ud800"], "text 1 has a lone surrogate at character 4"),
        (None, "texts must be a sequence"),
        (sparse.eye_array(3), "got a dia_array of shape \\(3, 3\\): pass one column of it"),
        (pd.DataFrame({"text": TEXTS}), "got a DataFrame of shape .*: pass one column of it"),
        ([sparse.eye_array(3)], "text 0 must be a string, got <[^\n]*$"),
        ([], "must have a word that occurs in at least 2"),
        (["a"], "got 1 text without one"),
        (["a", "b"], "got 2 texts without one"),
    ],
)
def test_bad_texts_are_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        TextVectorizer().fit(texts)


BROKEN = {
    "feature beyond": ("word_feature", lambda a: a + 1000, r"must be in \[-1"),
    "feature shared": ("word_feature", lambda a: np.minimum(a, 1), "must not share a feature"),
    "pair of no word": ("pairs", lambda a: a + 100, r"must be in \[0"),
    "too large": ("idf", lambda a: a * np.float32(1e30), "must be at most"),
    "words repeat": ("words/bytes", lambda a: np.full_like(a, 97), "must differ"),
    "pairs repeat": ("pairs", lambda a: np.tile(a[:2], len(a) // 2), "must differ"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused(tmp_path, case):
    TextVectorizer(2).fit(TEXTS).save(tmp_path / "a")
    name, change, message = BROKEN[case]
    refuse(tmp_path, (tmp_path / "a").read_bytes(), put(name, change), message)


# --- Stems in place of words, by an extra that may be missing.

INFLECTED = ["running dogs run", "the dog runs", "cats and a running cat", ""]


@pytest.fixture
def without_stemmer(monkeypatch):
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    load_stemmer.cache_clear()
    yield
    load_stemmer.cache_clear()


@pytest.mark.parametrize("options", [{}, {"ngrams": 2}, {"characters": (3, 4)}])
def test_rows_are_those_of_stems(options):
    stemmer = pytest.importorskip("Stemmer").Stemmer("english")
    names, wanted = vectorise(INFLECTED, min_df=1, stem=stemmer.stemWord, **options)
    ours = TextVectorizer(stemmer="english", min_df=1, **options)
    rows = ours.fit_transform(INFLECTED)
    assert ours.get_feature_names_out().tolist() == names
    np.testing.assert_allclose(rows.toarray(), wanted, rtol=1e-6)
    for texts in (INFLECTED, INFLECTED * 50):
        np.testing.assert_array_equal(ours.transform(texts).toarray()[:4], rows.toarray())


def test_a_span_is_the_whole_word():
    pytest.importorskip("Stemmer")
    ours = TextVectorizer(stemmer="english").fit(INFLECTED)
    features, begins, ends = ours.spans("Running!")
    assert ours.get_feature_names_out()[features].tolist() == ["run"]
    assert (begins.tolist(), ends.tolist()) == ([0], [7])
    grams = TextVectorizer(stemmer="english", characters=3).fit(INFLECTED)
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
    ours = TextVectorizer(stemmer="english").fit(INFLECTED)
    ours.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert loaded.stemmer == "english"
    assert (loaded.transform(INFLECTED) != ours.transform(INFLECTED)).nnz == 0


def test_a_file_with_an_unknown_stemmer_is_refused(tmp_path):
    pytest.importorskip("Stemmer")
    TextVectorizer(stemmer="english").fit(INFLECTED).save(tmp_path / "a")
    unknown = inside("parameters", stemmer="klingon")
    refuse(tmp_path, (tmp_path / "a").read_bytes(), unknown, "stemmer must be one of .*'klingon'")


def test_without_the_extra(without_stemmer):  # noqa: ARG001 - a fixture
    with pytest.raises(
        ImportError, match=r"stemmer='finnish' needs PyStemmer: pip install .defrag\[stem\]"
    ):
        TextVectorizer(stemmer="finnish").fit(INFLECTED)
    assert TextVectorizer().fit_transform(INFLECTED).nnz


@pytest.mark.parametrize("stemmer", ["klingon", "English", "", 3])
def test_no_such_stemmer(stemmer):
    pytest.importorskip("Stemmer")
    with pytest.raises(ValueError, match=r"stemmer (of TextVectorizer )?must be"):
        TextVectorizer(stemmer=stemmer).fit(INFLECTED)


# --- Features that keep their places when a vectoriser is fitted again.

OLD = ["sparse matrix here", "sparse matrix there", "old word here", "old word there", "a b"]
NEW = ["dense sparse matrix", "dense sparse matrix", "new matrix here", "new vector here"]
SETTINGS = [{}, {"ngrams": 2}, {"characters": 3}, {"ngrams": 2, "max_features": 5}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_features_keep_their_ids_and_new_ones_follow(settings, tmp_path):
    old = TextVectorizer(**settings).fit(OLD)
    alone = TextVectorizer(**settings)
    wanted = alone.fit_transform(NEW)
    model = TextVectorizer(**settings)
    rows = model.fit_transform(NEW, shape=old)
    before, after, fresh = ids(old), ids(model), ids(alone)
    assert set(after) == set(before) | set(fresh)
    assert set(fresh) - set(before)
    assert set(before) - set(fresh)
    for name, number in after.items():
        assert number == before[name] if name in before else number >= len(before)
        assert (model.idf_[number] > 0) == (name in fresh)
    order = [after[name] for name in fresh]
    assert rows.nnz == wanted.nnz
    assert rows.has_sorted_indices
    # Their squares are added in another order.
    np.testing.assert_allclose(rows.toarray()[:, order], wanted.toarray(), rtol=1e-6)
    model.save(tmp_path / "a")
    again = load(tmp_path / "a")
    many = [*OLD, *NEW] * 20  # enough for the other kernel
    for one in (model, again):
        assert (one.transform(many) != many_rows(model, many)).nnz == 0
        found = one.transform(many).toarray()[:, order]
        np.testing.assert_allclose(found, alone.transform(many).toarray(), rtol=1e-6)
    text = "old word: sparse matrix"
    features, _, _ = again.spans(text)
    assert set(features.tolist()) == set(model.transform([text]).indices.tolist())


def many_rows(model, texts):
    """Transform texts one at a time."""
    return sparse.vstack([model.transform([text]) for text in texts], format="csr")


def test_the_same_texts_have_the_same_features():
    old = TextVectorizer(2).fit(OLD)
    model = TextVectorizer(2).fit(OLD, shape=old)
    for name in ("word_feature_", "pairs_", "idf_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(old, name))
    # What had gone comes back at its place.
    again = TextVectorizer(2).fit(OLD, shape=TextVectorizer(2).fit(NEW, shape=old))
    assert {name: ids(again)[name] for name in ids(old)} == ids(old)
    np.testing.assert_array_equal(again.idf_[: len(old.idf_)], old.idf_)


@pytest.mark.parametrize(
    "shape",
    [TextVectorizer(), TextVectorizer(characters=3).fit(OLD)],
    ids=["not fitted", "characters"],
)
def test_shape_requires_same_tokenisation(shape):
    with pytest.raises(ValueError, match="shape must be a fitted TextVectorizer with the same"):
        TextVectorizer().fit(NEW, shape=shape)
