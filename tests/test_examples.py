"""The examples run and print what they promise, or say which package they need."""

import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
# A package without which an example does nothing.
NEEDS = {
    "dspy_module": "dspy",
    "fastapi_app": "fastapi",
    "langchain_retriever": "langchain-core",
    "mlflow_model": "mlflow",
    "pandas_parquet": "pyarrow",
    "predict_on_spark": "pyspark",
    "spacy_component": "spacy",
    "train_on_ray": "ray",
}
PRINTS = {
    "compare_methods": r"n_trees=3\)\): \d\.\d\d \+- 0\.\d\d%",
    "dspy_module": r"\d+ candidates, chosen \['python3'\], F1 1\.00",
    "explain_label": r"words of libgtk-3-0t64: gtk",
    "fastapi_app": r"python3: python.*\n.*\n.*\n.*status 422",
    "label_names": r"all labels: .*Python-kieli(?s:.*)windoes: lib(?s:.*)later: .*Python 4",
    "langchain_retriever": r"'label': 'python3'(?s:.*)chosen: \['python3', 'libc6'\]",
    "mlflow_model": r"'libgtk-3-0t64': 0\.\d+(?s:.*)pickles: \[\]",
    "own_estimator": r"SumOfPoints\(\): P@1 [4-9]\d",
    "own_method": r"Neighbour\(\) (?s:.*)frequency (?s:.*)textbf\{",
    "pandas_parquet": r"[5-9]\d% of 1,000 texts have a label",
    "predict_on_spark": r"(9\d\d|1,000) texts have labels",
    "probabilities": r"0\.8 and 1\.0 +0\.9\d +0\.9\d",
    "rare_labels": r"loss of P@1 up to 3: P@1 \d\d\.\d, PSP@3 19",
    "retag_archive": r"5,000 texts, \d,\d+ labels",
    "retrain": r"new trees: 2[5-9]%.*\n.*shape=\): (1\d|2[0-3])%",
    "shortlist_for_llm": r"promised: 90% \((?s:.*)other texts: (89|9\d)\.\d%",
    "sklearn_pipeline": r"all words: (?s:.*)Focus: (?s:.*)Hybrid: ",
    "spacy_component": r"viewer \{(?s:.*)libgtk-3-0t64': 0\.(?s:.*)same before it was saved: True",
    "suggest_subjects": r"0\.\d+  libgtk-3-0t64",
    "tag_tickets": r"\ncannot sign in and the printer jams,login;printer\nhello,\n",
    "texts_in_scikit_learn": r"f1_micro: 0\.7(?s:.*)best: (?s:.*)Stacking\w+: accuracy 0\.[67]",
    "threshold": r"chosen threshold 0\.\d+: precision 0\.(8[89]|9)",
    "train_in_parts": r"ended with \[0, 0\]\n\d parts give .*: True",
    "train_on_ray": r"same scores as on one machine: True",
}


def test_every_example_is_tested_and_described():
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"`(\w+)\.py` \|(.*)\|$", page, re.MULTILINE))
    assert sorted(rows) == NAMES == sorted(PRINTS)
    for name, needs in rows.items():
        assert NEEDS.get(name, "") in needs, name
        assert bool(needs.strip()) == (name in NEEDS), name


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType")  # of MLflow itself
def test_example_runs(name, capsys, monkeypatch):
    if name in NEEDS and find_spec(NEEDS[name].replace("-", "_")) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(PRINTS[name], printed), printed
    if name == "sklearn_pipeline":
        line = r".*: P@1/3/5 ([0-9.]+)/[0-9.]+/[0-9.]+, training [0-9.]+ s, model ([0-9.]+) MB"
        found = [re.fullmatch(line, one).groups() for one in printed.splitlines()]
        assert min(float(precision) for precision, _ in found) > 75
        assert float(found[2][1]) < 0.5 * float(found[0][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDS)
def test_example_names_the_package_that_is_missing(name):
    package = NEEDS[name].replace("-", "_")
    # An entry of None stands for a package that is not installed.
    absent = (
        "import runpy, sys\n"
        "from importlib import util\n"
        "find = util.find_spec\n"
        f"util.find_spec = lambda name: None if name == {package!r} else find(name)\n"
        f"sys.modules[{package!r}] = None\n"
        f"runpy.run_path({str(EXAMPLES / f'{name}.py')!r}, run_name='__main__')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", absent], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "pip install" in result.stderr
