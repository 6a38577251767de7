"""Settings of Annif's projects become classifiers."""

from types import SimpleNamespace

import pytest

from defrag import Focused
from defrag.annif.settings import build_classifier, tried_settings, unknown_settings
from defrag.baselines import Parabel


def test_settings_reach_their_parts():
    section = {
        "name": "A project", "language": "fi", "backend": "defrag", "vocab": "ykl", "limit": "100",
        "classifier": "parabel", "n_trees": "2", "C": "0.5", "characters": "3,5",
        "max_features": "none", "min_df": "1", "random_state": "7",
    }  # fmt: skip
    model = build_classifier(section, n_jobs=3)
    assert (model.random_state, model.n_jobs) == (7, 3)
    assert isinstance(model.base, Focused)
    assert isinstance(model.base.base, Parabel)
    assert (model.base.base.n_trees, model.base.base.C) == (2, 0.5)
    vectorizer = model.vectorizer
    assert (vectorizer.characters, vectorizer.ngrams, vectorizer.min_df) == ((3, 5), 1, 1)
    assert unknown_settings(section) == []
    assert isinstance(build_classifier({**section, "focus": "no"}, n_jobs=1).base, Parabel)


def test_defaults_equal_defrag_train():
    model = build_classifier({}, n_jobs=1)
    assert model.base is None
    assert (model.vectorizer, model.features) == (None, "auto")
    assert model.random_state == 0


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"classifier": "omikuji"}, "no classifier is called 'omikuji': use one of label-tree, "),
        ({"n_trees": "many"}, "n_trees of LabelTree must be an int >= 1, got 'many'"),
        ({"characters": "0"}, "characters of TextVectorizer must be"),
    ],
)
def test_wrong_settings_are_refused(section, message):
    with pytest.raises(ValueError, match=message):
        build_classifier(section, n_jobs=1)


def test_unknown_settings_are_named():
    section = {"n_tree": "3", "analyzer": "simple", "max_depth": "2", "answers": "true"}
    assert unknown_settings({**section, "names": "no"}) == ["max_depth", "n_tree"]


def test_language_chooses_features_unless_settings_do():
    for language in ("fi", "de-AT"):
        assert build_classifier({"language": language}, n_jobs=1).vectorizer.characters == 5
    for language in ("en", "fr"):  # a trial decides
        assert build_classifier({"language": language}, n_jobs=1).vectorizer is None
    assert build_classifier({"language": "fi"}, n_jobs=1).base.base.n_trees == 3
    assert build_classifier({"language": "fi", "n_trees": "2"}, n_jobs=1).base.base.n_trees == 2
    stems = {"language": "fi", "analyzer": "snowball(finnish)"}
    assert build_classifier(stems, n_jobs=1).vectorizer is None  # a trial decides
    given = build_classifier({"language": "fi", "min_df": "3"}, n_jobs=1).vectorizer
    assert (given.characters, given.ngrams) == (None, 2)


def test_settings_that_can_be_tried_are_those_of_the_classifier():
    largest = SimpleNamespace(  # suggests the last of all, as Optuna's trials suggest any
        suggest_categorical=lambda _, choices: choices[-1],
        suggest_int=lambda *given: given[-1],
        suggest_float=lambda *given, **_: given[-1],
    )

    def tried(**section):
        return tried_settings(largest, section)

    assert tried() == {"characters": "5", "n_trees": "3", "C": "3.0"}
    assert tried(classifier="dismec") == {"characters": "5", "C": "3.0"}
    assert tried(classifier="craftml") == {"characters": "5", "n_trees": "3"}
    assert build_classifier(tried(), n_jobs=1).base.base.C == 3
