"""Slow twins of the word rule, from Python's own tables, and of the vectoriser."""

import math
import unicodedata
from collections import Counter
from itertools import groupby, pairwise

SPACELESS = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC ITERATION MARK",
    "HIRAGANA", "KATAKANA", "THAI CHARACTER", "LAO ", "KHMER ", "MYANMAR ",
)  # fmt: skip


def kind_of(character):
    """Return "word", "spaceless" or None."""
    category = unicodedata.category(character)
    if category[0] in "LM" and unicodedata.name(character, "").startswith(SPACELESS):
        return "spaceless"
    word = category[0] in "LM" or category in {"Nd", "Pc"} or character in "\u200c\u200d"
    return "word" if word else None


def split_words(text):
    words = []
    for kind, characters in groupby(text, kind_of):
        run = "".join(character.lower()[0] for character in characters)
        if kind == "word" and len(run) >= 2:
            words.append(run)
        elif kind == "spaceless":
            words += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return words


def terms_of(text, *, ngrams=1, characters=None, stem=str):
    """Return the terms of a text with repetitions."""
    words = [stem(word) for word in split_words(unicodedata.normalize("NFC", text))]
    if characters is not None:
        return [gram for word in words for gram in grams_of(word, *characters)]
    pairs = [f"{a} {b}" for a, b in pairwise(words)] if ngrams == 2 else []
    return words + pairs


def grams_of(word, least, most):
    padded = f" {word} "
    grams = []
    for n in range(least, most + 1):
        if len(padded) <= n:
            return [*grams, padded]
        grams += [padded[i : i + n] for i in range(len(padded) - n + 1)]
    return grams


def vectorise(texts, *, min_df=1, max_features=None, **options):
    """Return the features and the L2-normalised tf-idf value of each feature of each text."""
    counts = [Counter(terms_of(text, **options)) for text in texts]
    n_texts, n_times = Counter(), Counter()
    for row in counts:
        n_texts.update(row.keys())
        n_times.update(row)

    def place(term):
        words = term.split(" ") if options.get("characters") is None else [term]
        return len(words), [word.encode() for word in words]

    names = sorted((term for term in n_texts if n_texts[term] >= min_df), key=place)
    if max_features is not None:
        kept = sorted(names, key=lambda term: (-n_times[term], names.index(term)))
        names = [term for term in names if term in kept[:max_features]]
    idf = {term: math.log((1 + len(texts)) / (1 + n_texts[term])) + 1 for term in names}
    rows = []
    for row in counts:
        values = {t: (1 + math.log(n)) * idf[t] for t, n in row.items() if t in idf}
        length = math.sqrt(sum(value * value for value in values.values()))
        rows.append([values.get(term, 0.0) / (length or 1.0) for term in names])
    return names, rows
