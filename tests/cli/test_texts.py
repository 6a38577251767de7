"""The command line on texts: train, predict, evaluate, convert, info."""

import json

import numpy as np
import pytest

from defrag import Focused, LabelTree, Refrag, TextClassifier, load
from defrag.baselines import Parabel
from defrag.io import read_texts
from tests.data import read_data
from tests.helpers.cli_running import run, run_warned, run_well, told
from tests.helpers.cli_text_data import TABLE, documents, fill_folder, write_lines

folder = pytest.fixture(fill_folder, autouse=True)


def fitted(base=None, **settings):
    texts, labels = read_texts("docs.jsonl")
    return TextClassifier(base, random_state=0, **settings).fit(texts, labels)


def test_train_on_texts_equals_text_classifier():
    said = run_well("train", "docs.jsonl", "m.safetensors")
    assert said.startswith("24 texts, ")
    assert " 4 labels: " in said
    model = load("m.safetensors")
    assert isinstance(model.base_, Focused)
    assert model.base_.base_.n_trees == 1
    texts = read_texts("docs.jsonl").texts
    expected = fitted()
    assert model.vectorizer_.words_ == expected.vectorizer_.words_
    for got, wanted in zip(model.predict_topk(texts), expected.predict_topk(texts), strict=True):
        assert (got == wanted).all()


@pytest.mark.parametrize(
    ("flags", "base"),
    [
        ("--classifier parabel --n-trees 2", Focused(Parabel(2))),
        ("--n-trees 1", Focused(LabelTree(1))),
        ("--no-focus", LabelTree()),
        ("--classifier parabel --rerank identity", Refrag(Focused(Parabel()))),
    ],
)
def test_flags_set_classifier_of_texts(flags, base):
    assert not run("train", "docs.jsonl", "m.safetensors", *flags.split()).exit_code
    model, texts = load("m.safetensors"), read_texts("docs.jsonl").texts
    names, scores = fitted(base).predict_topk(texts, k=3)
    assert (model.predict_topk(texts, k=3)[0] == names).all()
    assert (model.predict_topk(texts, k=3)[1] == scores).all()


def test_flags_set_vectorizer_and_weights():
    run_well("train", "docs.jsonl", "one.safetensors", "--ngrams", "1", "--min-df", "3")
    model = load("one.safetensors")
    assert (model.vectorizer_.ngrams, model.vectorizer_.min_df) == (1, 3)
    assert not len(model.vectorizer_.pairs_)
    run_well("train", "docs.jsonl", "small.safetensors", "--weights", "int8")
    described = told("info", "small.safetensors")
    assert described["weight_type"] == "int8"
    assert described["labels"] == 4


def test_threads_and_standard_input_do_not_change_bytes(folder):
    run_well("train", "docs.jsonl", "a.safetensors", "--n-jobs", "1")
    run_well("train", "docs", "b.safetensors", "--from", "jsonl", "--n-jobs", "2")
    run_well("train", "docs", "c.safetensors", "--format", "jsonl")
    content = (folder / "a.safetensors").read_bytes()
    assert content == (folder / "b.safetensors").read_bytes()
    assert content == (folder / "c.safetensors").read_bytes()


def test_predictions_of_texts_can_be_evaluated(folder):
    run_well("train", "docs.jsonl", "m.safetensors")
    run_well("predict", "m.safetensors", "docs.jsonl", "--output", "p.txt", "--top-k", "3")
    run_well("predict", "m.safetensors", "docs.jsonl", "--output", "p.jsonl", "--json")
    names, scores = fitted().predict_topk(read_texts("docs.jsonl").texts, k=3)
    lines = (folder / "p.txt").read_text().splitlines()
    for line, row, values in zip(lines, names, scores, strict=True):
        pairs = [pair.rpartition(":")[::2] for pair in line.split("\t")]
        assert [name for name, _ in pairs] == row.tolist()
        assert [np.float32(value) for _, value in pairs] == values.tolist()
    first = json.loads((folder / "p.jsonl").read_text().splitlines()[0])
    assert first["labels"][:3] == names[0].tolist()
    by_names = told("evaluate", "docs.jsonl", "p.txt", "--top-k", "1,3")
    by_json = told("evaluate", "docs.jsonl", "p.jsonl", "--top-k", "1,3")
    assert by_names == by_json
    truth = [item["labels"] for item in documents()]
    hits = [row[0] in given for row, given in zip(names, truth, strict=True)]
    assert by_names["P@1"] == pytest.approx(100 * np.mean(hits))
    assert by_names["P@1"] > 90
    weighted = run_well("evaluate", "docs.jsonl", "p.txt", "--train", "docs.jsonl", "--top-k", "1")
    assert "PSP@k" in weighted


