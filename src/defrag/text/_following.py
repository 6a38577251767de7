"""Vocabularies whose features keep their ids from a previous vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag._native import Terms
from defrag.text._feature_names import features_of_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Ids

__all__ = ["follow_terms"]


def follow_terms(previous: Terms, found: Terms) -> Terms:
    """Return found terms with the ids that they have in another vocabulary.

    New terms get the ids after those, words before pairs. Terms of the other vocabulary that were
    not found keep their ids with an idf of 0, so they are ignored in texts.

    Parameters
    ----------
    previous : Terms
        The other vocabulary.
    found : Terms
        The terms of a corpus.

    Examples
    --------
    >>> import numpy as np
    >>> ids, none = np.arange(2, dtype=np.int32), np.zeros(0, np.int32)
    >>> old = Terms(["b", "d"], ids, none, np.ones(2, np.float32))
    >>> new = Terms(["a", "d"], ids, none, np.full(2, 3.0, np.float32))
    >>> both = follow_terms(old, new)
    >>> both.words, both.word_feature.tolist(), both.idf.tolist()
    (['a', 'b', 'd'], [2, 0, 1], [0.0, 3.0, 3.0])
    """
    words = sorted({*previous.words, *found.words}, key=str.encode)
    place = {word: number for number, word in enumerate(words)}
    old_place, new_place = (
        np.array([place[word] for word in terms.words], dtype=np.int64)
        for terms in (previous, found)
    )
    n_old, n_new = len(previous.idf), len(found.idf)
    word_feature = np.full(len(words), -1, dtype=np.int32)
    word_feature[old_place] = previous.word_feature
    ids = np.full(n_new, -1, dtype=np.int64)  # of the found terms
    has_feature = found.word_feature >= 0
    ids[found.word_feature[has_feature]] = word_feature[new_place[has_feature]]
    old_pairs = old_place[previous.pairs.reshape(-1, 2)]
    new_pairs = new_place[found.pairs.reshape(-1, 2)]
    new_pair_feature = features_of_pairs(found.word_feature, n_new)
    known = _find(_keys(new_pairs, len(words)), _keys(old_pairs, len(words)))
    old_pair_feature = np.append(features_of_pairs(previous.word_feature, n_old), -1)
    ids[new_pair_feature] = old_pair_feature[known]
    fresh = ids < 0
    ids[fresh] = n_old + np.arange(np.count_nonzero(fresh))
    word_feature[new_place[has_feature]] = ids[found.word_feature[has_feature]]
    idf = np.zeros(n_old + np.count_nonzero(fresh), dtype=np.float32)
    idf[ids] = found.idf
    pairs = np.concatenate([old_pairs, new_pairs[known < 0]]).astype(np.int32)
    return Terms(words, word_feature, pairs.ravel(), idf)


def _keys(pairs: NDArray[np.int64], n_words: int) -> NDArray[np.int64]:
    return pairs[:, 0] * n_words + pairs[:, 1]


def _find(keys: NDArray[np.int64], among: NDArray[np.int64]) -> Ids:
    """Return the place of each key among others, or -1."""
    order = np.argsort(among, kind="stable")
    places = np.append(order, -1)[np.searchsorted(among, keys, sorter=order)]
    found = np.append(among, -1)[places] == keys
    return np.where(found, places, -1).astype(np.int32)
