from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DEFRAG_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder():
    """Give the folder of third-party data sets, which the repository does not contain."""
    if not DATA.is_dir():
        pytest.skip(f"no data sets at {DATA}; set DEFRAG_DATA to their folder")
    return DATA
