import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("DEFRAG_DATA", str(ROOT.parent / "shared" / "data"))
DATA = Path(os.environ["DEFRAG_DATA"])

# Pages whose examples take more than a third of a second: marked here, as they cannot do it.
SLOW_PAGES = (
    "agglomeration", "baselines", "clusterings", "embeddings", "experiments", "explain", "forests",
    "in_practice", "matrices", "missing_features", "rare_labels", "retraining", "tutorial",
    "tutorial_serve",
)  # fmt: skip
# The longest tests start first, or one process would end long after the others.
LONG = ("annif/test_stock_annif.py", "distributed/test_ray.py", "classifiers/test_one_vs_rest.py")

# A failure can be repeated, and comes with the change that causes it.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder of third-party data sets, which the repository does not contain."""
    if not DATA.is_dir():
        pytest.skip(f"no data sets at {DATA}; set DEFRAG_DATA to their folder")
    return DATA


@pytest.fixture(autouse=True, scope="session")
def _answer_signals():
    """Let tests and the processes they start see signals that a background job ignores."""
    answers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.getsignal(number) for number in answers}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, answers[number])
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def browser():
    """Return a running Chromium, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if program is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        running.close()


def pytest_configure(config):
    """Let older scikit-learn pass its checks to newer pytest as an iterator."""
    config.addinivalue_line("filterwarnings", "ignore:Passing a non-Collection iterable")


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items):
    """Mark pages that take long, and put the longest tests first."""
    slow = {ROOT / "README.md", *(ROOT / "docs" / f"{page}.md" for page in SLOW_PAGES)}
    for item in items:
        if item.path in slow:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONG))
