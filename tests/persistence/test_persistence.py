"""Models in files: saved, loaded, shared, damaged."""

import errno
import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from defrag import Agglomerated, Defrag, LabelTree, load, registry
from defrag.exceptions import ModelFormatError
from defrag.io import files as atomic
from defrag.persistence import _container as model_file
from defrag.persistence import save
from defrag.persistence._container import read_model_file
from tests.compat.make_models import dense
from tests.helpers.model_drafts import X, Y, small_defrag, small_hybrid, small_label_tree
from tests.helpers.processes import run_python

COMPAT = Path(__file__).parents[1] / "compat"


@pytest.mark.parametrize("vectors", [np.eye(12), sparse.csr_array(np.eye(12))])
def test_given_vectors_are_not_stored(tmp_path, vectors):
    model = small_defrag(representation=vectors)
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert loaded.representation == "given"
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pytest.raises(ValueError, match="a matrix or a mapping, got 'given'"):
        loaded.fit(X)


@pytest.mark.parametrize("state", [np.random.RandomState(0), np.random.default_rng(0)])
def test_generator_and_threads_are_stored_as_none(tmp_path, state):
    numbers = {"n_clusters": np.int64(4), "singletons": np.float64(0.5)}
    model = small_hybrid(random_state=state, n_jobs=2, **numbers)
    model.save(tmp_path / "a")
    assert load(tmp_path / "a").get_params() == {
        **model.get_params(), "random_state": None, "n_jobs": None
    }  # fmt: skip


def test_unsaveable_models_are_refused(tmp_path):
    path = tmp_path / "a"

    class Special(Defrag):
        pass

    with pytest.raises(TypeError, match=r"only LabelTree, .* can be saved, got Special"):
        Special(max_cluster_size=2).fit(X).save(path)
    with pytest.raises(TypeError, match="can be saved, got Special"):
        Agglomerated(LabelTree(), Special(max_cluster_size=2)).fit(X, Y).save(path)
    with pytest.raises(TypeError, match="can be saved, got dict"):
        save({}, path)
    for unfitted in (Defrag(), LabelTree()):
        with pytest.raises(NotFittedError, match="is not fitted"):
            unfitted.save(path)
    with pytest.raises(ModelFormatError, match=r"pooling of defrag must be one of .* got 'max'"):
        small_defrag().set_params(pooling="max").save(path)
    model = small_defrag()
    model.labels_[3] = 8
    with pytest.raises(ValueError, match=r"array 'labels' must be in \[-1, 8\), got 8 at 3"):
        model.save(path)
    model = small_label_tree()
    model.trees_[0].weights.weights[3] = 1e6
    with pytest.raises(ValueError, match="'trees/0/weights' must be finite, got inf at 3"):
        model.save(path, weights="float16")
    assert not list(tmp_path.iterdir())


def test_two_loads_share_one_read_only_map(tmp_path):
    path = tmp_path / "a"
    small_defrag().save(path)
    first, second = load(path), load(path)
    for model in (first, second):
        with pytest.raises(ValueError, match="read-only"):
            model.labels_[0] = 0
        base = model.labels_
        while not isinstance(base, np.memmap):
            base = base.base
        assert base.mode == "r"
        assert np.shares_memory(base, model.tree_.order)
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    inode = path.stat().st_ino
    found = [line.split() for line in maps.splitlines() if line.endswith(str(path))]
    # Two ranges of addresses, one file behind them: one copy of the pages.
    assert {(mode[3], int(node)) for _, mode, _, _, node, *_ in found} in (
        {("s", inode)},
        {("p", inode)},
    )
    assert len(found) == 2


@pytest.fixture
def old_file(tmp_path):
    path = tmp_path / "model.safetensors"
    small_hybrid().save(path)
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


class FailingFile:
    def __init__(self, file, n_good):
        self.file = file
        self.n_good = n_good

    def write(self, data):
        self.n_good -= 1
        if self.n_good < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.file.write(data)


@pytest.mark.parametrize("n_good", range(10))
def test_full_disk_at_any_write_keeps_old_file(old_file, monkeypatch, n_good):
    @contextmanager
    def failing_writer(path):
        with atomic.atomic_writer(path) as file:
            yield FailingFile(file, n_good)

    monkeypatch.setattr(model_file, "atomic_writer", failing_writer)
    with pytest.raises(OSError, match=r"No space left on device: '.*model\.safetensors'"):
        small_defrag().save(old_file)  # a header and nine arrays


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_failing_system_call_keeps_old_file(old_file, monkeypatch, call):
    def fail(*_arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(*((os, call) if call == "fsync" else (Path, call)), fail)
    with pytest.raises(OSError, match=r"Input/output error: '.*model\.safetensors'"):
        small_defrag().save(old_file)


@pytest.mark.slow
def test_read_only_folder_raises_permission_error(tmp_path, old_file):
    script = (
        "import os, sys; from tests.helpers.model_drafts import small_defrag\n"
        "model = small_defrag()\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"  # root may write anywhere
        "try: model.save(sys.argv[1])\n"
        "except PermissionError as error: print(error.filename)"
    )
    tmp_path.chmod(0o555)
    try:
        found = run_python("-c", script, old_file)
    finally:
        tmp_path.chmod(0o755)
    assert found.strip() == str(old_file)


@pytest.mark.slow
def test_killed_save_leaves_a_whole_file(tmp_path):
    assert run_python("-m", "tests.helpers.kill_savers", tmp_path, 200).startswith("200 kills")


@pytest.mark.slow
def test_hostile_headers_take_no_memory(tmp_path):
    assert run_python("-m", "tests.helpers.hostile_headers", tmp_path) == "13 files refused\n"


def test_every_kind_has_a_stored_model():
    stored = {path.stem.split("-")[0] for path in (COMPAT / "0.1.0").glob("*.safetensors")}
    assert stored == set(registry.kinds())


@pytest.mark.parametrize("path", sorted(COMPAT.glob("*/*.safetensors")), ids=str)
def test_stored_models_give_the_stored_output(path):
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as stored:
        model = load(path)
        if "output" in stored:
            found = dense(model.transform(stored["input"]))
            np.testing.assert_array_equal(found, stored["output"], strict=True)
        else:
            k = min(4, len(model.classes_))
            labels, scores = model.predict_topk(stored["input"], k=4)
            np.testing.assert_array_equal(labels, stored["labels"][:, :k])
            np.testing.assert_allclose(scores, stored["scores"][:, :k], rtol=1e-6)
        if "names" in stored:
            names, _ = model.predict_topk(stored["input"], k=4, names=True)
            np.testing.assert_array_equal(names, stored["names"])


@pytest.mark.parametrize("path", sorted((COMPAT / "0.1.0").glob("*.safetensors")), ids=str)
def test_stored_models_resave_to_same_arrays(tmp_path, path):
    suffix = path.stem.partition("-")[2]
    options = {"weights": suffix} if suffix in {"float16", "int8", "int4"} else {}
    load(path).save(tmp_path / "a", **options)
    found, wanted = read_model_file(tmp_path / "a"), read_model_file(path)
    assert found[0] == wanted[0]
    if path.stem == "label_tree-int8":  # trees of int8 take fewer bytes than when it was written
        load(path).save(tmp_path / "whole")
        load(tmp_path / "a").save(tmp_path / "b")
        assert (tmp_path / "b").read_bytes() == (tmp_path / "whole").read_bytes()
    else:
        now, then = (
            {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}
            for _, arrays in (found, wanted)
        )
        assert now == then
    load(tmp_path / "a").save(tmp_path / "b", **options)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
