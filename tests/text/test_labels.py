"""Labels with names: shown, added, withdrawn, merged, allowed and denied, without training."""

import copy

import numpy as np
import pytest

import defrag
from defrag import TextClassifier, Thesaurus
from defrag.exceptions import ModelFormatError
from defrag.persistence import describe
from defrag.text._labels import redirect
from tests.oracles import rankings as oracle

N_LABELS = 30
TEXTS = [f"word{i} word{(i * 7) % N_LABELS} text" for i in range(N_LABELS)] * 4
LABELS = [[f"l{i:02}", f"l{(i * 7) % N_LABELS:02}"] for i in range(N_LABELS)] * 4
THESAURUS = Thesaurus.of(
    {"id": f"l{i:02}", "name": {"en": f"thing {i}", "de": f"Ding {i}"},
     "type": "even" if i % 2 == 0 else "odd", "scheme": f"s{i // 10}"}
    for i in range(N_LABELS + 3)
)  # fmt: skip


@pytest.fixture(scope="module")
def trained():
    return TextClassifier(random_state=0, n_jobs=1).fit(TEXTS, LABELS, thesaurus=THESAURUS)


@pytest.fixture
def model(trained):
    return copy.copy(trained)


def test_labels_with_names_only_follow_those_with_points(model):
    plain = TextClassifier(random_state=0, n_jobs=1).fit(TEXTS, LABELS)
    assert plain.thesaurus_ is None
    assert model.classes_.tolist() == [*plain.classes_.tolist(), "l30", "l31", "l32"]
    np.testing.assert_equal(model.predict_topk(TEXTS, k=9), plain.predict_topk(TEXTS, k=9))
    assert model.decision_function(TEXTS[:2]).shape == (2, N_LABELS + 3)
    assert model.score(TEXTS, [[*row, "l31"] for row in LABELS]) == plain.score(TEXTS, LABELS)
    with pytest.raises(ValueError, match="'l31' has no training points"):
        model.explain(TEXTS[0], "l31")


