from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import defrag


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
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
