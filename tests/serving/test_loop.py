"""The loop with a person: nothing said is lost, it counts at once, the best texts come first."""

import json
import os
import signal
from pathlib import Path

import httpx
import numpy as np
import pytest

from defrag import TextClassifier, load
from defrag.exceptions import FormatError
from defrag.serving import ServedModel, make_app
from defrag.serving.corrections import Correction, Corrections, count_lines
from defrag.serving.loop import Loop, read_documents, train_file_again
from tests.helpers.serving import children, running, wait_until
from tests.serving.client import Client
from tests.text.test_answers import corpus

TEXTS, LABELS = corpus(1200)
OTHERS, TRUTH = corpus(60, seed=9)


@pytest.fixture(scope="module")
def model():
    return TextClassifier(features="words", random_state=0).fit(TEXTS, LABELS)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "said.jsonl")


@pytest.fixture
def loop(model, path):
    return Loop(ServedModel("m", model), Corrections(path), OTHERS)


def best(loop, text, k=5):
    return dict(loop.model.predict(loop.model.check([text]), k)[0])


def lines_of(path):
    return [json.loads(line)["text"] for line in Path(path).read_text().splitlines()]


# --- The file.


def test_corrections_are_a_corpus_whose_last_line_of_a_text_counts(path):
    said, other = Corrections(path), Corrections(path)
    assert said.refresh() == {}
    for text, labels in (("a b", ["x"]), ("c", []), ("a b", ["y", "z"])):
        said.append(Correction(text, labels))
    assert other.refresh() == {"c": [], "a b": ["y", "z"]}
    assert other.refresh() == {}
    documents, labels = read_documents(path)
    assert labels == {"a b": ["y", "z"]}
    assert documents == ["c"]
    said.refresh()
    undone = [said.undo() for _ in range(4) if said.refresh() is not None]
    assert [(one.text, one.labels) for one in undone if one] == [
        ("a b", ["x"]), ("a b", None), ("c", None),
    ]  # fmt: skip
    assert undone[3] is None
    assert said.undo("unheard-of") is None
    assert other.refresh() == {"a b": None, "c": None}
    assert count_lines(path) == 6
    with Path(path).open("ab") as file:
        file.write(b'{"text": 1}\n')
    assert other.refresh() == {}  # a server goes on
    with pytest.raises(FormatError, match=r"said.jsonl:7: must be a correction: Expected `str`"):
        Corrections(path).refresh()


def test_lines_are_on_the_disk_before_the_answer(path, monkeypatch):
    sizes = []
    monkeypatch.setattr(os, "fsync", lambda file: sizes.append(os.fstat(file).st_size))
    Corrections(path).append(Correction("a", ["x"]))
    assert sizes[0] == Path(path).stat().st_size


def test_torn_lines_are_cut_off(path):
    said = Corrections(path)
    said.append(Correction("first", ["x"]))
    with Path(path).open("ab") as file:
        file.write(b'{"text": "second", "lab' + b"x" * 9000)
    reader = Corrections(path)
    assert reader.refresh() == {"first": ["x"]}
    said.append(Correction("third", ["y"]))
    assert reader.refresh() == {"third": ["y"]}
    assert lines_of(path) == ["first", "third"]


def kill_writers(path, n_kills, seed=0):
    """Kill processes that append corrections; return what they had been told is kept."""
    rng, kept = np.random.default_rng(seed), []
    for number in range(n_kills):
        read, write = os.pipe()
        process = os.fork()
        if not process:
            try:
                said = Corrections(path)
                for i in range(10_000):
                    said.append(Correction(f"{number} {i}", ["x" * (i * 997 % 5000)]))
                    os.write(write, b"%d\n" % i)
            finally:
                os._exit(1)
        os.close(write)
        os.read(read, 1)  # it has begun
        kept.append(f"{number} 0")
        signal.sigtimedwait([], rng.random() * 0.003)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        with os.fdopen(read, "rb") as file:
            kept += [f"{number} {int(line)}" for line in file.read().split(b"\n")[:-1] if line]
    return kept


# DEFRAG_KILLS=1000 was run once, in 43 s.
MANY = int(os.environ.get("DEFRAG_KILLS", "200"))


@pytest.mark.parametrize("n_kills", [25, pytest.param(MANY, marks=pytest.mark.slow)])
def test_kills_lose_no_correction(path, n_kills):
    kept = kill_writers(path, n_kills)
    said = Corrections(path)
    said.refresh()
    assert {*kept} <= {*said.labels}
    said.append(Correction("last", []))
    texts = lines_of(path)  # none is torn
    assert texts[-1] == "last"
    assert len(texts) == len({*texts})


