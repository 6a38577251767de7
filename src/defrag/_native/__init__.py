"""The only importer of the compiled module: scipy matrices in, scipy matrices out.

Kernels trust their input; whoever calls a function here has been through
``_validation``.
"""

from __future__ import annotations

from defrag._native.arrays import KernelRows, csr_from_parts, csr_parts, inspect_csr, n_threads
from defrag._native.co_occurrence import (
    GroupLayout,
    co_occurrence,
    impute,
)
from defrag._native.companions import companions
from defrag._native.embeddings import (
    RowPanels,
    nearest_rows,
    pair_products,
    rank_votes,
    sparse_dense,
)
from defrag._native.features import (
    KMeansClusters,
    Matches,
    agglomerate,
    best_matches,
    column_statistics,
    feature_rows,
    fill_empty_rows,
    min_hash_order,
    multiply,
    row_norms,
    scale_rows,
    spherical_kmeans,
    split_items,
    unit_rows,
)
from defrag._native.flat import FlatWeights, flat_search
from defrag._native.focus import focus_rows
from defrag._native.forest import (
    FastxmlOptions,
    Forest,
    Prototypes,
    forest_search,
    narrow,
    train_fastxml,
)
from defrag._native.label_paths import LabelPaths, label_paths
from defrag._native.label_trees import (
    FeatureIndex,
    LabelTreeArrays,
    LabelTreeWeights,
    average_trees,
    beam_search,
    best_first_search,
    feature_index,
    train_label_tree,
    train_node_blocks,
)
from defrag._native.rerank import candidate_products, rank_candidates
from defrag._native.solver import FlatSolution, SolverOptions, can_run, solve_blocks
from defrag._native.sparse_learners import (
    PpdSparseOptions,
    ProxmlOptions,
    ProxmlSolution,
    train_ppd_sparse,
    train_proxml,
)
from defrag._native.text import (
    TEXT_LAYOUTS,
    ParsedText,
    ParseError,
    Tally,
    TextParser,
    format_rows,
    parse_values,
)
from defrag._native.text_counts import (
    Occurrences,
    PlacedWords,
    Terms,
    TextCorpus,
    TextFeatures,
    choose_terms,
    find_features,
    split_words,
    text_features,
    weigh_corpus,
    weigh_texts,
)

__all__ = [
    "TEXT_LAYOUTS",
    "FastxmlOptions",
    "FeatureIndex",
    "FlatSolution",
    "FlatWeights",
    "Forest",
    "GroupLayout",
    "KMeansClusters",
    "KernelRows",
    "LabelPaths",
    "LabelTreeArrays",
    "LabelTreeWeights",
    "Matches",
    "Occurrences",
    "ParseError",
    "ParsedText",
    "PlacedWords",
    "PpdSparseOptions",
    "Prototypes",
    "ProxmlOptions",
    "ProxmlSolution",
    "RowPanels",
    "SolverOptions",
    "Tally",
    "Terms",
    "TextCorpus",
    "TextFeatures",
    "TextParser",
    "agglomerate",
    "average_trees",
    "beam_search",
    "best_first_search",
    "best_matches",
    "can_run",
    "candidate_products",
    "choose_terms",
    "co_occurrence",
    "column_statistics",
    "companions",
    "csr_from_parts",
    "csr_parts",
    "feature_index",
    "feature_rows",
    "fill_empty_rows",
    "find_features",
    "flat_search",
    "focus_rows",
    "forest_search",
    "format_rows",
    "impute",
    "inspect_csr",
    "label_paths",
    "min_hash_order",
    "multiply",
    "n_threads",
    "narrow",
    "nearest_rows",
    "pair_products",
    "parse_values",
    "rank_candidates",
    "rank_votes",
    "row_norms",
    "scale_rows",
    "solve_blocks",
    "sparse_dense",
    "spherical_kmeans",
    "split_items",
    "split_words",
    "text_features",
    "train_fastxml",
    "train_label_tree",
    "train_node_blocks",
    "train_ppd_sparse",
    "train_proxml",
    "unit_rows",
    "weigh_corpus",
    "weigh_texts",
]
