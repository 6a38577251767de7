"""Broken inputs without end, the same for the same seed: bytes of any kind, and model files.

Each is a good input after a few changes: bytes flipped, pieces cut out, doubled, moved between
inputs, or replaced by what readers dislike. In a model file, whose parts are known, single entries
of the header and items of arrays are replaced as well.
"""

import json
import random

from tests.helpers.model_drafts import Draft

TOKENS = [
    b" ", b"\n", b"\r\n", b"\t", b":", b",", b"#", b"-", b"+", b".", b"e", b"\0", b"\xff", b"0",
    b"1", b"9" * 19, b"2147483647", b"2147483648", b"18446744073709551616", b"nan", b"inf", b"1e39",
    b"1e400", b"1e-400", b"0x1p3", b"1_0", b"3:", b":4", b"1:2:3", b"\xef\xbb\xbf", b"16777217",
    b"0." + b"0" * 50 + b"1", b"7" * 50, b"1:1 " * 20, b"\n" * 5, b"1,2,",
    b"1e99999999999999999999", b'"', b"<>", b"__label__", b"0::1e999", b"\r",
    b"0,0,3", b" 2:nan", b" 3:1e39", b"-1:2", b"# 1:1", b"1:1#", b" 01:01", b" 1:-2.5", b" 0:0",
]  # fmt: skip
NASTY = [
    None, True, False, -1, 0, 1, 2, 7, 127, 255, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1,
    2**63, -(2**63), 10**30, 0.5, 1e308, -0.0, float("nan"), float("inf"), "", "x", "I32", "F64",
    "ids", "strings", "numbers", "parabel", "tree", "\ud800",
    "sum", "mean", "given", "hybrid", "defrag", [], {}, [0], [0, 0], [2**62, 4], [[]],
    {"a": 1},
]  # fmt: skip


def broken(seeds, n_inputs, seed=0):
    """Yield broken inputs; the first byte of a seed is a choice of options, and rarely changed."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for _ in range(n_inputs):
        choice, *data = rng.choice(seeds)
        data = bytes(data)
        for _ in range(rng.randint(1, 4)):
            data = _mutate(rng, data, seeds)
        yield bytes([choice if rng.random() < 0.9 else rng.randrange(256)]) + data


def _mutate(rng, data, seeds):
    begin = rng.randint(0, len(data))
    end = min(len(data), begin + rng.choice([0, 1, 1, 2, 5, 20]))
    kind = rng.randrange(6)
    if kind == 0:
        piece = bytes(byte ^ (1 << rng.randrange(8)) for byte in data[begin:end])
    elif kind == 1:
        piece = b""
    elif kind == 2:
        piece = data[begin:end] * 2
    elif kind == 3:
        other = rng.choice(seeds)[1:]
        start = rng.randint(0, len(other))
        piece = other[start : start + rng.randint(1, 10)]
    else:
        piece = rng.choice(TOKENS)
    return data[:begin] + piece + data[end:]


def broken_models(seeds, n_inputs, seed=0):
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for _ in range(n_inputs):
        data = rng.choice(seeds)
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            data = rng.choice([_flip, _cut, _edit_json, _edit_array])(rng, data)
        yield data


def _flip(rng, data):
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng, data):
    begin = rng.randint(0, len(data))
    end = min(len(data), begin + rng.choice([1, 2, 4, 8, 100]))
    piece = rng.choice([b"", data[begin:end] * 2, bytes(rng.choice([1, 8])), b"9", b'"', b"}"])
    return data[:begin] + piece + data[end:]


def _take_apart(data):
    try:
        return Draft(data)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None  # broken too badly by the mutation before


def _edit_json(rng, data):
    draft = _take_apart(data)
    if draft is None:
        return data[: rng.randint(0, len(data))]
    holder = rng.choice([draft.header, draft.description])
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            break
        key = rng.choice(keys)
        if isinstance(holder[key], (dict, list)) and rng.random() < 0.9:
            holder = holder[key]
            continue
        if isinstance(holder, dict) and rng.random() < 0.2:
            holder[rng.choice(["", "x", "scale", "tree/order", "state"])] = holder.pop(key)
        else:
            holder[key] = rng.choice(NASTY)
        break
    return draft.to_bytes()


def _edit_array(rng, data):
    draft = _take_apart(data)
    if draft is None or len(draft.payload) < 8:
        return data
    width = rng.choice([1, 4, 8])
    place = rng.randrange(len(draft.payload) // width) * width
    value = rng.choice([-1, 0, 1, 3, 8, 12, 127, 2**31 - 1, 2**63 - 1, -(2**63), 2**52])
    draft.payload[place : place + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
    try:
        return draft.to_bytes()
    except (ValueError, TypeError):
        return json.dumps(str(draft.header)).encode()
