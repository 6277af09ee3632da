"""Refusals as people read them: next to a button or a field, in plain words."""

from __future__ import annotations

import re

from metaserver.base.errors import RefusedError

# Messages of the library that checks values, and those that a viewer is shown.
WORDS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"Expected `str` matching regex .*",
            "does not have the form that the help text describes",
        ),
        (r"Expected `str` of length <= (\d+)", r"is too long: expected at most \1 characters"),
        (r"Expected `str` of length >= 1", "is required"),
        (r"Expected `(?:int|float)(?: \| null)?` >= (\S+)", r"must be \1 or more"),
        (r"Expected `(?:int|float)(?: \| null)?` > (\S+)", r"must be more than \1"),
        (r"Expected `(?:int|float)(?: \| null)?` <= (\S+)", r"must be \1 or less"),
        (r"Expected `int(?: \| null)?`.*", "must be a whole number"),
        (r"Expected `float(?: \| null)?`.*", "must be a number"),
        (r"Invalid enum value '(.*)'", r"'\1' is not one of the choices"),
    )
)


def in_words(refused: RefusedError) -> str:
    """Return why something was refused, as a sentence."""
    return sentence(refused.message)


def sentence(text: str) -> str:
    """Return a message as a sentence."""
    for pattern, words in WORDS:
        if (match := pattern.fullmatch(text)) is not None:
            text = match.expand(words)
            break
    if re.match(r"[a-z]+\b(?![-._])", text):  # not a name
        text = text[0].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."
