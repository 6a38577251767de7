"""``defrag train``, case by case, and training in parts."""

import re

import pytest

from defrag import Agglomerated, Defrag, Focus, Focused, LabelTree, load, registry
from defrag.agglomeration import Hybrid, Tight
from defrag.specs import VARIANTS
from tests.helpers.cli_model_data import N_FEATURES, N_LABELS, N_POINTS, fill_folder, points
from tests.helpers.cli_running import check_refusal, run_warned, run_well, told

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


FLAGS = ("--n-trees", "2", "--seed", "3", "--max-leaf-size", "2")


def test_joined_parts_equal_file_of_train(folder):
    names = ("--label-names", "labels.txt")
    run_well("train", "train.txt", "whole.safetensors", *FLAGS, *names)
    planned = run_well("train", "train.txt", "a.plan", *FLAGS, "--parts", "3")
    assert "3 parts in a.plan, the largest with" in planned
    run_well("train-part", "a.plan", "train.txt", "--part", "2", "--part", "2")
    assert [path.name for path in folder.glob("*.part-*")] == ["a.plan.part-00002"]
    once = (folder / "a.plan.part-00002").read_bytes()
    check_refusal(
        folder, "join a.plan joined", "a.plan: 2 of 3 parts are missing: a.plan.part-00000"
    )

    # A file that was cut off is trained again, complete ones are not.
    (folder / "a.plan.part-00000").write_bytes(once[: len(once) // 2])
    rest = run_well("train-part", "a.plan", "train.txt", "--n-jobs", "1")
    assert "1 of 3 parts are trained already" in rest
    assert "part 0 of 3" in rest
    assert "part 2 of 3" not in rest
    again = run_well("train-part", "a.plan", "train.txt", "--part", "2", "--force")
    assert "part 2 of 3" in again
    assert (folder / "a.plan.part-00002").read_bytes() == once
    run_well("join", "a.plan", "joined", *names)
    assert (folder / "joined").read_bytes() == (folder / "whole.safetensors").read_bytes()


def test_lpsr_is_joined_with_data(folder):
    flags = ("--classifier", "lpsr", "--seed", "3")
    run_well("train", "train.txt", "whole", *flags)
    run_well("train", "train.txt", "a.plan", *flags, "--parts", "3")
    run_well("train-part", "a.plan", "train.txt")
    check_refusal(folder, "join a.plan joined", "LPSR is fitted to its trained base and the data")
    run_well("join", "a.plan", "joined", "--data", "train.txt")
    assert (folder / "joined").read_bytes() == (folder / "whole").read_bytes()


def test_joined_parts_of_texts_equal_file_of_train(folder):
    lines = [{"body": f"a {'red' if i % 3 else 'white'} fox {i % 5}",
              "labels": ["red" if i % 3 else "white", f"n{i % 7}"]} for i in range(60)]  # fmt: skip
    (folder / "docs.csv").write_text(
        "body,labels\n" + "".join(f"{one['body']},{' '.join(one['labels'])}\n" for one in lines)
    )
    columns = ("--text-column", "body", "--label-separator", "space")
    run_well("train", "docs.csv", "whole", *columns)
    assert "parts in a.plan" in run_well("train", "docs.csv", "a.plan", *columns, "--parts", "3")
    run_well("train-part", "a.plan", "docs.csv", *columns)
    check_refusal(folder, "join a.plan joined --label-names labels.txt", "--label-names changes")
    run_well("join", "a.plan", "joined")
    assert (folder / "joined").read_bytes() == (folder / "whole").read_bytes()
    check_refusal(folder, "train-part a.plan train.txt --force", "the plan was made from texts")
