r"""RDF as triples: N-Triples and Turtle are streamed, RDF/XML is left to rdflib.

rdflib keeps every triple, 1 GB for 10^5 concepts, so that a national thesaurus of 10^6 would not
fit. ``thesauri.py`` makes statements of the triples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urljoin
from xml.parsers import expat

from defrag.exceptions import FormatError
from defrag.io.documents import numbered_lines, shown
from defrag.io.files import InputStream


class Triple(NamedTuple):
    """A triple; the subject of a blank node begins with ``_:``."""

    line: int | None
    subject: str
    predicate: str
    value: str
    literal: bool = False
    language: str = ""


_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f",
               '"': '"', "'": "'", "\\": "\\"}  # fmt: skip


def _unescaped(text: str) -> str:
    """Return a string or an IRI without escapes; raise ValueError if one is unknown."""
    if "\\" not in text:
        return text

    def character(found: re.Match[str]) -> str:
        short, long, letter = found.groups()
        if letter is None:
            return chr(int(short or long, 16))
        if letter not in _CHARACTERS:
            raise ValueError(f"unknown escape {shown(found.group())}")
        return _CHARACTERS[letter]

    try:
        return _ESCAPE.sub(character, text)
    except OverflowError:
        raise ValueError("no character has the number of the escape") from None


# --- N-Triples: a triple per line.

_IRI = r'<([^<>"{}|^`\x00-\x20]*)>'
_LANGUAGE = r"@([a-zA-Z]+(?:-[a-zA-Z0-9]+)*)"
_LINE = re.compile(
    rf'\s*(?:{_IRI}|(_:[^\s<>"]+))\s*{_IRI}\s*'
    rf'(?:{_IRI}|(_:[^\s<>"]+)|"([^"\\]*(?:\\.[^"\\]*)*)"(?:{_LANGUAGE}|\^\^{_IRI})?)\s*\.\s*(?:\#.*)?'
)


def read_n_triples(stream: InputStream, wanted: Callable[[str], Any]) -> Iterator[Triple]:
    """Yield the triples of an N-Triples file whose predicate is wanted."""
    for number, line in numbered_lines(stream):
        found = _LINE.fullmatch(line)
        if found is None:
            if line.strip() and not line.lstrip().startswith("#"):
                rule = f"expected <subject> <predicate> object ., got {shown(line)!r}"
                raise FormatError(stream.name, rule, number)
            continue
        subject, blank, predicate, iri, other, text, language, _ = found.groups()
        if not wanted(predicate):
            continue
        try:
            value = _unescaped(iri if iri is not None else text if text is not None else other)
            owner = blank or _unescaped(subject)
        except ValueError as error:
            raise FormatError(stream.name, str(error), number) from None
        yield Triple(number, owner, predicate, value, text is not None, language or "")


# --- Turtle, as a sequence of tokens.

_TOKEN = re.compile(
    rf"""\s*(?:\#.*|
    (?P<long>\"\"\"|''')|
    (?P<string>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')|
    (?P<iri>{_IRI})|
    (?P<keyword>@prefix|@base|(?i:prefix|base)(?=\s))|
    (?P<language>{_LANGUAGE})|
    (?P<blank>_:[\w\d](?:[\w\-.\u00b7]*[\w\-])?)|
    (?P<number>[+-]?(?:\d*\.\d+|\d+(?:\.(?=[eE]))?)(?:[eE][+-]?\d+)?(?=[\s,;.\])]|$))|
    (?P<name>(?:[\w](?:[\w\-.]*[\w\-])?)?:
        (?:[\w:\-]+|\.+(?=[\w:\-]|%[0-9A-Fa-f]{{2}}|\\[^\w\s])|%[0-9A-Fa-f]{{2}}|\\[^\w\s])*)|
    (?P<word>a|true|false)(?![\w:\-])|
    (?P<mark>\^\^|[.;,\[\]()]))""",
    re.VERBOSE,
)
_DEEPEST = 50


class _Token(NamedTuple):
    line: int
    kind: str
    text: str


def _tokens(stream: InputStream) -> Iterator[_Token]:
    """Yield the tokens of a Turtle file; long strings may span lines."""
    open_at, quotes, pieces = 0, "", [""]
    end_of: dict[str, re.Pattern[str]] = {
        quote * 3: re.compile(
            rf"([^{quote}\\]*(?:(?:\\.|\\$|{quote}(?!{quote}{quote}))[^{quote}\\]*)*)({quote * 3})?"
        )
        for quote in "\"'"
    }
    for number, line in numbered_lines(stream):
        place = 0
        while place < len(line) or quotes:
            if quotes:
                found = end_of[quotes].match(line, place)
                pieces.append(found.group(1) if found else "")
                if found is None or found.group(2) is None:
                    pieces.append("\n")
                    break
                yield _Token(open_at, "string", "".join(pieces))
                place, quotes, pieces = found.end(), "", []
                continue
            found = _TOKEN.match(line, place)
            if found is None:
                if not line[place:].strip():
                    break
                rule = f"expected Turtle, got {shown(line[place:].strip())!r}"
                raise FormatError(stream.name, rule, number)
            place, kind = found.end(), found.lastgroup
            if kind == "long":
                open_at, quotes, pieces = number, found.group("long"), []
            elif kind is not None:
                text = found.group(kind)
                yield _Token(number, kind, text[1:-1] if kind in {"string", "iri"} else text)
    if quotes:
        raise FormatError(stream.name, "a string is not closed", open_at)


class _Turtle:
    """A parser of tokens, one token ahead."""

    def __init__(self, stream: InputStream) -> None:
        self._name = stream.name
        self._tokens = _tokens(stream)
        self._prefixes: dict[str, str] = {}
        self._base = ""
        self._n_blank = 0
        self._token = _Token(1, "end", "")
        self._next()

    def _next(self) -> _Token:
        """Return the token and go on to the one after it."""
        token = self._token
        self._token = next(self._tokens, _Token(token.line, "end", ""))
        return token

    def _fail(self, expected: str) -> NoReturn:
        got = repr(shown(self._token.text)) if self._token.text else f"the {self._token.kind}"
        raise FormatError(self._name, f"expected {expected}, got {got}", self._token.line)

    def _take(self, text: str) -> bool:
        """Go past a mark, if it is the next token."""
        if self._token.kind != "mark" or self._token.text != text:
            return False
        self._next()
        return True

    def _need(self, text: str) -> None:
        if not self._take(text):
            self._fail(f"'{text}'")

    def triples(self) -> Iterator[Triple]:
        """Yield the triples of the file."""
        while self._token.kind != "end":
            if self._token.kind == "keyword":
                self._declaration()
                continue
            described = self._token.text == "[" and self._token.kind == "mark"
            subject = yield from self._node(0)
            if not (described and self._token.text == "."):
                yield from self._predicates(subject, 0)
            self._need(".")

    def _declaration(self) -> None:
        word = self._next().text
        prefix = None
        if word.lower().endswith("prefix"):
            if self._token.kind != "name" or not self._token.text.endswith(":"):
                self._fail("a prefix such as skos:")
            prefix = self._next().text[:-1]
        if self._token.kind != "iri":
            self._fail("<...>")
        value = self._iri(self._next())
        if prefix is None:
            self._base = value
        else:
            self._prefixes[prefix] = value
        if word.startswith("@"):
            self._need(".")

    def _iri(self, token: _Token) -> str:
        try:
            if token.kind == "iri":
                iri = _unescaped(token.text)
                return iri if ":" in iri or not self._base else urljoin(self._base, iri)
        except ValueError as error:
            raise FormatError(self._name, str(error), token.line) from None
        prefix, _, local = token.text.partition(":")
        if prefix not in self._prefixes:
            raise FormatError(self._name, f"unknown prefix {shown(prefix)!r}", token.line)
        return self._prefixes[prefix] + re.sub(r"\\(.)", r"\1", local)

    def _node(self, depth: int) -> Generator[Triple, None, str]:
        """Take a node that is not a literal; yield the triples about a blank one."""
        if depth > _DEEPEST:
            rule = f"brackets are nested more than {_DEEPEST} deep"
            raise FormatError(self._name, rule, self._token.line)
        if self._token.kind in {"iri", "name"}:
            return self._iri(self._next())
        if self._token.kind == "blank":
            return self._next().text
        self._n_blank += 1
        node = f"_:[{self._n_blank}]"  # no label of a file has brackets
        if self._take("["):
            if not self._take("]"):
                yield from self._predicates(node, depth + 1)
                self._need("]")
        elif self._take("("):  # a list: what is in it belongs to no concept
            while not self._take(")"):
                yield from self._object(node, "", depth + 1)
        else:
            self._fail("a node")
        return node

    def _predicates(self, subject: str, depth: int) -> Iterator[Triple]:
        while True:
            if self._token == (self._token.line, "word", "a"):
                self._next()
                predicate = _TYPE
            elif self._token.kind in {"iri", "name"}:
                predicate = self._iri(self._next())
            else:
                self._fail("a predicate")
            yield from self._object(subject, predicate, depth)
            while self._take(","):
                yield from self._object(subject, predicate, depth)
            if not self._take(";"):
                return
            while self._take(";"):
                pass
            if self._token.text in {".", "]"}:
                return

    def _object(self, subject: str, predicate: str, depth: int) -> Iterator[Triple]:
        line, kind, text = self._token
        if kind not in {"string", "number", "word"} or text == "a":
            yield Triple(line, subject, predicate, (yield from self._node(depth)))
            return
        self._next()
        language = ""
        if kind == "string":
            try:
                text = _unescaped(text)
            except ValueError as error:
                raise FormatError(self._name, str(error), line) from None
            if self._token.kind == "language":
                language = self._next().text[1:]
            elif self._take("^^"):
                if self._token.kind not in {"iri", "name"}:
                    self._fail("a type")
                self._iri(self._next())
        yield Triple(line, subject, predicate, text, True, language)


def read_turtle(stream: InputStream, wanted: Callable[[str], Any]) -> Iterator[Triple]:
    """Yield the triples of a Turtle file whose predicate is wanted."""
    return (one for one in _Turtle(stream).triples() if wanted(one.predicate))


# --- RDF/XML.


def _refuse_nested_entities(data: bytes) -> None:
    """Raise ValueError for an entity with references, which a line may expand to gigabytes."""
    parser = expat.ParserCreate()

    def declared(name: str, _: object, value: str | None, *__: object) -> None:
        if value is not None and "&" in value:
            raise ValueError(f"entity {name} has references to others")

    def element(*_: object) -> None:
        raise StopIteration  # what follows declares nothing

    parser.EntityDeclHandler, parser.StartElementHandler = declared, element
    with suppress(StopIteration):
        parser.Parse(data, True)


def read_rdf_xml(stream: InputStream, wanted: Callable[[str], Any]) -> Iterator[Triple]:
    """Yield the triples of an RDF/XML file whose predicate is wanted; the file is read at once."""
    try:
        import rdflib  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("RDF/XML needs rdflib: pip install 'defrag[rdf]'") from None
    found: list[Triple] = []

    class Sink(rdflib.Graph):  # a graph takes ten times the memory
        def add(self, triple: tuple[Any, Any, Any]) -> Sink:
            subject, predicate, value = triple
            if wanted(str(predicate)):
                owner = f"_:{subject}" if isinstance(subject, rdflib.BNode) else str(subject)
                literal = isinstance(value, rdflib.Literal)
                language = (value.language or "") if literal else ""
                found.append(Triple(None, owner, str(predicate), str(value), literal, language))
            return self

    try:
        data = stream.read_all()
        _refuse_nested_entities(data)
        Sink().parse(data=data, format="xml")
    except Exception as error:  # noqa: BLE001 - of the parser of XML, of rdflib, or of neither
        line = getattr(error, "getLineNumber", lambda: None)()
        reason = getattr(error, "getMessage", error.__str__)()
        raise FormatError(stream.name, f"is not RDF/XML: {shown(reason)}", line) from None
    yield from found
