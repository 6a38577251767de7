"""Training on Ray, on the loopback interface: the same bytes whatever happens to workers."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from defrag import DiSMEC, LabelTree, TextClassifier
from defrag.baselines import LPSR
from defrag.cli.app import app
from defrag.distributed import _ray, fit_ray, predict_ray
from defrag.distributed._plan import train_part
from defrag.io import write_xmc
from defrag.io.predictions import format_ranking
from defrag.prediction import LineFormat

ray = pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

MODELS = [LabelTree(2, random_state=1, n_jobs=2), DiSMEC(random_state=2)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 300), density=0.05, rng=rng, dtype=np.float32, format="csr")
    Y = sparse.random_array((600, 200), density=0.02, rng=rng, format="csr") > 0
    return X, sparse.csr_array(Y.astype(np.float32))


@pytest.fixture(scope="module", autouse=True)
def local_settings():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        yield


def bytes_of(model, folder):
    path = folder / "model.safetensors"
    model.save(path)
    return path.read_bytes()


def die_once(marker):
    """End this process at once, unless one that left the marker has done so."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return  # the second try
    os.kill(os.getpid(), signal.SIGKILL)


# In a process of its own, since the patch below must not outlive it.
TWO_NODES = """
import sys, threading
import numpy as np
from pathlib import Path
from scipy import sparse
import ray._private.services as services
services.resolve_ip_for_localhost = lambda host: "127.0.0.1"  # or nodes listen on the network
from ray.cluster_utils import Cluster
from defrag import DiSMEC
from defrag.distributed import fit_ray

rng = np.random.default_rng(0)
X = sparse.random_array((600, 300), density=0.05, rng=rng, dtype=np.float32, format="csr")
Y = sparse.random_array((600, 200), density=0.02, rng=rng, format="csr") > 0
Y = sparse.csr_array(Y.astype(np.float32))
options = {"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
cluster = Cluster(initialize_head=True, head_node_args=options)
second = cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")
model = DiSMEC("exact", random_state=2)
model.fit(X, Y).save("wanted")
fit_ray(model, X, Y, address=cluster.address, n_parts=6).save("two")
threading.Timer(0.3, lambda: cluster.remove_node(second, allow_graceful=False)).start()
fit_ray(model, X, Y, address=cluster.address, n_parts=13).save("one")
cluster.shutdown()
wanted = Path("wanted").read_bytes()
assert Path("two").read_bytes() == wanted and Path("one").read_bytes() == wanted
print("equal")
"""


def test_killed_node_does_not_change_the_model(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", TWO_NODES],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
             "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("equal")


@pytest.fixture(scope="module")
def cluster():
    """Start a local cluster of two processors, used after the test that has its own."""
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1",
             log_to_driver=False)  # fmt: skip
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_killed_worker_does_not_change_the_model(data, tmp_path, monkeypatch):
    marker = str(tmp_path / "killed")

    def train_part_or_die(plan, index, X, Y, found):
        if index == 1:
            die_once(marker)
        return train_part(plan, index, X, Y, found)

    for model in MODELS:
        found = fit_ray(model, *data, n_parts=5)
        wanted = bytes_of(model.fit(*data), tmp_path)
        assert bytes_of(found, tmp_path) == wanted
        assert found.n_jobs == model.n_jobs
    write_xmc(tmp_path / "train.txt", *data)
    for flags in ([], ["--ray", "local"]):
        arguments = ["train", str(tmp_path / "train.txt"), str(tmp_path / "m"), *flags]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        wanted = wanted if flags else (tmp_path / "m").read_bytes()
    assert (tmp_path / "m").read_bytes() == wanted
    assert ray.is_initialized(), "a cluster of the caller must go on"
    with pytest.raises(ValueError, match="address must be None while Ray is connected"):
        fit_ray(DiSMEC(), *data, address="auto")
    texts = [f"a {'red' if i % 3 else 'white'} fox {i}" for i in range(90)]
    labels = [["red" if i % 3 else "white", f"{i % 7}"] for i in range(90)]
    model = TextClassifier(LPSR(LabelTree(2)), random_state=3)
    found = fit_ray(model, texts, labels, n_parts=3)
    assert bytes_of(found, tmp_path) == bytes_of(model.fit(texts, labels), tmp_path)
    monkeypatch.setattr(_ray, "train_part", train_part_or_die)
    found = fit_ray(MODELS[1], *data, n_parts=5)
    assert Path(marker).exists()
    assert bytes_of(found, tmp_path) == bytes_of(MODELS[1].fit(*data), tmp_path)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("hard", [True, False])
