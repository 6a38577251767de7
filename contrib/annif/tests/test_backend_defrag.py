"""Unit tests for the defrag backend in Annif"""

import multiprocessing
import sys

import pytest

import annif.backend
import annif.corpus
import annif.transform
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
)
from annif.vocab import SubjectIndexFilter

pytest.importorskip("annif.backend.defrag")

ARCHAEOLOGY = "http://www.yso.fi/onto/yso/p1265"
TEXT = "Arkeologiaa sanotaan muinaistutkimukseksi. Arkeologia on humanistinen tiede."


def get_defrag(project, **params):
    defrag_type = annif.backend.get_backend("defrag")
    return defrag_type(backend_id="defrag", config_params=params, project=project)


def suggest(defrag, text=TEXT):
    return list(defrag.suggest([annif.corpus.Document(text=text)])[0])


def test_get_backend_defrag_not_installed(monkeypatch):
    monkeypatch.delattr(annif.backend, "defrag")
    monkeypatch.setitem(sys.modules, "annif.backend.defrag", None)
    with pytest.raises(ValueError, match="defrag not available"):
        annif.backend.get_backend("defrag")


def test_defrag_default_params(project):
    expected_default_params = {"limit": 100, "names": True, "answers": False}
    assert get_defrag(project).params == expected_default_params


def test_defrag_train_wrong(project, document_corpus, empty_corpus):
    with pytest.raises(NotInitializedException):
        suggest(get_defrag(project))
    with pytest.raises(NotInitializedException):
        get_defrag(project).train("cached")
    with pytest.raises(NotSupportedException):
        get_defrag(project).train(empty_corpus)
    with pytest.raises(ConfigurationException, match="n_trees"):
        get_defrag(project, n_trees="many").train(document_corpus)


@pytest.mark.parametrize("params", [{}, {"analyzer": "snowball(finnish)"}])
def test_defrag_train_and_suggest(datadir, project, document_corpus, params):
    get_defrag(project, **params).train(document_corpus, jobs=1)
    datadir.join("defrag-model.safetensors").remove()
    get_defrag(project, **params).train("cached")
    defrag = get_defrag(project, limit=8, **params)
    hits = suggest(defrag)
    assert 0 < len(hits) <= 8
    archaeology = project.subjects.by_uri(ARCHAEOLOGY)
    assert archaeology in [hit.subject_id for hit in hits]
    assert suggest(defrag, "j") == []
    # forked processes share the model
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=lambda: queue.put(suggest(defrag)))
    process.start()
    assert queue.get() == hits
    process.join()


def test_defrag_excluded_subject(project, monkeypatch):
    rest = SubjectIndexFilter(project.subjects, exclude={ARCHAEOLOGY})
    archaeology = project.subjects.by_uri(ARCHAEOLOGY)
    monkeypatch.setattr(project, "subjects", rest)
    hits = suggest(get_defrag(project, limit=8, analyzer="snowball(finnish)"))
    assert hits and archaeology not in [hit.subject_id for hit in hits]


def test_defrag_learn(project, tmpdir):
    tmpdir.join("more.tsv").write_text(f"zyzzyva\t<{ARCHAEOLOGY}>\n" * 3, "utf-8")
    more = annif.corpus.DocumentFileTSV(str(tmpdir.join("more.tsv")), project.subjects)
    defrag = get_defrag(project)
    assert suggest(defrag, "zyzzyva") == []
    defrag.learn(more)
    best = suggest(defrag, "zyzzyva")[0]
    assert best.subject_id == project.subjects.by_uri(ARCHAEOLOGY)


def test_defrag_hyperopt(project, document_corpus):
    project.transform = annif.transform.get_transform("pass", project=project)
    optimizer = get_defrag(project).get_hp_optimizer(document_corpus, metric="NDCG")
    found = optimizer.optimize(n_trials=2, n_jobs=1, results_file=None)
    assert 0 <= found.score <= 1 and "n_trees=" in str(found.lines)