def test_file_holds_the_thesaurus(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.add_labels(Thesaurus.of([{"id": "l03", "replaced_by": "l04"}]))
    model.save(path)
    loaded = defrag.load(path)
    assert loaded.thesaurus_ == model.thesaurus_
    assert loaded.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_equal(loaded.predict_topk(TEXTS), model.predict_topk(TEXTS))
    assert describe(path)["concepts"] == N_LABELS + 3
    loaded.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_thesaurus_is_read_from_a_file(tmp_path):
    path = tmp_path / "names.jsonl"
    path.write_text('{"id": "sorts", "name": "sorting"}\n')
    found = TextClassifier(random_state=0).fit(["a sort", "a map"] * 2, [["sorts"], ["maps"]] * 2,
                                               thesaurus=path)  # fmt: skip
    assert found.thesaurus_ == Thesaurus.read(path)
    with pytest.raises(ValueError, match=r"has none of them.*such as 'maps', the thesaurus 'x'"):
        TextClassifier().fit(
            TEXTS, [["maps"]] * len(TEXTS), thesaurus=Thesaurus.of([{"id": "x", "name": "y"}])
        )
    with pytest.raises(ValueError, match="a thesaurus is for lists of names as labels"):
        TextClassifier().fit(["a sort", "a map"] * 2, ["sorts", "maps"] * 2, thesaurus=path)
    with pytest.raises(ValueError, match="thesaurus must be a Thesaurus or a file, got dict"):
        TextClassifier().fit(TEXTS, LABELS, thesaurus={})


def test_successor_takes_the_place_of_merged_labels(model):
    before, scores = model.predict_topk(TEXTS, k=10)
    news = [
        {"id": "l01", "replaced_by": "l02"},
        {"id": "l02", "replaced_by": "new"},
        {"id": "new", "name": "thing of today"},
        {"id": "l05", "withdrawn": True},
        {"id": "l06", "replaced_by": "l07"},
        {"id": "l07", "replaced_by": "l06"},  # a circle
    ]
    model.add_labels(Thesaurus.of(news))
    assert model.classes_[N_LABELS:].tolist() == ["l30", "l31", "l32", "new"]
    assert model.thesaurus_ is not None
    assert model.thesaurus_.name("l02", "de") == "Ding 2"  # its names are kept if none are given
    names, values = model.predict_topk(TEXTS, k=6)
    gone = {"l01": "new", "l02": "new", "l05": "", "l06": "", "l07": ""}
    for row in range(len(TEXTS)):
        pairs = {}
        for name, score in zip(before[row].tolist(), scores[row].tolist(), strict=True):
            if gone.get(name, name):
                pairs.setdefault(gone.get(name, name), score)
        pairs.pop("", None)
        expected = list(pairs.items())[:6]
        found = list(zip(names[row].tolist(), values[row].tolist(), strict=True))
        assert found[: len(expected)] == expected
    why = model.explain(TEXTS[1], k=4, language="de")
    assert [one.label for one in why] == names[1, :4].tolist()
    np.testing.assert_allclose([one.score for one in why], values[1, :4], rtol=1e-5)
    assert why[0].name == model.label_name(why[0].label, "de")
    assert model.explain(TEXTS[1]).label == names[1, 0]
    merged = scores[1][np.isin(before[1], ["l01", "l02"])]
    assert model.explain(TEXTS[1], "new").score == pytest.approx(merged.max())


def test_failed_addition_keeps_the_model(model, tmp_path):
    before = model.predict_topk(TEXTS[:3])[0].tolist()
    (tmp_path / "bad.jsonl").write_text('{"id": 3}\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl:1: 'id' must be a string"):
        model.add_labels(tmp_path / "bad.jsonl")
    with pytest.raises(ValueError, match="thesaurus must be a Thesaurus or a file, got None"):
        model.add_labels(None)
    assert model.predict_topk(TEXTS[:3])[0].tolist() == before


@pytest.mark.parametrize(
    ("allow", "deny", "right"),
    [
        (["type=even"], (), lambda i: i % 2 == 0),
        (None, ["scheme=s0", "l11"], lambda i: i >= 10 and i != 11),
        (["scheme=s1", "l03"], ["type=odd"], lambda i: 10 <= i < 20 and i % 2 == 0),
        (["l04"], [], lambda i: i == 4),
        ([], [], lambda _: False),
    ],
)
def test_only_allowed_labels_are_returned(model, allow, deny, right):
    everything, scores = model.predict_topk(TEXTS, k=N_LABELS)
    names, values = model.predict_topk(TEXTS, k=4, allow=allow, deny=deny)
    for row in range(len(TEXTS)):
        kept = [
            (name, score)
            for name, score in zip(everything[row].tolist(), scores[row].tolist(), strict=True)
            if name and right(int(name[1:]))
        ][:4]
        kept += [("", 0.0)] * (4 - len(kept))
        assert list(zip(names[row].tolist(), values[row].tolist(), strict=True)) == kept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("l01", "deny must be a list of labels, type=... or scheme=..., got 'l01'"),
        (["l99"], "deny must have labels of the model, got 'l99'"),
        (["type=odds"], "no concept has the type 'odds'; there are: even, odd"),
        (["scheme="], "no concept has the scheme ''; there are: s0, s1, s2, s3"),
    ],
)
def test_unknown_words_are_refused(model, words, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        model.predict_topk(TEXTS[:1], deny=words)


def test_types_need_a_thesaurus():
    plain = TextClassifier(random_state=0).fit(["a sort", "a map"] * 2, [["sorts"], ["maps"]] * 2)
    assert plain.predict_topk(["a sort"], deny=["sorts"], k=1)[0].tolist() == [["maps"]]
    with pytest.raises(ValueError, match="deny has 'type=x', but the model has no thesaurus"):
        plain.predict_topk(["a sort"], deny=["type=x"])


def test_damaged_thesaurus_in_a_file_is_refused(model, tmp_path):
    broken = copy.copy(model.thesaurus_)
    assert broken is not None
    broken.replaced_by = broken.replaced_by + 1000
    model.thesaurus_ = broken
    with pytest.raises(ModelFormatError, match="'thesaurus/replaced_by' must be in"):
        model.save(tmp_path / "model.safetensors")


@pytest.mark.parametrize("seed", range(5))
def test_redirected_rankings_are_those_of_the_oracle(seed):
    draw = np.random.default_rng(seed)
    labels = np.stack([draw.permutation(12)[:8] for _ in range(20)]).astype(np.int32)
    scores = -np.sort(-draw.random(labels.shape).astype(np.float32))
    labels[draw.random(20) < 0.3, 5:] = -1
    current = draw.integers(-1, 12, 12).astype(np.int32)
    found, values, sources = redirect(labels, scores, current, 5)
    for row, expected in enumerate(oracle.redirect(labels, scores, current, 5)):
        n = len(expected)
        columns = (found[row].tolist(), values[row].tolist(), sources[row].tolist())
        assert list(zip(*columns, strict=True))[:n] == expected
        assert (found[row, n:] == -1).all()
        assert (values[row, n:] == 0).all()
