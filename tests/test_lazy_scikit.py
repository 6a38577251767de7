"""Load, fit and predict do without scikit-learn; once it is imported, all is as if it had been."""

import numpy as np
import pytest

from defrag import LabelTree, TextClassifier, registry
from tests.data import make_data
from tests.helpers.processes import run_python

PREDICT = """
import copy, sys
import numpy as np, scipy.sparse
from defrag import Focused, load

model, text = load(sys.argv[1]), load(sys.argv[2]).set_params(n_jobs=2)
X = scipy.sparse.random_array((3, model.n_features_in_), density=0.5, rng=0, format="csr")
model.predict_topk(X), model.predict_topk(X.toarray()), model.explain(X[[0]])
copy.copy(text).predict_topk(["red apple", "green"]), text.explain("red apple")
Focused().fit(X, np.eye(3)), Focused().fit(X.toarray(), scipy.sparse.eye_array(3, format="csr"))
heavy = {"sklearn", "typer", "click", "rich", "pandas", "scipy.special"} & set(sys.modules)
assert not heavy, heavy
classes = load(sys.argv[3])
assert classes.score(np.eye(4), ["a", "b", "a", "b"]) == 1.0
"""

LOOK = """
import inspect, json, sys
if sys.argv[1] == "first":
    import sklearn.base
from defrag import load, registry
from defrag._scikit import _OF_SCIKIT, clone

classes = [entry.estimator() for entry in registry.entries()]
assert ("sklearn" in sys.modules) == (sys.argv[1] == "first")
early = {one: set(dir(one)) for one in classes}
class Mine(classes[0]):
    "A class of a user."

    def transform(self, X): return X
own = Mine()
if sys.argv[1] == "import":
    import sklearn.base
elif sys.argv[1] == "ask":
    params = [one().get_params() for one in classes]
    unfitted = classes[0](beam_size=3, random_state=7)
    assert repr(vars(clone(unfitted))) == repr(vars(unfitted))
    assert "sklearn" not in sys.modules
    repr(own)
    assert repr(params) == repr([one().get_params() for one in classes])
else:
    dir(own)
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
added = {name for one in classes for name in set(dir(one)) - early[one] if name[:2] != "__"}
assert all(map(_OF_SCIKIT.match, added)), sorted(added)
assert isinstance(own, BaseEstimator) and is_classifier(clone(own))
for one in [*classes, Mine]:
    methods = {name: str(inspect.signature(getattr(one, name)))
               for name in dir(one) if inspect.isroutine(getattr(one, name)) and name[0] != "_"}
    print(one.__name__, [base.__name__ for base in one.__mro__], sorted(vars(one)), methods,
          one.__doc__, repr(one()), get_tags(one()), sorted(dir(one())), sep="\\n")
"""


def test_loading_and_predicting_import_no_scikit_learn_and_no_command_line_library(tmp_path):
    X, Y = make_data()
    LabelTree(random_state=0).fit(X, Y).save(tmp_path / "rows")
    texts = ["red apple", "green apple", "red car", "green car"]
    labels = [["fruit"], ["fruit", "green"], ["car"], ["car", "green"]]
    TextClassifier(random_state=0).fit(texts, labels).save(tmp_path / "texts")
    LabelTree(random_state=0).fit(np.eye(4), np.array(["a", "b"] * 2)).save(tmp_path / "classes")
    run_python("-c", PREDICT, tmp_path / "rows", tmp_path / "texts", tmp_path / "classes")


@pytest.fixture(scope="module")
def seen_first():
    return run_python("-c", LOOK, "first")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["import", "ask", "look"])
def test_classes_made_before_scikit_learn_is_imported_are_those_made_after(how, seen_first):
    assert run_python("-c", LOOK, how) == seen_first
    assert len(seen_first.splitlines()) > 8 * len(registry.entries())


def test_unfitted_model_and_missing_attribute_have_the_errors_of_scikit_learn():
    code = (
        "from defrag import LabelTree\n"
        "for call in ('model.predict([[0.0]])', 'model.nothing', 'model.nothing_', "
        "'model.set_params(nothing=1)', 'model.score([[0]], [1])'):\n"
        "    try: model = LabelTree(); {'p': 1}; eval(call)\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    found = run_python("-c", code)
    assert found == run_python("-c", "import sklearn.base\n" + code)
    assert len(found.splitlines()) == 5
