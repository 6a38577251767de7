"""Annif's interface: what its clients call, and what they may not ask for."""

from datetime import datetime, timezone

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from defrag import LabelTree, TextClassifier, Thesaurus
from defrag.serving import Limits, ServedModel, make_app
from defrag.serving.subjects import Subjects, read_subjects
from tests.serving.client import Client

TEXTS = ["sparse matrix", "dense matrix", "quick sorting", "merge sorting files", "copy files"]
LABELS = [["ex:algebra"], ["ex:algebra"], ["ex:sort"], ["ex:sort", "ex:files"], ["ex:files"]]
TEXT = "sorting large files"
TRAINED = datetime(2026, 5, 4, 3, 2, 1, tzinfo=timezone.utc)

TOPICS = "/v1/projects/topics"
SUGGEST, BATCH = f"{TOPICS}/suggest", f"{TOPICS}/suggest-batch"


@pytest.fixture(scope="module")
def model():
    return TextClassifier(LabelTree(), random_state=0).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def ask(model, rows, tmp_path_factory):
    """Return a function that sends a request; the vocabulary lacks what TEXT gets first."""
    path = tmp_path_factory.mktemp("vocabulary") / "topics.tsv"
    known = [uri for uri in ("ex:algebra", "ex:sort", "ex:files") if uri != best(model)]
    path.write_text(
        "".join(f"<{uri}>\tname of {uri}\t{number}\n" for number, uri in enumerate(known))
    )
    served = [ServedModel("topics", model, modified=TRAINED), ServedModel("rows", rows)]
    limits = Limits(max_body=5000, max_batch=3)
    return client_of(*served, limits=limits, subjects=read_subjects(str(path), "en"))


def client_of(*served, **options):
    """Return a function that sends a request to some models."""
    return Client(make_app(served, **options)).request


def best(model):
    return model.predict_topk([TEXT], k=1)[0][0, 0]


def test_projects_are_models_of_texts(ask):
    vocabulary = {"vocab_id": "topics", "languages": ["en"], "size": 2, "loaded": True}
    project = {
        "project_id": "topics",
        "name": "topics",
        "language": "en",
        "backend": {"backend_id": "defrag"},
        "vocab": vocabulary,
        "vocab_language": "en",
        "is_trained": True,
        "modification_time": "2026-05-04T03:02:01+00:00",
    }
    assert ask("GET", "/v1/projects").json() == {"projects": [project]}
    assert ask("GET", TOPICS).json() == project
    assert ask("GET", "/v1/vocabs").json() == {"vocabs": [vocabulary]}
    assert set(ask("GET", "/v1/").json()) == {"title", "version"}


def test_suggest_returns_subjects_of_vocabulary(ask, model):
    names, scores = model.predict_topk([TEXT], k=3)
    known = [(uri, score) for uri, score in zip(names[0], scores[0].tolist(), strict=True)][1:]
    for limit in (1, 2, 10, 2**31 - 1):
        form = {"text": TEXT, "limit": str(limit), "metadata_title": "x", "project": "y"}
        found = ask("POST", SUGGEST, data=form).json()["results"]
        assert [(one["uri"], one["label"]) for one in found] == [
            (uri, f"name of {uri}") for uri, _ in known[:limit]
        ]
        assert [one["score"] for one in found] == pytest.approx(
            [score for _, score in known[:limit]]
        )
        assert {one["notation"] for one in found} <= {"0", "1"}
    above = {"text": TEXT, "threshold": str(known[0][1]), "language": "en"}
    assert len(ask("POST", SUGGEST, data=above).json()["results"]) == 1
    nothing = {"text": TEXT, "limit": "0"}
    assert ask("POST", SUGGEST, data=nothing).json() == {"results": []}
    assert ask("POST", SUGGEST, data={"text": ""}).json() == {"results": []}


def test_batch_keeps_document_ids(ask):
    documents = [{"text": TEXT, "document_id": "a"}, {"text": "unheard", "metadata": {"x": "y"}}]
    found = ask("POST", f"{BATCH}?limit=1", json={"documents": documents}).json()
    one = ask("POST", SUGGEST, data={"text": TEXT, "limit": 1}).json()
    assert found == [{**one, "document_id": "a"}, {"results": [], "document_id": None}]
    assert ask("POST", BATCH, json={"documents": []}).json() == []


