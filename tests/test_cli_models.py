"""The verbs about models, case by case: train, predict, evaluate, info, demo."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy import sparse

from cli_running import files, run, run_well
from defrag import (
    Agglomerated,
    Defrag,
    DiSMEC,
    Fiat,
    Hybrid,
    Imputed,
    LabelTree,
    Parabel,
    Refrag,
    load,
    metrics,
)
from defrag.cli import _estimate, _flags, _models
from defrag.io import (
    Dataset,
    Split,
    blocks,
    read_predictions,
    write_features,
    write_npz,
    write_predictions,
    write_svmlight,
    write_xmc,
)
from defrag.io.files import open_input

N_POINTS, N_FEATURES, N_LABELS = 40, 24, 8


def points(n_points=N_POINTS, seed=7):
    """Four kinds of points with six features and two labels each; the last labels are rare."""
    random = np.random.default_rng(seed)
    kind = np.arange(n_points) % 4
    X = (np.kron(np.eye(4), np.ones(6))[kind]) * random.integers(1, 5, (n_points, N_FEATURES))
    X = X * (random.random(X.shape) < 0.7)
    Y = np.kron(np.eye(4), np.ones(2))[kind]
    Y[:, 7] *= np.arange(n_points) < 8
    Y[5] = 0
    return sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder, made the current one, with data, names, and a model."""
    X, Y = points()
    write_xmc(tmp_path / "train.txt", X, Y)
    write_xmc(tmp_path / "train.txt.xz", X, Y)
    write_npz(tmp_path / "train.npz", X, Y)
    write_svmlight(tmp_path / "train.svm", X, Y, zero_based=False)
    write_xmc(tmp_path / "X.txt", X, Y, labels=tmp_path / "Y.txt")
    names = [f"label {j}" for j in range(N_LABELS)]
    (tmp_path / "labels.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "words.txt").write_text("\n".join(f"word{j}" for j in range(N_FEATURES)) + "\n")
    model = LabelTree(random_state=3).fit(X, Y)
    model.save(tmp_path / "model.safetensors", label_names=names)
    model.save(tmp_path / "nameless.safetensors")
    Defrag(random_state=0, max_cluster_size=4).fit(X).save(tmp_path / "groups.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(content[:-100])
    (tmp_path / "cut.bin").write_bytes(content[:-100])
    (tmp_path / "text.safetensors").write_text("no model at all\n")
    (tmp_path / "narrow.txt").write_text("2 3 8\n0 1:1\n1 2:1\n")
    (tmp_path / "bad.txt").write_text(f"2 {N_FEATURES} 8\n0 1:1\n1 99:1\n")
    (tmp_path / "short.txt").write_text(f"3 {N_FEATURES} 8\n0 1:1\n")
    write_predictions(tmp_path / "predictions.txt", model.decision_function(X, top_k=5))
    (tmp_path / "few.txt").write_text("1 8\n0:1\n")
    (tmp_path / "wide.txt").write_text(f"{N_POINTS} 9\n" + "0:1\n" * N_POINTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What is refused: the command line, and what the one line on stderr must say.
REFUSED = {
    "no such classifier": ("train train.txt out --classifier forest", "'--classifier'.*label-tree"),
    "no such groups": ("train train.txt out --agglomerate y", "'--agglomerate'.*'hybrid'"),
    "no such weights": ("train train.txt out --weights int4", "'--weights'.*'int8'"),
    "flag of another classifier": (
        "train train.txt out --classifier parabel --arity 4",
        "--arity is not a parameter of --classifier parabel",
    ),
    "flag of another, the other way": (
        "train train.txt out --max-passes 4",
        "--max-passes is not a parameter of --classifier label-tree",
    ),
    "groups without groups": (
        "train train.txt out --agglomerate none --max-cluster-size 4",
        "--max-cluster-size changes nothing with --agglomerate none",
    ),
    "flag of other groups": (
        "train train.txt out --split ndcg",
        "--split cannot be combined with --agglomerate hybrid",
    ),
    "flag that the groups fix": (
        "train train.txt out --agglomerate n --split ndcg",
        "--split cannot be combined with --agglomerate n",
    ),
    "out of range": ("train train.txt out --n-trees 0", "n_trees of LabelTree must be an int >= 1"),
    "out of range, found before the data": ("train nothing out --C=-1", "C of LabelTree must"),
    "groups out of range": ("train train.txt out --max-cluster-size 0", "max_cluster_size of"),
    "bad seed": ("train train.txt out --seed=-1", r"random_state must be in \[0, 2\*\*63\)"),
    "train without a model": ("train train.txt", "Missing argument 'MODEL'"),
    "train without labels": ("train X.txt out", "X.txt: has no labels to learn: give --labels"),
    "train on nothing": ("train nothing.txt out", "nothing.txt: No such file"),
    "train on broken data": ("train bad.txt out", "bad.txt:3: feature index 99"),
    "model is a folder": ("train train.txt .", "Is a directory"),
    "model in no folder": ("train nothing.txt none/out", "none/out: No such file"),
    "compressed model": ("train nothing.txt out.xz", "out.xz: a model is mapped"),
    "names of other labels": (
        "train train.txt out --label-names words.txt",
        "words.txt: 24 names, but the data have 8 labels",
    ),
    "words of other features": (
        "train train.txt out --vocabulary labels.txt",
        "labels.txt: 8 words, but the data have 24 features",
    ),
    "model and json on stdout": ("train train.txt - --json", "--json and an output of -"),
    "strict training": ("train short.txt out --strict", "header declares 3 points"),
    "predict without a model": ("predict nothing X.txt --output out", "nothing: No such file"),
    "predict without data": (
        "predict model.safetensors none --output out",
        "none: No such file",
    ),
    "predict with groups": (
        "predict groups.safetensors X.txt --output out",
        "groups.safetensors: is a Defrag, which predicts no labels",
    ),
    "cut model": ("predict cut.safetensors X.txt --output out", "cut.safetensors: "),
    "text for a model": ("predict text.safetensors X.txt --output out", "text.safetensors: "),
    "data for a model": ("predict train.txt X.txt --output out", "train.txt: "),
    "other features": (
        "predict model.safetensors narrow.txt --output out",
        "narrow.txt: 3 features, but model.safetensors was trained on 24",
    ),
    "broken points": (
        "predict model.safetensors bad.txt --output out",
        "bad.txt:3: feature index 99",
    ),
    "fewer points than declared": (
        "predict model.safetensors short.txt --output out",
        "short.txt: the header declares 3 points, the file has 1",
    ),
    "names it has not": (
        "predict nameless.safetensors X.txt --names --output out",
        "nameless.safetensors: has no label names",
    ),
    "no labels wanted": ("predict model.safetensors X.txt --top-k 0 --output out", "'--top-k'"),
    "svmlight of unknown base": (
        "predict model.safetensors train.svm --output out",
        "give --zero-based or --one-based",
    ),
    "evaluate other points": ("evaluate train.txt few.txt", "few.txt: 1 points, but train.txt"),
    "evaluate other labels": ("evaluate train.txt wide.txt", "wide.txt: 9 labels, but train.txt"),
    "evaluate without labels": ("evaluate X.txt predictions.txt", "X.txt: has no labels to"),
    "constants without train": (
        "evaluate train.txt predictions.txt --A 0.5",
        "--A changes nothing without --train",
    ),
    "labels without train": (
        "evaluate train.txt predictions.txt --train-labels Y.txt",
        "--train-labels changes nothing without --train",
    ),
    "bad depths": ("evaluate train.txt predictions.txt --k 1,x", "--k must be numbers above 0"),
    "depth of nothing": ("evaluate train.txt predictions.txt --k 0", "--k must be numbers"),
    "bad constant": (
        "evaluate train.txt predictions.txt --train train.txt --A=-1",
        "A must be a finite number >= 0",
    ),
    "all from stdin": ("evaluate - -", "only one of DATA, PREDICTIONS and --train"),
    "no predictions": ("evaluate train.txt words.txt", "words.txt:1: "),
    "info about a cut model": ("info cut.safetensors", "cut.safetensors: "),
    "info about a cut model of any name": ("info cut.bin", "cut.bin: "),
    "info about no model": ("info text.safetensors", "text.safetensors: "),
    "info about a model that is not there": ("info none.safetensors", "No such file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_in_one_line_and_leaves_nothing(folder, name):
    line, expected = REFUSED[name]
    before = files(folder)
    result = run(*line.split(" "))
    assert result.exit_code == 2, result.stderr
    assert result.stderr.startswith("defrag: error: ")
    assert result.stderr.count("\n") == 1
    assert re.search(expected, result.stderr), result.stderr
    assert not result.stdout
    assert files(folder) == before


GROUPS = {
    "none": None,
    "x": Defrag(),
    "xy": Defrag("xy"),
    "n": Defrag(split="ndcg"),
    "hybrid": Hybrid(),
}
BASES = {"label-tree": LabelTree, "parabel": Parabel}


def whole(base, groups, **settings):
    if groups is None:
        return base.set_params(**settings)
    return Agglomerated(base, groups, **settings)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("base", BASES)
def test_train_is_library(folder, base, groups):
    X, Y = points()
    line = f"train train.txt out --classifier {base} --agglomerate {groups} --seed 5 --n-trees 2"
    run_well(*line.split(" "))
    model = whole(BASES[base](2), GROUPS[groups], random_state=5).fit(X, Y)
    model.save(folder / "expected")
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


@pytest.mark.parametrize("groups", ["none", "hybrid"])
@pytest.mark.parametrize("flags", [{}, {"preset": "fast", "batch_size": 16}])
def test_train_one_vs_rest_is_library(folder, groups, flags):
    X, Y = points()
    line = f"train train.txt out --classifier dismec --agglomerate {groups} --weights int8"
    given = [text for name, value in flags.items() for text in (_flags.flag_name(name), str(value))]
    run_well(*line.split(" "), *given)
    model = whole(DiSMEC(**flags), GROUPS[groups], random_state=0).fit(X, Y)
    model.save(folder / "expected", weights="int8")
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


def test_train_recommends(folder):
    X, Y = points()
    said = run_well("train", "train.txt", "out")
    Agglomerated(LabelTree(), Hybrid(), random_state=0).fit(X, Y).save(folder / "expected")
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()
    assert re.fullmatch(
        r"40 points, 24 features, 8 labels: [0-9.]+ s, [0-9.]+ MB in out\n", said
    ), said


def test_choices_are_all_tested():
    assert set(BASES) <= set(_models.CLASSIFIERS)
    assert {one.value for one in _models.Agglomeration} == set(GROUPS)


# A flag of `train` that is a parameter, with a value that is not its default: the
# classifier, the groups, the parameter and its value.
PARAMETERS = [
    ("label-tree", "none", "n_trees", 3),
    ("label-tree", "none", "preset", "fast"),
    ("label-tree", "none", "max_leaf_size", 2),
    ("label-tree", "none", "arity", 2),
    ("label-tree", "none", "root_arity", 3),
    ("label-tree", "none", "C", 0.5),
    ("label-tree", "none", "weight_threshold", 0.3),
    ("label-tree", "none", "label_entries", 2),
    ("label-tree", "none", "beam_size", 3),
    ("parabel", "none", "max_leaf_size", 2),
    ("parabel", "none", "max_passes", 2),
    ("parabel", "none", "tol", 0.5),
    ("label-tree", "x", "max_cluster_size", 3),
    ("label-tree", "x", "split", "ndcg"),
    ("label-tree", "xy", "sample_points", 0.6),
    ("label-tree", "hybrid", "singletons", 0.2),
    ("label-tree", "hybrid", "pooling", "mean"),
    ("label-tree", "x", "max_iter", 1),
]


@pytest.mark.parametrize(("base", "groups", "name", "value"), PARAMETERS)
def test_flag_is_parameter(folder, base, groups, name, value):
    X, Y = points()
    args = ("--classifier", base, "--agglomerate", groups, _flags.flag_name(name), str(value))
    run_well("train", "train.txt", "out", *args)
    parts = (BASES[base](), GROUPS[groups] and type(GROUPS[groups])(**GROUPS[groups].get_params()))
    owner = parts[0] if name in parts[0].get_params() else parts[1]
    owner.set_params(**{name: value})
    whole(*parts, random_state=0).fit(X, Y).save(folder / "expected")
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


def test_members_may_share_groups(folder):
    X, Y = points()
    run_well("train", "train.txt", "out", "--n-trees", "2", "--no-per-member")
    model = Agglomerated(LabelTree(2), Hybrid(), per_member=False, random_state=0).fit(X, Y)
    model.save(folder / "expected")
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


def test_every_parameter_is_a_flag():
    said = run_well("train", "--help")
    estimators = (*(kind() for kind in _models.CLASSIFIERS.values()), Defrag(), Agglomerated())
    hidden = {"representation", "verbose", "base", "agglomeration"}
    for name in {name for one in estimators for name in one.get_params(deep=False)} - hidden:
        assert _flags.flag_name(name)[:16] in said, name


@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_model_keeps_names_and_weights(folder, weights):
    names = ("--label-names", "labels.txt", "--vocabulary", "words.txt", "--weights", weights)
    said = json.loads(run_well("train", "train.txt", "out", *names, "--json"))
    model = load(folder / "out")
    assert list(model.label_names_) == [f"label {j}" for j in range(N_LABELS)]
    assert list(model.vocabulary_) == [f"word{j}" for j in range(N_FEATURES)]
    assert said.pop("seconds") > 0
    size = (folder / "out").stat().st_size
    counts = {"points": N_POINTS, "features": N_FEATURES, "labels": N_LABELS}
    assert said == {"model": "out", **counts, "bytes": size}
    described = json.loads(run_well("info", "out", "--json"))
    assert described["weight_type"] == weights
    assert (described["label_names"], described["vocabulary"]) == (True, True)


FORMS = [
    ("train.txt.xz",),
    ("train.npz",),
    ("train.svm", "--one-based"),
    ("X.txt", "--labels", "Y.txt"),
    ("train.txt", "--n-jobs", "2"),
    ("train.txt", "--n-jobs", "1"),
]


@pytest.mark.parametrize("data", FORMS, ids=" ".join)
def test_train_twice_gives_the_same_bytes(folder, data):
    run_well("train", "train.txt", "a", "--n-trees", "2")
    run_well("train", data[0], "b", "--n-trees", "2", *data[1:])
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_failed_training_keeps_the_old_model(folder):
    before = (folder / "model.safetensors").read_bytes()
    assert run("train", "bad.txt", "model.safetensors").exit_code == 2
    assert (folder / "model.safetensors").read_bytes() == before


PREDICTED = [
    ("train.txt",),
    ("train.txt.xz",),
    ("train.npz",),
    ("X.txt",),
    ("train.svm", "--one-based"),
    ("train.txt", "--n-jobs", "2"),
]


@pytest.mark.parametrize("k", [1, 3, 8, 20])
@pytest.mark.parametrize("data", PREDICTED, ids=" ".join)
def test_predict_is_library(folder, data, k, monkeypatch):
    monkeypatch.setattr("defrag.io.blocks.ROWS_AT_A_TIME", 7)
    line = ("predict", "model.safetensors", data[0], "--top-k", str(k), "--output", "out")
    assert run_well(*line, *data[1:]) == ""
    scores = load(folder / "model.safetensors").decision_function(points()[0], top_k=k)
    write_predictions(folder / "expected", scores)
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


def test_predict_for_machines(folder):
    run_well("predict", "model.safetensors", "X.txt", "--output", "ids", "--json")
    run_well("predict", "model.safetensors", "X.txt", "--output", "names", "--json", "--names")
    labels, scores = load(folder / "model.safetensors").predict_topk(points()[0], k=5)
    ids = [json.loads(line) for line in (folder / "ids").read_text().splitlines()]
    named = [json.loads(line) for line in (folder / "names").read_text().splitlines()]
    assert len(ids) == len(named) == N_POINTS
    for row in range(N_POINTS):
        found = labels[row][labels[row] >= 0].tolist()
        assert ids[row]["labels"] == found
        assert named[row]["labels"] == [f"label {j}" for j in found]
        assert np.float32(ids[row]["scores"]).tolist() == scores[row][: len(found)].tolist()
        assert named[row]["scores"] == ids[row]["scores"]


def test_predict_names(folder):
    run_well("predict", "model.safetensors", "X.txt", "--output", "out", "--names", "--top-k", "2")
    labels, scores = load(folder / "model.safetensors").predict_topk(points()[0], k=2)
    lines = (folder / "out").read_text().splitlines()
    assert len(lines) == N_POINTS
    assert lines[0] == "\t".join(
        f"label {label}:{score:.6g}" for label, score in zip(labels[0], scores[0], strict=True)
    )


def test_json_needs_no_right_header(folder):
    run_well("predict", "model.safetensors", "short.txt", "--output", "out", "--json")
    assert len((folder / "out").read_text().splitlines()) == 1


@pytest.mark.parametrize("with_train", [False, True])
@pytest.mark.parametrize("k", ["1,3,5", "2", "5,1"])
@pytest.mark.parametrize("data", [("train.txt",), ("X.txt", "--labels", "Y.txt"), ("train.npz",)])
@pytest.mark.usefixtures("folder")
def test_evaluate_is_library(data, k, with_train):
    Y = points()[1]
    flags = ("--train", "train.txt", "--A", "0.5", "--B", "0.4") if with_train else ()
    said = json.loads(
        run_well("evaluate", data[0], "predictions.txt", *data[1:], *flags, "--k", k, "--json")
    )
    assert ("by_frequency" in said) == with_train
    bins = said.pop("by_frequency", [])
    depths = sorted(int(one) for one in k.split(","))
    seen = {"train_labels": Y, "A": 0.5, "B": 0.4} if with_train else {}
    expected = metrics.evaluate(Y, read_predictions("predictions.txt"), k=depths, **seen)
    assert said == pytest.approx(expected)
    if with_train:
        rare = metrics.macro_precision(Y, read_predictions("predictions.txt"), Y, depths[0])
        assert [one["labels"] for one in bins] == rare.n_labels.tolist()
        found = [one[f"macro_P@{depths[0]}"] for one in bins if one["labels"]]
        assert found == pytest.approx(100 * rare.precision[rare.n_labels > 0])


@pytest.mark.usefixtures("folder")
def test_rare_labels_for_people():
    said = run_well("evaluate", "train.txt", "predictions.txt", "--train", "train.txt")
    assert "labels from frequent to rare" in said
    assert "70-100" in said


@pytest.mark.usefixtures("folder")
def test_train_with_what_comes_before_and_after():
    X, Y = points()
    line = "train train.txt out --classifier parabel --agglomerate none --seed 3 --n-jobs 1"
    flags = "--rerank cosine --gamma 8 --propensity-weight 0.5 --impute blend --beta 0.3"
    run_well(*line.split(), *flags.split(), "--n-clusterings", "2")
    model = load("out")
    assert isinstance(model, Imputed)
    assert isinstance(model.base_, Refrag)
    wanted = Imputed(
        Refrag(
            Parabel(), co_occurrence="cosine", gamma=8.0, propensity_weight=0.5, n_clusterings=2
        ),
        Fiat(beta=0.3, n_clusterings=2),
        random_state=3,
    ).fit(X, Y)
    for a, b in zip(model.predict_topk(X), wanted.predict_topk(X), strict=True):
        np.testing.assert_array_equal(a, b)
    run_well(*line.split(), "--rerank", "identity", "--target", "PSP@1", "--max-loss", "5")
    chosen = load("out")
    assert (chosen.target, chosen.max_loss) == ("PSP@1", 5)
    assert chosen.trade_off_.n_rows == 40


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--gamma 3", "--gamma changes nothing without --rerank"),
        ("--beta 1 --rerank block", "--beta changes nothing without --impute"),
        ("--n-clusterings 2", "--n-clusterings changes nothing without --rerank or --impute"),
        ("--rerank block --gamma x", "must be a number or auto, got 'x'"),
        ("--rerank block --gamma=-1", "gamma of Refrag must be .* or 'auto', got -1.0"),
        ("--impute mean", "'--impute'.*'paper'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_bad_flags_of_rare_labels(flags, message):
    result = run("train", "train.txt", "out", *flags.split())
    assert result.exit_code == 2
    assert re.search(message, result.stderr)


def test_evaluate_reads_svmlight_and_split_train(folder):
    X, Y = points()
    write_svmlight(folder / "few.svm", X, sparse.csr_array(Y[:, :3]), zero_based=False)
    plain = json.loads(run_well("evaluate", "train.txt", "predictions.txt", "--json"))
    said = json.loads(run_well("evaluate", "train.svm", "predictions.txt", "--one-based", "--json"))
    assert said == plain
    # Labels that the file does not come to are labels still.
    run_well("evaluate", "few.svm", "predictions.txt", "--one-based")
    split = ("--train", "X.txt", "--train-labels", "Y.txt")
    assert "PSP@k" in run_well("evaluate", "train.txt", "predictions.txt", *split)


@pytest.mark.usefixtures("folder")
def test_evaluate_for_people():
    said = run_well("evaluate", "train.txt", "predictions.txt")
    for name in ("P@k", "nDCG@k", "R@k", "coverage@k"):
        assert name in said
    assert "PSP" not in said


@pytest.mark.usefixtures("folder")
def test_info_about_models():
    said = json.loads(run_well("info", "model.safetensors", "--json"))
    assert (said["kind"], said["features"], said["labels"]) == ("label_tree", N_FEATURES, N_LABELS)
    assert (said["trees"], said["label_names"], said["vocabulary"]) == (1, True, False)
    assert said["parameters"]["random_state"] == 3
    assert json.loads(run_well("info", "groups.safetensors", "--json"))["kind"] == "defrag"
    run_well("train", "train.txt", "no-ending")
    lines = run_well("info", "no-ending").splitlines()
    pairs = dict(line.split(maxsplit=1) for line in lines)
    assert pairs["kind"] == "agglomerated"
    assert (pairs["base"], pairs["agglomeration"]) == ("label_tree", "hybrid")
    assert (pairs["base.arity"], pairs["agglomeration.singletons"]) == ("16", "0.5")


def read_blocks(text, folder, **options):
    (folder / "blocks.txt").write_bytes(text)
    with open_input(folder / "blocks.txt") as stream:
        rows = blocks.RowBlocks(stream, **options)
        return rows, sparse.vstack(list(rows), format="csr")


@pytest.mark.parametrize("size", [1, 7, 40, 1 << 20])
@pytest.mark.parametrize("kind", ["combined", "features", "comments"])
def test_blocks_are_the_file(folder, size, kind, monkeypatch):
    monkeypatch.setattr("defrag.io.files.BLOCK_BYTES", size)
    X, Y = points()
    write_xmc(folder / "a", X, Y) if kind != "features" else write_features(folder / "a", X)
    text = (folder / "a").read_bytes()
    if kind == "comments":
        text = b"# first\n#second\n" + text.replace(b"\n", b" # note\n", 3)
    rows, found = read_blocks(text + b"\n\n", folder)
    assert (rows.n_rows, rows.n_features) == X.shape
    assert (found != X).nnz == 0


@pytest.mark.parametrize("size", [1, 9, 1 << 20])
def test_blocks_name_the_line(folder, size, monkeypatch):
    monkeypatch.setattr("defrag.io.files.BLOCK_BYTES", size)
    text = b"#\n4 3 2\n0 0:1\n# a note\n1 1:1\n0 2:1 2:1\n"
    with pytest.warns(match=r"blocks.txt:6: 1 features stand twice"):
        read_blocks(text, folder)
    with pytest.raises(ValueError, match=r"blocks.txt:6: 1 features stand twice"):
        read_blocks(text, folder, strict=True)
    with pytest.raises(ValueError, match=r"blocks.txt:7: feature index 3"):
        read_blocks(text + b"0 3:1\n", folder)
    with pytest.raises(ValueError, match=r"blocks.txt:2: "):
        read_blocks(text.replace(b"4 3 2", b"4 x 2"), folder)


def test_estimate_grows_with_the_work():
    X, Y = points()
    one = _estimate.estimate(LabelTree(), X, Y)
    three = _estimate.estimate(LabelTree(3), X, Y)
    pooled = _estimate.estimate(Agglomerated(LabelTree(3), Hybrid()), X, Y)
    assert one.seconds < three.seconds < pooled.seconds
    assert one.bytes < three.bytes
    flat = _estimate.estimate(DiSMEC(), X, Y)
    many = sparse.hstack([Y] * 100, format="csr")
    assert _estimate.estimate(DiSMEC(), X, many).seconds == pytest.approx(50 * flat.seconds)
    assert _estimate.estimate(DiSMEC(), X, many).bytes > flat.bytes
    assert _estimate.estimate(Agglomerated(DiSMEC()), X, Y).seconds > flat.seconds
    assert _estimate.estimate(LabelTree(n_jobs=2), X, Y).seconds == one.seconds / 2


@pytest.mark.parametrize(
    ("seconds", "size", "said"),
    [
        (0.1, 10, "about 1 s, 1 MB"),
        (3.2, 120e6, "about 3 s, 120 MB"),
        (600, 2.3e9, "about 10 min, 2.3 GB"),
        (9000, 1e9, "about 2.5 h, 1.0 GB"),
    ],
)
def test_estimate_in_words(seconds, size, said):
    assert _estimate.Estimate(seconds, size).shown() == said


def test_quick_demo_compares_classifiers():
    said = json.loads(run_well("demo", "--quick", "--n-trees", "1", "--json"))
    assert [row["method"] for row in said["methods"]] == [
        "DEFRAG-X", "DEFRAG-XY", "DEFRAG-N", "Hybrid",
    ]  # fmt: skip
    rows = {row["method"]: row for row in said["classifiers"]}
    assert list(rows) == [
        "Parabel, all words", "LabelTree, all words", "LabelTree, DEFRAG-X",
        "LabelTree, DEFRAG-XY", "LabelTree, Hybrid",
    ]  # fmt: skip
    for row in rows.values():
        assert row["P@1"] > 50
        assert row["PSP@5"] > 10
        assert row["bytes"] > 1e6
    assert len(said["examples"]) == 10
    for example in said["examples"]:
        assert len(example["predicted"]) == len(example["right"]) == 5
        assert all(isinstance(name, str) for name in example["predicted"] + example["words"])


def test_demo_marks_right_and_wrong(monkeypatch):
    split = Split(*points())
    names = np.array([f"[label{j}]" for j in range(N_LABELS)], dtype=object)
    words = np.array([f"word{j}" for j in range(N_FEATURES)], dtype=object)
    tiny = Dataset("tiny", split, split, names, words, "Forty points.")
    monkeypatch.setattr("defrag.cli.demo.load_dataset", lambda _: tiny)
    said = run_well("demo", "--max-cluster-size", "4")
    assert said == re.sub(r"\x1b\[", "", said)
    for part in ("LMI", "LabelTree, Hybrid", "+[label0]", "-[label", "word", "+ right, - wrong"):
        assert part in said
    assert run_well("demo", "--seed", "1", "--json") != run_well("demo", "--seed", "2", "--json")


@pytest.mark.parametrize("verb", ["train", "predict", "evaluate"])
def test_help_shows_examples(verb):
    said = run_well(verb, "--help")
    assert "Examples:" in said
    assert f"defrag {verb}" in said.partition("Examples:")[2]