def test_parts_are_sent_the_rows_that_they_need(hard, data, tmp_path, caplog):
    model = LabelTree(2, max_leaf_size=8, hard_negatives=hard, random_state=1)
    with caplog.at_level("INFO", "defrag"):
        found = fit_ray(model, *data, n_parts=24)
    assert bytes_of(found, tmp_path) == bytes_of(model.fit(*data), tmp_path)
    (said,) = (one for one in caplog.messages if " parts got " in one)
    sent, most, all_rows, whole = (
        int(one.replace(",", "")) for one in re.findall(r"([\d,]+) rows", said)
    )
    assert sent < 0.9 * all_rows
    assert most == whole == 600, "of the root"


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("root", ["memory://ray", "s3://texts"])
def test_remote_texts_train_the_local_model(root, tmp_path, monkeypatch):
    from tests.io.test_remote import fill, object_store  # noqa: PLC0415 - needs extras

    monkeypatch.chdir(tmp_path)
    with object_store(tmp_path, monkeypatch) if root[0] == "s" else nullcontext():
        _, _, rows = fill(root, {})
        Path("docs.jsonl").write_text("".join(rows))
        for data, target, *flags in (
            ("docs.jsonl", "a"),
            (f"{root}/docs.jsonl", "b", "--ray", "local"),
        ):
            done = CliRunner().invoke(app, ["train", data, target, *flags])
            assert done.exit_code == 0, done.output
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.usefixtures("cluster")
def test_predict_ray_writes_and_resumes_parts(data, tmp_path):
    X, Y = data
    path, text = tmp_path / "model", tmp_path / "test.txt"
    LabelTree(random_state=0).fit(X, Y).save(path)
    write_xmc(text, X, Y)
    whole, folder = tmp_path / "whole", tmp_path / "parts"
    arguments = ["predict", str(path), str(text), "--output"]
    assert CliRunner().invoke(app, [*arguments, str(whole)]).exit_code == 0
    done = CliRunner().invoke(app, [*arguments, str(folder), "--ray", "local"])
    assert done.exit_code == 0, done.output
    parts = sorted(folder.glob("part-*"))
    joined = b"".join(part.read_bytes() for part in parts)
    assert joined == whole.read_bytes().split(b"\n", 1)[1]
    # Finished parts are kept, missing ones are predicted again.
    blocks = [X[i : i + 100] for i in range(0, 600, 100)]
    again = tmp_path / "again"
    assert predict_ray(path, blocks, again) == 600
    (again / "part-000002").unlink()
    (again / "part-000004").write_bytes(b"kept")
    assert predict_ray(path, blocks, again) == 600
    found = [(again / f"part-{i:06d}").read_bytes() for i in range(6)]
    assert found[4] == b"kept"
    assert found[2].count(b"\n") == 100
    assert b"".join(found[:4]) == b"".join(joined.splitlines(keepends=True)[:400])
    with pytest.raises(ValueError, match="parts of another prediction"):
        predict_ray(path, blocks, again, lines=LineFormat(3))
    with pytest.raises(ValueError, match=r"is not empty and has no _prediction\.json"):
        predict_ray(path, blocks, tmp_path)
    # Workers that know a file notice that it was replaced.
    other = LabelTree(random_state=1, max_leaf_size=5).fit(X, Y)
    other.save(path)
    assert predict_ray(path, blocks, tmp_path / "other") == 600
    lines = b"".join(part.read_bytes() for part in sorted((tmp_path / "other").glob("part-*")))
    assert lines == b"".join(format_ranking(*other.predict_topk(X), other.n_labels_))
    assert lines != joined
    texts = ["a red fox", "a white hen", "of the red fox", "hens"]
    named = TextClassifier(random_state=0).fit(texts * 3, [["fox"], ["hen"]] * 6)
    named.save(tmp_path / "texts")
    assert (
        predict_ray(
            tmp_path / "texts",
            [texts[:2], texts[2:]],
            tmp_path / "t",
            lines=LineFormat(1, as_json=True),
        )
        == 4
    )
    parts = sorted((tmp_path / "t").glob("part-*"))
    rows = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
    names, scores = named.predict_topk(texts, k=1)
    assert [row["labels"] for row in rows] == names.tolist()
    assert np.array_equal([row["scores"] for row in rows], scores.astype(str).astype(float))


@pytest.mark.usefixtures("cluster")
def test_predict_ray_writes_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table  # noqa: PLC0415 - an extra

    texts = [f"{'a red fox' if i % 3 else 'white hens'} {i}" for i in range(12_345)]
    model = TextClassifier(random_state=0).fit(texts, [["fox" if i % 3 else "hen"]
                                                       for i in range(12_345)])  # fmt: skip
    model.save(tmp_path / "model")
    (tmp_path / "docs").mkdir()
    for number, first in enumerate((0, 6_000)):
        last = 6_000 if number == 0 else len(texts)
        path = tmp_path / "docs" / f"{number}.parquet"
        parquet.write_table(table({"body": texts[first:last]}), path)
    folder = tmp_path / "folder"
    arguments = ["predict", str(tmp_path / "model"), str(tmp_path / "docs"), "--text-column",
                 "body", "--top-k", "2", "--ray", "local", "--parquet"]  # fmt: skip
    done = CliRunner().invoke(app, [*arguments, "--output", str(folder)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in folder.glob("part-*")) == [
        "part-000000.parquet",
        "part-000001.parquet",
    ]
    found = parquet.read_table(folder)  # as others read a folder of tables
    names, scores = model.predict_topk(texts, k=2)
    assert found.column("row").to_pylist() == list(range(len(texts)))
    assert found.column("labels").to_pylist() == [[x for x in row if x] for row in names.tolist()]
    assert found.column("scores").to_pylist()[5] == scores[5].tolist()


@pytest.mark.usefixtures("cluster")
def test_killed_worker_does_not_change_predictions(data, tmp_path):
    X, Y = data
    LabelTree(random_state=0).fit(X, Y).save(tmp_path / "model")
    blocks = [X[i : i + 100] for i in range(0, 600, 100)]
    marker = str(tmp_path / "killed")

    def predict_or_die(model, block, first):
        if first == 200:
            die_once(marker)
        return format_ranking(*model.predict_topk(block, k=3), model.n_labels_)

    wanted, found = tmp_path / "wanted", tmp_path / "found"
    assert predict_ray(tmp_path / "model", blocks, wanted, lines=LineFormat(3)) == 600
    assert predict_ray(tmp_path / "model", blocks, found, lines=predict_or_die) == 600
    assert Path(marker).exists()
    for folder in (wanted, found):
        assert len(list(folder.glob("part-*"))) == 6
    for path in wanted.glob("part-*"):
        assert (found / path.name).read_bytes() == path.read_bytes()
