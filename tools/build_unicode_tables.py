r"""Write ``cpp/core/text/unicode_tables.inc``: classes of code points, to split text into words.

    python tools/build_unicode_tables.py > cpp/core/text/unicode_tables.inc

The tables are frozen with the format of model files, so that a text has the same words on every
Python. They are made from ``unicodedata`` of the Python that runs this tool, whose Unicode
version is recorded in the file.

A code point is one of

- a character of words: letters, marks, decimal digits, connector punctuation and the two joiners
  (``\w`` of UTS #18);
- a character of a script that is written without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar),
  whose runs are cut into overlapping pairs;
- anything else, which separates words.

Lower case is the simple mapping: one code point, or the code point itself if there is none.
"""

import sys
import textwrap
import unicodedata
from itertools import groupby

PAGE = 128
LAST = 0x110000
SPACELESS = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC ITERATION MARK",
    "HIRAGANA", "KATAKANA", "THAI CHARACTER", "LAO ", "KHMER ", "MYANMAR ",
)  # fmt: skip
OTHER, WORD, RUN = 0, 1, 2


def kind_of(code: int) -> int:
    """Return the class of a code point."""
    character = chr(code)
    category = unicodedata.category(character)
    if not (category[0] in "LM" or category in {"Nd", "Pc"} or code in {0x200C, 0x200D}):
        return OTHER
    spaceless = unicodedata.name(character, "").startswith(SPACELESS)
    return RUN if spaceless and category[0] in "LM" else WORD


def entries() -> list[int]:
    """Return one number per code point: the distance to its lower case times four, plus class."""
    # Only the dotted capital I has two letters as its lower case; the first is the simple one.
    surrogates = range(0xD800, 0xE000)
    return [
        0 if code in surrogates else (ord(chr(code).lower()[0]) - code) * 4 + kind_of(code)
        for code in range(LAST)
    ]


def runs(values: list[int]) -> str:
    """Return the lengths and values of runs of equal numbers, in lines of 100 characters."""
    text = " ".join(f"{len(list(run))},{value}," for value, run in groupby(values))
    return textwrap.fill(text, 100)


def main() -> None:
    """Print the tables."""
    values = entries()
    pages: dict[tuple[int, ...], int] = {}
    index = [
        pages.setdefault(tuple(values[start : start + PAGE]), len(pages))
        for start in range(0, LAST, PAGE)
    ]
    while index and index[-1] == index[-2]:
        index.pop()  # the last page represents all that follow
    out = sys.stdout
    out.write(
        f"// Unicode {unicodedata.unidata_version}; written by tools/build_unicode_tables.py, which"
        " says what an entry means.\n"
        "// The page of each 128 code points, and the entries of all pages, as (length, value) of"
        " runs.\n"
        f"constexpr std::uint32_t kPage = {PAGE};\n"
        f"constexpr std::uint32_t kPages = {len(index)};\n"
        f"constexpr std::uint32_t kEntries = {len(pages) * PAGE};\n"
    )
    flat = [value for page in pages for value in page]
    for name, numbers in (("kIndexRuns", index), ("kEntryRuns", flat)):
        out.write(f"constexpr std::int32_t {name}[] = {{\n{runs(numbers)}\n}};\n")


if __name__ == "__main__":
    main()