# --- What is learnt from it.


def test_corrected_texts_have_their_labels_at_once(loop, model):
    text = OTHERS[0]
    before = best(loop, text)
    loop.correct(text, ["quite new", next(iter(before))])
    after = best(loop, text)
    given = {"quite new": pytest.approx(1.0), next(iter(before)): pytest.approx(1.0)}
    assert after == given
    assert dict(loop.model.predict([text], 5, answers=True)[0]) == given
    like = text.rsplit(" ", 1)[0]
    assert 0 < best(loop, like, 40)["quite new"] < after["quite new"]
    (why,) = loop.model.explain(text, "quite new", 1)
    assert why.names[0] == "corrections of texts like this"
    assert why.score == pytest.approx(after["quite new"])
    (known,) = loop.model.explain(text, next(iter(before)), 1)
    assert known.score == pytest.approx(after[next(iter(before))], abs=1e-6)
    assert loop.undo().labels is None
    assert best(loop, text) == before
    labels, scores = model.predict_topk([text])
    assert before == dict(zip(labels[0].tolist(), scores[0].tolist(), strict=True))


def test_nothing_is_left_to_correct_where_the_model_is_right(loop):
    for text, labels in zip(TEXTS[:50], LABELS[:50], strict=True):
        loop.correct(text, labels)
    changes = loop.overlay.changes(OTHERS)
    assert max(abs(x) for one in changes for x in one.values()) < 0.3
    found = [next(iter(best(loop, text, 1))) for text in OTHERS]
    plain = loop.model.classifier.predict_topk(OTHERS, 1)[0][:, 0]
    assert np.mean([a == b for a, b in zip(found, plain, strict=True)]) > 0.9


def test_another_process_sees_corrections(loop, model, path):
    other = Loop(ServedModel("m", model), Corrections(path), OTHERS)
    loop.correct(OTHERS[1], ["quite new"])
    other.refresh()
    assert best(other, OTHERS[1]) == best(loop, OTHERS[1])
    assert other.n_done == 1
    assert other.n_left == len({*OTHERS}) - 1


def test_texts_with_most_labels_per_click_come_first(loop):
    found = loop.offer(len(OTHERS))
    assert [one.gain for one in found] == sorted((one.gain for one in found), reverse=True)
    assert {one.text for one in found} == {*OTHERS}
    first = found[0]
    likely = loop.overlay.probabilities([{one.label: one.score for one in first.labels}])[0]
    clicks = 1 + sum(1 - p if p >= 0.5 else p for p in likely)
    assert first.gain == pytest.approx(sum(likely) / clicks)
    assert first.reason == f"{sum(likely):.1f} labels expected in {clicks:.1f} clicks"
    assert first.proposed == [
        one.label for one, p in zip(first.labels, likely, strict=True) if p >= 0.5
    ]
    loop.correct(first.text, first.proposed)
    assert loop.offer(1, {found[1].id})[0].text == found[2].text


def test_more_labels_per_click_than_in_any_order(loop):
    truth = dict(zip(OTHERS, TRUTH, strict=True))

    def per_click(offered):
        labels = clicks = 0
        for one in offered:
            true, shown = {*truth[one.text]}, {label.label for label in one.labels}
            wrong = {*one.proposed} ^ (true & shown)
            labels, clicks = labels + len(true), clicks + 1 + len(wrong) + 2 * len(true - shown)
        return labels / clicks

    offered = loop.offer(len(OTHERS))
    assert per_click(offered[:20]) > 1.3 * per_click(offered)


def test_models_that_cannot_be_corrected_are_refused(path, model, rows):
    classes = TextClassifier(random_state=0).fit(["red sea", "red tea", "tea sea"], ["x", "y", "x"])
    with pytest.raises(FileNotFoundError, match="no such folder"):
        Loop(ServedModel("m", model), Corrections("no such folder/said.jsonl"))
    for one in (rows, classes):
        with pytest.raises(ValueError, match="model 'm' must have lists of names to be corrected"):
            Loop(ServedModel("m", one), Corrections(path))


# --- Over HTTP.


