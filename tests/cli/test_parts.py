"""Training in parts on the command line."""

import pytest

from tests.helpers.cli_model_data import fill_folder
from tests.helpers.cli_running import check_refusal, run_well

FLAGS = ("--n-trees", "2", "--seed", "3", "--max-leaf-size", "2")

folder = pytest.fixture(fill_folder)


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
