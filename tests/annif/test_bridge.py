"""What a classifier gets of Annif's projects, with stand-ins that have the names of its objects."""

import re
from types import SimpleNamespace as Of

import numpy as np
import pytest

from defrag import TextClassifier
from defrag.annif import bridge
from defrag.exceptions import FormatError

SKOS = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<u:heat> a skos:Concept ; skos:prefLabel "heat pumps"@en ; skos:altLabel "pumps for heat"@en .
<u:gone> a skos:Concept ; skos:prefLabel "gone"@en ; skos:altLabel "went"@en .
"""


class Analyzer:
    """Words without their last letter."""

    def tokenize_words(self, text):
        return [word[:-1] for word in re.findall(r"[\w-]+", text) if len(word) > 3]


class Subjects:
    """Annif's index of subjects."""

    def __init__(self, *names):
        subjects = [
            Of(uri=f"u:{name}", labels={"en": name, "fi": None}, notation="") for name in names
        ]
        self.active = list(enumerate(subjects))
        self._numbers = {one.uri: number for number, one in self.active}

    def by_uri(self, uri, _):
        return self._numbers.get(uri)

    def __len__(self):
        return len(self.active)


def test_analysed_text_keeps_words_and_sentences():
    text = "Heat-pumps warm a house. Houses stay warm\nEnd"
    assert bridge.analysed(text, Analyzer()) == "Heat_pump war hous\nHouse sta war\n"


def test_names_are_those_of_the_vocabulary_and_of_the_analyzer(tmp_path):
    path = tmp_path / "subjects.ttl"
    path.write_text(SKOS, "utf-8")
    subjects = Subjects("heat", "cold").active
    found = bridge.thesaurus_of(subjects, path, analyzer=Analyzer(), language="en")
    assert list(found.ids) == ["u:cold", "u:heat"]
    names = dict.fromkeys(found.names)
    assert list(names) == ["cold", "col", "heat", "hea", "pump hea", "pumps for heat"]
    assert found.name("u:heat", "en") == "heat"
    assert list(bridge.thesaurus_of(subjects).names) == ["cold", "heat"]
    path.write_text("<u:heat> altLabel", "utf-8")
    with pytest.raises(FormatError, match=r"subjects\.ttl"):
        bridge.thesaurus_of(subjects, path)


def test_model_follows_the_vocabulary():
    texts, uris = ["red cat", "red dog", "blue bird"] * 2, [["u:cat"], ["u:dog"], ["u:bird"]] * 2
    names = bridge.thesaurus_of(Subjects("cat", "dog", "bird").active)
    model = TextClassifier(random_state=0).fit(texts, uris, thesaurus=names)
    subjects = Subjects("fish", "bird", "cat")
    model = bridge.follow_vocabulary(model, subjects)
    assert set(model.classes_) == {"u:bird", "u:cat", "u:dog", "u:fish"}
    found = bridge.suggested(model, ["a red dog", "a bird", "..."], subjects, 2)
    assert found.shape == (3, 3)
    assert np.diff(found.indptr).tolist() == [2, 2, 0]  # the place of u:dog is not left empty
    assert found.toarray().argmax(axis=1).tolist() == [2, 1, 0]


def test_documents_are_kept_and_found_by_their_subjects(tmp_path):
    path = tmp_path / "kept.jsonl"
    bridge.keep_documents(path, ["a cat", "a\ndog"], [["u:cat"], ["u:cat", "u:dog"]], more=False)
    bridge.keep_documents(path, ["ä new"], [["u:dog"]], more=True)
    found = bridge.kept_documents(path, ["u:dog"])
    assert found == (["a\ndog", "ä new"], [["u:dog"], ["u:dog"]])
