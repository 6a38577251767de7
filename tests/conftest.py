from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("DEFRAG_DATA", str(ROOT.parent / "shared" / "data"))
DATA = Path(os.environ["DEFRAG_DATA"])


@pytest.fixture(scope="session")
def data_folder():
    """Give the folder of third-party data sets, which the repository does not contain."""
    if not DATA.is_dir():
        pytest.skip(f"no data sets at {DATA}; set DEFRAG_DATA to their folder")
    return DATA


def pytest_configure(config):
    """Let older scikit-learn pass its checks to newer pytest as an iterator."""
    config.addinivalue_line("filterwarnings", "ignore:Passing a non-Collection iterable")