def test_own_routes_name_known_labels_and_keep_others(ask, model):
    names, scores = model.predict_topk([TEXT], k=3)
    found = ask("POST", "/v1/suggest", json={"text": TEXT, "k": 3}).json()["labels"]
    assert [one["label"] for one in found] == names[0].tolist()
    assert [one["score"] for one in found] == pytest.approx(scores[0].tolist())
    wanted = [None, *(f"name of {uri}" for uri in names[0].tolist()[1:])]
    assert [one.get("name") for one in found] == wanted
    why = ask("POST", "/v1/explain", json={"text": TEXT, "k": 3}).json()["explanations"]
    assert [one.get("name") for one in why] == wanted
    rows = ask("POST", "/v1/suggest", json={"row": {"f1": 1.0}, "model": "rows"}).json()["labels"]
    assert rows
    assert all(set(one) == {"label", "score"} for one in rows)


def test_labels_are_subjects_without_vocabulary(model):
    ask = client_of(ServedModel("topics", model))
    form = {"text": TEXT, "limit": "1", "language": "any"}
    found = ask("POST", SUGGEST, data=form).json()["results"][0]
    assert found["uri"] == found["label"] == best(model)
    assert found["notation"] is None
    project = ask("GET", TOPICS).json()
    assert (project["language"], project["vocab"]) == ("und", None)
    assert project["modification_time"] is None
    assert ask("GET", "/v1/vocabs").json() == {"vocabs": []}


FORMS = [
    ({"limit": "1"}, "must have a text"),
    ({"text": "a", "limit": "-1"}, "limit must be"),
    ({"text": "a", "limit": "1" * 11}, "limit must be"),
    ({"text": "a", "limit": "0" * 4500}, "limit must be"),
    ({"text": "a", "limit": "x"}, "limit must be"),
    ({"text": "a", "threshold": "2"}, "between 0 and 1"),
    ({"text": "a", "threshold": "nan"}, "between 0 and 1"),
    ({"text": "a", "language": "fi"}, "language 'fi' not"),
]
DOCUMENTS = [
    ({}, "documents: Expected `array`, got `object`"),
    ([{"text": "a"}] * 4, "at most 3 documents"),
    (["a"], "documents[0]: Expected `object`, got `str`: 'a'"),
    ([{"text": "a", "document_id": 3}], "documents[0].document_id: Expected"),
    (
        [{"text": "a", "metadata": {"x": 1}}],
        "documents[0].metadata[...]: Expected `str`, got `int`",
    ),
]
SURROGATE = {
    "content": b'{"documents": [{"text": "\\ud800"}]}',
    "headers": {"content-type": "application/json"},
}
REFUSED = [
    *((400, SUGGEST, {"data": form}, message) for form, message in FORMS),
    *((400, BATCH, {"json": {"documents": some}}, message) for some, message in DOCUMENTS),
    (404, "/v1/projects/other/suggest", {"data": {"text": "a"}}, "'other' not"),
    (404, "/v1/projects/rows/suggest", {"data": {"text": "a"}}, "'rows' not"),
    (415, SUGGEST, {"json": {"text": "a"}}, "must be application/x-www-form-urlencoded"),
    (400, SUGGEST, {"content": b"text=%ff"}, "not a UTF-8 form"),
    (400, SUGGEST, {"content": b"text=\xff"}, "not a UTF-8 form"),
    (400, SUGGEST, {"content": b"a=b&" * 1200}, "not a UTF-8 form"),
    (413, SUGGEST, {"data": {"text": "a" * 6000}}, "at most 5000 bytes"),
    (400, BATCH, {"json": []}, "Expected `object`, got `array`"),
    (400, BATCH, SURROGATE, "not JSON"),
    (403, f"{TOPICS}/learn", {"json": []}, "'topics' does not learn"),
]


@pytest.mark.parametrize(("status", "path", "options", "message"), REFUSED)
def test_refusal_is_problem_details(ask, status, path, options, message):
    answer = ask("POST", path, **options)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail"}
    assert problem["status"] == status
    assert message in problem["detail"]


