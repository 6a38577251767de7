import json

import pytest

from defrag.lab.results import filled
from tests.lab.made_up import record

BEGIN, END = "<!-- records ", "<!-- end of records -->"


@pytest.fixture
def folder(tmp_path):
    kept = [record("PECOS", data="eurlex-4k", p=82.0, train=20.0),
            record("LabelTree, 1 tree", data="eurlex-4k", p=82.3, train=2.0)]  # fmt: skip
    (tmp_path / "records").mkdir()
    lines = "".join(f"{json.dumps(one)}\n" for one in kept)
    (tmp_path / "records" / "peers.jsonl").write_text(lines)
    return tmp_path


def block(what, old="old\n"):
    return f"before\n\n{BEGIN}{what} -->\n{old}{END}\n\nafter\n"


def test_filled_replaces_tables_between_comments_only(folder):
    what = "peers | eurlex-4k | P@1,train_cpu"
    text = filled(block(what), folder)
    assert text.startswith(f"before\n\n{BEGIN}{what} -->\n\n|  | P@1 | training, s |\n")
    assert text.endswith(f"|\n\n{END}\n\nafter\n")
    # The order is that of the study.
    assert text.index("| LabelTree, 1 tree | 81.30 | 2.00 |") < text.index("| PECOS |")
    assert "old" not in text
    assert filled(text, folder) == text


def test_comment_chooses_and_orders_methods(folder):
    text = filled(block("peers | eurlex-4k | P@1 | PECOS"), folder)
    assert "PECOS" in text.split("-->")[1]
    assert "LabelTree" not in text


def test_comment_may_ask_for_other_tables(folder):
    assert "| PECOS | 82.0 |" in filled(block("peers | eurlex-4k | erasure | PECOS"), folder)
    assert "| PECOS | 40.0 |" in filled(block("peers | eurlex-4k | rare | PECOS"), folder)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("table9 | eurlex-4k | P@1", "there are no records of 'table9'"),
        ("table1 | eurlex-4k | P@1", "there are no records of 'table1'"),
        ("peers | debian | P@1", "no record on 'debian'"),
        ("peers | eurlex-4k | P@1 | Nobody", "no record of 'Nobody' on 'eurlex-4k'"),
    ],
)
def test_comment_with_unknown_words_is_refused(folder, what, message):
    with pytest.raises(ValueError, match=message):
        filled(block(what), folder)
