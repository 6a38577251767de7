"""Hybrid: the features with the most energy as singletons, the others in random buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag.agglomeration.defrag import Defrag

if TYPE_CHECKING:
    from defrag.typing import Seed

__all__ = ["Hybrid"]


class Hybrid(Defrag):
    """Keep the features with the most energy and put the others into random buckets.

    This agglomeration, which is not in the paper, is the recommended one. Half of the groups
    are single features, those with the most energy (sum of squares over unit rows); all other
    features share the other half in random buckets of equal size, which are scaled to the
    energy of their features. At the same number of groups it loses about a quarter of the
    precision that the clusters of the paper lose, and it needs no clustering. The clusters of
    the paper merge words that occur together and leave fewer non-zeros per row, so that
    training is faster on long documents.

    Parameters
    ----------
    max_cluster_size : int, default=8
        Determines the number of groups, as in :class:`Defrag`.
    n_clusters : int, optional
        Number of groups; overrides ``max_cluster_size``.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule that determines the number of groups.
    singletons : float, default=0.5
        Fraction of the groups that are single features.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group for a point; see :class:`Defrag`.
    scale : {None, "energy"}, default="energy"
        Scale each group to the energy of its features.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the buckets; every member of an ensemble uses a different one.
    n_jobs : int, optional
        Number of threads.
    verbose : bool or int, default=0
        Whether to show a progress bar on a terminal.

    See Also
    --------
    Defrag : The methods of the paper, and all options.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from defrag import Hybrid
    >>> X = sparse.random_array((50, 40), density=0.2, rng=np.random.default_rng(0))
    >>> Hybrid(n_clusters=10, random_state=0).fit(X).transform(X.tocsr()).shape
    (50, 10)
    """

    def __init__(
        self,
        *,
        max_cluster_size: int = 8,
        n_clusters: int | None = None,
        stop: str = "leaf<=d0",
        singletons: float = 0.5,
        pooling: str = "sum",
        scale: str | None = "energy",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            max_cluster_size=max_cluster_size,
            n_clusters=n_clusters,
            stop=stop,
            pooling=pooling,
            singletons=singletons,
            rest="hash",
            scale=scale,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
