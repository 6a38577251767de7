"""Running jobs, their corpora, and the store of records."""

import errno
import json
import os
import shutil
import time

import numpy as np
import pytest

from defrag import Agglomerated, Defrag, LabelTree, registry
from defrag.baselines import Parabel
from defrag.exceptions import FormatError, FormatWarning
from defrag.io import Split
from defrag.lab import Corpus, Store, records, run_jobs, runs, summarise
from defrag.lab.corpus import read_shared
from defrag.lab.measures import run as measure
from defrag.lab.records import read_records
from defrag.metrics import evaluate
from tests.lab.small import job_of, small_corpus


@pytest.fixture(scope="module")
def corpus():
    return small_corpus()


def run(jobs, corpus, store, **options):
    return [record for _, record in run_jobs(jobs, corpus, store, **options)]


@pytest.mark.slow
def test_record_has_estimator_data_and_metrics(corpus, tmp_path):
    job = job_of(corpus, LabelTree(2), seed=5)
    (record,) = run([job], corpus, Store(tmp_path))
    model = LabelTree(2, random_state=5).fit(corpus.train.X, corpus.train.Y)
    expected = evaluate(corpus.test.Y, model.predict_topk(corpus.test.X, 5)[0], corpus.train.Y)
    assert record["metrics"] == expected
    assert record["status"] == "done"
    assert record["estimator"]["parameters"]["n_trees"] == 2
    assert record["data"]["points"] == 200
    assert record["versions"]["defrag"]
    assert record["versions"]["code"] == records.code()
    assert record["machine"]["cores"] >= 1
    assert 0 < record["training"]["cpu"] < 60
    assert record["peak_memory"] > 2e7
    model.save(tmp_path / "model")
    assert record["model_bytes"] == (tmp_path / "model").stat().st_size


@pytest.mark.slow
def test_only_missing_runs_are_run(corpus, tmp_path, monkeypatch):
    jobs = [job_of(corpus, LabelTree(), seed) for seed in range(3)]
    first = run(jobs, corpus, Store(tmp_path))
    path = tmp_path / "records.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[2]]) + "\n")
    started = []
    real = runs._start

    def start(job, *rest, **options):
        started.append(job.seed)
        return real(job, *rest, **options)

    monkeypatch.setattr(runs, "_start", start)
    again = run(jobs, corpus, Store(tmp_path))
    assert started == [1]
    assert [one["metrics"] for one in again] == [one["metrics"] for one in first]
    assert run(jobs, corpus, Store(tmp_path)) == again
    assert started == [1]


@pytest.mark.slow
@pytest.mark.parametrize("word", [entry.word for entry in registry.entries("classifier")])
def test_classifier_without_groups_records_none(corpus, word):
    estimator = registry.find(word).estimator()()
    job = job_of(corpus, estimator, measures=("ranking", "groups")).to_json()
    values, _, _ = measure(job, corpus.train, corpus.test)
    assert values["groups"] is None


@pytest.mark.slow
def test_no_run_starts_after_until(corpus, tmp_path):
    jobs = [job_of(corpus, LabelTree(), seed) for seed in range(2)]
    (first,) = run(jobs[:1], corpus, Store(tmp_path))
    kept, late = run(jobs, corpus, Store(tmp_path), until=time.monotonic())
    assert kept == first
    assert late["status"] == runs.NOT_RUN
    assert late["key"] == jobs[1].key
    assert len(Store(tmp_path)) == 1


@pytest.mark.slow
def test_failed_run_is_recorded_and_others_continue(corpus, tmp_path):
    jobs = [job_of(corpus, Parabel(-1)), job_of(corpus, Parabel(1))]
    failed, done = run(jobs, corpus, Store(tmp_path))
    assert failed["status"] == "failed"
    assert failed["error"] == "n_trees of Parabel must be an int >= 1, got -1"
    assert done["status"] == "done"
    store = Store(tmp_path)
    assert runs.is_stored(jobs[0], store)
    assert not runs.is_stored(jobs[0], store, retry=True)


