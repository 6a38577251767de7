import threading

import numpy as np
import pytest
import uvicorn

from defrag import LabelTree, TextClassifier, Thesaurus
from defrag.serving import ServedModel, make_app
from defrag.serving.corrections import Corrections
from defrag.serving.loop import Loop
from tests.data import make_data
from tests.text.test_answers import corpus

TEXTS = [
    "sparse matrix library", "dense matrix products", "a library for quick sorting",
    "merge sorting of large files", "copy large files",
]  # fmt: skip
X, Y = make_data(n=80, d=25, n_labels=12, seed=1)
ROW = X[[np.argmax(np.diff(X.indptr))]]
DOCUMENTS = [*corpus(30, seed=9)[0], "<img src=x onerror=alert(1)> t1w1 t1w2 t1w3"]


@pytest.fixture(scope="session")
def rows():
    """Return a model of rows whose features have names."""
    model = LabelTree(random_state=0).fit(X, Y)
    model.vocabulary_ = [f"f{j}" for j in range(25)]
    return model


@pytest.fixture(scope="session")
def topics():
    """Return a model whose labels have names and descriptions."""
    named = Thesaurus.of([{"id": f"topic {i}", "name": f"Name {i}", "description": f"About {i}."}
                          for i in range(30)])  # fmt: skip
    return TextClassifier(features="words", random_state=0).fit(*corpus(), thesaurus=named)


@pytest.fixture
def loop(topics, tmp_path):
    said = Corrections(str(tmp_path / "said.jsonl"))
    return Loop(ServedModel("m", topics), said, DOCUMENTS)


@pytest.fixture(scope="module")
def serve():
    """Return a function that serves models from a thread and returns the address."""
    running = []

    def start(models, **options):
        app = make_app([ServedModel(name, model) for name, model in models.items()], **options)
        config = uvicorn.Config(app, port=0, log_level="warning", lifespan="off", ws="none")
        socket = config.bind_socket()
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
        thread.start()
        running.append((server, thread, socket))
        return f"http://127.0.0.1:{socket.getsockname()[1]}/"

    yield start
    for server, thread, socket in running:
        server.should_exit = True
        thread.join(30)
        socket.close()


@pytest.fixture
def open_page(browser):
    """Return a function that opens a page; in the end, nothing may be on its console."""
    contexts, said, asked = [], [], set()

    def start(address, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.add(request.url.startswith((address, "data:"))))
        page.goto(address)
        return page

    start.said = said
    yield start
    for context in contexts:
        context.close()
    assert said == []
    assert asked == {True}


@pytest.fixture
def check_access():
    """Return a function that checks that everybody can use a page of some width."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def check(page, width):
        found = axe.run(page).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    return check
