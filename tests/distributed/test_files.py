"""Plans and parts in files."""

import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

from defrag import Agglomerated, DiSMEC, LabelTree, TextClassifier, TextVectorizer, load
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
from tests.helpers.model_drafts import Draft


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 80), density=0.08, rng=rng, dtype=np.float32, format="csr")
    Y = sparse.random_array((200, 70), density=0.03, rng=rng, format="csr") > 0
    return X, sparse.csr_array(Y.astype(np.float32))


def joined(model, X, Y, path):
    """Train in parts that are written to files and read again."""
    save_plan(plan(model, X, Y, n_parts=4), path)
    todo = load_plan(path)
    for index in reversed(range(len(todo.shares))):
        save_part(fit_part(todo, index, X, Y), part_path(path, index))
    once = part_path(path, 0).read_bytes()
    save_part(fit_part(load_plan(path), 0, X, Y), part_path(path, 0))
    assert part_path(path, 0).read_bytes() == once
    return join(todo, [load_part(part_path(path, i)) for i in range(len(todo.shares))])


def names_of(Y):
    return [[f"label {j}" for j in row.indices] for row in Y]


def classes_of(_Y):
    return np.repeat(["ant", "bee"], 100)


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (LabelTree(2, random_state=1), None),
        (DiSMEC(random_state=2), None),
        (Agglomerated(random_state=3), None),
        (LabelTree(random_state=0), names_of),
        (DiSMEC(random_state=0), classes_of),
    ],
)
def test_joined_files_give_the_bytes_of_fit(model, labels, data, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, Y = data
    if labels is not None:
        X = pandas.DataFrame(X.toarray(), columns=[f"word {i}" for i in range(80)])
        Y = labels(Y)
    found = joined(model, X, Y, tmp_path / "model.plan")
    found.save(tmp_path / "joined")
    model.fit(X, Y).save(tmp_path / "fitted")
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "fitted").read_bytes()
    assert str(found.predict(X[:9])) == str(model.predict(X[:9]))


def test_other_label_names_are_refused(data):
    X, Y = data
    todo = plan(LabelTree(random_state=0), X, names_of(Y), n_parts=3)
    others = [[name.upper() for name in names] for names in names_of(Y)]
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


def test_files_of_other_kinds_are_refused(data, tmp_path):
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


def test_identity_of_a_plan_includes_its_sizes(data):
    X, Y = data
    todo = plan(DiSMEC(random_state=0), X, Y, n_parts=2)
    known = {todo.identity}
    for change in (
        {"n_points": 201},
        {"n_features": 81},
        {"n_labels": 71},
        {"dense": True},
        {"multilabel": False},
        {"classes": np.arange(70)},
        {"feature_names": np.array([f"word {i}" for i in range(80)], dtype=object)},
    ):
        other = replace(todo, sizes=replace(todo.sizes, **change))
        known.add(other.identity)
        with pytest.raises(ValueError, match="part 0 belongs to another plan"):
            join(other, [fit_part(todo, 0, X, Y)])
    assert len(known) == 8


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """A plan, a part, and models of rows and of texts, with the function that loads each."""
    X, Y = data
    folder = tmp_path_factory.mktemp("files")
    todo = plan(LabelTree(random_state=0), X, Y, n_parts=3)
    save_plan(todo, folder / "plan")
    save_part(fit_part(todo, 0, X, Y), folder / "part")
    LabelTree(random_state=0).fit(X, Y).save(folder / "rows", label_names=list(map(str, range(70))))
    texts = [" ".join(f"wörd{j}" for j in row.indices) or "none" for row in X]
    vectorizer = TextVectorizer(stemmer="finnish") if find_spec("Stemmer") else None
    labels = [[f"label {j}" for j in row.indices] for row in Y]
    TextClassifier(vectorizer=vectorizer, random_state=0).fit(texts, labels).save(folder / "texts")
    readers = {"plan": load_plan, "part": load_part, "rows": load, "texts": load}
    return {name: ((folder / name).read_bytes(), reader) for name, reader in readers.items()}


@pytest.mark.parametrize("name", ["plan", "part", "rows", "texts"])
def test_a_flipped_bit_is_refused(name, files, tmp_path):
    whole, reader = files[name]
    path = tmp_path / name
    places = range(0, len(whole), 64)
    for number, place in enumerate(places):
        damaged = bytearray(whole)
        damaged[place + number % 61 if place + 61 < len(whole) else place] ^= 1 << number % 8
        path.write_bytes(damaged)
        with pytest.raises(ModelFormatError, match=re.escape(f"{path}: ")):
            reader(path)
    path.write_bytes(whole)
    reader(path)


@pytest.mark.parametrize("name", ["plan", "part"])
def test_plans_and_parts_without_checksums_are_refused(name, files, tmp_path):
    whole, reader = files[name]
    (tmp_path / name).write_bytes(Draft(whole).to_bytes())
    with pytest.raises(ModelFormatError, match="has no checksums"):
        reader(tmp_path / name)