@pytest.mark.slow
def test_slow_run_is_stopped_and_may_be_retried_with_higher_limit(corpus, tmp_path):
    job, store = job_of(corpus, LabelTree()), Store(tmp_path)
    (record,) = run([job], corpus, store, limit=0.01)
    assert record["error"] == "took longer than 0.01 s"
    assert runs.is_stored(job, store, limit=0.01)
    assert not runs.is_stored(job, store, limit=60.0)
    assert run([job], corpus, store)[0]["status"] == "done"


@pytest.mark.parametrize(
    ("code", "err", "expected"),
    [
        (-9, None, r"ended by SIGKILL \(out of memory\?\)"),
        (-11, "", "ended by SIGSEGV$"),
        (1, "first\nlast\n", "ended with code 1: last"),
        (3, "", "ended with code 3: no message"),
    ],
)
def test_killed_process_is_recorded_with_signal(code, err, expected):
    result = runs._result(code, "", err)
    assert result["status"] == "failed"
    with pytest.raises(ValueError, match=expected):
        raise ValueError(result["error"])


def test_ctrl_c_is_not_recorded():
    with pytest.raises(KeyboardInterrupt):
        runs._result(130, "", "")


@pytest.mark.slow
def test_workers_do_not_change_records(corpus, tmp_path):
    jobs = [job_of(corpus, LabelTree(), seed) for seed in range(3)]
    jobs.insert(1, job_of(corpus, Parabel(-1)))
    found = run(jobs, corpus, Store(tmp_path / "two"), workers=2)
    assert [one["status"] for one in found] == ["done", "failed", "done", "done"]
    assert [one["seed"] for one in found] == [0, 0, 1, 2]
    (alone,) = run(jobs[:1], corpus, Store(tmp_path / "one"))
    assert alone["metrics"] == found[0]["metrics"]


@pytest.mark.slow
def test_closing_kills_processes_and_records_nothing(corpus, tmp_path, monkeypatch):
    made = []
    real = runs._start
    monkeypatch.setattr(runs, "_start", lambda *a, **o: made.append(real(*a, **o)) or made[-1])
    jobs = [job_of(corpus, LabelTree(), seed) for seed in range(20)]
    running = run_jobs(jobs, corpus, Store(tmp_path), workers=2)
    next(running)
    running.close()
    assert all(process.poll() is not None for process in made)
    assert len(made) < 8
    store = Store(tmp_path)
    assert 1 <= len(store) < 8
    assert all(store.get(job.key) is None or store.get(job.key)["status"] == "done" for job in jobs)


def test_two_runs_of_job_differ_in_times_only(corpus):
    job = job_of(corpus, Agglomerated(LabelTree(2), Defrag(max_cluster_size=4)), seed=3,
                 measures=("ranking", "rare", "erasure", "groups")).to_json()  # fmt: skip
    with corpus.shared() as folder:
        first, _, _ = measure(job, *read_shared(folder))
    second, _, _ = measure({**job, "n_jobs": 2}, corpus.train, corpus.test)
    for result in (first, second):
        del result["training"], result["prediction"], result["peak_memory"], result["groups"]["cpu"]
    assert json.dumps(first) == json.dumps(second)
    sizes = first["groups"]["sizes"]
    assert sum(int(size) * count for size, count in sizes.items()) == corpus.facts.features
    assert len(first["erasure"]["P@1"]) == len(first["erasure"]["shares"])
    assert first["erasure"]["P@1"][0] == first["metrics"]["P@1"]


@pytest.mark.slow
def test_clusterings_are_measured(corpus, tmp_path):
    job = job_of(corpus, Defrag(), measures=("groups", "quality"))
    (record,) = run([job], corpus, Store(tmp_path))
    assert 0 < record["groups"]["quality"]["LMI"] < 1
    assert not record["metrics"]
    assert summarise([record])["LMI"].mean == record["groups"]["quality"]["LMI"]