def test_routes_of_the_loop(loop):
    client = Client(make_app([loop.model], loop=loop))
    offered = client.ask("/v1/next", {"k": 2})
    assert (offered["done"], offered["left"], len(offered["documents"])) == (0, 60, 2)
    text = offered["documents"][0]["text"]
    again = client.ask("/v1/next", {"skipped": [offered["documents"][0]["id"]]})
    assert again["documents"][0] == offered["documents"][1]
    corrected = {"text": text, "labels": ["quite new"]}
    assert client.ask("/v1/corrections", corrected) == {**corrected, "done": 1}
    assert client.ask("/v1/suggest", {"text": text, "k": 1})["labels"][0]["label"] == "quite new"
    explained = client.ask("/v1/explain", {"text": text, "label": "quite new"})["explanations"][0]
    assert explained["features"][0]["name"] == "corrections of texts like this"
    assert client.ask("/v1/undo", {}) == {"text": text, "labels": None, "done": 0}
    assert client.ask("/v1/undo", {}, 404)["error"] == "there is no correction to undo"
    assert client.ask("/v1/explain", {"text": text, "label": "unheard"}, 404)
    plain = Client(make_app([loop.model]))
    for route, body in (("next", {}), ("undo", {}), ("corrections", corrected)):
        refused = plain.ask(f"/v1/{route}", body, 422)
        assert refused["error"].startswith("this server takes no corrections")


def test_shortlist_over_http(model):
    client = Client(make_app([ServedModel("m", model)]))
    found = client.ask("/v1/shortlist", {"text": OTHERS[0], "recall": 0.8, "words": 1})
    wanted = model.shortlist([OTHERS[0]], 0.8, words=1)[0]
    assert [one["label"] for one in found["labels"]] == [one.label for one in wanted]
    assert found["labels"][0]["words"] == list(wanted[0].words)
    assert found["promise"] == model.promise(0.8)._asdict()
    assert client.ask("/v1/shortlist", {"text": "", "recall": 1.0}, 422)


# --- Training again.


def write_documents(folder):
    lines = [{"text": text, "labels": labels} for text, labels in zip(TEXTS, LABELS, strict=True)]
    lines += [{"text": text, "labels": None} for text in OTHERS]
    (folder / "docs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return folder / "docs.jsonl"


def test_training_again_is_fit_on_corrected_texts(model, loop, path, tmp_path):
    documents = write_documents(tmp_path)
    assert read_documents(documents)[0] == OTHERS
    loop.correct(TEXTS[0], ["quite new"])
    loop.correct(OTHERS[0], ["quite new"])
    loop.correct(OTHERS[1], ["undone"])
    loop.undo()
    model.save(tmp_path / "m")
    train_file_again(tmp_path / "m", documents, path)
    texts, labels = [*TEXTS, OTHERS[0]], [["quite new"], *LABELS[1:], ["quite new"]]
    TextClassifier(features="words", random_state=0).fit(texts, labels).save(tmp_path / "w")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "w").read_bytes()


@pytest.mark.slow
def test_server_is_taught_killed_and_trained_again(model, tmp_path):
    documents, said = write_documents(tmp_path), tmp_path / "said.jsonl"
    model.save(tmp_path / "m.safetensors")
    flags = (
        "--corrections", said, "--documents", documents, "--retrain-after", 6, "--watch", 0.2,
        "--workers", 2,
    )  # fmt: skip
    new = [f"{i} {OTHERS[0]}" for i in range(6)]

    def post(server, route, **body):
        url = f"http://127.0.0.1:{server.port}/v1/{route}"
        return httpx.post(url, json=body, timeout=60).json()

    for number in range(5):  # killed between answers
        with running(tmp_path / "m.safetensors", *flags) as server:
            post(server, "corrections", text=new[number], labels=["quite new"])
            for process in (server.process.pid, *children(server.process.pid), *server.workers()):
                os.kill(process, signal.SIGKILL)
        assert count_lines(said) == number + 1
    trained = load(tmp_path / "m.safetensors")
    with running(tmp_path / "m.safetensors", *flags) as server:
        before = post(server, "suggest", text=new[5], k=3)
        assert before["labels"][0]["label"] == "quite new"
        post(server, "corrections", text=new[5], labels=["quite new"])
        now = post(server, "suggest", text=OTHERS[1], k=3)
        answers = [now]
        wait_until(
            lambda: (
                answers.append(post(server, "suggest", text=OTHERS[1], k=3))
                or server.counter("loads_total") > 1
            )
        )
        again = load(tmp_path / "m.safetensors")
        assert "quite new" in again.classes_
        assert "quite new" not in trained.classes_
        loops = [Loop(ServedModel("m", one), Corrections(str(said))) for one in (trained, again)]
        wanted = [list(one.model.predict([OTHERS[1]], 3)[0]) for one in loops]
        answers += [post(server, "suggest", text=OTHERS[1], k=3) for _ in range(40)]
        for one in answers:  # wholly of the old model, or of the new one
            found = [
                (label["label"], pytest.approx(label["score"], abs=1e-6)) for label in one["labels"]
            ]
            assert found in wanted
        assert answers[-1]["labels"] != answers[0]["labels"] or wanted[0] == wanted[1]
