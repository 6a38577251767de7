"""Which features suit a corpus: words or character n-grams, tried on some of its texts.

``TextClassifier`` asks before it trains, and so does a plan of a training in parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag._progress import logger
from defrag.classifiers import LabelTree
from defrag.focusing import Focused
from defrag.metrics._ranked import rank
from defrag.metrics.ranking import ndcg_of_points
from defrag.text.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr

LEAST_TEXTS = 5_000
"""Fewer texts are not tried: the held-out ones would be too few to tell."""

# The trial takes a fifth to a third of the time of training.
_SHARE, _MOST_TEXTS, _HELD_OUT = 12, 20_000, 4
# Of nDCG@5: with twelve times the texts, words gain up to so much more than characters do.
_MARGIN = 1.0
_K = 5


def choose_features(texts: list[str], Y: Csr, *, n_jobs: int | None) -> tuple[TextVectorizer, str]:
    """Return an unfitted vectoriser that suits the texts, and the reason in words.

    Trees of words and pairs of words, of character n-grams of 4 and of 5 are trained on a part of
    the texts. Characters are chosen if their nDCG@5 on others is better by a point and a standard
    error. The same texts give the same choice.
    """
    words, *others = candidates = [
        TextVectorizer(ngrams=2, n_jobs=n_jobs),
        TextVectorizer(characters=4, n_jobs=n_jobs),
        TextVectorizer(characters=5, n_jobs=n_jobs),
    ]
    labelled = np.flatnonzero(np.diff(Y.indptr))
    if len(labelled) < LEAST_TEXTS:
        return words, f"words and pairs of words: not tried on fewer than {LEAST_TEXTS:,} texts"
    n_tried = min(len(labelled) // _SHARE, _MOST_TEXTS)
    tried = np.random.default_rng(0).permutation(labelled)[:n_tried]
    held, kept = np.sort(tried[: n_tried // _HELD_OUT]), np.sort(tried[n_tried // _HELD_OUT :])
    found = [_ndcg(one, texts, Y, (kept, held)) for one in candidates]
    gains = [one - found[0] for one in found[1:]]
    means = [float(gain.mean()) for gain in gains]
    errors = [float(gain.std()) / len(held) ** 0.5 for gain in gains]
    best = int(np.argmax(means))
    wins = means[best] > _MARGIN + errors[best]
    reason = (
        f"{f'characters of {others[best].characters}' if wins else 'words and pairs of words'}: "
        f"nDCG@{_K} {found[0].mean():.1f} of words and pairs on {len(held):,} held-out texts"
    ) + "".join(
        f", {mean:+.1f} ± {error:.1f} of characters of {one.characters}"
        for one, mean, error in zip(others, means, errors, strict=True)
    )
    logger.info("TextClassifier: %s", reason)
    return (others[best] if wins else words), reason


def _ndcg(
    vectorizer: TextVectorizer,
    texts: list[str],
    Y: Csr,
    parts: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> NDArray[np.float64]:
    """Return nDCG@5 in percent of each text of the second part, of a tree of the first."""
    kept, held = parts
    try:
        X = vectorizer.fit_transform([texts[i] for i in kept.tolist()])
    except ValueError:  # no such feature occurs in two texts
        return np.zeros(len(held))
    model = Focused(LabelTree(), random_state=0, n_jobs=vectorizer.n_jobs)
    model._fit_canonical(X, Y[kept])
    rows = _native.as_matrix(vectorizer._weigh([texts[i] for i in held.tolist()]))
    k = min(_K, Y.shape[1])
    labels, _ = model._rank(rows, k, exhaustive=False)
    return 100 * ndcg_of_points(rank(Y[held], labels, k), k)
