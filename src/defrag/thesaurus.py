"""Thesauri: what labels are called, and how they belong together, in compact columns.

A concept is a label with names: a preferred one per language, alternatives, descriptions, broader
concepts, types, schemes, and perhaps a successor. Every reader of ``io/thesauri.py`` gives
statements about concepts, and this module puts them in one order, so that equal thesauri have equal
columns whatever file they come from. Columns are flat arrays and packed strings, which model files
map: a million concepts need no object of their own.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from defrag._names import Names
from defrag._parameters import Int
from defrag.exceptions import FormatError
from defrag.io.files import PathLike, ReadLimits, display_name
from defrag.io.thesauri import Statement, ThesaurusForm, What, open_statements, statements_of
from defrag.persistence.fields import COUNT, MAX_COUNT, Array, Number, Part, State, Strings

_MAX_LANGUAGES = 1 << 16
_COUNT_OR_NONE = Int(0, MAX_COUNT)
_PAIR_COLUMNS = ("broader", "concept_types", "concept_schemes")


# --- What a model file holds.


def _check(part: Part) -> None:
    """Check the order of the columns and what they refer to."""
    for name in ("name", "description", "notation"):
        owners = part.arrays[f"{name}_concepts"]
        if (owners[1:] < owners[:-1]).any():
            part.fail(f"{part.name(f'{name}_concepts')} must not decrease")
    for name, noun in zip(_PAIR_COLUMNS, ("concepts", "types", "schemes"), strict=True):
        pairs = part.arrays[name]
        for column, size in enumerate(("n_concepts", f"n_{noun}")):
            if pairs.shape[1] != 2:
                part.fail(f"{part.name(name)} must have 2 columns, got {pairs.shape[1]}")
            values = pairs[:, column]
            if values.size and not 0 <= values.min() <= values.max() < part.size(size):
                part.fail(f"{part.name(name)} must be in [0, {part.size(size)}), got "
                          f"{values.min()} to {values.max()}")  # fmt: skip


def _checked(part: Part, columns: dict[str, Any]) -> Thesaurus:
    """Return the thesaurus of checked columns, in which a search by halves finds every id."""
    ids = columns["ids"]
    for place, (one, other) in enumerate(pairwise(ids), 1):
        if one >= other:
            part.fail(f"{part.name('ids')} must increase, got {other!r} after {one!r} at {place}")
    return Thesaurus(**columns)


def _texts_of(name: str) -> tuple[Strings | Array, ...]:
    return (
        Strings(f"{name}s", f"{name}_concepts"),
        Array(f"{name}_concepts", "int32", below="n_concepts"),
    )


# --- The thesaurus.


class Thesaurus:
    """Labels with names.

    Concepts are numbered in the order of their ids, names by concept, the preferred ones first.
    :meth:`read` and :meth:`of` make one.

    Parameters
    ----------
    **columns
        The attributes below.

    Attributes
    ----------
    ids : Names, length n_concepts
        The concepts: labels as they stand in data, increasing.
    languages : Names
        Codes of languages, increasing; ``""`` where a file gives none.
    names : Names, length n_names
        All names.
    name_concepts : ndarray of int32, shape (n_names,)
        The concept of each name, ascending.
    name_languages : ndarray of uint16, shape (n_names,)
        Its language, a place in ``languages``.
    name_preferred : ndarray of uint8, shape (n_names,)
        1 for a preferred name, 0 for an alternative one.
    descriptions, description_concepts, description_languages
        Likewise, of descriptions.
    notations, notation_concepts
        Likewise, of notations, such as the number of a class.
    types, schemes : Names
        The distinct types and schemes of concepts.
    broader, concept_types, concept_schemes : ndarray of int32, shape (n, 2)
        Pairs of a concept and a broader concept, a type or a scheme, ascending.
    withdrawn : ndarray of uint8, shape (n_concepts,)
        1 for a concept that is no longer to be used.
    replaced_by : ndarray of int32, shape (n_concepts,)
        The concept that takes its place, or -1.

    Examples
    --------
    >>> from defrag import Thesaurus
    >>> found = Thesaurus.of([
    ...     {"id": "t1", "name": {"en": "heat pump", "de": "Wärmepumpe"}},
    ...     {"id": "t2", "name": {"en": "pump"}, "alternatives": ["pumping engine"]},
    ... ])
    >>> found
    <Thesaurus of 2 concepts with 4 names: no language, de, en>
    >>> found.name("t1", "de"), found.name("t2", "de"), found.name("t3")
    ('Wärmepumpe', 'pump', 't3')
    """

    _searched: _SearchedNames | None = None

    def __init__(self, **columns: Any) -> None:
        vars(self).update(columns)
        n_concepts = len(self.ids)
        self.first_names: NDArray[np.int64] = np.searchsorted(
            self.name_concepts, np.arange(n_concepts + 1, dtype=np.int32)
        )
        """The first name of each concept, and the number of names."""

    ids: Names
    languages: Names
    names: Names
    name_concepts: NDArray[np.int32]
    name_languages: NDArray[np.uint16]
    name_preferred: NDArray[np.uint8]
    descriptions: Names
    description_concepts: NDArray[np.int32]
    description_languages: NDArray[np.uint16]
    notations: Names
    notation_concepts: NDArray[np.int32]
    types: Names
    concept_types: NDArray[np.int32]
    schemes: Names
    concept_schemes: NDArray[np.int32]
    broader: NDArray[np.int32]
    withdrawn: NDArray[np.uint8]
    replaced_by: NDArray[np.int32]

    _state = State(
        Number(rule=COUNT, name="n_concepts", get=len),
        Number(rule=_COUNT_OR_NONE, name="n_languages", get=lambda one: len(one.languages)),
        Number(rule=_COUNT_OR_NONE, name="n_types", get=lambda one: len(one.types)),
        Number(rule=_COUNT_OR_NONE, name="n_schemes", get=lambda one: len(one.schemes)),
        Strings("ids", "n_concepts"),
        Strings("languages", "n_languages"),
        Strings("types", "n_types"),
        Strings("schemes", "n_schemes"),
        *(one for name in ("name", "description", "notation") for one in _texts_of(name)),
        Array("name_languages", "uint16", length="name_concepts", below="n_languages"),
        Array("name_preferred", "uint8", length="name_concepts", below=2),
        Array(
            "description_languages", "uint16", length="description_concepts", below="n_languages"
        ),
        *(Array(name, "int32", ndim=2) for name in _PAIR_COLUMNS),
        Array("withdrawn", "uint8", length="n_concepts", below=2),
        Array("replaced_by", "int32", length="n_concepts", low=-1, below="n_concepts"),
        kind="thesaurus",
        check=_check,
        build=_checked,
    )

    @classmethod
    def read(
        cls,
        path: PathLike,
        *,
        form: ThesaurusForm | None = None,
        language: str = "",
        limits: ReadLimits | None = None,
    ) -> Thesaurus:
        """Read a thesaurus from a file.

        Parameters
        ----------
        path : path
            The file, encoded as UTF-8; may be compressed, ``-`` is standard input.
        form : str, optional
            The format; default: by the suffix of the name.

            - ``jsonl`` (``.jsonl``, ``.json``): objects as :meth:`of` takes them;
            - ``csv``, ``tsv``: tables with a header, whose columns are the keys of these
              objects, such as ``name_de``; bars separate several values of a field. Also
              Annif's tables (``uri,label_de,notation``) and lines (``<uri><TAB>name``);
            - ``turtle`` (``.ttl``), ``n-triples`` (``.nt``): RDF in the terms of SKOS or of the
              GND;
            - ``rdf-xml`` (``.rdf``, ``.xml``): the same, for which rdflib is needed.
        language : str, default=""
            The language of names for which the file gives none.
        limits : ReadLimits, optional
            Limits on the cost of reading.

        Raises
        ------
        FormatError
            If the file violates a rule of its format; names the line.
        """
        with open_statements(path, form, limits) as statements:
            return _build(statements, display_name(path), language)

    @classmethod
    def of(cls, concepts: Iterable[Mapping[str, Any]], *, language: str = "") -> Thesaurus:
        """Return the thesaurus of concepts that are given as dictionaries.

        Parameters
        ----------
        concepts : iterable of dict
            Each has an ``id``. ``name``, ``alternatives`` and ``description`` are strings, lists
            of strings, or dictionaries of them by language; ``broader``, ``type``, ``scheme``,
            ``notation`` and ``replaced_by`` are strings or lists of them; ``withdrawn`` is a
            bool; ``language`` is that of plain strings. Others keys are ignored.
        language : str, default=""
            The language of names for which none is given.
        """
        statements = (
            one
            for number, concept in enumerate(concepts, 1)
            for one in statements_of("concepts", number, concept)
        )
        return _build(statements, "concepts", language)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        languages = ", ".join(code or "no language" for code in self.languages)
        return f"<Thesaurus of {len(self):,} concepts with {len(self.names):,} names: {languages}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Thesaurus):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
            for mine, theirs in ((getattr(self, one), getattr(other, one)) for one in _COLUMNS)
        )

    __hash__ = None  # type: ignore[assignment] # like a list

    def number(self, concept: str) -> int:
        """Return the number of a concept, -1 if it is unknown."""
        place = bisect_left(self.ids, concept)
        return place if place < len(self) and self.ids[place] == concept else -1

    def numbers(self, concepts: Iterable[str]) -> NDArray[np.int32]:
        """Return the numbers of concepts, -1 for unknown ones."""
        known = {concept: number for number, concept in enumerate(self.ids)}
        return np.array([known.get(concept, -1) for concept in concepts], dtype=np.int32)

    @classmethod
    def of_names(cls, names: Iterable[str]) -> Thesaurus:
        """Return a thesaurus of labels that are called what they are."""
        return cls.of({"id": name, "name": name} for name in names)

    def search(self, words: str, n: int = 10, *, language: str | None = None) -> list[Match]:
        """Return concepts by a name that has some words.

        Parameters
        ----------
        words : str
            Words or parts of words, in any case and order, with or without accents.
        n : int, default=10
            How many concepts.
        language : str, optional
            The language of the names to show; names in it come first.

        Returns
        -------
        found : list of Match
            First names that are the words, then those that begin with them, then others, short
            ones first. If no name has all words, those that are spelt most alike.

        Examples
        --------
        >>> from defrag import Thesaurus
        >>> names = Thesaurus.of([{"id": "t1", "name": "Large heat pump"},
        ...                       {"id": "t2", "name": "Heat engine"}])
        >>> [match.label for match in names.search("heat pump")]
        ['t1']
        >>> names.search("heat pimp", 1)
        [Match(label='t1', name='Large heat pump', matched='Large heat pump', exact=False)]
        """
        asked = " ".join(_folded(words).split())
        if not asked:
            return []
        if self._searched is None:
            self._searched = _SearchedNames(self.names)
        places, exact = self._searched.find(asked), True
        if not len(places):
            places, exact = self._searched.alike(asked), False
        codes = self.languages[self.name_languages[places].astype(np.int64)].tolist()

        def rank(place: int, name: str, code: str) -> tuple[Any, ...]:
            kind = (name == asked, name.startswith(asked), f" {asked}" in name, asked in name)
            best = kind.index(True) if True in kind else len(kind)
            preferred = not self.name_preferred[place]
            return best, code != language, preferred, len(name), place

        # Those spelt alike are in order; the others are sorted by what was found.
        found = places.tolist()
        if exact:
            names = map(_folded, self.names[places].tolist())
            found = [key[-1] for key in sorted(map(rank, found, names, codes))]
        by_concept: dict[int, int] = {}
        for place in found:
            concept = int(self.name_concepts[place])
            if not self.withdrawn[concept]:
                by_concept.setdefault(concept, place)
        best = list(by_concept.items())[:n]
        labels = [self.ids[concept] for concept, _ in best]
        matched = [self.names[place] for _, place in best]
        return [
            Match(label, self.name(label, language), name, exact)
            for label, name in zip(labels, matched, strict=True)
        ]

    def members(self, kind: str, name: str) -> NDArray[np.int32]:
        """Return the concepts of a type or in a scheme.

        Raises
        ------
        ValueError
            If there is no such type or scheme.
        """
        names, pairs = {
            "type": (self.types, self.concept_types), "scheme": (self.schemes, self.concept_schemes)
        }[kind]  # fmt: skip
        known = list(names)
        if name not in known:
            some = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
            raise ValueError(f"no concept has the {kind} {name!r}; there are: {some or 'none'}")
        found: NDArray[np.int32] = pairs[pairs[:, 1] == known.index(name), 0]
        return found

    def successors(self) -> NDArray[np.int32]:
        """Return the concept in use that each concept stands for, -1 for none."""
        own = np.arange(len(self), dtype=np.int32)
        found = np.where(self.withdrawn, self.replaced_by, own)
        for _ in range(len(self).bit_length()):  # each round doubles the steps
            found = np.where(found >= 0, found[found], -1)
        return np.where((found >= 0) & (self.withdrawn[found] == 0), found, -1)  # not in a circle

    def merged(self, other: Thesaurus) -> Thesaurus:
        """Return both thesauri as one; a concept that the other names replaces the own one."""
        gone = set(other.ids[np.flatnonzero(np.diff(other.first_names))].tolist())
        kept = (one for one in self.statements() if one[0] not in gone)
        return _build(chain(other.statements(), kept), "thesaurus", "")

    def statements(self) -> Iterator[Statement]:
        """Yield all that the columns say, as the readers do."""
        ids = list(self.ids)
        codes = list(self.languages)
        for concept in ids:
            yield concept, "concept", "", ""
        whats: tuple[What, What] = ("alternative", "preferred")
        names = self.name_concepts, self.name_languages, self.name_preferred, self.names
        for concept, code, preferred, text in zip(*names, strict=True):
            yield ids[concept], whats[preferred], text, codes[code]
        described = self.description_concepts, self.description_languages, self.descriptions
        for concept, code, text in zip(*described, strict=True):
            yield ids[concept], "description", text, codes[code]
        for concept, text in zip(self.notation_concepts, self.notations, strict=True):
            yield ids[concept], "notation", text, ""
        columns: tuple[tuple[What, list[str], NDArray[np.int32]], ...] = (
            ("broader", ids, self.broader),
            ("type", list(self.types), self.concept_types),
            ("scheme", list(self.schemes), self.concept_schemes),
        )
        for what, values, pairs in columns:
            for owner, place in pairs.tolist():
                yield ids[owner], what, values[place], ""
        for owner in np.flatnonzero(self.withdrawn).tolist():
            yield ids[owner], "withdrawn", "", ""
        for owner in np.flatnonzero(self.replaced_by >= 0).tolist():
            yield ids[owner], "replaced_by", ids[self.replaced_by[owner]], ""

    def name(self, concept: str, language: str | None = None) -> str:
        """Return the name of a concept in a language.

        Parameters
        ----------
        concept : str
            The id.
        language : str, optional
            The code, such as ``de``. Without a preferred name in this language, another one
            is returned: without a language, in English, or in the first of the languages.

        Returns
        -------
        name : str
            The preferred name; the id if the concept is unknown or has no name.
        """
        number = self.number(concept)
        if number < 0:
            return concept
        first, end = map(int, self.first_names[number : number + 2])
        codes = list(self.languages[self.name_languages[first:end].astype(np.int64)])
        n_preferred = int(self.name_preferred[first:end].sum())
        asked = [] if language is None else [language, language.partition("-")[0]]
        for wanted in (*asked, "", "en"):
            if wanted in codes[:n_preferred]:
                return self.names[first + codes.index(wanted)]
        return self.names[first] if first < end else concept

    def notation(self, number: int) -> str | None:
        """Return the first notation of a concept, given by its number, or None."""
        place = int(np.searchsorted(self.notation_concepts, number))
        found = self.notation_concepts[place : place + 1].tolist() == [number]
        return self.notations[place] if found else None

    def description(self, number: int, language: str | None = None) -> str | None:
        """Return the description of a concept, given by its number, or else in another language."""
        first, end = np.searchsorted(self.description_concepts, [number, number + 1]).tolist()
        codes = self.languages[self.description_languages[first:end].astype(np.int64)].tolist()
        wanted = codes.index(language) if language in codes else 0
        return self.descriptions[first + wanted] if codes else None


_COLUMNS = tuple(name for name in Thesaurus.__annotations__ if name[0] != "_")


# --- Search of names.


class Match(NamedTuple):
    """A concept that a search found: the name to show, and the one that has the words if exact."""

    label: str
    name: str
    matched: str
    exact: bool


def _folded(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower()
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text.casefold()))


class _SearchedNames:
    """Names as one string without case and accents: a scan of it takes 30 ms for 10^6 names."""

    _MOST = 10_000
    _ALIKE = 0.4

    def __init__(self, names: Names) -> None:
        data = np.where(names.data == ord("\n"), np.uint8(ord(" ")), names.data)
        lines = np.insert(data, names.offsets[1:-1], ord("\n")).tobytes().decode()
        self._text = f"\n{_folded(lines)}\n"
        breaks = [found.start() for found in re.finditer("\n", self._text)]
        self._breaks = np.array(breaks, dtype=np.int64)

    def _having(self, piece: str, most: int | None = None) -> NDArray[np.int64]:
        """Return the names in which a piece occurs; line feeds stand around names."""
        found = islice(re.finditer(re.escape(piece), self._text), most)
        places = np.fromiter((one.start() for one in found), dtype=np.int64)
        inside = places + (piece[0] == "\n")
        return np.unique(np.searchsorted(self._breaks, inside, side="left") - 1)

    def find(self, asked: str) -> NDArray[np.int64]:
        """Return names with all words, at most some thousands."""
        whole = (f"\n{asked}\n", f"\n{asked}", asked)  # the best are not left out
        found = np.unique(np.concatenate([self._having(one, self._MOST) for one in whole]))
        for place, word in enumerate(asked.split() if not len(found) else ()):
            having = self._having(word)
            found = having if not place else np.intersect1d(found, having, assume_unique=True)
        return found[: 3 * self._MOST]

    def alike(self, asked: str) -> NDArray[np.int64]:
        """Return names that share most triples of characters, best first."""
        whole = f"\n{asked}\n"
        pieces = {whole[start : start + 3] for start in range(len(whole) - 2)}
        shared = np.zeros(len(self._breaks) - 1, dtype=np.int32)
        for piece in sorted(pieces):
            shared[self._having(piece)] += 1
        score = 2.0 * shared / (len(pieces) + np.diff(self._breaks) - 1)
        best = np.flatnonzero(score >= self._ALIKE)
        return best[np.lexsort((best, -score[best]))][:100]


# --- Columns from statements.


class _Texts:
    """Texts about concepts, as they are read."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ends = array("q", [0])
        self.concepts, self.languages, self.ranks = array("i"), array("i"), array("b")

    def add(self, concept: int, language: int, text: str, rank: int = 0) -> None:
        self.data += text.encode()
        self.ends.append(len(self.data))
        self.concepts.append(concept)
        self.languages.append(language)
        self.ranks.append(rank)

    def ordered(self, rename: NDArray[np.int32], languages: NDArray[np.int32]) -> Any:
        """Return texts, concepts, languages and ranks of kept concepts in the one order."""
        texts = Names(np.frombuffer(self.data, dtype=np.uint8), np.array(self.ends))
        concepts = rename[np.array(self.concepts, dtype=np.int64)]
        codes = np.append(languages, 0)[np.array(self.languages, dtype=np.int64)]
        ranks = np.array(self.ranks, dtype=np.int8)
        order = np.lexsort((codes, ranks, concepts))
        order = order[concepts[order] >= 0]
        keys = np.stack([column[order] for column in (concepts, ranks, codes)])
        begins = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])
        ends = np.r_[begins[1:], len(order)]
        keep = np.ones(len(order), dtype=bool)
        for begin, end in np.stack([begins, ends], axis=1)[ends - begins > 1].tolist():
            # Few names share concept, rank and language: sorted by their text, each once.
            found = dict(zip(texts[order[begin:end]].tolist(), order[begin:end], strict=True))
            order[begin : begin + len(found)] = [found[text] for text in sorted(found)]
            keep[begin + len(found) : end] = False
        order = order[keep]
        return texts.take(order), concepts[order], codes[order], ranks[order]


