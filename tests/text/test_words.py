"""Words of texts against the slow twin, and where they stand."""

import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defrag import TextVectorizer, _native
from defrag.text.vectorizer import normalise_with_places
from tests.oracles.words import split_words, terms_of

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
    return _native.split_words(text).words


@same_unicode
@settings(deadline=None, max_examples=300)
@given(st.text(KNOWN, max_size=60))
def test_words_equal_oracle(text):
    assert words_of(text) == split_words(text)


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from("aZz09_ .@[`{/:é"), max_size=60))
def test_ascii_words_equal_oracle(text):
    # Eight characters are read at a time: words begin, end and are cut at every place of them.
    assert words_of(text) == split_words(text)


@pytest.mark.slow
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


@given(st.text(st.sampled_from("aB. é中文ส\U0001d400\u0301"), max_size=40))
def test_a_word_stands_at_its_place(text):
    words, begins, ends = _native.split_words(text)
    for word, begin, end in zip(words, begins, ends, strict=True):
        assert "".join(c.lower()[0] for c in text[begin:end]) == word


MARKS = "ae bE-o\u0301\u0308\u0323\u1100\u1161\u11a8\uac00éộ\u09c7\u09be\u0958ﬁ👩Å\u212b"


@settings(deadline=None)
@given(st.text(st.sampled_from(MARKS), max_size=30))
def test_normal_form_by_clusters(text):
    normal, places = normalise_with_places(text)
    assert normal == unicodedata.normalize("NFC", text)
    if places is None:
        assert normal == text
        return
    assert len(places) == len(normal) + 1
    assert places[-1] == len(text)
    assert (np.diff(places) >= 0).all()
    for i, character in enumerate(normal):
        if character == text[places[i]]:
            continue
        end = places[places > places[i]][0]
        assert character in unicodedata.normalize("NFC", text[places[i] : end])


SPANNED = ["Naïve WORDS, words; x (ab) 中文字", "", "!", "cafe\u0301 au lait"]


@pytest.mark.parametrize(
    "options", [{}, {"ngrams": 2}, *({"characters": n} for n in (1, 3, (2, 5)))]
)
@pytest.mark.parametrize("text", SPANNED)
def test_spans_are_the_features_in_the_text(text, options):
    model = TextVectorizer(min_df=1, **options).fit([text + " some words"])
    features, begins, ends = model.spans(text)
    names = model.get_feature_names_out()[features].tolist()
    lengths = options.get("characters")
    if isinstance(lengths, int):
        lengths = lengths, lengths
    wanted = terms_of(text, ngrams=options.get("ngrams", 1), characters=lengths)
    assert sorted(names) == sorted(wanted)
    for name, begin, end in zip(names, begins, ends, strict=True):
        covered = " ".join(split_words(unicodedata.normalize("NFC", text[begin:end])))
        if lengths is None:
            assert covered == name
        else:
            whole = unicodedata.normalize("NFC", text[begin:end]).lower()
            assert name.strip() in {"", whole}
            assert 0 <= begin < end <= len(text)


def test_spans_of_a_decomposed_text():
    model = TextVectorizer(min_df=1).fit(["café noir"])
    text = "-- cafe\u0301 NOIR"
    features, begins, ends = model.spans(text)
    assert features.tolist() == [0, 1]
    assert [text[b:e] for b, e in zip(begins, ends, strict=True)] == ["cafe\u0301", "NOIR"]


def test_pairs_do_not_span_unknown_words():
    model = TextVectorizer(2, min_df=1).fit(["one two"])
    for text, n_found in (("one two", 3), ("one three two", 2)):
        assert len(model.spans(text)[0]) == model.transform([text]).nnz == n_found


def test_spans_need_a_text():
    model = TextVectorizer(min_df=1).fit(["two words"])
    with pytest.raises(ValueError, match="text 0 must be a string, got 3"):
        model.spans(3)
