"""What is wrong with a text: the character that is not allowed, or the limit that it exceeds."""

from __future__ import annotations

import ast
import re
from typing import Any

_CLASS = re.compile(r"(?<!\\)\[(?:\\.|[^][\\])+\]|\\[dDsSwW]")
_SYNTAX = re.compile(r"(?<!\\)\[(?:\\.|[^][\\])+\]|\{\d+(?:,\d*)?\}|\(\?[:!=]|\\.|[\^$()+*?|]")
"""What of a pattern stands for no character as it is."""
_MOST = re.compile(r"\{[01],(\d+)\}")
_READ = 10_000
"""Characters of a text that are looked at."""


def misfit(message: str, text: Any) -> str:
    r"""Return the message of msgspec for a text in plain words, with what the text has.

    >>> misfit("Expected `str` of length <= 3", "abcd")
    'has 4 characters; at most 3 are allowed'
    >>> misfit("Expected `str` matching regex '^[a-z]{1,9}$(?!x)'", "a!")
    "'!' is not allowed here"
    >>> misfit("Expected `str` matching regex '^[a-z]{1,3}$'", "abcd")
    'has 4 characters; at most 3 are allowed'
    >>> misfit(r"Expected `str` matching regex '^\\S{8,99}$'", "a b")
    "' ' is not allowed here"
    """
    if not isinstance(text, str):
        return message
    if length := re.fullmatch(r"Expected `str` of length <= (\d+)", message):
        return f"has {len(text):,} characters; at most {int(length[1]):,} are allowed"
    if not (found := re.fullmatch(r"Expected `str` matching regex (.*)", message, re.DOTALL)):
        return message
    pattern = ast.literal_eval(found[1])  # msgspec quotes it as Python does
    literals = _SYNTAX.sub("", pattern)
    classes = [re.compile(one) for one in _CLASS.findall(pattern)]
    size, text = len(text), text[:_READ]
    for character in dict.fromkeys(text):
        if character not in literals and not any(one.match(character) for one in classes):
            return f"{character!r} is not allowed here"
    for bound in _MOST.finditer(pattern):
        for most in (int(bound[1]), int(bound[1]) + 1):  # the first character may be apart
            fits = [bool(re.match(pattern, text[:end])) for end in (most, most + 1)]
            if most < size and fits == [True, False]:
                return f"has {size:,} characters; at most {most:,} are allowed"
    if not text:
        return "is required"
    if re.match(pattern, f"a{text[1:]}"):
        return f"may not begin with {text[0]!r}"
    return message


def value_at(values: Any, path: str) -> Any:
    """Return the value at a path such as `limits.servers` or `servers[0]`."""
    for step in re.findall(r"\w+", path):
        if isinstance(values, dict):
            values = values.get(step)
        elif isinstance(values, list | tuple) and step.isdecimal() and int(step) < len(values):
            values = values[int(step)]
    return values
