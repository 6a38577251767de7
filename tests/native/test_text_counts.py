"""The kernels of texts refuse arguments by which they would read memory that is not there."""

import numpy as np
import pytest

from defrag import _core


def corpus():
    return _core.TextCorpus(["two words", "two other words"], n_threads=1, progress=None)


def choose_terms(*, pairs, least=0, most=0, max_features=None):
    lengths = {"pairs": pairs, "least": least, "most": most}
    return corpus().choose_terms(**lengths, min_df=1, max_features=max_features, n_threads=1)


def features(words, word_feature, pairs=(), *, n_idf, least=0, most=0):
    numbers = (np.array(some, dtype=np.int32) for some in (word_feature, pairs))
    idf = np.ones(n_idf, dtype=np.float32)
    return _core.TextFeatures(_core.StringList(words), *numbers, idf, least=least, most=most)


@pytest.mark.parametrize(("least", "most"), [(-1, 3), (0, 3), (4, 3), (1, 0), (-3, -2)])
def test_bad_lengths_of_n_grams_are_refused(least, most):
    with pytest.raises(ValueError, match="n-grams must be positive and must not decrease"):
        choose_terms(pairs=False, least=least, most=most)
    with pytest.raises(ValueError, match="lengths of n-grams"):
        features(["ab"], [0], n_idf=1, least=least, most=most)


def test_negative_number_of_features_is_refused():
    with pytest.raises(ValueError, match="max_features must not be negative"):
        choose_terms(pairs=True, max_features=-1)


@pytest.mark.parametrize(
    ("words", "word_feature", "pairs", "n_idf", "message"),
    [
        (["ab", "cd"], [0], [], 1, "words must have a feature each"),
        (["ab", "cd"], [0, 2], [], 2, "features of words must be numbers of features or -1"),
        (["ab", "cd"], [0, -2], [], 2, "features of words must be numbers of features or -1"),
        (["ab", "ab"], [0, 1], [], 2, "words of a vocabulary must differ"),
        (["ab", "cd"], [0, 1], [0], 2, "pairs must have two words each"),
        (["ab", "cd"], [0, 1], [0, 2], 3, "pairs must be numbers of words"),
        (["ab", "cd"], [0, 1], [-1, 0], 3, "pairs must be numbers of words"),
        (["ab", "cd"], [0, 1], [0, 1, 0, 1], 4, "pairs of a vocabulary must differ"),
        (["ab"], [-1], [0, 0], 0, "features must have an idf each"),
    ],
)
def test_features_that_do_not_fit_are_refused(words, word_feature, pairs, n_idf, message):
    with pytest.raises(ValueError, match=message):
        features(words, word_feature, pairs, n_idf=n_idf)


def test_lists_of_strings_are_checked():
    strings = _core.StringList(["", "ab", "\u4e2d\0x"])
    assert len(strings) == 3
    assert list(strings) == ["", "ab", "\u4e2d\0x"]
    with pytest.raises(TypeError, match="bad argument type"):
        _core.StringList(["good", 3])


def test_words_may_differ_in_trailing_zeros_only():
    features(["ab", "ab\0\0"], [0, 1], n_idf=2)  # whose first bytes are the same


def test_wrong_number_of_stems_is_refused():
    with pytest.raises(ValueError, match="one replacement per word"):
        corpus().replace_words(["one"], n_threads=1)


def test_non_string_words_are_refused():
    with pytest.raises(TypeError, match="bad argument type"):
        _core.TextCorpus(["good", 3], n_threads=1, progress=None)
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        _core.TextCorpus(["\ud800"], n_threads=1, progress=None)
