"""``defrag train``, case by case."""

import re

import pytest

from defrag import Agglomerated, Defrag, Focus, Focused, LabelTree, load, registry
from defrag.agglomeration import Hybrid, Tight
from defrag.specs import VARIANTS
from tests.helpers.cli_model_data import N_FEATURES, N_LABELS, N_POINTS, fill_folder, points
from tests.helpers.cli_running import run_warned, run_well, told

folder = pytest.fixture(fill_folder, autouse=True)


GROUPS = {
    "none": None,
    "x": Defrag(),
    "xy": Defrag("xy"),
    "n": Defrag(split="ndcg"),
    "hybrid": Hybrid(),
    "tight": Tight(),
}


@pytest.mark.parametrize(
    ("word", "groups"),
    [
        *((entry.word, "none") for entry in registry.entries("classifier")),
        *(("label-tree", name) for name in VARIANTS),
        ("dismec", "hybrid"),
        ("fastxml", "hybrid"),
    ],
)
def test_train_writes_bytes_of_library(folder, word, groups):
    X, Y = points()
    line = f"train train.txt out --classifier {word} --agglomerate {groups} --seed 5 --no-focus"
    run_well(*line.split(" "), "--weights", "int8")
    base = registry.find(word).estimator()()
    model = base if GROUPS[groups] is None else Agglomerated(base, GROUPS[groups])
    model.set_params(random_state=5).fit(X, Y).save(folder / "expected", weights="int8")
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


def test_train_defaults_to_label_tree_on_focused_rows(folder):
    X, Y = points()
    said = run_well("train", "train.txt", "out")
    model = Focused(LabelTree(random_state=0), Focus(), random_state=0).fit(X, Y)
    model.save(folder / "expected")
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()
    wanted = r"40 points, 24 features, 8 labels: [0-9.]+ s, [0-9.]+ MB in out\n"
    assert re.fullmatch(wanted, said), said


@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_model_file_has_names_and_weight_type(folder, weights):
    names = ("--label-names", "labels.txt", "--vocabulary", "words.txt", "--weights", weights)
    said = told("train", "train.txt", "out", *names)
    model = load(folder / "out")
    assert list(model.label_names_) == [f"label {j}" for j in range(N_LABELS)]
    assert list(model.vocabulary_) == [f"word{j}" for j in range(N_FEATURES)]
    assert said.pop("seconds") > 0
    size = (folder / "out").stat().st_size
    counts = {"points": N_POINTS, "features": N_FEATURES, "labels": N_LABELS}
    assert said == {"model": "out", **counts, "bytes": size}
    described = told("info", "out")
    assert described["weight_type"] == weights
    assert (described["label_names"], described["vocabulary"]) == (True, True)


@pytest.mark.parametrize(
    "data",
    ["train.txt.xz", "train.npz", "train.svm --one-based", "X.txt --labels Y.txt",
     "train.txt --n-jobs 2", "train.txt --n-jobs 1"],
)  # fmt: skip
def test_same_data_in_any_form_give_same_bytes(folder, data):
    file, *flags = data.split()
    run_well("train", "train.txt", "a", "--n-trees", "2")
    run_well("train", file, "b", "--n-trees", "2", *flags)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_train_warns_that_nothing_changes():
    line = "train train.txt out --classifier parabel --agglomerate none --seed 3 --n-jobs 1"
    result = run_warned(
        *line.split(), "--rerank", "identity", "--target", "PSP@1", "--max-loss", "5"
    )
    # Losses of so few points are too uncertain for any setting.
    assert "warning: Refrag changes nothing" in result.stderr
    chosen = load("out")
    assert (chosen.target, chosen.max_loss) == ("PSP@1", 5)
    assert chosen.trade_off_.n_rows == 40