def test_text_without_known_word_gets_no_labels(folder):
    run_well("train", "docs.jsonl", "m.safetensors")
    run_well("predict", "m.safetensors", "bare.jsonl", "--output", "p.txt")
    lines = (folder / "p.txt").read_text().split("\n")
    assert lines[0].startswith("sorting:")
    assert lines[1:] == ["", ""]
    run_well("predict", "m.safetensors", "bare.jsonl", "--json", "--output", "p.jsonl")
    lines = (folder / "p.jsonl").read_text().splitlines()
    assert json.loads(lines[1]) == {"labels": [], "scores": []}


def test_unprintable_names_are_compared_escaped(folder):
    items = [{"text": item["text"], "labels": ["a\tb", "é"]} for item in documents()]
    write_lines(folder / "odd.jsonl", items)
    run("train", "odd.jsonl", "m.safetensors")
    run_well("predict", "m.safetensors", "odd.jsonl", "--output", "p.txt")
    assert "a\\tb:" in (folder / "p.txt").read_text()
    values = told("evaluate", "odd.jsonl", "p.txt", "--top-k", "1,2")
    assert values["P@2"] == 100


def test_evaluate_warns_if_no_predicted_name_is_label(folder):
    (folder / "p.other").write_text("no such label:0.9\n" * len(documents()))
    result = run("evaluate", "docs.jsonl", "p.other", "--top-k", "1", "--json")
    assert json.loads(result.stdout)["P@1"] == 0
    assert result.stderr == "warning: p.other: no predicted name is a label of docs.jsonl\n"


def test_evaluate_compares_names_and_json_with_matrix(folder):
    (folder / "names.txt").write_text("un\ndeux\n")
    (folder / "p.names").write_text("un:0.9\tdeux:0.1\ndeux:0.8\n")
    (folder / "p.json").write_text('{"labels": [0, 1], "scores": [0.9, 0.1]}\n'
                                   '{"labels": [1], "scores": [0.8]}\n')  # fmt: skip
    (folder / "p.ids").write_text("2 2\n0:0.9 1:0.1\n1:0.8\n")
    commands = ["p.ids", "p.json", "p.names --label-names names.txt"]
    found = [told("evaluate", "train.txt", *c.split(), "--top-k", "1") for c in commands]
    assert found[0] == found[1] == found[2]
    assert found[0]["P@1"] == 100


def test_convert_writes_matrix_and_names(folder):
    named = ("--vocabulary-out", "w.txt", "--label-names-out", "l.txt")
    run_well("convert", "docs.jsonl", "t.txt", *named)
    X, Y = read_data("t.txt")
    model = fitted(LabelTree())
    words = (folder / "w.txt").read_text().splitlines()
    assert words == model.vectorizer_.get_feature_names_out().tolist()
    assert (folder / "l.txt").read_text().splitlines() == model.classes_.tolist()
    assert (model.vectorizer_.transform(read_texts("docs.jsonl").texts) != X).nnz == 0
    found = [sorted(model.classes_[row.indices]) for row in Y]
    assert found == [item["labels"] for item in documents()]
    named = ("--vocabulary", "w.txt", "--label-names", "l.txt")
    run_well("train", "t.txt", "m.safetensors", *named)
    run_well("convert", "docs.jsonl", "one.npz", "--ngrams", "1")
    assert read_data("one.npz")[0].shape[1] < X.shape[1]


def test_convert_takes_columns_of_model(folder):
    run_well("train", "docs.jsonl", "m.safetensors")
    model = load("m.safetensors")
    write_lines(folder / "test.jsonl", [{"text": "merge sort", "labels": ["sorting", "new"]}] * 3)
    result = run_warned("convert", "test.jsonl", "t.txt", "--like", "m.safetensors")
    left_out = "1 label was dropped, unknown to the model"
    assert result.stderr == f"warning: test.jsonl: {left_out}\n"
    X, Y = read_data("t.txt")
    assert X.shape == (3, len(model.vectorizer_.idf_))
    assert Y.shape == (3, 4)
    assert Y.indices.tolist() == [list(model.classes_).index("sorting")] * 3


def test_info_describes_texts():
    described = told("info", "docs.jsonl")
    assert (described["kind"], described["form"]) == ("texts", "jsonl")
    assert (described["texts"], described["labels"]) == (24, 4)
    assert described["labels_per_text"] == {"min": 1, "mean": 1.5, "max": 2}
    shares = [described[f"repeated_entries_of_{name}"]
              for name in ("words_and_pairs", "characters_3_to_5")]  # fmt: skip
    assert 0 <= shares[0] < shares[1] < 1
    said = run_well("info", "bare.jsonl")
    assert "2 texts without labels" in said
    run_well("train", "docs.jsonl", "m.safetensors")
    assert "predicts 4 labels from texts" in run_well("info", "m.safetensors")


