import importlib
import re
from importlib.metadata import distribution
from pathlib import Path

import pytest

import defrag
from tests.helpers.processes import run_python


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
