"""An estimator is added by one registration, and is gone when that ends."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from defrag import load, registry
from defrag.exceptions import ModelFormatError
from defrag.io import write_xmc
from defrag.registry import registered
from tests.contract.checks import checks_of
from tests.contract.subject import Subject, small_data
from tests.contract.test_contract import declared
from tests.contract.toy import TOY, MeanPoint
from tests.data import read_predictions
from tests.helpers.processes import run_python


@pytest.fixture
def subject():
    with registered(TOY):
        yield Subject(TOY)
    assert TOY not in registry.entries()


@pytest.mark.parametrize("check", checks_of(Subject(TOY)), ids=lambda check: check.__name__)
def test_contract(subject, check, tmp_path):
    check(subject, tmp_path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(subject):
    model = subject.new()
    check_estimator(model, expected_failed_checks=declared(model))


@pytest.mark.slow
def test_new_estimator_is_a_word_of_the_command_line(tmp_path):
    X, Y = small_data()
    write_xmc(tmp_path / "train.txt", X, Y)
    data, model, ranked = (tmp_path / name for name in ("train.txt", "model", "ranked.txt"))
    command = ("-m", "tests.contract.toy")
    flags = ("--classifier", "mean-point", "--shift=-0.25", "--agglomerate", "none")
    assert "64 points, 31 features, 14 labels" in run_python(*command, "train", data, model, *flags)
    run_python(*command, "predict", model, data, "--output", ranked, "--top-k", "3")
    assert '"mean_point"' in run_python(*command, "info", model, "--json")
    with registered(TOY):
        loaded = load(model)
    assert type(loaded) is MeanPoint
    assert loaded.shift == -0.25
    scores = loaded.decision_function(X, k=3)
    np.testing.assert_allclose(
        read_predictions(ranked).toarray(), scores.toarray(), rtol=1e-5, atol=1e-6
    )


def test_registration_ends_with_the_block(tmp_path):
    with registered(TOY):
        model = Subject(TOY).fitted()
        model.save(tmp_path / "model")
        with pytest.raises(ValueError, match=r"^MeanPoint \(mean-point\) is already registered$"):
            registered(TOY).__enter__()
    with pytest.raises(KeyError, match="mean-point"):
        registry.find("mean-point")
    with pytest.raises(ModelFormatError, match="mean_point"):
        load(tmp_path / "model")
    with pytest.raises(TypeError, match="MeanPoint"):
        model.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()
