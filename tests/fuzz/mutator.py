"""Broken texts without end, the same for the same seed.

Each input is one of the seed texts after a few mutations: bytes flipped, pieces cut out,
doubled, moved between texts, or replaced by tokens that parsers dislike.
"""

import random

SEEDS = {
    "combined": [
        b"3 5 4\n0,2 1:0.5 4:1e-3\n 0:2\n3\n",
        b"2 9 9\r\n1,2,3 0:1 3:.25 8:-7\r\n\r\n",
        b"# c\n1 3 3\n2 0:1#x\n",
        b"\xef\xbb\xbf1 1 1\n0 0:1",
        b"4 100 100\n99 99:123456789.123456789\n7,3 5:1e10 4:1e-10\n\n 3\n",
    ],
    "features": [b"2 5\n1:0.5 4:1e-3\n0:2\n", b"1 7\n6 5 4:4\n", b"3 2\n\n\n0:1\n"],
    "labels": [b"2 5\n1:1 4:1\n0:0.5\n", b"1 3\n2:0 1:-1 0\n"],
    "svmlight": [b"0,2 1:0.5 4:1e-3\n0:2\n", b"1 2:3 # a\n\n \n4 5:6\n"],
    "scores": [b"2 5\n1:0.5 4:-1e-3\n0:0\n", b"1 3\n2:1 1:1 0:1\n"],
}
TOKENS = [
    b" ", b"\n", b"\r\n", b"\t", b":", b",", b"#", b"-", b"+", b".", b"e", b"\0", b"\xff", b"0",
    b"1", b"9" * 19, b"2147483647", b"2147483648", b"18446744073709551616", b"nan", b"inf", b"1e39",
    b"1e400", b"1e-400", b"0x1p3", b"1_0", b"3:", b":4", b"1:2:3", b"\xef\xbb\xbf", b"16777217",
    b"0." + b"0" * 50 + b"1", b"7" * 50, b"1:1 " * 20, b"\n" * 5, b"1,2,",
    b"1e99999999999999999999",
]  # fmt: skip
LAYOUTS = sorted(SEEDS)


def inputs(n, seed=0):
    """Yield n pairs of a layout and a text."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    texts = [text for layout in LAYOUTS for text in SEEDS[layout]]
    for _ in range(n):
        layout = rng.choice(LAYOUTS)
        text = rng.choice(SEEDS[layout] if rng.random() < 0.9 else texts)
        for _ in range(rng.randint(1, 6)):
            text = _mutate(rng, text, texts)
        yield layout, text


def _mutate(rng, text, texts):
    begin = rng.randint(0, len(text))
    end = min(len(text), begin + rng.choice([0, 1, 1, 2, 5, 20]))
    kind = rng.randrange(6)
    if kind == 0:
        piece = bytes(byte ^ (1 << rng.randrange(8)) for byte in text[begin:end])
    elif kind == 1:
        piece = b""
    elif kind == 2:
        piece = text[begin:end] * 2
    elif kind == 3:
        other = rng.choice(texts)
        start = rng.randint(0, len(other))
        piece = other[start : start + rng.randint(1, 10)]
    else:
        piece = rng.choice(TOKENS)
    return text[:begin] + piece + text[end:]
