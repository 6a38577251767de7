"""Generated requests: no server error, and only answers that the OpenAPI documents allow.

There are two documents: our own, and that of Annif for the routes of its interface.
"""

import json
import subprocess
import sys
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

from defrag import load
from defrag.serving import ServedModel, make_app
from tests.helpers.serving import save_model

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PATHS = [
    "/v1/models", "/v1/suggest", "/v1/explain", "/healthz", "/readyz", "/metrics", "/docs",
]  # fmt: skip
ONE = "/projects/{project_id}"
OF_ANNIF = ["/", "/vocabs", "/projects", ONE, f"{ONE}/suggest", f"{ONE}/suggest-batch"]


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    path = save_model(tmp_path_factory.mktemp("serving") / "model")
    return make_app([ServedModel("texts", load(path))])


@pytest.fixture(scope="module")
def schema(app):
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.fixture(scope="module")
def document_of_annif(tmp_path_factory):
    """Return the document that the package of Annif on PyPI contains."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    folder = tmp_path_factory.mktemp("annif")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run(
        [*pip, "--dest", folder, "annif>=1.4"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"Annif cannot be downloaded: {done.stdout.strip().splitlines()[-1]}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        return yaml.safe_load(content.read("annif/openapi/annif.yaml"))


@pytest.fixture(scope="module")
def schema_of_annif(app, document_of_annif):
    paths = {path: document_of_annif["paths"][path] for path in (*OF_ANNIF, f"{ONE}/learn")}
    content = json.dumps({**document_of_annif, "paths": paths}, default=str)  # dates of examples

    async def annif(request):  # noqa: ARG001 - of a route
        return Response(content, media_type="application/json")

    both = Starlette(routes=[Route("/annif.json", annif), Mount("/", app)])
    return schemathesis.openapi.from_asgi("/annif.json", both)


def send_generated(schema, path, kind, send, n_posts):
    """Send generated requests to a route by a function; return the statuses of the answers."""
    (operation,) = [one.ok() for one in schema.get_all_operations() if one.ok().path == path]
    mode = getattr(schemathesis.GenerationMode, kind)
    number = n_posts if operation.method == "post" else 5
    ignored, statuses = list(HealthCheck), set()

    @settings(max_examples=number, deadline=None, derandomize=True, suppress_health_check=ignored)
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case):
        statuses.add(send(case).status_code)

    run()
    return statuses


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        *((path, "POSITIVE") for path in PATHS),
        ("/v1/suggest", "NEGATIVE"),
        ("/v1/explain", "NEGATIVE"),
    ],
)
def test_answers_are_those_of_the_document(schema, path, kind):
    def send(case):
        # Whether texts or rows are right depends on the model, which the document cannot say.
        return case.call_and_validate(excluded_checks=[checks.positive_data_acceptance])

    statuses = send_generated(schema, path, kind, send, 150)
    assert 200 in statuses if kind == "POSITIVE" else statuses <= {400, 415, 422}


def test_annifs_document_has_no_route_that_is_not_served_or_left_out(document_of_annif):
    assert set(document_of_annif["paths"]) == {*OF_ANNIF, f"{ONE}/learn", "/detect-language"}


@pytest.mark.parametrize(
    ("path", "kind", "allowed"),
    [
        *((path, "POSITIVE", {200}) for path in OF_ANNIF),
        (f"{ONE}/learn", "POSITIVE", {403}),
        (f"{ONE}/suggest", "NEGATIVE", {200, 400, 415}),
        (f"{ONE}/suggest-batch", "NEGATIVE", {200, 400, 415}),
    ],
)
def test_answers_are_those_of_annifs_document(schema_of_annif, path, kind, allowed):
    def send(case):
        if "project_id" in path:
            case.path_parameters = {"project_id": "texts"}
        found = case.call()
        if found.status_code != 415:  # which every route with a body has, but not the document
            case.validate_response(
                found, excluded_checks=[checks.negative_data_rejection, checks.unsupported_method]
            )
        return found

    statuses = send_generated(schema_of_annif, path, kind, send, 100)
    assert statuses <= allowed
    assert statuses & ({400} if kind == "NEGATIVE" else allowed)


def test_an_unknown_project_is_not_found(schema_of_annif):
    for operation in (one.ok() for one in schema_of_annif.get_all_operations()):
        if "project_id" in operation.path:
            body = {"body": {}} if operation.method == "post" else {}
            case = operation.Case(path_parameters={"project_id": "nothing"}, **body)
            found = case.call()
            assert found.status_code == 404
            case.validate_response(found)
