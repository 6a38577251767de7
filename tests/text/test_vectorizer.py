"""Texts as rows: words against the slow twin, counts against scikit-learn."""

from __future__ import annotations

import pickle
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from defrag import TextVectorizer, _native, load
from defrag.exceptions import ModelFormatError
from tests.helpers.model_drafts import Draft
from tests.oracles.words import split_words

TEXTS = [
    "The quick brown fox jumps over the lazy dog",
    "the lazy dog sleeps; the fox_2 does not",
    "A dog, a fox and 42 quick jumps",
    "",
    "nothing in common -- at all",
    "quick quick quick brown dog",
]
# Python may know a later Unicode than the tables, which are frozen.
KNOWN = st.characters(
    exclude_categories=("Cs", "Cn", "Co") if unicodedata.unidata_version >= "14" else ("Cs",),
    max_codepoint=0x2FFFF,
)
same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0",
    reason=f"the tables are Unicode 14, this Python has {unicodedata.unidata_version}",
)


def words_of(text):
    words, indptr, tokens = _native.tokenize([text], n_threads=1)
    assert indptr.tolist() == [0, len(tokens)]
    return [words[token] for token in tokens]


@same_unicode
@settings(deadline=None, max_examples=300)
@given(st.text(KNOWN, max_size=60))
def test_words_are_those_of_the_slow_twin(text):
    assert words_of(text) == split_words(text)


@same_unicode
def test_every_code_point():
    # All that is assigned to characters, and one of each page of the rest.
    codes = [*range(0xD800), *range(0xE000, 0x32000), *range(0x32000, sys.maxunicode + 1, 128)]
    text = " ".join(chr(code) * 2 for code in codes)
    assert words_of(text) == split_words(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World_2 a b", ["hello", "world_2"]),
        ("naïve Ünïcode ÉCOLE", ["naïve", "ünïcode", "école"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("สวัสดี", ["สว", "วั", "ัส", "สด", "ดี"]),
        ("中文分词 x", ["中文", "文分", "分词"]),
        ("中", ["中"]),
        ("tiếng Việt", ["tiếng", "việt"]),
        ("İstanbul ΣΑΣ", ["istanbul", "σασ"]),  # noqa: RUF001 - Greek
        ("a👩‍💻b 😀😀", []),
        ("nul\0byte", ["nul", "byte"]),
        ("", []),
    ],
)
def test_words_by_hand(text, words):
    assert words_of(text) == words


def test_decomposed_accents_are_composed():
    model = TextVectorizer(min_df=1).fit(["cafe\u0301 noir"])
    assert model.get_feature_names_out().tolist() == ["café", "noir"]
    assert model.transform(["CAF\u00c9"]).nnz == 1


def test_a_long_document():
    words = [f"w{i % 1000}" for i in range(1_500_000)]
    found = TextVectorizer(min_df=1).fit_transform([" ".join(words)])
    assert found.shape == (1, 1000)
    np.testing.assert_allclose(found.data, 1 + np.log(1500), rtol=1e-6)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.text("ab cd_1.Z", max_size=30), min_size=1, max_size=12),
    st.integers(1, 2),
    st.integers(1, 3),
)
def test_ascii_counts_are_those_of_scikit_learn(texts, ngrams, min_df):
    theirs = CountVectorizer(ngram_range=(1, ngrams), min_df=1)
    try:
        wanted = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(ValueError, match="must have a word"):
            TextVectorizer(ngrams, min_df=1).fit(texts)
        return
    names = theirs.get_feature_names_out()
    kept = np.flatnonzero(np.asarray((wanted > 0).sum(axis=0)).ravel() >= min_df)
    if not len(kept):
        with pytest.raises(ValueError, match=f"at least {min_df} of them, got {len(texts)}"):
            TextVectorizer(ngrams, min_df=min_df).fit(texts)
        return
    ours = TextVectorizer(ngrams, min_df=min_df).fit(texts)
    assert set(ours.get_feature_names_out()) == set(names[kept])
    order = [list(names).index(name) for name in ours.get_feature_names_out()]
    counts = _native.count_features(ours.features_, texts, len(ours.idf_), 1)
    np.testing.assert_array_equal(counts.toarray(), wanted[:, order].toarray())


