"""TextClassifier as a classifier of scikit-learn: forms of labels, tools, and its own checks."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_array, validate_data

from defrag import TextClassifier, TextVectorizer, load
from defrag.metrics.scorers import label_lists
from tests.text.data import TOPICS, make_texts

TEXTS, LISTS = make_texts(96)
NAMES = np.array([row[0] for row in LISTS])
CODES = np.unique(NAMES, return_inverse=True)[1]


def model(**parameters):
    return TextClassifier(random_state=0, n_jobs=1, **parameters)


CLASSES = {
    "str": NAMES,
    "list of str": NAMES.tolist(),
    "objects": NAMES.astype(object),
    "int64": CODES * 3 - 2,
    "int8": CODES.astype(np.int8),
    "float": CODES * 2.0,
    "bool": CODES > 1,
}
DENSE = MultiLabelBinarizer().fit_transform(LISTS)
MATRICES = {
    "dense": DENSE,
    "sparse": sparse.csr_matrix(DENSE),
    "array": sparse.csr_array(DENSE),
    "rows": DENSE.tolist(),
}
NUMBERED = [[sorted(TOPICS).index(name) * 5 - 4 for name in row] for row in LISTS]
MANY = {"names": LISTS, "arrays": label_lists(LISTS), "numbers": NUMBERED, **MATRICES}


@pytest.mark.parametrize("form", CLASSES)
def test_one_label_per_text_is_multi_class(form, tmp_path):
    y = CLASSES[form]
    fitted = model().fit(TEXTS, y)
    found = fitted.predict(TEXTS)
    assert found.shape == (96,)
    assert found.dtype == fitted.classes_.dtype == np.asarray(y).dtype
    assert fitted.classes_.tolist() == sorted(set(np.asarray(y).tolist()))
    assert fitted.score(TEXTS, y) == np.mean(found == np.asarray(y)) > 0.5
    chances = fitted.predict_proba(TEXTS)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-5)
    assert (fitted.classes_[chances.argmax(axis=1)] == found).all()
    decisions = fitted.decision_function(TEXTS)
    assert decisions.shape == ((96,) if form == "bool" else (96, 4))
    fitted.save(tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):  # noqa: S301
        assert again.classes_.dtype == fitted.classes_.dtype
        np.testing.assert_array_equal(again.predict(TEXTS), found)
        np.testing.assert_array_equal(again.predict_proba(TEXTS), chances)
        assert again.predict_topk(TEXTS, 1)[0].ravel().tolist() == found.tolist()


def test_a_text_of_unknown_words_has_a_class():
    fitted = model().fit(TEXTS, NAMES)
    assert fitted.predict(["xyzzy", ""]).tolist()[0] in TOPICS
    np.testing.assert_allclose(fitted.predict_proba(["xyzzy"]).sum(), 1.0, rtol=1e-6)
    assert fitted.predict_topk(["xyzzy"], 1)[0].tolist() == [[""]]


@pytest.mark.parametrize("form", MANY)
def test_answers_have_the_form_of_the_labels(form, tmp_path):
    Y = MANY[form]
    fitted = model().fit(TEXTS, Y)
    found = fitted.predict(TEXTS)
    reference = model().fit(TEXTS, LISTS)
    wanted = MultiLabelBinarizer(classes=sorted(TOPICS)).fit_transform(reference.predict(TEXTS))
    if form in {"names", "arrays", "numbers"}:
        assert type(found) is list
        kinds = {type(label) for row in found for label in row}
        assert kinds == ({int} if form == "numbers" else {str})
        assert len(set(map(len, found))) > 1
        got = MultiLabelBinarizer(classes=fitted.classes_.tolist()).fit_transform(found)
    else:
        assert sparse.issparse(found) == sparse.issparse(Y)
        got = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(got, wanted)
    assert fitted.score(TEXTS, Y) == reference.score(TEXTS, LISTS) > 0.9
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.classes_.tolist() == fitted.classes_.tolist()
    assert type(again.predict(TEXTS)) is type(found)
    assert again.explain(TEXTS[0]).label == fitted.explain(TEXTS[0]).label
    with pytest.raises(AttributeError, match=r"call calibrate with them or set calibration=0\.2$"):
        _ = again.predict_proba
    chances = again.calibrate(TEXTS, Y).predict_proba(TEXTS)
    assert chances.shape == (96, 4)


def test_columns_of_a_data_frame_are_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DENSE, columns=sorted(TOPICS)).iloc[:, ::-1]
    fitted = model().fit(TEXTS, frame)
    assert fitted.predict_topk(TEXTS, 2)[0].tolist() == (
        model().fit(TEXTS, LISTS).predict_topk(TEXTS, 2)[0].tolist()
    )
    np.testing.assert_array_equal(fitted.predict(TEXTS).shape, (96, 4))
    assert fitted.score(TEXTS, frame) == fitted.score(TEXTS, LISTS) > 0.9
    series = pandas.Series(NAMES, index=np.arange(96)[::-1])
    assert (model().fit(pandas.Series(TEXTS), series).predict(TEXTS) == NAMES).mean() > 0.5


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "requires y to be passed"),
        (["a", None] * 48, "got None in row 1"),
        (np.array(["a", np.nan] * 48, dtype=object), "got nan in row 1"),
        (np.full((96, 3), 2), "Y must contain only 0 and 1, got 2"),
        ([["a", 3]] * 96, "labels of text 0 must be strings that are not empty, got 3"),
        (NAMES[:5], "inconsistent numbers of samples: 96 texts, 5"),
    ],
)
def test_what_is_no_label_is_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        model().fit(TEXTS, labels)


def test_threshold_is_for_several_labels():
    with pytest.raises(ValueError, match="threshold cannot be used with classes"):
        model().fit(TEXTS, NAMES).predict(TEXTS, threshold=0.5)


def test_parameters_of_default_parts_can_be_set():
    one = model()
    assert one.get_params()["base__base__C"] == 1.0
    one.set_params(base__base__C=2.0, vectorizer__ngrams=1)
    assert (one.base.base.C, one.vectorizer.ngrams) == (2.0, 1)
    assert clone(one).get_params()["base__base__C"] == 2.0
    assert model().get_params(deep=False)["base"] is None
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        model().set_params(base__nothing=1)
    grid = {"base__base__C": [0.5, 1.0], "vectorizer__ngrams": [1, 2]}
    search = GridSearchCV(model(), grid, cv=2, error_score="raise").fit(TEXTS, NAMES)
    assert set(search.best_params_) == set(grid)


def test_calibration_survives_clone_and_model_selection():
    one = clone(model(calibration=0.25))
    fitted = one.fit(TEXTS, DENSE)
    chances = fitted.predict_proba(TEXTS)
    assert chances.shape == (96, 4)
    assert 0 <= chances.min() < chances.max() <= 1
    plain = model().fit(TEXTS, DENSE)
    np.testing.assert_array_equal(fitted.predict_topk(TEXTS)[1], plain.predict_topk(TEXTS)[1])
    again = clone(one).fit(TEXTS, DENSE)
    np.testing.assert_array_equal(again.predict_proba(TEXTS), chances)
    found = cross_validate(one, TEXTS, NAMES, cv=2, scoring="neg_log_loss", error_score="raise")
    assert (found["test_score"] > -1.5).all()
    with pytest.raises(ValueError, match=r"calibration=0\.5 leaves no labelled text"):
        model(calibration=0.5).fit(["same words"] * 2, [["x"], []])


def test_scikit_learn_tools_take_texts():
    scoring = ["accuracy", "f1_micro", "neg_log_loss"]
    found = cross_validate(model(), TEXTS, NAMES, cv=3, scoring=scoring, error_score="raise")
    assert found["test_accuracy"].tolist() == found["test_f1_micro"].tolist()
    assert found["test_accuracy"].mean() > 0.5
    assert np.isfinite(found["test_neg_log_loss"]).all()
    other = make_pipeline(TfidfVectorizer(), LogisticRegression())
    members = [("ours", model()), ("theirs", other)]
    for ensemble in (
        CalibratedClassifierCV(model(), cv=2),
        VotingClassifier(members, voting="soft"),
        StackingClassifier(members, cv=2),
    ):
        fitted = ensemble.fit(TEXTS, NAMES)
        assert fitted.score(TEXTS, NAMES) > 0.5
        np.testing.assert_allclose(fitted.predict_proba(TEXTS).sum(axis=1), 1.0, rtol=1e-5)
    dense = cross_val_score(model(), TEXTS, DENSE, cv=3, scoring="f1_micro")
    assert dense.mean() > 0.7
    for y, cv in ((label_lists(LISTS), 3), (LISTS, KFold(3))):
        assert cross_val_score(model(), TEXTS, y, cv=cv).mean() > 0.8


@pytest.mark.parametrize("y", [NAMES, LISTS, DENSE], ids=["classes", "lists", "matrix"])
def test_answers_do_not_depend_on_the_order_of_texts(y):
    fitted = model().fit(TEXTS, y)
    order = np.random.default_rng(0).permutation(96)
    shuffled = fitted.predict([TEXTS[i] for i in order])
    wanted = fitted.predict(TEXTS)
    assert list(map(str, shuffled)) == [str(wanted[i]) for i in order]
    for form in (tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)):
        assert str(fitted.predict(form)) == str(wanted)
    again = clone(fitted).fit(np.array(TEXTS), y)
    np.testing.assert_array_equal(again.predict_topk(TEXTS)[1], fitted.predict_topk(TEXTS)[1])
    before = pickle.dumps(fitted.__dict__)
    fitted.predict(TEXTS)
    fitted.decision_function(TEXTS)
    assert pickle.dumps(fitted.__dict__) == before


# --- scikit-learn's own checks, which have matrices: each value becomes words.


class OfRows(TextClassifier):
    """The classifier of texts that name the values of a row, coarsely."""

    def fit(self, X, y, **more):
        rows = check_array(X, accept_sparse="csr", estimator=self)
        super().fit(words(rows), y, **more)
        validate_data(self, X, accept_sparse="csr")  # sets the number of features
        return self

    def score(self, X, y, sample_weight=None):
        return super().score(X, y, sample_weight)

    def _unfitted_vectorizer(self, *_):
        return TextVectorizer(min_df=1, n_jobs=self.n_jobs), ""

    def _points(self, texts):
        return super()._points(words(validate_data(self, texts, accept_sparse="csr", reset=False)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = False
        tags.input_tags.two_d_array = tags.input_tags.sparse = True
        return tags


def words(X):
    rows = X.toarray() if sparse.issparse(X) else X
    steps = np.clip(np.round(rows * 2), -50, 50).astype(int) + 50
    return [" ".join(f"f{j}w{v + d}" for j, v in enumerate(row) for d in (-1, 0, 1))
            for row in steps]  # fmt: skip


@parametrize_with_checks([OfRows(random_state=0, n_jobs=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