WORDS, FINITE = st.text(max_size=8), st.floats(allow_nan=False, allow_infinity=False)
FIELDS = st.sampled_from(["text", "limit", "threshold", "language", "metadata_x", "y"])
NUMBERS = st.one_of(st.integers().map(str), st.floats().map(str), WORDS)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), FINITE, WORDS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["documents", "text", "document_id"]) | WORDS, inner),
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(form=st.dictionaries(FIELDS, NUMBERS), body=JSON, query=st.dictionaries(FIELDS, NUMBERS))
def test_any_request_gets_documented_answer(ask, form, body, query):
    encodable = all(value.isprintable() for value in (*form.values(), *query.values()))
    assume(encodable)
    for path, options in ((SUGGEST, {"data": form}), (BATCH, {"json": body, "params": query})):
        answer = ask("POST", path, **options)
        assert answer.status_code in {200, 400, 415}, answer.text
        if answer.status_code != 200:
            assert answer.json()["status"] == answer.status_code
        elif path == SUGGEST:
            assert list(answer.json()) == ["results"]
        else:
            assert all(set(one) == {"results", "document_id"} for one in answer.json())


def test_token_is_required(model):
    ask = client_of(ServedModel("topics", model), token="secret")  # noqa: S106 - of this test
    assert ask("GET", "/v1/projects").status_code == 401
    assert ask("POST", SUGGEST, data={"text": "a"}).status_code == 401
    headers = {"authorization": "Bearer secret"}
    assert ask("POST", SUGGEST, data={"text": "a"}, headers=headers).status_code == 200


def test_names_in_the_model_are_shown_and_found():
    named = Thesaurus.of([
        {"id": "ex:sort", "name": {"en": "Sorting", "de": "Sortieren"}, "notation": ["7", "8"]},
        {"id": "ex:algebra", "name": {"en": "Algebra"}, "type": "field"},
        {"id": "ex:new", "name": {"en": "New sort"}},
    ])  # fmt: skip
    model = TextClassifier(LabelTree(), random_state=0).fit(TEXTS, LABELS, thesaurus=named)
    ask = client_of(ServedModel("topics", model, deny=["type=field"]))
    found = ask("POST", "/v1/suggest", json={"text": TEXT, "language": "de"}).json()["labels"]
    assert {one["label"]: one.get("name") for one in found} == {
        "ex:sort": "Sortieren", "ex:files": None,
    }  # fmt: skip
    why = ask("POST", "/v1/explain", json={"text": TEXT, "k": 3}).json()["explanations"]
    assert [one["label"] for one in why] == [one["label"] for one in found]
    assert {one.get("name") for one in why} == {"Sorting", None}
    form = {"text": TEXT, "limit": "3", "language": "de"}
    subjects = ask("POST", SUGGEST, data=form).json()["results"]
    assert {(one["uri"], one["label"], one["notation"]) for one in subjects} == {
        ("ex:sort", "Sortieren", "7"), ("ex:files", "ex:files", None),
    }  # fmt: skip
    project = ask("GET", TOPICS).json()
    assert (project["language"], project["vocab"]["languages"]) == ("en", ["de", "en"])
    labels = ask("POST", "/v1/labels", json={"words": "sort", "k": 1}).json()["labels"]
    match = {"label": "ex:sort", "name": "Sorting", "matched": "Sorting", "exact": True}
    assert labels == [match]
    (alike,) = ask("POST", "/v1/labels", json={"words": "sortimg", "k": 1}).json()["labels"]
    assert alike == {**match, "exact": False}
    assert ask("POST", "/v1/labels", json={"words": "x" * 201}).status_code == 422


def test_search_is_of_the_given_names_or_else_of_labels(model, rows):
    ask = client_of(ServedModel("r", rows))
    assert ask("POST", "/v1/labels", json={"words": "sort"}).json() == {
        "error": "the labels of model 'r' have no names"
    }
    plain = ServedModel("topics", model)
    answer = client_of(plain)("POST", "/v1/labels", json={"words": "ex:sort"})
    (own,) = answer.json()["labels"]
    assert own["label"] == own["name"] == "ex:sort"
    names = Thesaurus.of([{"id": "ex:sort", "name": "Sorting"}, {"id": "old", "withdrawn": True}])
    given = Subjects("names", names, given=True)
    assert [given.name_of(label) for label in ("ex:sort", "old", "new")] == ["Sorting", None, None]
    answer = client_of(plain, subjects=given)("POST", "/v1/labels", json={"words": "sort"})
    assert [one["label"] for one in answer.json()["labels"]] == ["ex:sort"]


def test_labels_of_rows_are_not_denied(rows):
    with pytest.raises(ValueError, match="'rows' takes rows: only labels of texts"):
        ServedModel("rows", rows, deny=["1"])