def test_values_are_sublinear_tf_idf():
    theirs = TfidfVectorizer(sublinear_tf=True, norm=None, min_df=2, ngram_range=(1, 2))
    wanted = theirs.fit_transform(TEXTS).toarray()
    ours = TextVectorizer(2)
    found = ours.fit_transform(TEXTS)
    order = [list(theirs.get_feature_names_out()).index(n) for n in ours.get_feature_names_out()]
    np.testing.assert_allclose(found.toarray(), wanted[:, order], rtol=1e-6)
    np.testing.assert_array_equal(found.toarray(), ours.transform(TEXTS).toarray())
    assert found.has_canonical_format


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
    ours.idf_, ours.features_ = ours.idf_[2:], None
    ours.features_ = ours.make_features()
    assert ours.get_feature_names_out().tolist() == ["cc cc"]
    assert ours.transform(texts).toarray().astype(bool).ravel().tolist() == [
        False,
        False,
        True,
        True,
    ]


def test_rows_of_training_texts_are_those_of_transform():
    texts = ["aa bb aa bb cc", "aa bb", "cc cc cc cc aa", "bb cc cc"]
    ours = TextVectorizer(2, min_df=1, max_features=4)
    rows = ours.fit_transform(texts)
    assert (ours.transform(texts) != rows).nnz == 0


@pytest.mark.parametrize("n_jobs", [2, 7])
def test_threads_change_no_bit(n_jobs):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 500, 20)) for _ in range(5000)]
    one = TextVectorizer(2, n_jobs=1)
    many = TextVectorizer(2, n_jobs=n_jobs)
    for found, wanted in zip(
        vars(many.fit_transform(texts)).values(),
        vars(one.fit_transform(texts)).values(),
        strict=True,
    ):
        assert np.array_equal(found, wanted)
    assert list(one.words_) == list(many.words_)
    np.testing.assert_array_equal(one.pairs_, many.pairs_)


def test_save_load_pickle_clone(tmp_path):
    model = TextVectorizer(2).fit(TEXTS)
    model.save(tmp_path / "a")
    for again in (load(tmp_path / "a"), pickle.loads(pickle.dumps(model))):  # noqa: S301 - our own
        assert (again.transform(TEXTS) != model.transform(TEXTS)).nnz == 0
        assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    assert not hasattr(clone(model), "words_")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "texts must be a sequence of strings, got 'one text'"),
        (["good", 3], "text 1 must be a string, got 3"),
        (["good", b"bytes"], "text 1 must be a string"),
        (["good", "bad \ud800"], "text 1 has a lone surrogate at character 4"),
        (None, "texts must be a sequence"),
        ([], "must have a word that occurs in at least 2"),
    ],
)
def test_bad_texts(texts, message):
    with pytest.raises(ValueError, match=message):
        TextVectorizer().fit(texts)


def test_a_failed_fit_changes_nothing():
    model = TextVectorizer().fit(TEXTS)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="must have a word"):
        model.fit(["", ""])
    assert vars(model) == before


BROKEN = {
    "feature beyond": ("word_feature", lambda a: a + 1, "must be -1 or count up from 0"),
    "pair of no word": ("pairs", lambda a: a + 100, r"must be in \[0"),
    "not finite": ("idf", lambda a: a * np.float32("inf"), "must be finite"),
    "pairs missing": ("pairs", lambda a: a[:-2], "must have .* items"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(tmp_path, case):
    TextVectorizer(2).fit(TEXTS).save(tmp_path / "a")
    draft = Draft((tmp_path / "a").read_bytes())
    name, change, message = BROKEN[case]
    draft.put(name, change(draft.array(name).copy()))
    (tmp_path / "b").write_bytes(draft.to_bytes())
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "b")
