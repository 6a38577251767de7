"""Explanations as tables, pages and data."""

import json
import math
from html.parser import HTMLParser

import numpy as np
import pytest

from defrag import DiSMEC, LabelTree
from defrag.explain.explanation import Explanation, Span, highlight
from defrag.explain.showing import excerpt, highlighted
from tests.data import make_data

X, Y = make_data(n=200, d=60, n_labels=24, seed=1)
ROW = X[[np.argmax(np.diff(X.indptr))]]
HOSTILE = "<script>alert(1)</script>"


def sample(**changes):
    parts = {
        "label": "festival",
        "label_id": 3,
        "score": 0.55,
        "base": 0.02,
        "features": np.array([7, 2, 9], dtype=np.int32),
        "names": ["speech", "voice", "games"],
        "values": np.array([0.5, 0.25, 1.0], dtype=np.float32),
        "contributions": np.array([0.4, 0.2, -0.07]),
        "without": np.array([0.1, 0.3, math.nan]),
        "path": (),
        "how": "from the weights of the model",
    }
    return Explanation(**{**parts, **changes})


def in_text(text="Voice for speech, not games", **changes):
    spans = [Span(2, 0, 5), Span(7, 10, 16), Span(9, 22, 27)]
    return sample(**changes).in_text(text, spans)


