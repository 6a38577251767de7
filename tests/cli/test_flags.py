"""Every parameter of every estimator that a command builds has a flag that sets it."""

import pytest

from defrag import (
    Agglomerated,
    Defrag,
    DiSMEC,
    Focus,
    Focused,
    Imputed,
    LabelTree,
    Refrag,
    registry,
)
from defrag._parameters import parameters_of, rules_of
from defrag.agglomeration import Hybrid, Tight
from defrag.baselines import Parabel
from defrag.cli import _flags
from defrag.imputation import Fiat
from tests.helpers.cli_data import fill_folder
from tests.helpers.cli_running import run, run_well

VALUES = [0.25, 3, 2, 5, 0.75, 40, "auto", True, False, None, "balanced"]
PLAIN = "train train.txt out --agglomerate none --no-focus"
GROUPED = "train train.txt out --agglomerate"
GROUPS = "cluster train.txt out --agglomerated small"
BUILT = {
    **{
        f"{PLAIN} --classifier {entry.word}": (entry.estimator(), "")
        for entry in registry.entries("classifier")
    },
    **{
        f"{GROUPS} --method {entry.word}": (entry.estimator(), "")
        for entry in registry.entries("clustering")
    },
    GROUPS: (Defrag, ""),
    f"{GROUPS} --preset hybrid": (Hybrid, ""),
    f"{GROUPED} x": (Agglomerated, "agglomeration"),
    f"{GROUPED} hybrid": (Agglomerated, "agglomeration"),
    f"{GROUPED} tight": (Agglomerated, "agglomeration"),
    "train train.txt out --focus": (Focused, "focus"),
    f"{PLAIN} --rerank identity": (Refrag, ""),
    f"{PLAIN} --impute blend": (Imputed, "imputation"),
}
"""Command lines, the class of what they fit, and which part of it takes the flags."""
PARTS = {"x": Defrag, "hybrid": Hybrid, "tight": Tight, "focus": Focus, "blend": Fiat}
OF_WORDS = {"identity": {"co_occurrence"}, "blend": {"mode", "prefit", "row_norm"}, "x": {"tol"}}
"""Parameters without a flag, beside a word that stands for them or for a classifier's."""


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Return a function that gives the unfitted estimator of a command line."""
    fill_folder(tmp_path, monkeypatch)

    def build(kind, line):
        seen = []

        def fit(estimator, *_arguments, **_options):
            seen.append(estimator)
            raise ValueError("as it is")

        with monkeypatch.context() as patch:
            patch.setattr(kind, "fit", fit)
            result = run(*line.split(" "))
        assert result.stderr.endswith("as it is\n"), (line, result.stderr)
        return seen[0]

    return build


def other_value(kind, name):
    """Return a value of a parameter that is not its default, and the words that set it."""
    rule, default = rules_of(kind)[name], parameters_of(kind)[name].default
    candidates = [*getattr(rule, "values", ()), *VALUES]
    value = next(one for one in candidates if rule.accepts(one) and one != default)
    flag = _flags.flag_name(name)
    if isinstance(value, bool):
        return value, flag if value else flag.replace("--", "--no-", 1)
    return value, f"{flag} {'none' if value is None else value}"


@pytest.mark.parametrize("line", BUILT)
def test_every_flag_sets_its_parameter(built, line):
    kind, part = BUILT[line]
    owner = PARTS.get(line.split(" ")[-1].strip("-"), kind) if part else kind
    plain = built(kind, line)
    for name in _flags.own_flags(owner, *OF_WORDS.get(line.split(" ")[-1], ())):
        value, words = other_value(owner, name)
        found = built(kind, f"{line} {words}")
        holder = getattr(found, part) if part else found
        assert type(holder) is owner
        assert holder.get_params(deep=False)[name] == value, words
        # Nothing else is set.
        assert repr(found.set_params(**{f"{part}__{name}" if part else name: getattr(
            getattr(plain, part) if part else plain, name)})) == repr(plain)  # fmt: skip


RERANKED = Refrag(
    Parabel(), co_occurrence="cosine", gamma=8.0, propensity_weight=0.5, n_clusterings=2
)
COMPOSED = {
    "": Focused(LabelTree(), Focus()),
    "--no-focus": LabelTree(),
    "--budget 2 --power 0.25": Focused(LabelTree(), Focus(2.0, power=0.25)),
    "--budget none": Focused(LabelTree(), Focus(None)),
    "--classifier dismec": DiSMEC(),
    "--classifier dismec --focus": Focused(DiSMEC(), Focus()),
    "--agglomerate hybrid --focus": Focused(Agglomerated(LabelTree(), Hybrid()), Focus()),
    "--agglomerate tight": Agglomerated(Focused(LabelTree(), Focus()), Tight()),
    "--n-trees 2 --agglomerate hybrid --no-per-member": Agglomerated(
        LabelTree(2), Hybrid(), per_member=False
    ),
    "--classifier parabel --rerank cosine --gamma 8 --propensity-weight 0.5 --impute blend "
    "--beta 0.3 --n-clusterings 2": Imputed(RERANKED, Fiat(beta=0.3, n_clusterings=2)),
}


def parameters(model):
    """Return all parameters but those of a run, with the types of parts."""
    return {
        name: type(value) if hasattr(value, "get_params") else value
        for name, value in model.get_params().items()
        if not name.endswith(("random_state", "n_jobs", "verbose"))
    }


@pytest.mark.parametrize("flags", COMPOSED)
def test_flags_compose_a_classifier(built, flags):
    wanted = COMPOSED[flags]
    found = built(type(wanted), f"train train.txt out {flags}".strip())
    assert parameters(found) == parameters(wanted)


def test_seed_threads_and_none_are_set(built):
    for command in ("train train.txt out --no-focus", "cluster train.txt out"):
        kind = LabelTree if "train " in command else Defrag
        found = built(kind, f"{command} --seed 99 --n-jobs 2")
        assert (found.random_state, found.n_jobs) == (99, 2)
        assert built(kind, f"{command} --random-state 1").random_state == 1
    assert built(Defrag, "cluster train.txt out --row-norm none").row_norm is None


def test_help_of_cluster_has_flags_of_all_methods():
    help_text = run_well("cluster", "--help")
    for entry in registry.entries("clustering"):
        for name in set(entry.estimator()().get_params()) - {"random_state", "verbose"}:
            assert _flags.flag_name(name) in help_text
