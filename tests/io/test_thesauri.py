"""Thesauri of every format: the same columns, rdflib as the oracle of RDF, errors with places."""

import gzip
import tracemalloc
from contextlib import suppress

import pytest
import rdflib

from defrag import Thesaurus
from defrag.exceptions import FormatError
from defrag.io import ReadLimits
from defrag.io.files import open_input
from defrag.io.thesauri import open_statements
from defrag.io.triples import read_n_triples, read_turtle

EXPECTED = Thesaurus.of([
    {"id": "http://x/pump", "name": {"en": "pump", "de": "Pumpe"}, "type": "http://x/t#Thing",
     "notation": "621.6"},
    {"id": "http://x/heat-pump", "name": {"en": "heat pump", "de": 'W\u00e4rme"pumpe"'},
     "alternatives": {"en": ["thermal pump", "long name"]}, "broader": "http://x/pump",
     "description": {"en": "Moves heat."}, "scheme": ["http://x/energy", "http://x/machines"]},
    {"id": "http://x/old", "name": {"en": "heat engine"}, "replaced_by": "http://x/heat-pump"},
    {"id": "http://x/gone", "name": {"en": "gone"}, "withdrawn": True},
])  # fmt: skip
TURTLE = r'''
# A comment; "no string".
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
PREFIX owl: <http://www.w3.org/2002/07/owl#>
@prefix dct: <http://purl.org/dc/terms/>. @prefix : <http://x/> .
@base <http://x/> .

:pump a skos:Concept , <t#Thing> ;
    skos:prefLabel "pump"@en, 'Pumpe'@de ; skos:notation "621.6" ;; .
<heat-pump> a skos:Concept; skos:prefLabel """heat
  pump"""@en , "W\u00E4rme\"pumpe\""@de;
    skos:altLabel "thermal pump"@EN; skos:hiddenLabel "long name"@en ;
    skos:definition "Moves heat."@en , [ :text "a node" ; :list ( 1 2.5 true "x"^^:type ) ] ;
    skos:inScheme :energy ; skos:topConceptOf :machines.  # here, too
:pump skos:narrower :heat-pump .
:old a skos:Concept ; skos:prefLabel "heat engine"@en ; dct:isReplacedBy :heat\-pump .
:gone a skos:Concept ; owl:deprecated true ; skos:prefLabel "gone"@en .
:energy a skos:ConceptScheme ; skos:prefLabel "energy"@en .
[] skos:prefLabel "nobody"@en .
[ skos:prefLabel "nobody either" ] .
_:b1 a skos:Concept ; skos:prefLabel "nor this" .
'''
JSON = """{"id": "http://x/pump", "name": {"en": "pump", "de": "Pumpe"}, "type": "http://x/t#Thing", "notation": "621.6"}
{"id": "http://x/heat-pump", "name": {"en": "heat pump", "de": "W\u00e4rme\\"pumpe\\""}, "alternatives": {"en": ["thermal pump", "long name"]}, "broader": ["http://x/pump"], "description": {"en": "Moves heat."}, "scheme": ["http://x/energy", "http://x/machines"]}
{"id": "http://x/old", "name": "heat engine", "language": "en", "replaced_by": "http://x/heat-pump", "unknown": 1}
{"id": "http://x/gone", "name": {"en": "gone"}, "withdrawn": true}
"""  # noqa: E501
CSV = '''uri,label_en,name_de,alternatives_en,broader,description_en,type,scheme,notation,replaced_by,withdrawn,comment
http://x/pump,pump,Pumpe,,,,http://x/t#Thing,,621.6,,no,
http://x/heat-pump,heat pump,"W\u00e4rme""pumpe""",thermal pump|long name,http://x/pump,Moves heat.,,http://x/energy|http://x/machines,,,,x
http://x/old,heat engine,,,,,,,,http://x/heat-pump,,
http://x/gone,gone,,,,,,,,,yes,
'''  # noqa: E501


def formats():
    graph = rdflib.Graph().parse(data=TURTLE, format="turtle")
    rows = [line.split(",") for line in CSV.replace('"W\u00e4rme""pumpe"""',
                                                    'W\u00e4rme"pumpe"').splitlines()]  # fmt: skip
    return {
        "jsonl": JSON,
        "csv": CSV,
        "tsv": "\n".join(map("\t".join, rows)),
        "ttl": TURTLE,
        "nt": graph.serialize(format="nt"),
        "rdf": graph.serialize(format="xml"),
    }


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "ttl", "nt", "rdf"])
def test_every_format_gives_the_same_columns(tmp_path, suffix):
    path = tmp_path / f"names.{suffix}"
    path.write_text(formats()[suffix])
    assert Thesaurus.read(path) == EXPECTED


