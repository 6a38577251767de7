"""Names of labels in columns: one order for all files, the file of a model, and errors."""

import json
from dataclasses import replace

import numpy as np
import pytest

from defrag import Thesaurus
from defrag.exceptions import FormatError, ModelFormatError
from defrag.persistence.kinds import kind_of

CONCEPTS = [
    {"id": "pump", "name": {"en": "pump", "de": "Pumpe"}, "type": "thing"},
    {"id": "heat", "name": {"en": "heat pump", "de": "Wa\u0308rmepumpe"},
     "alternatives": {"en": ["thermal pump", "hp"], "de": "WP"},
     "description": {"en": "Moves  heat."}, "broader": ["pump", "unknown"],
     "scheme": ["energy", "machines"], "notation": "536.7"},
    {"id": "old", "name": "heat engine (pumping)", "replaced_by": "heat", "type": ["a", "thing"]},
    {"id": "split", "withdrawn": True, "replaced_by": ["pump", "heat"]},
]  # fmt: skip


def write(folder, concepts):
    path = folder / "thesaurus.jsonl"
    path.write_text("".join(json.dumps(one) + "\n\n" for one in concepts))
    return path


def test_columns_hold_what_a_file_says(tmp_path):
    found = Thesaurus.read(write(tmp_path, CONCEPTS))
    assert list(found.ids) == ["heat", "old", "pump", "split"]
    assert list(found.languages) == ["", "de", "en"]
    codes = found.languages[found.name_languages.astype(int)]
    columns = (found.name_concepts, found.name_preferred, codes, found.names)
    names = list(zip(*columns, strict=True))
    assert names == [
        (0, 1, "de", "W\u00e4rmepumpe"), (0, 1, "en", "heat pump"),
        (0, 0, "de", "WP"), (0, 0, "en", "hp"), (0, 0, "en", "thermal pump"),
        (1, 1, "", "heat engine (pumping)"), (2, 1, "de", "Pumpe"), (2, 1, "en", "pump"),
    ]  # fmt: skip
    assert found.first_names.tolist() == [0, 5, 6, 8, 8]
    assert found.broader.tolist() == [[0, 2]]
    assert list(found.types) == ["a", "thing"]
    assert found.concept_types.tolist() == [[1, 0], [1, 1], [2, 1]]
    assert found.concept_schemes.tolist() == [[0, 0], [0, 1]]
    assert (list(found.descriptions), list(found.notations)) == (["Moves heat."], ["536.7"])
    assert found.withdrawn.tolist() == [0, 1, 0, 1]
    assert found.replaced_by.tolist() == [-1, 0, -1, -1]


def test_order_and_repetition_change_nothing(tmp_path):
    found = Thesaurus.of(CONCEPTS)
    assert found == Thesaurus.read(write(tmp_path, [*CONCEPTS[::-1], *CONCEPTS]))
    assert found != Thesaurus.of(CONCEPTS[:3])
    assert found != Thesaurus.of([*CONCEPTS[:3], {**CONCEPTS[3], "name": "more"}])


def test_names_are_found_in_the_asked_language():
    found = Thesaurus.of(CONCEPTS, language="fr")
    assert [found.name(one, "de-AT") for one in found.ids] == [
        "W\u00e4rmepumpe", "heat engine (pumping)", "Pumpe", "split",
    ]  # fmt: skip
    assert found.name("heat", "en") == "heat pump"
    assert found.name("old", "fr") == "heat engine (pumping)"
    assert found.name("nothing") == "nothing"
    only = Thesaurus.of([{"id": "a", "name": {"de": "Pumpe"}, "alternatives": {"fr": "pompe"}}])
    assert only.name("a", "fr") == "Pumpe"  # no alternative name
    assert found.numbers(["pump", "zebra", "heat", ""]).tolist() == [2, -1, 0, -1]


def test_successors_are_followed_to_concepts_in_use():
    after = {"a": "b", "b": "c", "c": "d", "d": "e", "e": "f", "f": None, "x": "y", "y": "x"}
    found = Thesaurus.of({"id": one, "name": one, "replaced_by": to} for one, to in after.items())
    assert found.successors().tolist() == [5, 5, 5, 5, 5, 5, -1, -1]


