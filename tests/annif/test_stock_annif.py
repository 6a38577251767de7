"""Stock Annif from PyPI, in its own environment, with models of this library.

The environment is made in ``build/annif``, and again when what it is made of changes; the variable
DEFRAG_ANNIF may name another that ``tools/make_annif_environment.py`` has made.
"""

import csv
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

# One test, so that test runners with several processes make one environment.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

SECONDS = 300
TEXT = "Mäntän musiikkijuhlien aikataulu ja esiintyjät"
CONCERTS = "http://urn.fi/URN:NBN:fi:au:ykl:78"
ASTHMA = "http://urn.fi/URN:NBN:fi:au:ykl:59.58"
PROJECTS = """
[ours]
name=Makupalat by defrag
language=fi
backend=defrag
vocab=ykl
n_tree=3

[words]
name=Makupalat by defrag, fields and stems
language=fi
backend=defrag
vocab=ykl(exclude={concerts})
analyzer=snowball(finnish)
transform=select(title,text)
allow_learn=true

[wrong]
name=A mistake
language=fi
backend=defrag
vocab=ykl
n_trees=none

[served]
name=Makupalat by defrag serve
language=fi
backend=http
vocab=ykl
endpoint=ENDPOINT/v1/projects/makupalat/suggest
""".replace("{concerts}", CONCERTS)


# What a server that is not started by the command annif does.
OTHER_PROCESS = """
import annif, annif.registry
app = annif.create_flask_app()
with app.app_context():
    annif.registry.initialize_projects(app)
    backend = annif.registry.get_project("ours").backend
    print(type(backend).__module__, len(backend.model.classes_))
"""