def test_key_is_hash_of_content(corpus):
    job = job_of(corpus, LabelTree())
    other = job_of(Corpus("another name", corpus.train, corpus.test), LabelTree())
    assert job.key == other.key
    changed = corpus.train.X.copy()
    changed.data[0] += 1
    corpora = [small_corpus(1), Corpus("small", Split(changed, corpus.train.Y), corpus.test)]
    keys = {
        job.key,
        job_of(corpus, LabelTree(2)).key,
        job_of(corpus, LabelTree(), 1).key,
        job_of(corpus, LabelTree(), measures=("ranking", "rare")).key,
        *(job_of(one, LabelTree()).key for one in corpora),
    }
    assert len(keys) == 6


def test_other_code_changes_key(corpus, tmp_path, monkeypatch):
    job, store = job_of(corpus, LabelTree()), Store(tmp_path)
    for status, made_by in (("done", records.code()), ("failed", "other code"), ("failed", None)):
        versions = {} if made_by is None else {"versions": {"code": made_by}}
        store.append({**job.to_json(), "key": str(made_by), "status": status, **versions})
    assert store.n_outdated() == 2
    old = job.key
    monkeypatch.setattr(records, "code", lambda: "changed")
    assert job.key != old
    assert store.n_outdated() == 3


def test_code_covers_training_prediction_and_measures(tmp_path, monkeypatch):
    root = tmp_path / "defrag"
    files = ["metrics.py", "_core.so", "lab/measures.py", "lab/studies.py",
             "cli/app.py", "lab/page.py"]  # fmt: skip
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("old")
    monkeypatch.setattr(records.defrag, "__file__", str(root / "__init__.py"))
    before, changes = records.code.__wrapped__(), []
    for name in files:
        (root / name).write_text("new")
        after = records.code.__wrapped__()
        changes.append(after != before)
        before = after
    assert changes == [True, True, True, False, False, False]


def test_jobs_of_other_corpus_are_refused(corpus, tmp_path):
    with pytest.raises(ValueError, match="has the data small, not small"):
        run([job_of(small_corpus(1), LabelTree())], corpus, Store(tmp_path))


def test_sample_has_fewer_points(corpus):
    sample = corpus.sampled(50)
    assert (sample.facts.points, sample.facts.test_points) == (50, corpus.facts.test_points)
    assert sample.facts.fingerprint != corpus.facts.fingerprint
    assert sample.facts.fingerprint == corpus.sampled(50).facts.fingerprint
    sample = corpus.sampled(50, 30)
    assert (sample.facts.points, sample.facts.test_points) == (50, 30)
    assert sample.facts.name == "small, 50 points, 30 test points"
    assert corpus.sampled(200) is corpus.sampled(200, 100) is corpus


def test_held_out_points_are_training_points(corpus):
    held = corpus.held_out()
    assert (held.facts.points, held.facts.test_points) == (160, 40)
    rows = sorted(tuple(row.data) for part in (held.train, held.test) for row in part.X)
    assert rows == sorted(tuple(row.data) for row in corpus.train.X)


@pytest.mark.slow
def test_corpora_share_workers_and_no_run_is_repeated(corpus, tmp_path):
    other = small_corpus(1)
    seeds = ((corpus, 0), (other, 0), (corpus, 1), (corpus, 0))
    jobs = [job_of(one, LabelTree(), seed) for one, seed in seeds]
    found = run(jobs, [corpus, other], Store(tmp_path), workers=2)
    assert [one["key"] for one in found] == [job.key for job in jobs]
    assert found[0] == found[3]
    assert len((tmp_path / "records.jsonl").read_text().splitlines()) == 3


@pytest.mark.slow
def test_matrices_on_full_disk_fail_their_runs_only(corpus, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    free = iter([10, 10**9])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=next(free)))
    other = small_corpus(1)
    jobs = [job_of(corpus, LabelTree()), job_of(other, LabelTree())]
    failed, done = run(jobs, [corpus, other], Store(tmp_path))
    assert failed["status"] == "failed"
    assert "the matrices of small take" in failed["error"]
    assert "10 are free" in failed["error"]
    assert done["status"] == "done"
    assert len(Store(tmp_path)) == 1, "a full disk says nothing about the method"


