"""What labels are called in answers, and which labels Annif's clients know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from defrag.io.files import without_compression
from defrag.thesaurus import Thesaurus

UNDETERMINED = "und"
"""The BCP 47 code of an undetermined language."""
_REMEMBERED = 1 << 16


@dataclass(frozen=True, eq=False)
class Subjects:
    """Labels with names.

    - ``name``: the name of the vocabulary in Annif's interface.
    - ``thesaurus``: the names.
    - ``language``: the language of names that a request does not choose.
    - ``given``: whether they were given to the server, and not found in a model: Annif's routes
      suggest given subjects only.
    """

    name: str
    thesaurus: Thesaurus
    language: str | None = None
    given: bool = False

    @cached_property
    def languages(self) -> list[str]:
        """The codes of the languages of the names."""
        return [code for code in self.thesaurus.languages if code] or [UNDETERMINED]

    @property
    def main_language(self) -> str:
        """The language of names that a request does not choose."""
        return self.language or ("en" if "en" in self.languages else self.languages[0])

    @cached_property
    def _known(self) -> Callable[[str, str | None], tuple[str, str | None] | None]:
        # A look-up takes 20 us, as long as the prediction.
        return lru_cache(_REMEMBERED)(self._find)

    def _find(self, label: str, language: str | None) -> tuple[str, str | None] | None:
        number = self.thesaurus.number(label)
        if number < 0:
            return None
        name = self.thesaurus.name(label, language or self.language)
        return name, self.thesaurus.notation(number)

    def name_of(self, label: object, language: str | None = None) -> str | None:
        """Return what a label is called, None if it has no name."""
        found = self._known(label, language) if isinstance(label, str) else None
        return None if found is None or found[0] == label else found[0]

    def subject(self, uri: str, language: str | None = None) -> tuple[str, str | None] | None:
        """Return the name and the notation of a URI, None if it is no subject."""
        return self._known(uri, language) or (None if self.given else (uri, None))


def read_subjects(path: str, language: str | None = None) -> Subjects:
    """Read subjects from a thesaurus; names without a language are in the given one."""
    found = Thesaurus.read(path, language=language or "")
    return Subjects(Path(without_compression(path)).stem, found, language, given=True)