def test_file_without_names_is_refused(tmp_path):
    with pytest.raises(FormatError, match="has no concepts with names"):
        Thesaurus.read(write(tmp_path, [{"id": "a"}]))
    with pytest.raises(ValueError, match=r"the format must be one of jsonl.*got 'csvv'"):
        Thesaurus.read(tmp_path / "a.txt", form="csvv")


def test_saved_columns_are_those_written():
    found = Thesaurus.of(CONCEPTS)
    kind = kind_of(Thesaurus)
    assert kind.read(kind.write(found, "float32")) == found


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ids/bytes", lambda a: a[::-1], "array 'ids' must increase"),
        ("name_concepts", lambda a: a[::-1], "'name_concepts' must not decrease"),
        ("name_languages", lambda a: a + 3, r"'name_languages' must be in \[0, 3\)"),
        ("broader", lambda a: a + 9, r"'broader' must be in \[0, 4\)"),
        ("concept_types", lambda a: a[:, :1], "'concept_types' must have 2 columns, got 1"),
        ("replaced_by", lambda a: a - 1, r"'replaced_by' must be in \[-1, 4\)"),
        ("withdrawn", lambda a: a + 1, r"'withdrawn' must be in \[0, 2\)"),
        ("description_languages", lambda a: a[:0], "'description_languages' must have 1 items"),
    ],
)
def test_damaged_columns_are_refused(name, change, message):
    kind = kind_of(Thesaurus)
    part = kind.write(Thesaurus.of(CONCEPTS), "float32")
    arrays = {**part.arrays, name: np.ascontiguousarray(change(part.arrays[name]))}
    with pytest.raises(ModelFormatError, match=message):
        kind.read(replace(part, arrays=arrays))


@pytest.mark.parametrize(
    ("folder", "n_concepts", "concept", "names"),
    [
        ("tibkat-core", 78_741, "1246226936", ["Large heat pump"]),
        ("eurlex57k", 7_201, "3363", ["union representative", "trade union representative"]),
    ],
)
def test_real_thesauri_are_read(data_folder, folder, n_concepts, concept, names):
    found = Thesaurus.read(data_folder / folder / "thesaurus.jsonl.xz")
    assert len(found) == n_concepts
    first, end = found.first_names[found.number(concept) :][:2]
    assert found.names[first:end] == names


SEARCHED = Thesaurus.of([
    {"id": "a", "name": {"en": "heat pump", "de": "W\u00e4rmepumpe"},
     "alternatives": {"en": "pump"}},
    {"id": "b", "name": {"en": "large heat pump"}},
    {"id": "c", "name": {"en": "pump", "de": "Pumpe"}},
    {"id": "d", "name": {"en": "bicycle pump"}},
    {"id": "e", "name": {"en": "quantum mechanics"}},
    {"id": "f", "name": {"en": "pump"}, "withdrawn": True},
])  # fmt: skip


@pytest.mark.parametrize(
    ("words", "language", "labels"),
    [
        ("heat pump", None, ["a", "b"]),
        ("  PUMP heat ", None, ["a", "b"]),
        ("pump", "en", ["c", "a", "d", "b"]),
        ("pump", "de", ["c", "a", "d", "b"]),
        ("warmepumpe", "de", ["a"]),
        ("W\u00c4RME", None, ["a"]),
        ("", None, []),
    ],
)
def test_search_finds_names_with_the_words(words, language, labels):
    found = SEARCHED.search(words, language=language)
    assert [one.label for one in found] == labels
    assert all(one.exact for one in found)
    assert [one.name for one in found] == [SEARCHED.name(one, language) for one in labels]
    assert SEARCHED.search(words, 1, language=language) == found[:1]


def test_search_proposes_names_that_are_spelt_alike():
    (found,) = SEARCHED.search("quantum mechancs")
    assert found == ("e", "quantum mechanics", "quantum mechanics", False)
    assert [one.label for one in SEARCHED.search("heet pumps")] == ["a"]
    assert SEARCHED.search("zebra") == []


def test_line_feed_in_a_name_of_a_file_does_no_harm():
    kind = kind_of(Thesaurus)
    part = kind.write(SEARCHED, "float32")
    data = part.arrays["names/bytes"].copy()
    data[data == ord(" ")] = ord("\n")
    found = kind.read(replace(part, arrays={**part.arrays, "names/bytes": data}))
    assert [one.label for one in found.search("heat pump")] == ["a", "b"]
    assert [one.label for one in found.search("mechancs quantum")] == ["e"]
