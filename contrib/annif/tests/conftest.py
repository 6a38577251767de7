"""Fixtures named as Annif's own, with made-up documents: its tests are not on PyPI"""

import unittest.mock

import pytest

import annif.analyzer
import annif.corpus
import annif.vocab

SUBJECTS = {
    "p1265": ("arkeologia", "muinaistutkimus", "muinaisjäännökset maaperä tiede"),
    "p9285": ("kivikausi", "paleoliittinen kausi", "kiviaseet kvartsi asuinpaikka"),
    "p5713": ("laivat", "alukset", "hylky meri purjehtivat satama"),
}
YSO = "http://www.yso.fi/onto/yso/"


@pytest.fixture(scope="module")
def datadir(tmpdir_factory):
    return tmpdir_factory.mktemp("data")


@pytest.fixture(scope="module")
def project(datadir):
    lines = ["@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."] + [
        f'<{YSO}{key}> a skos:Concept; skos:prefLabel "{a}"@fi; skos:altLabel "{b}"@fi.'
        for key, (a, b, _) in SUBJECTS.items()
    ]
    datadir.join("yso.ttl").write_text("\n".join(lines), "utf-8")
    proj = unittest.mock.Mock(datadir=str(datadir))
    proj.analyzer = annif.analyzer.get_analyzer("snowball(finnish)")
    proj.vocab = annif.vocab.AnnifVocabulary("my-vocab", str(datadir))
    skos = annif.vocab.VocabFileSKOS(str(datadir.join("yso.ttl")))
    proj.vocab.load_vocabulary(skos)
    proj.subjects = proj.vocab.subjects
    return proj


@pytest.fixture(scope="module")
def document_corpus(datadir, project):
    lines = [
        f"{name} ja {word} {words}\t<{YSO}{key}>\n"
        for key, (name, _, words) in SUBJECTS.items()
        for word in words.split() * 4
    ]
    datadir.join("documents.tsv").write_text("".join(lines), "utf-8")
    path = str(datadir.join("documents.tsv"))
    return annif.corpus.DocumentFileTSV(path, project.subjects)


@pytest.fixture
def empty_corpus(tmpdir, project):
    path = str(tmpdir.ensure("empty.tsv"))
    return annif.corpus.DocumentFileTSV(path, project.subjects)
