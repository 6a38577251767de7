"""What commands refuse: every line of refusals.txt."""

import functools
from pathlib import Path

import pytest

from tests.helpers import cli_data, cli_model_data, cli_text_data
from tests.helpers.cli_running import check_refusal

FOLDERS = {
    "points": cli_data.fill_folder,
    "models": cli_model_data.fill_folder,
    "texts": functools.partial(cli_text_data.fill_folder, refused=True),
}


def cases():
    """Yield a folder, a command line and what is said of it."""
    place = None
    for line in Path(__file__).with_name("refusals.txt").read_text().splitlines():
        if line.startswith("["):
            place = line.strip("[]")
        elif line and not line.startswith("#"):
            command, _, said = line.partition(" -> ")
            yield place, command, said


@pytest.mark.parametrize(("place", "command", "said"), cases())
def test_refusal_is_one_line_and_changes_no_file(place, command, said, tmp_path, monkeypatch):
    check_refusal(FOLDERS[place](tmp_path, monkeypatch), command, said)
