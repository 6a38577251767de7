"""Mutants: small changes of the code that tests should detect."""

from __future__ import annotations

import io
import re
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "tests" / "mutation" / "equivalent.txt"
TABLE = ROOT / "tests" / "mutation" / "table.toml"

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+",
    "*": "/", "/": "*", "//": "*", "+=": "-=", "-=": "+=", "and": "or", "or": "and", "&&": "||",
    "||": "&&", "true": "false", "false": "true", "True": "False", "False": "True", "not": "",
    "!": "", "min": "max", "max": "min", "++": "--",
}  # fmt: skip
CPP_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
    r"|[A-Za-z_]\w*|\d[\w.']*|->|<<=?|>>=?|\+\+|--|[-+*/%&|^=!<>]=|&&|\|\||::|[^\s\w]",
    re.DOTALL | re.MULTILINE,
)
CPP_STATEMENT = re.compile(
    r"^[ \t]+(?!return|break|continue|throw|using|const |auto |std::\w+<)"
    r"[\w.\->:\[\]()]+(?:\([^;{}]*\)| [-+*/|&]?= [^;{}]*);$",
    re.MULTILINE,
)
PYTHON_STATEMENT = re.compile(
    r"^( +)(raise|continue|break|[\w.]+\()(?!.*[\[({,]$).*$", re.MULTILINE
)


@dataclass(frozen=True)
class Mutant:
    """A replacement of a piece of a file."""

    path: str
    begin: int
    end: int
    text: str
    line: int
    source: str

    def __str__(self) -> str:
        """Return a one-line description, which identifies the mutant in the list of equivalents."""
        before = self.source[self.begin : self.end].strip()
        row = self.source.splitlines()[self.line - 1].strip()
        return f"{self.path}: {row!r}: {before!r} -> {self.text.strip()!r}"


def python_mutants(path: str, source: str) -> list[Mutant]:  # noqa: C901 - a list of cases
    """Return the mutants of a Python file; strings, imports and annotations are not changed."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for i, token in enumerate(tokens):
        row = token.line.strip()
        if row.startswith(("import ", "from ", "@", "def ", "class ", "__all__", "if TYPE")):
            continue
        if re.match(r"\w+: [^=]*$", row) and not row.endswith(":"):
            continue  # an annotation without a value
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        previous = tokens[i - 1].string if i else ""
        swap = _swap(token.string, previous, tokens[i + 1].string if i + 1 < len(tokens) else "")
        if swap is None or token.type not in {tokenize.OP, tokenize.NAME, tokenize.NUMBER}:
            continue
        if token.string in "+-" and previous in {"(", ",", "=", "[", "return", "else", ":"}:
            continue  # a sign
        if token.string in {"*", "-"} and tokens[i + 1].string == ">":
            continue
        if token.string == "*" and previous in {"(", ",", "["}:
            continue  # an unpacked argument
        found.append(Mutant(path, begin, end, swap, token.start[0], source))
    for match in PYTHON_STATEMENT.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        if not _inside_string(tokens, line) and match[0].count("(") == match[0].count(")"):
            begin = match.start() + len(match[1])
            found.append(Mutant(path, begin, match.end(), "pass", line, source))
    return found


def _inside_string(tokens: list[tokenize.TokenInfo], line: int) -> bool:
    return any(
        token.type == tokenize.STRING and token.start[0] <= line <= token.end[0] != token.start[0]
        for token in tokens
    )


def cpp_mutants(path: str, source: str) -> list[Mutant]:
    """Return the mutants of a C++ file; comments, types and tuning constants are not changed."""
    found = []
    tokens = list(CPP_TOKEN.finditer(source))
    lines = source.splitlines()
    for i, token in enumerate(tokens):
        line = source.count("\n", 0, token.start()) + 1
        row = lines[line - 1].strip()
        if row.startswith(("constexpr", "static constexpr", "template", "#", "using", "class")):
            continue
        previous = tokens[i - 1][0] if i else ""
        following = tokens[i + 1][0] if i + 1 < len(tokens) else ""
        if token[0] in "<>&*" and not _spaced(source, token):
            continue  # a bracket, a reference or a pointer
        if token[0] in {"-", "+"} and not _spaced(source, token):
            continue  # a sign
        swap = _swap(token[0], previous, following)
        if swap is not None:
            found.append(Mutant(path, token.start(), token.end(), swap, line, source))
    for match in CPP_STATEMENT.finditer(source):
        line = source.count("\n", 0, match.end()) + 1
        found.append(Mutant(path, match.start(), match.end(), ";", line, source))
    return found


def _spaced(source: str, token: re.Match[str]) -> bool:
    return source[token.start() - 1] == " " and source[token.end()] in " \n"


def _swap(text: str, previous: str, following: str) -> str | None:
    """Return the replacement of a token, or None if it is not changed."""
    if text in {"min", "max"} and following not in {"(", "<"}:
        return None
    if text == "not" and (following == "in" or previous == "is"):
        return None
    if text in SWAPS:
        return SWAPS[text]
    if re.fullmatch(r"\d+", text):
        return str(int(text) + 1)
    if re.fullmatch(r"\d+\.\d+F?", text):
        suffix = "F" if text.endswith("F") else ""
        return f"{float(text.rstrip('F')) + 1.0}{suffix}"
    return None


def mutants_of(path: str) -> list[Mutant]:
    """Return all mutants of a file that are not known to be equivalent."""
    source = (ROOT / path).read_text(encoding="utf-8")
    found = (python_mutants if path.endswith(".py") else cpp_mutants)(path, source)
    known = {line.partition("  # ")[0] for line in EQUIVALENT.read_text().splitlines()}
    return [mutant for mutant in found if str(mutant) not in known]


def mutants_of_table() -> list[tuple[Mutant, list[str]]]:
    """Return the hand-written mutants, each with its tests."""
    found = []
    for entry in tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutant"]:
        source = (ROOT / entry["path"]).read_text(encoding="utf-8")
        if source.count(entry["old"]) != 1:
            print(
                f"stale      {entry['path']}: {entry['old']!r} does not occur exactly once",
                flush=True,
            )
            continue
        begin = source.index(entry["old"])
        line = source.count("\n", 0, begin) + 1
        end = begin + len(entry["old"])
        mutant = Mutant(entry["path"], begin, end, entry["new"], line, source)
        found.append((mutant, entry["tests"].split()))
    return found