def test_run_that_fails_on_full_disk_is_not_kept(corpus, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "model")

    monkeypatch.setattr(runs, "run", fail)
    result, model, found = runs.attempt({}, corpus.train, corpus.test)
    assert (result["status"], model, found) == ("failed", None, None)
    assert result["error"] == "OSError: [Errno 28] No space left on device: 'model'"
    assert result["passing"]
    text = json.dumps(result)
    monkeypatch.setattr(runs, "_wait", lambda process, *_: _ended(process, text))
    (record,) = run([job_of(corpus, LabelTree())], corpus, Store(tmp_path))
    assert record["error"] == result["error"]
    assert len(Store(tmp_path)) == 0


def _ended(process, text):
    process.kill()
    process.communicate()
    return json.loads(text)


def test_halves_of_corpus_must_have_same_columns():
    X = np.eye(3, dtype=np.float32)
    with pytest.raises(ValueError, match="toy: 3 features in training, 2 in the test points"):
        Corpus("toy", Split(X, X), Split(X[:, :2], X))


def test_summarise_gives_means_and_deviations(corpus):
    job = job_of(corpus, LabelTree()).to_json()
    rest = {"training": {"cpu": 1.0, "wall": 2.0}, "prediction": {"cpu": 0.2, "wall": 0.1},
            "peak_memory": 10, "model_bytes": 20}  # fmt: skip
    records = [
        {**job, "status": "done", "metrics": {"P@3": value, "PSP@3": None}, **rest}
        for value in (10.0, 20.0, 60.0)
    ]
    failed = {**job, "status": "failed", "error": "no"}
    found = summarise([*records, failed])
    assert found["P@3"].mean == 30.0
    assert found["P@3"].deviation == pytest.approx(np.std([10, 20, 60], ddof=1))
    assert found["P@3"].n == 3
    assert found["predict_ms"].mean == pytest.approx(0.2 / 100 * 1e3)
    assert "PSP@3" not in found
    assert summarise(records[:1])["P@3"].deviation is None
    assert summarise([failed]) == {}


def record(key, **more):
    return {
        "format": 1, "key": key, "method": "m", "data": {}, "estimator": {}, "seed": 0,
        "status": "done", **more,
    }  # fmt: skip


def test_store_finds_records_again(tmp_path):
    store = Store(tmp_path / "new" / "folder")
    store.append(record("a", value=1))
    store.append(record("b"))
    store.append(record("a", value=2))
    again = Store(tmp_path / "new" / "folder")
    assert len(again) == 2
    assert again.get("a")["value"] == 2
    assert again.get("c") is None


def test_store_reads_all_files_of_folder(tmp_path):
    (tmp_path / "others.jsonl").write_text(json.dumps(record("x")) + "\n\n")
    assert Store(tmp_path).get("x")["method"] == "m"


def test_torn_last_line_is_dropped_and_replaced(tmp_path):
    store = Store(tmp_path)
    store.append(record("a"))
    path = tmp_path / "records.jsonl"
    with path.open("ab") as file:
        file.write(b'{"format": 1, "key": "to')
    with pytest.warns(FormatWarning, match=r"records.jsonl:2: dropped a record"):
        store = Store(tmp_path)
    store.append(record("b"))
    assert [one["key"] for one in read_records(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "not a record: "),
        ("[1]", "must have format 1, got 'list'"),
        ('{"format": 2}', "must have format 1, got 2"),
        ('{"format": 1, "key": "k"}', "must have 'method'"),
    ],
)
def test_broken_line_is_an_error_with_its_number(tmp_path, line, message):
    (tmp_path / "records.jsonl").write_text(json.dumps(record("a")) + f"\n{line}\n")
    with pytest.raises(FormatError, match=message) as caught:
        Store(tmp_path)
    assert caught.value.line == 2
    assert str(tmp_path / "records.jsonl") in str(caught.value)


def test_full_disk_is_an_error_and_leaves_no_half_line(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.append(record("a"))
    path = tmp_path / "records.jsonl"
    before = path.read_bytes()
    write = os.write
    calls = []

    def full(descriptor, content):
        calls.append(len(content))
        if len(calls) == 1:
            return write(descriptor, content[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        store.append(record("b"))
    monkeypatch.undo()
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before
    assert store.get("b") is None
