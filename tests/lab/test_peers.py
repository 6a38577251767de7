"""Other programs in an experiment; the program is a small one with the interface of napkinXC."""

import dataclasses
import subprocess
import sys
import time

import numpy as np
import pytest

from defrag.lab import Store, run_jobs
from defrag.lab import peers as peers_module
from defrag.lab.measures import run as measure
from defrag.lab.peers import WORD_VECTORS, missing_peer, write_inputs
from defrag.lab.planning import plan
from defrag.lab.studies import STUDIES, Line
from defrag.metrics import evaluate
from tests.lab.small import PROGRAM, install, small_corpus

PYTHON = sys.executable
BROKEN = PROGRAM.replace("counts = ", "raise RuntimeError('no such luck') or ")
ENDLESS = PROGRAM.replace("counts = ", "time.sleep(600) or ")


@pytest.fixture(autouse=True)
def _forget():
    yield
    missing_peer.cache_clear()


def study():
    lines = [Line("plain", "napkinxc"), Line("groups", "napkinxc", "defrag:max_cluster_size=4")]
    return type(STUDIES["peers"])(
        "peers", "t", "t", [*lines, Line("PECOS", "pecos")], ("small",), ("P@1",), seeds=1
    )


@pytest.mark.slow
def test_programs_are_run_and_missing_ones_remarked(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, PROGRAM)
    corpus = small_corpus()
    (planned,) = plan(study(), corpus)
    assert [job.method for job in planned.jobs] == ["plain", "groups"]
    (remark,) = planned.remarks
    assert remark.startswith("PECOS is left out: libpecos is not installed in ")
    store = Store(tmp_path / "store")
    plain, groups = (record for _, record in run_jobs(planned.jobs, corpus, store))
    assert plain["status"] == "done", plain
    best = np.argsort(-corpus.train.Y.sum(axis=0), kind="stable")[:5]
    labels = np.tile(best.astype(np.int32), (corpus.facts.test_points, 1))
    assert plain["metrics"] == evaluate(corpus.test.Y, labels, corpus.train.Y)
    assert plain["version"] == "9.8"
    assert plain["model_bytes"] == 1000 + corpus.facts.features
    assert plain["peak_memory"] > 2e7
    assert groups["model_bytes"] == 1000 + groups["groups"]["n_clusters"]
    assert groups["groups"]["cpu"] <= groups["training"]["cpu"]


FASTTEXT = """
class Model:
    def __init__(self, words):
        self.words = ["</s>", *words]

    def get_dimension(self):
        return 2

    def get_word_vector(self, word):
        return [int(word) % 3 + 1.0, 1.0]

def train_unsupervised(path, thread, **options):
    return Model({word for line in open(path) for word in line.split()})
"""


@pytest.mark.slow
def test_word_vectors_of_another_program_are_clustered(tmp_path, monkeypatch):
    line = Line("G", "parabel", f"defrag:representation={WORD_VECTORS},n_clusters=3")
    lines = dataclasses.replace(study(), lines=[line])
    corpus = small_corpus()
    monkeypatch.setenv(peers_module.PEERS_PYTHON, "/nowhere/python")
    assert plan(lines, corpus)[0].remarks[0].startswith("fastText is left out: /nowhere/python")
    install(tmp_path, monkeypatch, FASTTEXT, "fasttext/__init__", "fasttext-numpy2")
    job = dataclasses.replace(plan(lines, corpus)[0].jobs[0], measures=("ranking", "groups"))
    result, model, _ = measure(job.to_json(), corpus.train, corpus.test)
    assert result["metrics"]["P@1"] > 0
    assert result["groups"]["n_clusters"] == 3
    seen = np.flatnonzero(np.diff(corpus.train.X.tocsc().indptr))
    assert model.members_[0][0].representation[seen, 0].tolist() == (seen % 3 + 1).tolist()


@pytest.mark.slow
def test_failed_program_is_recorded(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, BROKEN)
    corpus = small_corpus()
    (planned,) = plan(study(), corpus)
    ((_, record),) = run_jobs(planned.jobs[:1], corpus, Store(tmp_path / "store"))
    assert record["status"] == "failed"
    assert record["error"] == (
        "RuntimeError: napkinxc ended with code 1: RuntimeError: no such luck"
    )


def test_missing_python_is_remarked(monkeypatch):
    monkeypatch.setenv(peers_module.PEERS_PYTHON, "/nowhere/python")
    missing_peer.cache_clear()
    assert missing_peer("pecos") == "/nowhere/python cannot be started: No such file or directory"


def test_program_ends_with_its_caller(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, ENDLESS)
    corpus = small_corpus()
    folder = tmp_path / "run"
    folder.mkdir()
    write_inputs(folder, corpus.train.X, corpus.train.Y, corpus.test.X)
    program = peers_module.peer_program.__file__
    with subprocess.Popen(
        [sys.executable, program, "napkinxc", folder], stdin=subprocess.PIPE
    ) as running:
        time.sleep(0.5)
        running.stdin.close()
        assert running.wait(300) == 1
