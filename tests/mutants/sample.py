"""Draws a sample of mutants that is the same for the same seed, and nearly so after an edit.

Each mutant has a place that follows from the seed and its name alone, so that an edit of one
function adds or removes only mutants of its own.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.edits import Mutant, mutants
from tests.mutants.groups import Group
from tests.shared import ROOT


def of_group(group: Group, tree: Path = ROOT) -> list[Mutant]:
    """Return every mutant of a group's modules, as they are in the checkout or a copy."""
    return [
        mutant
        for path in group.modules
        for mutant in mutants(path, (tree / path).read_text("utf-8"))
    ]


def draw(found: Iterable[Mutant], size: int, seed: int) -> list[Mutant]:
    """Return `size` of the mutants, or all where there are fewer."""

    def place(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.name}".encode()).digest()

    return sorted(found, key=place)[:size]
