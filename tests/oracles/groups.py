"""Group files parsed line by line."""

import re


class GroupError(Exception):
    """A file that breaks a rule in a line, or in none of them (0)."""


def parse_groups(text):
    """Return the group of each feature, features in no group included, and the number of groups."""
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n")]
    while lines and not lines[-1].strip(b" \t"):
        lines.pop()
    if not lines:
        raise GroupError(0)
    numbers = [_numbers(lines[0], 1)]
    if len(numbers[0]) != 1 or numbers[0][0] != len(lines) - 1:
        raise GroupError(1)
    numbers += [_numbers(line, place) for place, line in enumerate(lines[1:], 2)]
    for rule in (
        bool,  # has a size
        lambda found: found[0] == len(found) - 1,
        lambda found: all(number < 2**31 - 1 for number in found[1:]),
    ):
        for place, found in enumerate(numbers[1:], 2):
            if not rule(found):
                raise GroupError(place)
    groups = {}
    for place, (_, *members) in enumerate(numbers[1:], 2):
        for member in members:
            if member in groups:
                raise GroupError(place)
            groups[member] = place - 2
    width = max(groups, default=-1) + 1
    return [groups.get(member, -1) for member in range(width)], len(lines) - 1


def _numbers(line, place):
    if not re.fullmatch(rb"[0-9 \t]*", line):
        raise GroupError(place)
    if any(len(word) > 18 for word in line.split()):
        raise GroupError(place)
    return [int(word) for word in line.split()]
