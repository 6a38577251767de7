"""The names of the features of texts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.typing import Ids

__all__ = ["FeatureNames", "features_of_pairs"]


def features_of_pairs(word_feature: Ids, n_features: int) -> Ids:
    """Return the ids of the features that are pairs, not words, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> features_of_pairs(np.array([3, -1, 0]), 5).tolist()
    [1, 2, 4]
    """
    of_pair = np.ones(n_features, dtype=np.bool_)
    of_pair[word_feature[word_feature >= 0]] = False
    return np.flatnonzero(of_pair).astype(np.int32)


class FeatureNames:
    """The names of features, built on demand.

    Parameters
    ----------
    words : sequence of str
        The words, or n-grams.
    word_feature : ndarray of int32
        The feature of each word, or -1.
    pairs : ndarray of int32, shape (n_pairs, 2)
        The words of each pair.
    """

    def __init__(self, words: Sequence[str], word_feature: Ids, pairs: Ids) -> None:
        self._words, self._word_feature, self._pairs = words, word_feature, pairs

    @cached_property
    def _places(self) -> Ids:
        """The word of each feature, or the pair p as ``-1 - p``."""
        known = np.flatnonzero(self._word_feature >= 0)
        places = np.empty(len(known) + len(self._pairs), dtype=np.int32)
        places[self._word_feature[known]] = known
        pairs = features_of_pairs(self._word_feature, len(places))
        places[pairs] = -1 - np.arange(len(pairs))
        return places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, feature: int) -> str:
        """Return the name of a feature; those beyond the vocabulary are of ``extra``."""
        if feature >= len(self._places):
            return f"extra[{feature - len(self._places)}]"
        place = int(self._places[feature])
        if place >= 0:
            return self._words[place]
        return " ".join(self._words[i] for i in self._pairs[-1 - place].tolist())