class Annif:
    """The command ``annif`` of an environment, run in a folder."""

    def __init__(self, environment, folder):
        self._program = environment / "bin" / "annif"
        self.folder = folder
        self._variables = {**os.environ, "NLTK_DATA": str(environment / "nltk_data")}
        self._variables.pop("PYTHONPATH", None)

    def _run(self, *command, **options):
        return subprocess.run(
            command, cwd=self.folder, stdout=subprocess.PIPE, text=True, timeout=SECONDS,
            check=False, **{"env": self._variables, **options},
        )  # fmt: skip

    def fails(self, *arguments, stdin=""):
        """Run a command and return its status and what it prints."""
        done = self._run(self._program, *arguments, input=stdin, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def __call__(self, *arguments, stdin=""):
        """Run a command and return what it prints."""
        status, printed = self.fails(*arguments, stdin=stdin)
        assert status == 0, printed
        return printed

    def run_without(self, code, **variables):
        """Run code in the environment, without the command annif; return what it prints."""
        python = self._program.with_name("python")
        return self._run(python, "-c", code, env={**self._variables, **variables}).stdout

    def evaluate(self, project, jobs="1"):
        """Return the metrics of a project on the test texts, found by some processes."""
        options = ["-l", "5", "-t", "0", "-M", "metrics.json", "-j", jobs]
        self("eval", project, "test.tsv", *options)
        return json.loads((self.folder / "metrics.json").read_text())


@pytest.fixture(scope="module")
def environment():
    if "DEFRAG_ANNIF" in os.environ:
        return Path(os.environ["DEFRAG_ANNIF"]).resolve()
    folder, tool = ROOT / "build" / "annif", ROOT / "tools" / "make_annif_environment.py"
    made_of = hashlib.sha256(
        f"{sys.executable} {sys.version} {find_spec('defrag').origin}".encode()
    )
    for path in (tool, ROOT / "pyproject.toml"):
        made_of.update(path.read_bytes())
    stamp = folder / "made-of.txt"
    if stamp.is_file() and stamp.read_text("ascii") == made_of.hexdigest():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run(
        [sys.executable, tool, folder],
        # Of thousands of modules, few are imported. To pip, "0" means that they are not compiled.
        env={**os.environ, "PIP_NO_COMPILE": "0"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"Annif cannot be installed: {made.stdout.strip().splitlines()[-1]}")
    stamp.write_text(made_of.hexdigest(), "ascii")
    return folder


@pytest.fixture(scope="module")
def annif(environment, data_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("makupalat")
    uris = set()
    for part in ("train", "test"):
        packed = data_folder / "makupalat" / f"makupalat-{part}.tsv.xz"
        text = lzma.decompress(packed.read_bytes()).decode()
        (folder / f"{part}.tsv").write_text(text, "utf-8")
        uris |= set(re.findall(r"<(http[^>]+)>", text))
    known = [(uri, uri.rpartition(":")[2]) for uri in sorted(uris)]
    lines = [f"<{uri}>\tluokka {number}\n" for uri, number in known]
    (folder / "vocabulary.tsv").write_text("".join(lines), "utf-8")
    rows = ["uri,label_fi,label_sv", *(f"{uri},luokka {n},klass {n}" for uri, n in known)]
    (folder / "vocabulary.csv").write_text("\n".join(rows), "utf-8")
    (folder / "projects.cfg").write_text(PROJECTS, "utf-8")
    program = Annif(environment, folder)
    program("load-vocab", "ykl", "vocabulary.csv")
    return program


def check_the_backend(annif):
    assert re.search(r"^ours .* False ", annif("list-projects"), re.MULTILINE)
    status, printed = annif.fails("suggest", "ours", stdin=TEXT)
    assert status != 0
    assert "Project is not trained" in printed
    printed = annif("train", "ours", "train.tsv", "-j", "1")
    assert "unknown setting n_tree\n" in printed
    assert "unknown setting n_trees" not in printed
    assert re.search(r"^ours .* True ", annif("list-projects"), re.MULTILINE)
    best = annif("suggest", "ours", "-l", "3", stdin=TEXT).splitlines()
    assert len(best) == 3
    assert best[0].startswith(f"<{CONCERTS}>\tluokka 78\t0.")
    assert annif("suggest", "ours", stdin="...") == ""
    found = annif.evaluate("ours")
    assert found["F1@5"] >= 0.23
    assert found["Documents_evaluated"] == 537
    # Forked processes share the model; they answer in any order, so sums are rounded differently.
    assert annif.evaluate("ours", jobs="2") == pytest.approx(found, rel=1e-6)
    why = annif("defrag-explain", "ours", stdin=TEXT)
    assert why.startswith(f"luokka 78 ({CONCERTS})")
    why = annif("defrag-explain", "ours", "-L", "sv", stdin=TEXT)
    assert why.startswith(f"klass 78 ({CONCERTS})")
    assert re.search(r"^musii +\+0", why, re.MULTILINE), why
    status, printed = annif.fails("train", "wrong", "train.tsv")
    assert status != 0
    assert "Misconfigured project 'wrong': n_trees of LabelTree must be" in printed


def check_fields_words_and_learning(annif):
    """Fields, the words of an analyzer, an excluded subject, documents kept and learnt."""
    lines = (annif.folder / "train.tsv").read_text("utf-8").splitlines()[:1500]
    with (annif.folder / "fields.csv").open("w", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["text", "title", "subject_uris"])
        table.writerows(["", *line.split("\t")] for line in lines)
    annif("train", "words", "fields.csv", "-j", "1")
    kept = annif.folder / "data" / "projects" / "words" / "defrag-train.jsonl"
    documents = kept.read_text("utf-8").splitlines()
    assert 1300 < len(documents) < 1500  # without those of the excluded subject alone
    assert not [line for line in documents if f'"{CONCERTS}"' in line]
    assert documents[0].startswith('{"text": "viro_instituut instituut tehtäv')
    assert f"<{CONCERTS}>" not in annif("suggest", "words", "-D", f"title={TEXT}")
    annif("train", "words", "--cached", "-j", "1")
    new = "-D", "title=Zyzzyva"
    assert annif("suggest", "words", *new) == ""
    table = ["text,title,subject_uris", *[f",Zyzzyvat,<{ASTHMA}>"] * 3]
    (annif.folder / "more.csv").write_text("\n".join(table), "utf-8")
    annif("learn", "words", "more.csv")
    assert kept.read_text("utf-8").splitlines()[: len(documents)] == documents
    assert annif("suggest", "words", "-l", "1", *new).startswith(f"<{ASTHMA}>")


def check_hyperopt(annif):
    lines = (annif.folder / "train.tsv").read_text("utf-8").splitlines(keepends=True)
    (annif.folder / "some.tsv").write_text("".join(lines[:600]), "utf-8")
    found = annif("hyperopt", "ours", "some.tsv", "--trials", "2", "--metric", "F1@5", "-j", "1")
    assert re.search(r"^characters=(none|4|5)$", found, re.MULTILINE)
    assert re.search(r"^n_trees=[123]$", found, re.MULTILINE)


def check_other_processes(annif):
    """A process that is not the command annif finds the backend by its settings."""
    settings = annif.folder / "settings.py"
    settings.write_text("import defrag.annif; defrag.annif.register()\n", "utf-8")
    found = annif.run_without(OTHER_PROCESS, ANNIF_SETTINGS=str(settings))
    assert re.fullmatch(r"defrag\.annif\.backend \d+\n", found)
    assert annif.run_without(OTHER_PROCESS) == ""  # without them it does not


@contextmanager
def served(annif):
    """Serve a model of the training texts, for a vocabulary without the best subject of TEXT."""
    folder = annif.folder
    options = ["--characters", "4", "--n-trees", "3", "--from", "annif"]
    model = "makupalat.safetensors"
    defrag = [sys.executable, "-m", "defrag"]
    subprocess.run([*defrag, "train", "train.tsv", model, *options], cwd=folder, check=True)
    lines = (folder / "vocabulary.tsv").read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(f"<{CONCERTS}>")]
    (folder / "known.tsv").write_text("".join(kept), "utf-8")
    serve = [*defrag, "serve", model, "--port", "0", "--thesaurus", "known.tsv"]
    process = subprocess.Popen(
        [*serve, "--language", "fi"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert address, line
        projects = PROJECTS.replace("ENDPOINT", address.group())
        (folder / "projects.cfg").write_text(projects, "utf-8")
        yield
    finally:
        process.terminate()
        process.communicate(timeout=300)


def check_the_http_backend(annif):
    assert re.search(r"^served .* True +20\d\d-", annif("list-projects"), re.MULTILINE)
    best = annif("suggest", "served", "-l", "3", stdin=TEXT).splitlines()
    assert len(best) == 3
    assert not [line for line in best if line.startswith(f"<{CONCERTS}>")]
    assert all(re.match(r"<http://urn.fi/[^>]+>\tluokka \S+\t0\.", line) for line in best)
    # Less than the backend reaches: one subject is not served.
    assert annif.evaluate("served")["F1@5"] > 0.18


def test_stock_annif_projects_use_models(annif):
    check_the_backend(annif)
    check_fields_words_and_learning(annif)
    check_hyperopt(annif)
    check_other_processes(annif)
    with served(annif):
        check_the_http_backend(annif)


def test_branch_passes_its_tests(environment, tmp_path):
    """Annif with the backend in it, as it would be sent, and the tests that would go with it."""
    branch = ROOT / "contrib" / "annif"
    (package,) = (environment / "lib").glob("python3.*/site-packages/annif")
    shutil.copytree(package, tmp_path / "annif", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "src" / "defrag" / "annif" / "backend.py",
                tmp_path / "annif" / "backend" / "defrag.py")  # fmt: skip
    subprocess.run(["git", "apply", branch / "annif.patch"], cwd=tmp_path, check=True)
    shutil.copytree(branch / "tests", tmp_path / "tests")
    variables = {"NLTK_DATA": str(environment / "nltk_data"), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [environment / "bin" / "python", "-m", "pytest", "-q", "-rs", "tests"],
        cwd=tmp_path, env={**os.environ, **variables},
        stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert re.search(r"^\d+ passed in", done.stdout, re.MULTILINE), done.stdout
