"""What is installed: its names, its licences, and that it is complete without some folders."""

import importlib
import re
import shutil
from importlib.metadata import distribution
from pathlib import Path

import pytest

import defrag
from tests.helpers.processes import run_python

PACKAGE = Path(defrag.__file__).parent
WITHOUT = {"lab": ["demo", "compare", "reproduce", "tune"], "serving": ["serve"], "annif": []}
"""Folders that may be missing, and the commands that need them."""

PROGRAM = """
import sys
import numpy as np
from typer.testing import CliRunner
import defrag
from defrag.cli.app import VERBS, app

assert defrag.__file__.startswith(sys.argv[1]), defrag.__file__

def run(line, code=0):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == code, (line, result.output, result.stderr)
    return result

X, Y = np.eye(6, dtype=np.float32).repeat(2, axis=0), [[i % 3] for i in range(12)]
model = defrag.Focused(defrag.LabelTree(random_state=0)).fit(X, Y)
model.save("rows.safetensors")
expected = model.predict_topk(X, k=2)
for found, wanted in zip(defrag.load("rows.safetensors").predict_topk(X, k=2), expected):
    np.testing.assert_array_equal(found, wanted)

texts = ["quick sort", "merge sort", "hash map", "hash table"]
labels = [["sorting"], ["sorting"], ["hashing"], ["hashing"]]
assert defrag.TextClassifier().fit(texts, labels).predict(["a sort"]) is not None
with open("docs.jsonl", "w") as file:
    file.write(''.join('{"text": "%s", "labels": ["%s"]}\\n' % (text, names[0])
                       for text, names in zip(texts, labels)))
run("train docs.jsonl model.safetensors")
run("predict model.safetensors docs.jsonl --output predictions.txt")
assert "sorting" in run("suggest model.safetensors sort").stdout
assert "P@k" in run("evaluate docs.jsonl predictions.txt --top-k 1").stdout
assert "hashing" in run("explain model.safetensors --text hash --label hashing --json").stdout
assert "text_classifier" in run("info model.safetensors").stdout

missing = sys.argv[3:]
for verb in VERBS:
    if verb not in missing:
        run(f"{verb} --help")
for line in {"demo": ["demo"], "compare": ["compare docs.jsonl docs.jsonl"],
             "reproduce": ["reproduce all"], "serve": ["serve model.safetensors"]}.items():
    if line[0] in missing:
        said = run(line[1][0], 2).stderr
        assert said.startswith(f"defrag: error: defrag.{sys.argv[2]}"), said
        assert said.endswith("is not part of this installation\\n"), said
"""


def test_public_names():
    assert len(set(defrag.__all__)) == len(defrag.__all__)  # their order is the linter's
    for name in defrag.__all__:
        assert getattr(defrag, name) is not None
        assert name in dir(defrag)
    with pytest.raises(AttributeError, match="module 'defrag' has no attribute 'Nothing'"):
        importlib.import_module("defrag").Nothing  # noqa: B018 - looking is the test


def test_import_is_light_and_free_of_warnings():
    code = (
        "import sys, defrag\n"
        "heavy = {'sklearn', 'scipy', 'pandas', 'rich', 'matplotlib', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "defrag.Defrag, defrag.load_dataset, defrag.metrics\n"
    )
    run_python("-W", "error", "-c", code)


def test_wheel_carries_the_licences_of_what_is_linked():
    licences = [path for path in distribution("defrag").files or [] if "licenses" in path.parts]
    texts = {path.parts[-2]: path.locate().read_text(encoding="utf-8") for path in licences}
    assert "Wenzel Jakob" in texts["nanobind"]
    assert "Thibaut Goetghebuer-Planchon" in texts["robin_map"]
    assert "doctest" not in texts  # only the C++ tests contain it


def test_workflows_use_actions_by_hash_only():
    folder = Path(__file__).resolve().parent.parent / ".github" / "workflows"
    used = [
        name
        for path in folder.glob("*.yml")
        for name in re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
        if not name.startswith("./")
    ]
    assert len(used) > 10
    assert [name for name in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name)] == []


@pytest.mark.slow
@pytest.mark.parametrize("room", WITHOUT)
def test_package_without_room_is_complete(room, tmp_path):
    copy = tmp_path / "package"
    shutil.copytree(
        PACKAGE, copy / "defrag", ignore=shutil.ignore_patterns("__pycache__"), symlinks=True
    )
    shutil.rmtree(copy / "defrag" / room)
    run_python(
        "-c", PROGRAM, copy, room, *WITHOUT[room], cwd=tmp_path, PYTHONPATH=str(copy),
        PYTHONDONTWRITEBYTECODE="1",
    )  # fmt: skip
