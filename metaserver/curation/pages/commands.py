"""Commands of a curation's page with their keys: the button source, key help and docs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class PageCommand(NamedTuple):
    """A command: its name in the scripts, its button, its keys as people read them, its help."""

    name: str
    label: str
    keys: tuple[str, ...]
    help: str


COMMANDS: Sequence[PageCommand] = (
    PageCommand("accept", "Accept", ("a", "Enter"), "accept, and go on to the next"),
    PageCommand("reject", "Reject", ("x",), "reject, and go on to the next"),
    PageCommand("reason", "Reject with a reason", ("r",), "reject with a reason, by a letter"),
    PageCommand("undecide", "Leave undecided", ("0",), "take the decision back"),
    PageCommand("undo", "Undo", ("u",), "undo, to any depth"),
    PageCommand("redo", "Redo", ("U",), "redo (Shift+u)"),
    PageCommand("next", "Next", ("j",), "next undecided candidate"),
    PageCommand("previous", "Previous", ("k",), "previous undecided candidate"),
    PageCommand("down", "Down", ("↓",), "next row, decided or not"),
    PageCommand("up", "Up", ("↑",), "previous row, decided or not"),
    PageCommand("mention", "Next mention", ("n",), "next mention in the article"),
    PageCommand("back", "Previous mention", ("p",), "previous mention in the article"),
    PageCommand(
        "evidence", "Evidence", ("e",), "take the selected words, or the mention's sentence"
    ),
    PageCommand("quote", "Quote by number", ("1…9",), "take a shown sentence, or leave it out"),
    PageCommand("species", "Other species", ("s",), "the same protein of another species"),
    PageCommand("add", "Add", ("+", "/"), "add a protein, by name or accession"),
    PageCommand("pair", "Pair", ("m",), "mark the first, then the second; itself: a homomer"),
    PageCommand("method", "Method", ("d",), "interaction detection method of a pair"),
    PageCommand("type", "Type", ("y",), "interaction type of a pair; else it follows the method"),
    PageCommand("same", "Same as last", ("=",), "method, host and roles as of the pair before"),
    PageCommand("form", "Experiments", ("f",), "all experiments of a pair, on a page of their own"),
    PageCommand("relevant", "Article relevant", ("t",), "the article is relevant, not, undecided"),
    PageCommand("note", "Note", ("o",), "a note on the candidate"),
    PageCommand("why", "Why", ("w",), "what each server adds"),
    PageCommand("renew", "New answers", ("g",), "rank the undecided below again"),
    PageCommand("task", "Next task", ("i",), "from proteins to pairs to the article's class"),
    PageCommand("help", "Keys", ("?",), "this list"),
    PageCommand("submit", "Submit", ("Ctrl+Enter",), "finish: undecided ones are listed first"),
)

REASONS: Sequence[tuple[str, str]] = (
    ("w", "wrong species"),
    ("e", "no experiment"),
    ("f", "family"),
    ("n", "not a protein"),
    ("o", "other"),
)
"""Reasons for a rejection, each with its letter."""
