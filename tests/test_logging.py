"""What is said while the library works: log records, and nothing that is printed."""

import logging
import re
from pathlib import Path
from unittest.mock import MagicMock

import pytest

import defrag
from defrag import Agglomerated, Defrag, LabelTree, Refrag, _progress
from tests.data import make_data


def test_fits_are_logged_not_printed(caplog, capfd):
    X, Y = make_data()
    with caplog.at_level(logging.INFO, logger="defrag"):
        model = Refrag(LabelTree(verbose=True), random_state=0).fit(X, Y)
        model.predict_topk(X)
    messages = [one.getMessage() for one in caplog.records if one.name == "defrag"]
    assert any(re.match(r"Refrag: PSP@3 [+-]\d+\.\d\d, P@1 [+-]", one) for one in messages)
    whole = re.compile(r"Refrag: fitted 240 points, 90 features, 40 labels in \d+\.\d\d s")
    assert whole.fullmatch(messages[-1])
    assert sum("LabelTree: fitted" in one for one in messages) == 6  # five rounds and the base
    assert capfd.readouterr() == ("", "")


def test_logger_is_silent_unless_configured(capfd):
    logging.getLogger("defrag").warning("for a program that configures logging")
    assert "NullHandler" in str(logging.getLogger("defrag").handlers)
    assert capfd.readouterr().out == ""


def test_modules_do_not_print():
    folder = Path(defrag.__file__).parent
    for path in folder.rglob("*.py"):
        if "cli" not in path.parts:
            code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            assert not re.search(r"(?<![\w.])print\(", code), path


@pytest.fixture
def bars(monkeypatch):
    """Return the descriptions of all progress bars, instead of showing them."""
    shown, display = [], MagicMock()
    bar = display.return_value.__enter__.return_value
    bar.add_task.side_effect = lambda description, **_: shown.append(description)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.progress.Progress", display)
    return shown


def test_progress_bars_name_tree(bars):
    X, Y = make_data()
    base = LabelTree(2, verbose=True)
    Agglomerated(base, Defrag(max_cluster_size=4), random_state=0).fit(X, Y)
    trained = [one for one in bars if "training" in one]
    assert trained == ["tree 1 of 2: training", "tree 2 of 2: training"]
    bars.clear()
    Refrag(LabelTree(2, verbose=1), held_out=0.5, random_state=0).fit(X, Y)
    trained = [one for one in bars if "training" in one]
    assert trained[:3] == ["round 1 of 2: training tree 1 of 2",
                           "round 1 of 2: training tree 2 of 2",
                           "round 2 of 2: training tree 1 of 2"]  # fmt: skip
    assert trained[-1] == "training tree 2 of 2"


def test_stage_ends_with_block():
    with pytest.raises(RuntimeError, match="x"), _progress.progress_stage("part"):
        raise RuntimeError("x")
    assert _progress._stage.get() == ""
