"""What is installed: names, licences, imports; what works without some folders or libraries."""

import importlib
import re
import shutil
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

import defrag
from defrag import LabelTree, TextClassifier, registry
from tests.data import make_data
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
for verb, line in {"demo": "demo", "compare": "compare docs.jsonl docs.jsonl",
                   "reproduce": "reproduce all", "serve": "serve model.safetensors"}.items():
    if verb in missing:
        said = run(line, 2).stderr
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


# --- Load, fit and predict do without scikit-learn; once it is imported, all is as if it had been.


PREDICT = """
import copy, sys
import numpy as np, scipy.sparse
from defrag import Focused, load

model, text = load(sys.argv[1]), load(sys.argv[2]).set_params(n_jobs=2)
X = scipy.sparse.random_array((3, model.n_features_in_), density=0.5, rng=0, format="csr")
model.predict_topk(X), model.predict_topk(X.toarray()), model.explain(X[[0]])
copy.copy(text).predict_topk(["red apple", "green"]), text.explain("red apple")
Focused().fit(X, np.eye(3)), Focused().fit(X.toarray(), scipy.sparse.eye_array(3, format="csr"))
heavy = {"sklearn", "typer", "click", "rich", "pandas", "scipy.special"} & set(sys.modules)
assert not heavy, heavy
classes = load(sys.argv[3])
assert classes.score(np.eye(4), ["a", "b", "a", "b"]) == 1.0
"""

LOOK = """
import inspect, json, sys
if sys.argv[1] == "first":
    import sklearn.base
from defrag import load, registry
from defrag._scikit import _OF_SCIKIT, clone

classes = [entry.estimator() for entry in registry.entries()]
assert ("sklearn" in sys.modules) == (sys.argv[1] == "first")
early = {one: set(dir(one)) for one in classes}
class Mine(classes[0]):
    "A class of a user."

    def transform(self, X): return X
own = Mine()
if sys.argv[1] == "import":
    import sklearn.base
elif sys.argv[1] == "ask":
    params = [one().get_params() for one in classes]
    unfitted = classes[0](beam_size=3, random_state=7)
    assert repr(vars(clone(unfitted))) == repr(vars(unfitted))
    assert "sklearn" not in sys.modules
    repr(own)
    assert repr(params) == repr([one().get_params() for one in classes])
else:
    dir(own)
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
added = {name for one in classes for name in set(dir(one)) - early[one] if name[:2] != "__"}
assert all(map(_OF_SCIKIT.match, added)), sorted(added)
assert isinstance(own, BaseEstimator) and is_classifier(clone(own))
for one in [*classes, Mine]:
    methods = {name: str(inspect.signature(getattr(one, name)))
               for name in dir(one) if inspect.isroutine(getattr(one, name)) and name[0] != "_"}
    print(one.__name__, [base.__name__ for base in one.__mro__], sorted(vars(one)), methods,
          one.__doc__, repr(one()), get_tags(one()), sorted(dir(one())), sep="\\n")
"""


def test_loading_and_predicting_import_no_scikit_learn_and_no_command_line_library(tmp_path):
    X, Y = make_data()
    LabelTree(random_state=0).fit(X, Y).save(tmp_path / "rows")
    texts = ["red apple", "green apple", "red car", "green car"]
    labels = [["fruit"], ["fruit", "green"], ["car"], ["car", "green"]]
    TextClassifier(random_state=0).fit(texts, labels).save(tmp_path / "texts")
    LabelTree(random_state=0).fit(np.eye(4), np.array(["a", "b"] * 2)).save(tmp_path / "classes")
    run_python("-c", PREDICT, tmp_path / "rows", tmp_path / "texts", tmp_path / "classes")


@pytest.fixture(scope="module")
def seen_first():
    return run_python("-c", LOOK, "first")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["import", "ask", "look"])
def test_classes_made_before_scikit_learn_is_imported_are_those_made_after(how, seen_first):
    assert run_python("-c", LOOK, how) == seen_first
    assert len(seen_first.splitlines()) > 8 * len(registry.entries())


def test_unfitted_model_and_missing_attribute_have_the_errors_of_scikit_learn():
    code = (
        "from defrag import LabelTree\n"
        "for call in ('model.predict([[0.0]])', 'model.nothing', 'model.nothing_', "
        "'model.set_params(nothing=1)', 'model.score([[0]], [1])'):\n"
        "    try: model = LabelTree(); {'p': 1}; eval(call)\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    found = run_python("-c", code)
    assert found == run_python("-c", "import sklearn.base\n" + code)
    assert len(found.splitlines()) == 5
