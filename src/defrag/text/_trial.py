"""Which features suit a corpus: words or character n-grams, titles or not, tried on some texts.

``TextClassifier`` asks before it trains, and so does a plan of a training in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from defrag import _native
from defrag._progress import logger
from defrag._scikit import clone
from defrag._scratch import AS_JSON, kept
from defrag.presets import held_out_ndcg, quick, usual
from defrag.text.vectorizer import TextVectorizer
from defrag.typing import Csr

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier

LEAST_TEXTS = 5_000
"""Fewer texts are not tried: the held-out ones would be too few to tell."""

# The trial takes a fifth to a third of the time of training.
_SHARE, _MOST_TEXTS, _HELD_OUT = 12, 20_000, 4
# Of nDCG@5: with twelve times the texts, words gain up to so much more than characters do.
_MARGIN = 1.0
_K = 5

# First lines that may be titles or other fields: short, and followed by more in nearly all texts.
_LINE_WEIGHT, _MOST_LINES = 0.6, 3
_LONGEST_LINE, _SHARE_WITH_LINE = 1_000, 0.9


def choose_features(
    texts: Sequence[str], Y: Csr, *, n_jobs: int | None, quickly: bool = False
) -> tuple[TextVectorizer, str]:
    """Return an unfitted vectoriser that suits the texts, and the reason in words.

    Trees of words and pairs of words, of character n-grams of 4 and of 5 are trained on a part of
    the texts, ``quickly`` those of the preset "fast". Characters are chosen if their nDCG@5 on
    others is better by a point and a standard error. Then the first line, if texts begin with short
    ones, gets features of its own unless that is worse by a standard error, and the next ones if
    they are better by one. The same texts give the same choice.
    """
    base = quick() if quickly else usual().base
    parameters, reason = kept("trial", lambda: _try(texts, Y, base, n_jobs), AS_JSON)
    lines = parameters["lines"]
    fixed = {"lines": None if lines is None else tuple(lines), "n_jobs": n_jobs}
    return TextVectorizer(**parameters | fixed), reason


def _try(
    texts: Sequence[str], Y: Csr, base: Classifier, n_jobs: int | None
) -> tuple[dict[str, Any], str]:
    """Return the parameters of the vectoriser that suits the texts, and the reason."""
    words = TextVectorizer(ngrams=2, n_jobs=n_jobs)
    others = [TextVectorizer(characters=n, n_jobs=n_jobs) for n in (4, 5)]
    labelled = np.flatnonzero(np.diff(Y.indptr))
    if len(labelled) < LEAST_TEXTS:
        untried = f"words and pairs of words: not tried on fewer than {LEAST_TEXTS:,} texts"
        return words.get_params(), untried
    n_tried = min(len(labelled) // _SHARE, _MOST_TEXTS)
    tried = np.random.default_rng(0).permutation(labelled)[:n_tried]
    held, rest = np.sort(tried[: n_tried // _HELD_OUT]), np.sort(tried[n_tried // _HELD_OUT :])
    found = [_ndcg(one, texts, Y, (rest, held), base) for one in (words, *others)]
    gains = [one - found[0] for one in found[1:]]
    means = [float(gain.mean()) for gain in gains]
    errors = [float(gain.std()) / len(held) ** 0.5 for gain in gains]
    best = int(np.argmax(means))
    wins = means[best] > _MARGIN + errors[best]
    reason = f"nDCG@{_K} {found[0].mean():.1f} of words and pairs on {len(held):,} held-out texts"
    reason += "".join(
        f", {mean:+.1f} ± {error:.1f} of characters of {one.characters}"
        for one, mean, error in zip(others, means, errors, strict=True)
    )
    chosen, ndcg = (others[best], found[1 + best]) if wins else (words, found[0])
    while _has_line(texts, tried, n := len(chosen.lines or ())):
        longer = clone(chosen).set_params(lines=(_LINE_WEIGHT,) * (n + 1))
        gain = (with_line := _ndcg(longer, texts, Y, (rest, held), base)) - ndcg
        error = float(gain.std()) / len(held) ** 0.5
        reason += f", {gain.mean():+.1f} ± {error:.1f} with features of line {n + 1}"
        # A first line is a title as a rule, and titles gain more with more texts than are tried.
        if gain.mean() <= (error if n else -error):
            break
        chosen, ndcg = longer, with_line
    name = f"characters of {chosen.characters}" if wins else "words and pairs of words"
    if chosen.lines:
        name += ", and those of line 1" + "".join(f" and {i + 1}" for i in range(1, n))
    reason = f"{name}: {reason}"
    logger.info("TextClassifier: %s", reason)
    return chosen.get_params(), reason


def _has_line(texts: Sequence[str], tried: NDArray[np.int64], n: int) -> bool:
    """Return whether nearly all texts have a short line n, counted from 0, and more after it."""
    split = (texts[i].split("\n", n + 1) for i in tried.tolist())
    good = sum(len(lines) > n + 1 and 0 < len(lines[n]) <= _LONGEST_LINE for lines in split)
    return n < _MOST_LINES and good >= _SHARE_WITH_LINE * len(tried)


def _ndcg(
    vectorizer: TextVectorizer,
    texts: Sequence[str],
    Y: Csr,
    parts: tuple[NDArray[np.int64], NDArray[np.int64]],
    base: Classifier,
) -> NDArray[np.float64]:
    """Return nDCG@5 in percent of each text of the second part, of a classifier of the first."""
    kept, held = parts
    try:
        X = vectorizer.fit_transform([texts[i] for i in kept.tolist()])
    except ValueError:  # no such feature occurs in two texts
        return np.zeros(len(held))
    rows = _native.as_matrix(vectorizer._weigh([texts[i] for i in held.tolist()]))
    return held_out_ndcg(base, (X, Y[kept], None), (rows, Y[held], None), n_jobs=vectorizer.n_jobs)
