"""Studies as data: one per table or figure of the paper, and our own.

A study is a list of methods, data sets and numbers to show; ``defrag reproduce`` runs it and
``defrag.lab`` shows it. A method, a data set or a seed is added by a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from defrag import registry
from defrag.io.datasets import REPOSITORY
from defrag.lab.corpus import place_of
from defrag.lab.peers import PEERS, TEXT_PEERS, WORD_VECTORS
from defrag.lab.texts import NGRAM_SETS, TEXT_SETS
from defrag.specs import FOCUS, NONE, Spec, describe, parse_composite, parse_groups, with_setting
from defrag.text import TextClassifier


def combine(
    classifiers: Sequence[str],
    groups: Sequence[str] = (NONE,),
    rerank: Sequence[str] = (NONE,),
    impute: Sequence[str] = (NONE,),
) -> dict[str, Spec]:
    """Return every combination of words by its name; see :func:`defrag.specs.parse_composite`."""
    methods: dict[str, Spec] = {}
    for words in product(classifiers, groups, rerank, impute):
        name, model = parse_composite(*words)
        if name in methods:
            raise ValueError(f"{name} is there twice")
        methods[name] = describe(model)
    return methods


# --- A study: methods, data sets and what is shown of them.


@dataclass(frozen=True)
class Line:
    """A method of a study: its name, and the words of :func:`defrag.specs.parse_composite`.

    ``preset:best`` is what the preset chooses, ``preset:`` the default.
    ``seeds`` is their number, if it is not that of the study; ``data`` the data sets that it is
    for, if these are not all.
    """

    name: str
    classifier: str
    groups: str = NONE
    rerank: str = NONE
    impute: str = NONE
    seeds: int | None = None
    data: tuple[str, ...] = ()
    # Whether texts are what it is trained on, and whether names of labels are, too.
    texts: bool = False
    names: bool = False

    def spec(self) -> Spec:
        """Return the estimator."""
        kind, _, word = self.classifier.partition(":")
        if self.classifier in TEXT_PEERS:
            return {"kind": self.classifier, "parameters": {}}
        if self.classifier in PEERS:
            groups = None if self.groups == NONE else describe(parse_groups(self.groups)[1])
            return {"kind": self.classifier, "parameters": {"groups": groups}}
        if kind == "preset" and not self.texts:
            return {"kind": kind, "parameters": {"preset": word}}
        if not self.texts:
            words = self.classifier, self.groups, self.rerank, self.impute
            return describe(parse_composite(*words)[1])
        if kind == "preset":
            spec = describe(TextClassifier(preset=word or None))
        else:
            spec = describe(TextClassifier(parse_composite(self.classifier, self.groups)[1]))
        spec["parameters"]["names"] = self.names
        return spec


@dataclass(frozen=True)
class Study:
    """A table or a figure of the paper."""

    # Its word on the command line.
    name: str
    title: str
    # What is compared.
    text: str
    lines: list[Line]
    # Names of data sets; the first is that of the paper, if it is of the paper.
    data: tuple[str, ...]
    # Numbers of the table, keys of ``defrag.lab.COLUMNS``.
    columns: tuple[str, ...]
    # Kinds of figures, keys of ``defrag.lab.comparison.FIGURES``.
    figures: tuple[str, ...] = ()
    # What each run measures.
    measures: tuple[str, ...] = ("ranking",)
    # Number of seeds, and on the first data set, if that is another.
    seeds: int = 3
    first_seeds: int | None = None
    # Further data sets of the paper, which are used if they are named.
    further: tuple[str, ...] = ()
    # Whether a fifth of the training points takes the place of the test points.
    held_out: bool = False

    @property
    def texts(self) -> bool:
        """Whether the data are raw texts."""
        return self.measures == ("texts",)

    @property
    def of_paper(self) -> bool:
        """Whether it is a table or a figure of the paper."""
        return bool(self.further)

    def seeds_on(self, place: str) -> int:
        """Return the number of seeds on a data set."""
        return self.first_seeds or self.seeds if place == self.data[0] else self.seeds


_P = ("P@1", "P@3", "P@5")
_PSP = ("PSP@1", "PSP@3", "PSP@5")
_TEXT_COST = ("train_cpu", "predict_ms", "model_bytes")
_COST = ("train_cpu", "learn_cpu", "predict_ms", "model_bytes", "peak_memory")
_EURLEX, _DEBIAN, _TIBKAT, _YSO = "eurlex-4k", "debian", "tibkat-core", "yso-finna-en"
_WIKI10, _DELICIOUS = "wiki10-31k", "delicious-200k"
_OTHERS = tuple(name for name in REPOSITORY if name != _EURLEX)

_GROUPS = {NONE: "", "x": ", DEFRAG-X", "xy": ", DEFRAG-XY", "hybrid": ", Hybrid"}
_WORDS = {entry.name: entry.word for entry in registry.entries("classifier")}
_CLASSIFIERS = {name: _WORDS[name] for name in (
    "LabelTree", "Parabel", "Bonsai", "PLT", "DiSMEC", "PPDSparse", "ProXML", "FastXML",
    "PfastreXML", "CRAFTML", "SLEEC", "AnnexML", "LEML", "LPSR",
)} | {"LabelTree": "label-tree:n_trees=3"}  # fmt: skip
_REDUCTIONS = {
    NONE: "",
    FOCUS: ", Focus",
    f"{FOCUS}:budget=4": ", Focus, budget 4",
    "hybrid": ", Hybrid",
    "x": ", DEFRAG-X",
    "xy": ", DEFRAG-XY",
    "random-groups": ", random groups",
    "top-features": ", top features",
}
_TABLE_RULE = "stop=leaf<2*d0"
# Methods that have more than one seed in Table 2, and those that take minutes on debian, which has
# fewer of their variants.
_CHEAP = ("LabelTree", "Parabel")
_DEAR: dict[str, tuple[str, ...]] = {"FastXML": (), "AnnexML": (), "PfastreXML": (NONE, "x")}
_OF_PAPER: tuple[str, ...] = tuple(REPOSITORY)
_ON_ALL: tuple[str, ...] = ()


_CLUSTERINGS = {
    "DEFRAG-X": "defrag",
    "DEFRAG-XY": "defrag:representation=xy",
    "DEFRAG-N": "defrag:split=ndcg",
    "DEFRAG-G": f"defrag:representation={WORD_VECTORS}",
    "Hybrid": "hybrid",
    "ITDC": "itdc:start=label",
    "ITDC, random start": "itdc",
    "SCBC": "scbc:balance=0.1",
    "SCBC, balance 1": "scbc:balance=1",
    "LSC": "lsc",
    "BCLS": "bcls",
    "random groups": "random-groups",
    "random groups, energy": "random-groups:scale=energy",
    "hashing": "hash-groups",
    "top features": "top-features",
    "top features by information": "top-features:by=information",
}


def _clusterings(n_clusters: int, data: str, without: Sequence[str] = ()) -> list[Line]:
    return [
        Line(f"{name}, {n_clusters}", "parabel",
             with_setting(word, "n_clusters", n_clusters), data=(data,),
             seeds=1 if name in {"BCLS", "DEFRAG-G"} else None)  # they take minutes
        for name, word in _CLUSTERINGS.items() if name not in without
    ]  # fmt: skip


def _sizes() -> list[Line]:
    """Return each variant at four group sizes, of one tree and of three."""
    variants = {"X": "DEFRAG-X", "XY": "DEFRAG-XY", "Hybrid": "Hybrid"}
    baselines = {"top features": "top features", "random": "random groups"}
    lines = []
    for noun, shown in (("1 tree", variants | baselines), ("3 trees", variants)):
        word = f"parabel:n_trees={noun[0]}"
        lines += [
            Line(f"{short}, {noun}, d0 = {size}", word,
                 with_setting(_CLUSTERINGS[name], "max_cluster_size", size))
            for short, name in shown.items() for size in (32, 16, 8, 4)
        ]  # fmt: skip
        lines.append(Line(f"all features, {noun}", word))
    return lines


def _ngrams() -> list[Line]:
    """Return one tree with every grouping, and other classifiers with those that matter most."""
    few = {
        "": NONE,
        ", Focus": FOCUS,
        ", DEFRAG-X": "x",
        ", Hybrid": "hybrid",
        ", tight": "tight",
        ", tight and Focus": f"tight+{FOCUS}",
    }
    more = {
        f", {name}{suffix}": with_setting(_CLUSTERINGS[name], "max_cluster_size", size)
        for size, suffix in ((8, ""), (32, ", d/32"))
        for name in ("DEFRAG-X", "DEFRAG-XY", "DEFRAG-N", "Hybrid", "hashing")
    }
    others = {
        "LabelTree without hard negatives": "label-tree:hard_negatives=false",
        **{name: _CLASSIFIERS[name] for name in (
            "Parabel", "DiSMEC", "PPDSparse", "ProXML", "SLEEC", "AnnexML", "LEML", "FastXML"
        )},
    }  # fmt: skip
    trees = {"LabelTree without hard negatives", "Parabel"}
    lines = [Line(f"LabelTree{suffix}", "label-tree", groups, seeds=5)
             for suffix, groups in (few | more).items()]  # fmt: skip
    return lines + [
        Line(f"{name}{suffix}", word,
             groups if name in trees else groups.replace("tight", "tight:min_cosine=0.8"))
        for name, word in others.items() for suffix, groups in few.items()
    ]  # fmt: skip


_ALL = [
    Study(
        "table1",
        "Clusterings of features",
        "Table 1 of the paper: what a clustering of the features into groups (512 on EURLex-4K, "
        "8,192 on Wiki10-31K, as the balance in the table says) loses, what it costs, and the "
        "precision of Parabel on the groups. DEFRAG-G has word vectors that fastText has learnt "
        "from the training points. Random groups, hashing and top features are baselines that the "
        "paper does not have.",
        [*_clusterings(512, _EURLEX), *_clusterings(8192, _WIKI10, ("LSC", "BCLS"))],
        (_EURLEX,),
        ("LMI", "LMI_paper", "balance", "entropy", "cluster_cpu", *_P),
        ("sizes",),
        ("ranking", "groups", "quality"),
        first_seeds=5,
        further=(_WIKI10,),
    ),
    Study(
        "table2",
        "Classifiers with and without groups",
        "Table 2 of the paper: every classifier on all features, on the paper's groups (X and "
        "XY) and on those of Hybrid. Training includes the clustering; the column beside it does "
        "not.",
        [
            *(Line(f"{name}{suffix}", word, groups, seeds=3 if name in _CHEAP else None,
                   data=_ON_ALL if name in _CHEAP or groups in _DEAR.get(name, _GROUPS)
                   else _OF_PAPER)
              for name, word in _CLASSIFIERS.items() for groups, suffix in _GROUPS.items()),
            Line("Parabel, DEFRAG-X, groups of 9 or 10", "parabel", f"defrag:{_TABLE_RULE}",
                 seeds=3, data=(_EURLEX, _DEBIAN)),
            Line("Parabel, DEFRAG-XY, groups of 9 or 10", "parabel",
                 f"defrag:representation=xy,{_TABLE_RULE}", seeds=3, data=(_EURLEX, _DEBIAN)),
            Line("Parabel, DEFRAG-XY, 5% of labels", "parabel",
                 "defrag:representation=xy,min_labels=1", seeds=3),
        ],
        (_EURLEX, _DEBIAN, _TIBKAT, _YSO),
        (*_P, *_COST),
        ("cost",),
        ("ranking", "groups"),
        seeds=1,
        further=_OTHERS,
    ),
    Study(
        "table3",
        "Re-ranking for rare labels",
        "Table 3 of the paper: propensity-scored metrics of REFRAG and of PfastreXML. 'As printed' "
        "has raw prototypes and Euclidean distances; unit prototypes of the paper's product are "
        "'block', 'identity' are plain class means. Settings are chosen on held-out training "
        "points with a limit on the loss of P@1.",
        [
            Line("Parabel", "parabel"),
            Line("PfastreXML", "pfastrexml", seeds=1),
            Line("REFRAG as printed", "parabel", rerank="paper:gamma=30,propensity_weight=0"),
            *(Line(f"REFRAG {kind}", "parabel", rerank=kind)
              for kind in ("block", "cosine", "identity")),
            Line("REFRAG identity, prototypes alone", "parabel",
                 rerank="identity:propensity_weight=0"),
            Line("REFRAG, propensities alone", "parabel", rerank="identity:gamma=0"),
            Line("REFRAG identity, loss up to 1.5", "parabel", rerank="identity:max_loss=1.5"),
            Line("REFRAG, propensities alone, loss up to 1.5", "parabel",
                 rerank="identity:gamma=0,max_loss=1.5"),
            Line("REFRAG identity, gamma 30", "parabel",
                 rerank="identity:gamma=30,alpha=0.8,propensity_weight=0"),
        ],
        (_EURLEX, _DEBIAN),
        (*_P, *_PSP, "PSnDCG@1", "PSnDCG@3", "PSnDCG@5", "coverage@1"),
        first_seeds=5,
        further=(_WIKI10, _DELICIOUS),
    ),
    Study(
        "tradeoffs",
        "Trade-offs by group size",
        "The trade-off figures of the paper: groups of at most 4, 8, 16 and 32 features, with one "
        "clustering and one per tree, and two baselines.",
        _sizes(),
        (_EURLEX,),
        ("P@1", "P@3", "train_cpu", "learn_cpu", "predict_ms", "model_bytes", "dimension"),
        ("tradeoff",),
        ("ranking", "groups"),
        seeds=1,
        further=_OTHERS,
    ),
    Study(
        "rare",
        "Precision from frequent to rare labels",
        "The percentile figure of the paper: mean precision of the labels in each range of "
        "frequency, and coverage; and the labels that gain and lose most.",
        [
            Line("Parabel", "parabel"),
            Line("LabelTree", "label-tree:n_trees=3"),
            Line("Parabel, REFRAG", "parabel", rerank="identity"),
            Line("LabelTree, REFRAG", "label-tree:n_trees=3", rerank="identity"),
        ],
        (_EURLEX, _DEBIAN),
        ("P@1", "R@1", "PSP@1", "coverage@1", "coverage@3", "coverage@5"),
        ("rare",),
        ("ranking", "rare", "labels"),
        first_seeds=5,
        further=(_WIKI10, _DELICIOUS),
    ),
    Study(
        "erasure",
        "Missing features",
        "The figure on FIAT: test points lose a fraction of their features, training points none. "
        "'As printed' replaces a point by the product of the formula, 'as meant' only fills in the "
        "features that it lacks.",
        [
            Line("Parabel", "parabel"),
            Line("FIAT", "parabel", impute="blend"),
            Line("FIAT, beta 0.3", "parabel", impute="blend:beta=0.3"),
            Line("FIAT, beta 1", "parabel", impute="blend:beta=1"),
            Line("FIAT, from groups", "parabel", impute="blend:companions=none"),
            Line("FIAT cosine", "parabel", impute="cosine"),
            Line("FIAT as printed", "parabel", impute="paper"),
            Line("FIAT as meant", "parabel", impute="missing"),
        ],
        (_EURLEX, _DEBIAN),
        (*_P, "train_cpu", "predict_ms"),
        ("erasure",),
        ("ranking", "erasure"),
        first_seeds=5,
        further=(_WIKI10, _DELICIOUS),
    ),
    Study(
        "ndcg",
        "k-means and nDCG splits",
        "The figure on DEFRAG-N: groups by balanced k-means against groups by balanced nDCG "
        "splits.",
        [
            Line(f"{name}, d0 = {size}", "parabel",
                 f"defrag:{split}max_cluster_size={size}")
            for name, split in (("k-means", ""), ("nDCG", "split=ndcg,"))
            for size in (32, 16, 8, 4)
        ] + [Line("nDCG, unbalanced, d0 = 8", "parabel", "defrag:split=ndcg-unbalanced",
                  data=(_EURLEX,))],
        (_EURLEX, _DEBIAN),
        (*_P, "cluster_cpu", "train_cpu", "dimension"),
        ("split",),
        ("ranking", "groups"),
        further=_OTHERS,
    ),
    Study(
        "peers",
        "Beside other programs",
        "PECOS (XR-Linear), omikuji (Parabel) and napkinXC (PLT) with their defaults, plain and "
        "behind the groups of Hybrid, and with the settings that their authors document as better, "
        "on the same unit rows, one thread each; precision by the metrics of defrag.",
        [
            Line("LabelTree, 1 tree", "label-tree", seeds=5),
            Line("LabelTree, 1 tree, Focus", "label-tree", FOCUS, seeds=5),
            Line("LabelTree, 3 trees", "label-tree:n_trees=3", seeds=5),
            Line("LabelTree, 3 trees, Focus", "label-tree:n_trees=3", FOCUS, seeds=5),
            Line("LabelTree, 3 trees, Hybrid", "label-tree:n_trees=3", "hybrid", seeds=5),
            Line("Parabel", "parabel"),
            *(Line(f"{name}{suffix}", word, groups)
              for word, name in PEERS.items()
              for groups, suffix in ((NONE, ""), ("hybrid", ", Hybrid"))
              if "-" not in word or groups == NONE),
        ],
        (_EURLEX, _DEBIAN, _TIBKAT, _YSO),
        (*_P, "PSP@5", *_COST),
        ("cost",),
        ("ranking", "groups"),
    ),
    Study(
        "variants",
        "Variants of classifiers",
        "Settings and groups that Table 2 does not have: presets of DiSMEC, random groups in "
        "front of one-vs-rest classifiers, the paper's other rule for the size of groups, and "
        "variants that change what a method optimises.",
        [
            Line("DiSMEC", "dismec"),
            Line("DiSMEC, fast", "dismec:preset=fast"),
            Line("DiSMEC, exact", "dismec:preset=exact"),
            *(Line(f"{name}, random groups", _CLASSIFIERS[name], "random-groups")
              for name in ("DiSMEC", "PPDSparse", "ProXML")),
            *(Line(f"{name}, groups of 9 or 10", _CLASSIFIERS[name], f"defrag:{_TABLE_RULE}",
                   seeds=seeds)
              for name, seeds in (("DiSMEC", None), ("SLEEC", 1), ("PfastreXML", 1))),
            Line("LPSR, optimised", "lpsr:assignment=optimised"),
            Line("SLEEC, one vote each", "sleec:votes=count", seeds=1),
            Line("AnnexML, one vote each", "annexml:votes=count", seeds=1),
            Line("PfastreXML, alpha 0.8", "pfastrexml:alpha=0.8", seeds=1),
            Line("LEML, rank 100", "leml:n_components=100"),
            *(Line(f"DiSMEC, DEFRAG-X, {name}", "dismec", f"defrag{pooling}")
              for name, pooling in (("sums", ""), ("means", ":pooling=mean"))),
        ],
        (_EURLEX,),
        (*_P, *_PSP, *_COST),
        (),
        ("ranking", "groups"),
        first_seeds=5,
    ),
    Study(
        "reductions",
        "Ways to make training cheaper",
        "Fewer entries per row (Focus), fewer features (groups, and the features with the most "
        "energy) and faster presets, in front of a label tree, Parabel with one tree, and a "
        "one-vs-rest classifier.",
        [
            *(Line(f"{name}{suffix}", word, groups)
              for name, word in (("LabelTree", "label-tree:n_trees=3"),
                                 ("Parabel, 1 tree", "parabel:n_trees=1"),
                                 ("DiSMEC", "dismec"))
              for groups, suffix in _REDUCTIONS.items()),
            Line("LabelTree, fast", "label-tree:n_trees=3,preset=fast"),
            Line("DiSMEC, fast", "dismec:preset=fast"),
        ],
        (_EURLEX,),
        (*_P, *_COST),
        ("cost",),
        ("ranking", "groups"),
        seeds=1,
    ),
    Study(
        "focus",
        "Budgets of Focus",
        "How many entries of a row are kept, chosen on held-out training points: a row of c "
        "entries keeps budget times the square root of c; 're-weighted' keeps all of them.",
        [
            Line(f"{name}, {noun}", f"label-tree:n_trees={noun[0]}", groups)
            for noun in ("1 tree", "3 trees")
            for name, groups in (("all entries", NONE),
                                 *((f"budget {size}", f"{FOCUS}:budget={size}")
                                   for size in (4, 6, 8)),
                                 ("automatic budget", FOCUS),
                                 ("re-weighted", f"{FOCUS}:budget=none"),
                                 ("Hybrid", "hybrid"))
        ],
        (_EURLEX, _DEBIAN, _TIBKAT),
        (*_P, "train_cpu", "predict_ms", "model_bytes"),
        (),
        ("ranking", "groups"),
        seeds=1,
        held_out=True,
    ),
    Study(
        "ngrams",
        "Groups of character n-grams",
        "Where features are redundant: character n-grams of 3 to 5 of texts, and their 1,000 most "
        "frequent labels. Groups of at most 8 features (d/8) unless said; tight groups have a "
        "cosine of 0.7 for trees, 0.8 for others. Training includes the clustering; the column "
        "beside it does not.",
        _ngrams(),
        NGRAM_SETS,
        (*_P, *_COST, "dimension"),
        ("pareto",),
        ("ranking", "groups"),
    ),
    Study(
        "presets",
        "Presets on texts",
        "The default, and what is faster or better by one word; with names where labels have any. "
        "Training is all that happens from strings to the model.",
        [
            Line(f"{word or 'default'}{suffix}", f"preset:{word}", texts=True, names=bool(suffix))
            for suffix in ("", ", names")
            for word in ("fast", "", "best")
        ],
        TEXT_SETS,
        (*_P, "nDCG@5", "F1@5", "PSP@5", *_TEXT_COST),
        (),
        ("texts",),
        seeds=1,
    ),
    Study(
        "presets_rows",
        "Presets on rows",
        "The same on rows; choosing is a part of training.",
        [Line(word or "default", f"preset:{word}") for word in ("fast", "", "best")],
        (_EURLEX, _YSO),
        (*_P, "nDCG@5", "PSP@5", *_TEXT_COST),
        seeds=1,
    ),
    Study(
        "texts",
        "From raw texts to answers",
        "From files of raw texts to the names of labels: reading, features, training and answers. "
        "F1@5 is of five labels per text; micro- and macro-F1 are of answers, chosen on the dev "
        "texts where there are any. Recall is by the number of training texts of a label. Other "
        "programs have the settings of their documentation, and one threshold from the dev texts; "
        "they choose between settings where it names several.",
        [
            *(Line(f"{name}{suffix}", word, FOCUS, texts=True, names=bool(suffix))
              for suffix in ("", ", names")
              for name, word in (("default", "label-tree"),
                                 ("three trees", "label-tree:n_trees=3"),
                                 ("DiSMEC", "dismec"))),
            *(Line(name, word, seeds=1) for word, name in TEXT_PEERS.items()),
        ],
        TEXT_SETS,
        ("P@1", "RP@5", "nDCG@5", "nDCG@10", "F1@5", "micro-F1", "macro-F1", "PSP@5", "file_cpu",
         "predict_ms", "model_bytes", "peak_memory"),
        (),
        ("texts",),
    ),
]  # fmt: skip

STUDIES = {study.name: study for study in _ALL}
"""All studies by name, in the order of the paper."""

# --- What a data set requires of a method.

_USUAL = {"A": 0.55, "B": 1.5}


def suited(spec: Spec, data: str, propensity: Mapping[str, float]) -> Spec:
    """Return a method with the propensities of its data, and with what the paper does for them.

    Constants other than the defaults are kept. On the two largest data sets of the paper, the
    members of an ensemble share one clustering.
    """
    one = REPOSITORY.get(place_of(data))
    parameters = {
        name: suited(value, data, propensity) if isinstance(value, dict) else value
        for name, value in spec["parameters"].items()
    }
    if {name: parameters.get(name) for name in _USUAL} == _USUAL:
        parameters |= propensity
    if one is not None and one.shares_clustering and "per_member" in parameters:
        parameters["per_member"] = False
    return {**spec, "parameters": parameters}
