"""Generated requests to Annif's routes: answers are those of Annif's own OpenAPI document."""

import json
import subprocess
import sys
import zipfile

import pytest

from defrag import LabelTree, TextClassifier

pytest.importorskip("starlette", reason="starlette is not installed (extra 'serve')")
schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")
yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
serving = pytest.importorskip("defrag.serving")

from hypothesis import HealthCheck, given, settings  # noqa: E402 - after the extras
from starlette.applications import Starlette  # noqa: E402 - as above
from starlette.responses import Response  # noqa: E402 - as above
from starlette.routing import Mount, Route  # noqa: E402 - as above

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TEXTS = ["large files", "copy files", "merge sorting", "quick sorting"]
ONE = "/projects/{project_id}"
PATHS = ["/", "/vocabs", "/projects", ONE, f"{ONE}/suggest", f"{ONE}/suggest-batch"]
IGNORED = list(HealthCheck)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """Return the document that the package of Annif on PyPI contains."""
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
def schema(document):
    model = TextClassifier(LabelTree(), random_state=0).fit(TEXTS, list("aabb"))
    ours = serving.make_app([serving.ServedModel("texts", model)])

    paths = {path: document["paths"][path] for path in (*PATHS, f"{ONE}/learn")}
    content = json.dumps({**document, "paths": paths}, default=str)  # dates of examples

    async def annif(request):  # noqa: ARG001 - of a route
        return Response(content, media_type="application/json")

    app = Starlette(routes=[Route("/annif.json", annif), Mount("/", ours)])
    return schemathesis.openapi.from_asgi("/annif.json", app)


def test_the_document_has_no_route_that_is_not_served_or_left_out(document):
    assert set(document["paths"]) == {*PATHS, f"{ONE}/learn", "/detect-language"}


@pytest.mark.parametrize(
    ("path", "kind", "allowed"),
    [
        *((path, "POSITIVE", {200}) for path in PATHS),
        (f"{ONE}/learn", "POSITIVE", {403}),
        (f"{ONE}/suggest", "NEGATIVE", {200, 400, 415}),
        (f"{ONE}/suggest-batch", "NEGATIVE", {200, 400, 415}),
    ],
)
def test_answers_are_those_of_annifs_document(schema, path, kind, allowed):
    (operation,) = [
        one.ok() for one in schema.get_all_operations() if one.ok().path == path
    ]  # fmt: skip
    mode = getattr(schemathesis.GenerationMode, kind)
    statuses = set()
    number = 100 if operation.method == "post" else 5

    @settings(max_examples=number, deadline=None, derandomize=True, suppress_health_check=IGNORED)
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case):
        if "project_id" in path:
            case.path_parameters = {"project_id": "texts"}
        found = case.call()
        statuses.add(found.status_code)
        if found.status_code != 415:  # which every route with a body has, but not the document
            case.validate_response(
                found, excluded_checks=[checks.negative_data_rejection, checks.unsupported_method]
            )

    check()
    assert statuses <= allowed
    assert statuses & ({400} if kind == "NEGATIVE" else allowed)


def test_an_unknown_project_is_not_found(schema):
    for operation in (one.ok() for one in schema.get_all_operations()):
        if "project_id" in operation.path:
            body = {"body": {}} if operation.method == "post" else {}
            case = operation.Case(path_parameters={"project_id": "nothing"}, **body)
            found = case.call()
            assert found.status_code == 404
            case.validate_response(found)
