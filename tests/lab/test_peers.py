"""Other programs, classifiers of other packages, and predictions of others in comparisons."""

import dataclasses
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from defrag import DiSMEC
from defrag.io import Split, write_xmc
from defrag.lab import Store, run_jobs
from defrag.lab import peers as peers_module
from defrag.lab.corpus import Corpus
from defrag.lab.measures import ranking_of
from defrag.lab.measures import run as measure
from defrag.lab.peers import WORD_VECTORS, missing_peer, write_inputs
from defrag.lab.planning import plan
from defrag.lab.records import values_of
from defrag.lab.runs import predicted
from defrag.lab.studies import STUDIES, Line
from defrag.metrics import Predictions, evaluate, read_any_predictions
from defrag.metrics._ranked import top_columns
from defrag.prediction import LineFormat, predict_file
from defrag.specs import build, describe_foreign, foreign_class
from tests.data import make_data
from tests.lab.small import PROGRAM, install, small_corpus

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


class Frequent:
    """The most frequent labels, for every point."""

    def __init__(self, first=0):
        self.first = first

    def fit(self, _X, Y):
        self.order = np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")[self.first :]
        return self

    def predict_topk(self, X, k):
        return np.tile(self.order[:k], (X.shape[0], 1)), np.ones((X.shape[0], k))


@pytest.fixture(scope="module")
def half():
    return Split(*make_data(n=120))


def test_own_class_is_run_and_measured(half):
    name, model = foreign_class(f"{__name__}:Frequent:first=1")
    assert name == "Frequent(first=1)"
    spec = describe_foreign(model)
    assert spec == {"kind": f"{__name__}:Frequent", "parameters": {"first": 1}}
    assert build(spec).first == 1
    job = {"estimator": spec, "seed": 0, "n_jobs": 1, "measures": ["ranking", "rare", "labels"]}
    record, fitted, (labels, _) = measure(job, half, half)
    assert record["metrics"]["P@1"] == evaluate(half.Y, labels, half.Y, (1,))["P@1"] > 0
    assert record["model_bytes"] > 0
    assert type(fitted) is Frequent


@pytest.mark.parametrize(
    "model", [OneVsRestClassifier(LogisticRegression()), KNeighborsClassifier(3)], ids=str
)
def test_any_classifier_of_scikit_learn_is_ranked(model, half):
    kept = np.flatnonzero(np.asarray(half.Y.sum(axis=0)).ravel() > 5)
    Y = half.Y[:, kept].toarray()
    labels, scores = ranking_of(model.fit(half.X, Y), half.X, 3)
    assert labels.shape == scores.shape == (120, 3)
    assert (np.diff(scores, axis=1) <= 0).all()
    assert Y[np.arange(120), labels[:, 0]].mean() > 0.5


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("no.such:Class", "No module named 'no'"),
        ("numpy:NoClass", "has no attribute 'NoClass'"),
        ("numpy:pi", "must be a class with fit, got 3.14"),
        (f"{__name__}:Frequent:depth=1", "unexpected keyword argument 'depth'"),
    ],
)
def test_what_is_no_class_is_refused(word, message):
    with pytest.raises(ValueError, match=message):
        foreign_class(word)
    assert foreign_class("label-tree:n_trees=3") is None


def test_top_labels_are_sorted_and_padded():
    scores = sparse.csr_array([[0, 0.5, 0.9, 0.5], [0, 0, 0, 0], [0.1, 0, 0, 0]])
    assert top_columns(scores, 2).tolist() == [[2, 1], [-1, -1], [0, -1]]


@pytest.mark.parametrize("suffix", ["txt", "npz"])
def test_predictions_of_a_file_are_a_result(suffix, half, tmp_path):
    model = DiSMEC(random_state=0).fit(half.X, half.Y)
    write_xmc(tmp_path / "half.txt", half.X, half.Y)
    path = str(tmp_path / f"predicted.{suffix}")
    predict_file(model, str(tmp_path / "half.txt"), path)
    found = read_any_predictions(path)
    if suffix == "npz":
        assert sparse.load_npz(path).shape == half.Y.shape
        with pytest.raises(ValueError, match="a matrix has no names"):
            predict_file(model, str(tmp_path / "half.txt"), path, lines=LineFormat(names=True))
    result = predicted("theirs", found, Corpus("toy", half, half))
    (record,) = result.records
    wanted = evaluate(half.Y, model.predict_topk(half.X, 5)[0], half.Y)
    assert record["metrics"] == pytest.approx(wanted)
    assert values_of(record)["P@1"] == record["metrics"]["P@1"]
    assert "train_cpu" not in result.statistics


def test_predictions_for_other_points_are_refused(half):
    found = Predictions("p.npz", sparse.csr_array((7, half.Y.shape[1])), [])
    with pytest.raises(ValueError, match=r"p\.npz: 7 points, but the test points of toy has 120"):
        predicted("theirs", found, Corpus("toy", half, half))
