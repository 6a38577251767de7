"""Generated requests: no server error, and no answer that the OpenAPI document does not allow."""

import pytest

from defrag import LabelTree, TextClassifier

pytest.importorskip("starlette", reason="starlette is not installed (extra 'serve')")
schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")
serving = pytest.importorskip("defrag.serving")

from hypothesis import HealthCheck, given, settings  # noqa: E402 - after the extras

IGNORED = list(HealthCheck)
TEXTS = ["large files", "copy files", "merge sorting", "quick sorting"]


PATHS = [
    "/v1/models", "/v1/suggest", "/v1/explain", "/healthz", "/readyz", "/metrics", "/docs",
]  # fmt: skip


@pytest.fixture(scope="module")
def schema():
    model = TextClassifier(LabelTree(), random_state=0).fit(TEXTS, list("aabb"))
    app = serving.make_app([serving.ServedModel("texts", model)])
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        *((path, "POSITIVE") for path in PATHS),
        ("/v1/suggest", "NEGATIVE"),
        ("/v1/explain", "NEGATIVE"),
    ],
)
def test_answers_are_those_of_the_document(schema, path, kind):
    operations = [found.ok() for found in schema.get_all_operations() if found.ok().path == path]
    assert len(operations) == 1
    mode = getattr(schemathesis.GenerationMode, kind)
    statuses = set()
    number = 150 if operations[0].method == "post" else 5

    @settings(max_examples=number, deadline=None, derandomize=True, suppress_health_check=IGNORED)
    @given(case=operations[0].as_strategy(generation_mode=mode))
    def check(case):
        # Whether texts or rows are right depends on the model, which the document cannot say.
        found = case.call_and_validate(excluded_checks=[checks.positive_data_acceptance])
        statuses.add(found.status_code)

    check()
    assert 200 in statuses if kind == "POSITIVE" else statuses <= {400, 415, 422}