def test_lines_of_annif_are_read(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text("<http://x/1>\tcat\n<http://x/2>\tdog\t59.9\nid3\temu\n")
    expected = [{"id": "http://x/1", "name": "cat"}, {"id": "id3", "name": "emu"},
                {"id": "http://x/2", "name": "dog", "notation": "59.9"}]  # fmt: skip
    assert Thesaurus.read(path, language="en") == Thesaurus.of(expected, language="en")


def test_properties_of_the_gnd_are_understood(tmp_path):
    path = tmp_path / "gnd.ttl"
    path.write_text("""@prefix g: <https://d-nb.info/standards/elementset/gnd#> .
        @prefix n: <https://d-nb.info/gnd/> .
        n:4 a g:SubjectHeadingSensoStricto ; g:preferredNameForTheSubjectHeading "Pumpe" ;
          g:variantNameForTheSubjectHeading "Pumpen" ; g:broaderTermGeneral n:5 ;
          g:gndIdentifier "4" ; g:relatedTerm n:9 .
        n:6 a <http://www.w3.org/2004/02/skos/core#Collection> ;
          g:preferredNameForTheSubjectHeading "no concept" .
        n:5 g:preferredNameForTheSubjectHeading "Maschine" .""")
    assert Thesaurus.read(path, language="de") == Thesaurus.of([
        {"id": "https://d-nb.info/gnd/4", "name": {"de": "Pumpe"}, "notation": "4",
         "alternatives": {"de": "Pumpen"}, "broader": "https://d-nb.info/gnd/5",
         "type": "https://d-nb.info/standards/elementset/gnd#SubjectHeadingSensoStricto"},
        {"id": "https://d-nb.info/gnd/5", "name": {"de": "Maschine"}},
    ])  # fmt: skip


EXAMPLES = [
    TURTLE,
    "@prefix p: <http://x/a.b#>. p:c.d p:e%20f p:\\~g, p:h.i , <http://x/\\u0041> . ",
    "@prefix : <http://x/>. :a :b 1, -2.5, .5e3, 1.e4, true, false; a :c . :d :e 4.",
    '@prefix : <http://x/>. :a :b """one "two" \\"three""" , "" , "\\t\\U0001F600" .',
    "@prefix : <http://x/>. :a :b '''it's''', 'i\"s' .",
    "@base <http://y/z/> . <#a> <b> <../c> . <a> <http://x> _:b.c , _:1 .",
    "@prefix : <http://x/>. :a :b ( ) , ( :c ( :d ) [ :e :f ] ) . ( :j ) :k :l .",
    "@prefix : <http://x/>. [ :g [ ] ] :h :i .",
    "BASE <http://x/> prefix Q: <http://q/> Q:a a Q: .",
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_turtle_gives_the_triples_of_rdflib(tmp_path, monkeypatch, text):
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)
    (tmp_path / "a.ttl").write_text(text)
    graph = rdflib.Graph().parse(data=text, format="turtle")
    (tmp_path / "a.nt").write_text(graph.serialize(format="nt"))

    def told(path, read):
        with open_input(path) as stream:
            return {
                (one.predicate, one.value, one.language.lower())
                for one in read(stream, lambda _: True)
                # Lists have nodes of rdflib's own, and blank nodes have any name.
                if one.predicate and "/22-rdf-syntax-ns#" not in one.predicate
                and not one.value.startswith("_:") and not one.value.endswith("#nil")
            }  # fmt: skip

    assert told(tmp_path / "a.ttl", read_turtle) == told(tmp_path / "a.nt", read_n_triples)


PREFIX = "@prefix : <http://x/>.\n"
LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><r>&b;</r>'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.nt", "\n<a> <b> c .", r"2: expected <subject> <predicate> object \., got '<a> <b> c"),
        ("a.nt", '<a> <http://purl.org/dc/terms/description> "\\q" .', r"1: unknown escape"),
        ("a.ttl", f"{PREFIX}:a :b :c ;", r"2: expected a predicate, got the end"),
        ("a.ttl", f"{PREFIX}:a :b :c", r"2: expected '\.', got the end"),
        ("a.ttl", f"{PREFIX}:a :b q:c .", r"2: unknown prefix 'q'"),
        ("a.ttl", f"{PREFIX}:a :b\n\n }} .", r"4: expected Turtle, got '\} \.'"),
        ("a.ttl", f'{PREFIX}:a :b """c\nd', r"2: a string is not closed"),
        ("a.ttl", f'{PREFIX}:a :b "\\x" .', r"2: unknown escape \\x"),
        ("a.ttl", f'{PREFIX}:a :b "c"^^ .', r"2: expected a type, got '\.'"),
        ("a.ttl", f"{PREFIX}:a :b \\UFFFFFFFF", r"2: expected Turtle"),
        ("a.ttl", f"{PREFIX}:a :b <\\UFFFFFFFF> .", r"2: no character has the number"),
        ("a.ttl", f"{PREFIX}:a :b {'[:c ' * 51}", r"2: brackets are nested more than 50 deep"),
        ("a.ttl", "@prefix :a <b> .", r"1: expected a prefix such as skos:, got ':a'"),
        ("a.ttl", "@base 3 .", r"1: expected <\.\.\.>, got '3'"),
        ("a.ttl", ")", r"1: expected a node, got '\)'"),
        ("a.rdf", "<rdf:RDF>", r"1: is not RDF/XML: "),
        ("a.rdf", LAUGHS, r" is not RDF/XML: entity b has references to others"),
        ("a.tsv", "id\tname" + "\t" * (1 << 20), r"1: a line of a table may have 1048576"),
        ("a.csv", "id,name" + "," * (1 << 20), r"1: a line of a table may have 1048576"),
        ("a.tsv", "<u>\tn\n\n<v>\n", r"3: expected <uri><TAB>name, perhaps <TAB>notation"),
        ("a.tsv", "id\tlabels\nx\ty\n", r"1: must have the columns id and name, got id, labels"),
        ("a.csv", "", r"1: must have the columns id and name, got nothing"),
        ("a.csv", "id,name\nx\n", r"2: 1 column, but the header has 2"),
        ("a.csv", 'id,name\n"x\n', r"2: a quoted field is not closed"),
        ("a.csv", "id,name\n,x\n", r"2: 'id' must be a string that is not empty"),
        *(("a.jsonl", f'{{"id": "good", "name": "x"}}\n{line}\n', f"2: {rule}") for line, rule in (
            ("[]", "expected a JSON object"),
            ('{"name": "x"}', "'id' must be a string that is not empty, got nothing"),
            ('{"id": " ", "name": "x"}', "'id' must be a string that is not empty, got ' '"),
            ('{"id": "a", "name": 3}', "'name' must be a string that is not empty, or a list"),
            ('{"id": "a", "name": {"en": [""]}}', "'name' must be a string that is not empty"),
            ('{"id": "a", "name": "\\ud800"}', "a lone surrogate"),
            ('{"id": "a", "broader": {"en": "b"}}', "'broader' must be a string"),
            ('{"id": "a", "language": 1}', "'language' must be the code of a language, got 1"),
            ('{"id": "a", "withdrawn": "no"}', "'withdrawn' must be true or false, got 'no'"),
        )),
    ],
)  # fmt: skip
def test_bad_file_is_refused_with_its_place(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=rf"{name}:{message}"):
        Thesaurus.read(tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.nt", f'<a> <b> "{"c" * 500_000}" .'),
        ("a.ttl", f'{PREFIX}:a :b "{"c" * 500_000}" .'),
        ("a.ttl", f'{PREFIX}:a :b """{"c" * 500_000}""" .'),
        ("a.ttl", f"{PREFIX}:a :b :c" + "." * 500_000),
        ("a.ttl", f"{PREFIX}:a :b 1" + ",1" * 400_000 + "."),
    ],
    ids=["string", "short", "long", "dots", "objects"],
)
def test_memory_of_rdf_is_in_proportion(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    tracemalloc.start()
    try:
        with suppress(FormatError), open_statements(tmp_path / name) as found:
            for _ in found:
                pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


def test_limits_are_kept(tmp_path):
    (tmp_path / "a.nt.gz").write_bytes(gzip.compress(b"# nothing\n" * 100))
    with pytest.raises(FormatError, match=r"more than 10 bytes \(max_bytes\)"):
        Thesaurus.read(tmp_path / "a.nt.gz", limits=ReadLimits(max_bytes=10))