class Page(HTMLParser):
    """The tags and the visible text of some HTML; open tags must be closed in order."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, _attributes):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def test_parts_of_table_add_up():
    lines = str(sample()).splitlines()
    assert lines[0] == "festival  0.5500"
    rows = [line.split() for line in lines[2:6]]
    assert [row[0] for row in rows] == ["speech", "voice", "games", "without"]
    adds = [float(row[1]) for row in rows[:3]] + [float(rows[3][2])]
    assert sum(adds) == pytest.approx(0.55)
    assert rows[0][2] == "0.1000"
    assert rows[2][2].strip("█▏▎▍▌▋▊▉") == ""  # no score without it
    assert lines[-1] == "from the weights of the model"


def test_hidden_contributions_are_summed():
    model = LabelTree(random_state=0).fit(X, Y)
    one = model.explain(ROW)
    assert len(one.features) > 3
    total = one.base + sum(row.contribution for row in one.top(3)) + one.rest(3)
    assert total == pytest.approx(one.score)
    assert one.top(1)[0].feature == one.features[0]


def test_control_characters_are_replaced():
    shown = str(sample(names=["\x1b[31mred", "[bold]x[/]", "tab\there"], label="\x07bell"))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[bold]x[/]" in shown


@pytest.mark.parametrize("n", [1, 2])
def test_html_shows_hostile_names_as_text(n):
    one = in_text(f"Voice for speech {HOSTILE}" * n, names=[HOSTILE, "a & b", 'q"uote'],
                  label=HOSTILE)  # fmt: skip
    page = Page(one._repr_html_())
    assert "script" not in page.tags
    assert page.text.count(HOSTILE) == 2 + n
    assert "a & b" in page.text
    assert "+0.4000" in page.text
    assert {"table", "mark", "strong"} <= {*page.tags}


def test_every_result_has_html():
    model = DiSMEC(random_state=0).fit(X, Y)
    several = model.explain(ROW, k=3)
    assert Page(several._repr_html_()).tags.count("table") == 3
    assert str(several).count("without features") == 3
    features = model.label_features(2, n=5)
    page = Page(features._repr_html_())
    assert page.tags.count("tr") == 2 + len(features.names)
    assert repr(features).startswith(f"LabelFeatures(label=2: {features.names[0]}, ")
    assert repr(several[0]).startswith(f"Explanation(label={several[0].label!r}, score=0.")


def test_dictionaries_are_json():
    one = in_text()
    data = json.loads(json.dumps(one.as_dict()))
    assert data["features"][0] == {"feature": 7, "name": "speech", "value": 0.5,
                                   "contribution": 0.4, "without": 0.1}  # fmt: skip
    assert data["features"][2]["without"] is None
    assert "".join(piece["text"] for piece in data["segments"]) == one.text
    assert one.as_dict(n=1)["rest"] == pytest.approx(0.13)
    model = DiSMEC(random_state=0).fit(X, np.arange(200) % 5)
    assert json.dumps(model.explain(ROW, label=3).as_dict())


def test_segments_join_to_text_and_weights_add_up():
    one = in_text()
    pieces = one.segments()
    assert [piece.text for piece in pieces] == ["Voice", " for ", "speech", ", not ", "games"]
    assert [piece.weight for piece in pieces] == pytest.approx([0.2, 0, 0.4, 0, -0.07])
    with pytest.raises(ValueError, match="segments requires a text"):
        sample().segments()


def test_overlapping_places_share_contribution():
    features = np.array([0, 1], dtype=np.int32)
    spans = [Span(0, 0, 4), Span(1, 2, 6), Span(0, 8, 12), Span(5, 0, 3), Span(1, 9, 99)]
    pieces = highlight("abcdefgh0123", spans, features, np.array([0.8, -0.4]))
    assert "".join(piece.text for piece in pieces) == "abcdefgh0123"
    assert [piece.text for piece in pieces] == ["ab", "cd", "ef", "gh", "0123"]
    assert [piece.weight for piece in pieces] == pytest.approx([0.2, 0.0, -0.2, 0.0, 0.4])
    assert highlight("", [], features, np.array([0.8, -0.4])) == []


def test_long_text_is_shown_around_heaviest_words():
    text = f"speech {'a ' * 50}voice {'b ' * 50}games {'c ' * 50}speech\a"
    places = [(7, "speech"), (2, "voice"), (9, "games")]
    spans = [Span(7, len(text) - 7, len(text) - 1)]
    spans += [Span(j, text.index(word), text.index(word) + len(word)) for j, word in places]
    one = sample(contributions=np.array([0.3, 0.2, -0.07])).in_text(text, spans)
    shown = excerpt(one, context=6, short=100)
    assert shown.plain == (
        "speech a a a ... a a a voice b b b ... b b b games c c c ... c c c speech"
        "\N{REPLACEMENT CHARACTER}"
    )
    marks = [(shown.plain[mark.start : mark.end], str(mark.style)) for mark in shown.spans]
    for_it = "bold green"
    assert marks == [("speech", for_it), ("voice", for_it), ("games", "red underline"),
                     ("speech", for_it)]  # fmt: skip
    fewer = excerpt(one, context=6, short=100, most=1)
    assert fewer.plain == "a a a voice b b b"
    near = excerpt(one, context=120, short=100, most=1)
    found = [near.plain[mark.start : mark.end] for mark in near.spans]
    assert found == ["speech", "voice", "games"]
    whole = excerpt(one, context=6, short=len(text))
    assert whole == highlighted(one)
    assert whole.plain == text.replace("\a", "\N{REPLACEMENT CHARACTER}")


def test_names_are_found_and_missed():
    model = LabelTree(random_state=0).fit(X, Y)
    model.label_names_ = [f"label {i}" for i in range(24)]
    model.vocabulary_ = [f"word {j}" for j in range(60)]
    one = model.explain(ROW, label="label 4")
    assert (one.label, one.label_id) == ("label 4", 4)
    assert one.names[0] == f"word {one.features[0]}"
    with pytest.raises(ValueError, match=r" model, got 'label 99': did you mean label 9 or "):
        model.explain(ROW, label="label 99")
    with pytest.raises(ValueError, match="give label or k"):
        model.explain(ROW, label=1, k=2)
    for k in (0, -1, 1.5, "3", True):
        with pytest.raises(ValueError, match=r"^k must be an int >= 1, got "):
            model.explain(ROW, k=k)
    classes = LabelTree(random_state=0).fit(X, np.array(list("abcd") * 50))
    assert classes.explain(ROW, label="c").label_id == 2
    with pytest.raises(ValueError, match=r"^label must be a class of the model, got 'z'$"):
        classes.explain(ROW, label="z")