def unknown_label(label: Any, found: Sequence[Match]) -> ValueError:
    """Return the error of a label that a model does not have, with those that may be meant."""
    meant = " or ".join(str(one.label) for one in found)
    asked = f": did you mean {meant}?" if meant else ""
    return ValueError(f"label must be a label of the model, got {label!r}{asked}")


class _Builder:
    """Columns of a thesaurus that is being read."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.numbers: dict[str, int] = {}
        self.codes: dict[str, int] = {}
        self.texts = {"name": _Texts(), "description": _Texts(), "notation": _Texts()}
        self.words: dict[str, dict[str, int]] = {"type": {}, "scheme": {}}
        self.pairs = {
            what: (array("i"), array("i")) for what in ("type", "scheme", "broader", "replaced_by")
        }
        self.marks = {what: array("i") for what in ("concept", "other", "withdrawn")}

    def add(self, statement: Statement) -> None:
        """Take up one statement."""
        concept, what, value, code = statement
        number = self.numbers.setdefault(concept, len(self.numbers))
        if what in self.marks:
            self.marks[what].append(number)
        elif what in self.pairs:
            known = self.words.get(what, self.numbers)
            owners, values = self.pairs[what]
            owners.append(number)
            values.append(known.setdefault(value, len(known)))
        elif what == "notation":
            self.texts[what].add(number, 0, value)
        else:
            place = self.codes.setdefault(code or self.language, len(self.codes))
            texts = self.texts["description" if what == "description" else "name"]
            texts.add(number, place, value, what == "alternative")

    def kept(self) -> NDArray[np.bool_]:
        """Return which ids are concepts: named or withdrawn ones, by what the file calls so."""
        kept = np.zeros(len(self.numbers), dtype=bool)
        named = self.texts["name"].concepts, self.marks["withdrawn"], self.pairs["replaced_by"][0]
        for column in named:
            kept[np.array(column, dtype=np.int64)] = True
        if self.marks["concept"]:
            called = np.zeros(len(self.numbers), dtype=bool)
            called[np.array(self.marks["concept"], dtype=np.int64)] = True
            kept &= called
        kept[np.array(self.marks["other"], dtype=np.int64)] = False
        return kept

    def finish(self, source: str) -> Thesaurus:
        """Return the thesaurus; ``source`` is for error messages."""
        if len(self.codes) > _MAX_LANGUAGES:
            rule = f"has {len(self.codes)} languages, at most {_MAX_LANGUAGES} may be"
            raise FormatError(source, rule)
        kept = self.kept()
        if not kept.any():
            raise FormatError(source, "has no concepts with names")
        places, ids = _sorted_numbers(self.numbers, kept)
        of_codes, codes = _sorted_numbers(self.codes)
        columns: dict[str, Any] = {"ids": ids, "languages": codes}
        for name, found in self.texts.items():
            texts, owners, languages, ranks = found.ordered(places, of_codes)
            columns |= {f"{name}s": texts, f"{name}_concepts": owners}
            columns[f"{name}_languages"] = languages.astype(np.uint16)
            columns[f"{name}_preferred"] = (ranks == 0).astype(np.uint8)
        for word, known in self.words.items():
            of_words, columns[f"{word}s"] = _sorted_numbers(known)
            columns[f"concept_{word}s"] = _sorted_pairs(self.pairs[word], places, of_words)
        columns["broader"] = _sorted_pairs(self.pairs["broader"], places, places)
        pairs = _sorted_pairs(self.pairs["replaced_by"], places, places)
        single = np.bincount(pairs[:, 0], minlength=len(ids))[pairs[:, 0]] == 1
        columns["replaced_by"] = np.full(len(ids), -1, dtype=np.int32)
        # A split concept has no successor.
        columns["replaced_by"][pairs[single, 0]] = pairs[single, 1]
        columns["withdrawn"] = np.zeros(len(ids), dtype=np.uint8)
        for column in (self.marks["withdrawn"], self.pairs["replaced_by"][0]):
            gone = places[np.array(column, dtype=np.int64)]
            columns["withdrawn"][gone[gone >= 0]] = 1
        return Thesaurus(**{name: columns[name] for name in _COLUMNS})


def _build(statements: Iterable[Statement], source: str, language: str) -> Thesaurus:
    builder = _Builder(language)
    for one in statements:
        builder.add(one)
    return builder.finish(source)


def _sorted_numbers(
    numbers: dict[str, int], kept: NDArray[Any] | None = None
) -> tuple[NDArray[np.int32], Names]:
    """Return new numbers by old number, -1 where none is kept, and the strings in order."""
    ordered = sorted(one for one in numbers if kept is None or kept[numbers[one]])
    renamed = np.full(len(numbers), -1, dtype=np.int32)
    old = np.fromiter((numbers[one] for one in ordered), dtype=np.int64, count=len(ordered))
    renamed[old] = np.arange(len(ordered), dtype=np.int32)
    return renamed, Names.of(ordered)


def _sorted_pairs(
    pair: tuple[array[int], array[int]], left: NDArray[np.int32], right: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return distinct pairs of kept concepts, ascending."""
    first, second = (
        side[np.array(column, dtype=np.int64)]
        for side, column in zip((left, right), pair, strict=True)
    )
    known = (first >= 0) & (second >= 0)
    return np.unique(np.stack([first[known], second[known]], axis=1), axis=0)
