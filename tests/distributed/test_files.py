"""Plans and parts in files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from defrag import Agglomerated, DiSMEC, LabelTree
from defrag.distributed import (
    fit_part,
    join,
    load_part,
    load_plan,
    part_path,
    plan,
    save_part,
    save_plan,
)
from defrag.exceptions import ModelFormatError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 80), density=0.08, rng=rng, dtype=np.float32, format="csr")
    Y = sparse.random_array((200, 70), density=0.03, rng=rng, format="csr") > 0
    return X, sparse.csr_array(Y.astype(np.float32))


@pytest.mark.parametrize(
    "model", [LabelTree(2, random_state=1), DiSMEC(random_state=2), Agglomerated(random_state=3)]
)
def test_files_join_to_the_bytes_of_fit(model, data, tmp_path):
    X, Y = data
    path = tmp_path / "model.plan"
    save_plan(plan(model, X, Y, n_parts=4), path)
    for index in range(len(load_plan(path).shares)):
        result = fit_part(load_plan(path), index, X, Y)
        save_part(result, part_path(path, index))
    once = part_path(path, 0).read_bytes()
    save_part(fit_part(load_plan(path), 0, X, Y), part_path(path, 0))
    assert part_path(path, 0).read_bytes() == once
    todo = load_plan(path)
    joined = join(todo, [load_part(part_path(path, i)) for i in range(len(todo.shares))])
    joined.save(tmp_path / "joined")
    model.fit(X, Y).save(tmp_path / "fitted")
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "fitted").read_bytes()


def test_classes_and_feature_names_are_kept(data, tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(data[0].toarray(), columns=[f"word {i}" for i in range(80)])
    classes = np.repeat(["ant", "bee"], 100)
    path = tmp_path / "model.plan"
    save_plan(plan(DiSMEC(random_state=0), X, classes, n_parts=1), path)
    todo = load_plan(path)
    joined = join(todo, [fit_part(todo, 0, X, classes)])
    assert joined.feature_names_in_[:2].tolist() == ["word 0", "word 1"]
    assert joined.classes_.tolist() == ["ant", "bee"]


def test_labels_by_name_are_those_of_fit(data, tmp_path):
    X, Y = data
    lists = [[f"label {j}" for j in row.indices] for row in Y]
    path, model = tmp_path / "model.plan", LabelTree(random_state=0)
    save_plan(plan(model, X, lists, n_parts=3), path)
    todo = load_plan(path)
    joined = join(todo, [fit_part(todo, i, X, lists) for i in range(len(todo.shares))])
    joined.save(tmp_path / "joined")
    model.fit(X, lists).save(tmp_path / "fitted")
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "fitted").read_bytes()
    assert joined.predict(X[:9]) == model.predict(X[:9])
    others = [[name.upper() for name in names] for names in lists]
    with pytest.raises(ValueError, match="not those of the plan"):
        fit_part(todo, 0, X, others)


def test_parts_of_another_plan_are_refused(data, tmp_path):
    X, Y = data
    mine = plan(DiSMEC(random_state=0), X, Y, n_parts=2)
    other = plan(DiSMEC(random_state=0, C=2.0), X, Y, n_parts=2)
    path = tmp_path / "part"
    save_part(fit_part(other, 1, X, Y), path)
    with pytest.raises(ValueError, match="part 1 belongs to another plan"):
        join(mine, [fit_part(mine, 0, X, Y), load_part(path)])


def test_other_files_are_refused(data, tmp_path):
    X, Y = data
    path = tmp_path / "file"
    LabelTree(random_state=0).fit(X, Y).save(path)
    with pytest.raises(ModelFormatError, match="is not a plan: it holds model"):
        load_plan(path)
    with pytest.raises(ModelFormatError, match="is not a part: it holds model"):
        load_part(path)
    save_plan(plan(DiSMEC(random_state=0), X, Y, n_parts=2), path)
    with pytest.raises(ModelFormatError, match="is not a part: it holds plan"):
        load_part(path)


def test_a_damaged_plan_is_refused(data, tmp_path):
    X, Y = data
    path = tmp_path / "model.plan"
    save_plan(plan(LabelTree(random_state=0), X, Y, n_parts=3), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            found = load_plan(path)
        except ModelFormatError:
            refused += 1
        else:  # what does not belong to the identity of the plan may differ
            assert found.bounds.tolist() == sorted(found.bounds.tolist())
    assert refused > 200