@pytest.mark.parametrize(
    ("source", "text_flags"),
    [
        (f"docs.csv {TABLE}", "--text-column body"),
        ("docs.tsv", ""),
        ("X.txt --from lines --labels Y.txt", "--from lines"),
        ("annif", ""),
        ("pecos.tsv --label-names names.txt", ""),
    ],
)
def test_commands_read_other_formats(folder, source, text_flags):
    file, *flags = source.split()
    run_well("train", "docs.jsonl", "m.safetensors")
    run_well("train", file, "same.safetensors", *flags)
    assert (folder / "same.safetensors").read_bytes() == (folder / "m.safetensors").read_bytes()
    run_well("predict", "m.safetensors", "docs.jsonl", "--output", "p.txt")
    run_well("predict", "m.safetensors", file, *text_flags.split(), "--output", "same.txt")
    assert (folder / "same.txt").read_text() == (folder / "p.txt").read_text()
    told = run_well("evaluate", "docs.jsonl", "p.txt", "--json", "--top-k", "1")
    assert run_well("evaluate", file, "p.txt", "--json", "--top-k", "1", *flags) == told
    run_well("convert", file, "t.npz", *flags)
    run_well("convert", "docs.jsonl", "u.npz")
    assert (folder / "t.npz").read_bytes() == (folder / "u.npz").read_bytes()


def test_fields_are_lines_with_weights(folder):
    items = [{**one, "title": one["text"][:20]} for one in documents()]
    write_lines(folder / "docs.jsonl", items)
    fields = ("--text-field", "title", "--text-field", "text")
    run_well("train", "docs.jsonl", "m.safetensors", *fields, "--lines", "0.5")
    model = load("m.safetensors")
    assert model.vectorizer_.lines == (0.5,)
    run_well("predict", "m.safetensors", "docs.jsonl", "--output", "p.txt", *fields, "--top-k", "1")
    texts = [f"{one['title']}\n{one['text']}" for one in items]
    best = [line.rsplit(":", 1)[0] for line in (folder / "p.txt").read_text().splitlines()]
    assert best == model.predict_topk(texts, 1)[0][:, 0].tolist()


def test_predict_and_explain_ignore_labels_of_texts(folder):
    run_well("train", "docs.jsonl", "m.safetensors")
    run_well("predict", "m.safetensors", "docs.jsonl", "--output", "p.txt")
    for name, header, end in (("odd.csv", "text,labels", ",a b;c"), ("bare.csv", "text", "")):
        lines = [header, *(item["text"] + end for item in documents())]
        (folder / name).write_text("\n".join(lines))
        run_well("predict", "m.safetensors", name, "--output", "same.txt")
        assert (folder / "same.txt").read_text() == (folder / "p.txt").read_text()
        run_well("explain", "m.safetensors", name, "--row", "1")


def test_characters_replace_words_and_help_lists_flags():
    run_well("train", "docs.jsonl", "m.safetensors", "--characters", "3-4")
    vectorizer = load("m.safetensors").vectorizer_
    assert (tuple(vectorizer.characters), vectorizer.ngrams) == ((3, 4), 1)
    assert "--text-column" in run_well("train", "--from", "csv", "--help")
    assert "--characters" in run_well("train", "--from", "csv", "--help")
    assert "--labels-column" not in run_well("train", "--help")


def test_shape_of_older_model_is_kept(folder):
    write_lines(folder / "old.jsonl", documents(20))
    run_well("train", "old.jsonl", "old.safetensors")
    run_well("train", "docs.jsonl", "new.safetensors", "--shape-of", "old.safetensors")
    texts, labels = read_texts("docs.jsonl")
    old = load("old.safetensors")
    expected = TextClassifier(random_state=0).fit(texts, labels, shape=old).predict_topk(texts)
    assert (load("new.safetensors").predict_topk(texts)[1] == expected[1]).all()
    run_well("train", "train.txt", "a.safetensors")
    run_well("train", "train.txt", "b.safetensors", "--shape-of", "a.safetensors")
    assert (folder / "a.safetensors").read_bytes() == (folder / "b.safetensors").read_bytes()


def test_answers_are_chosen_on_other_texts(folder):
    write_lines(folder / "dev.jsonl", documents(40))
    run_well("train", "docs.jsonl", "m", "--validation", "dev.jsonl", "--answers", "precision=0.9")
    texts, labels = read_texts("dev.jsonl")
    expected = TextClassifier(answers="precision=0.9", random_state=0).fit(
        *read_texts("docs.jsonl"), validation=(texts, labels)
    )
    model = load("m")
    assert model.answering_ == expected.answering_
    assert model.predict(texts) == expected.predict(texts)
    assert "on 40 held-out texts" in run_well("info", "m")
    text = "matrix vector quick"
    said = told("suggest", "m", text, "--answers", "--top-k", "50")
    assert [one["label"] for one in said["labels"]] == model.predict([text])[0]
    said = told("suggest", "m", text, "--recall", "0.9")
    assert said["promise"] == model.promise(0.9)._asdict()
    listed = model.shortlist([text], 0.9)[0]
    assert [(one["label"], one["score"]) for one in said["labels"]] == [one[:2] for one in listed]
    assert f"shortlists hold {model.promise()}" in run_well("info", "m")
    run_well("train", "docs.jsonl", "n", "--answers", "none")
    assert load("n").answers is None
