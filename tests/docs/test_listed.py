"""Tables of documents are complete: options, settings, methods, states, formats and keys."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from annotators.llm.config import LlmConfig
from metaserver.curation.exports.formats import FORMATS
from metaserver.model.requests import AskedState, RequestState
from metaserver.protocols.becalm_answers import BecalmOptions
from metaserver.protocols.bioc_json import BiocOptions
from metaserver.protocols.pubannotation import PubAnnotationOptions
from metaserver.web.curate.commands import COMMANDS, REASONS
from scoring.consensus import METHODS
from tests.docs.test_docs import TEXTS
from tests.shared import ROOT


def names_of(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    return kind.__struct_fields__


LISTED: list[tuple[str, Iterable[str]]] = [
    ("protocols.md", names_of(PubAnnotationOptions)),
    ("protocols.md", names_of(BiocOptions)),
    ("protocols.md", names_of(BecalmOptions)),
    ("llm.md", names_of(LlmConfig)),
    ("consensus.md", METHODS),
    ("curators.md", RequestState),
    ("curators.md", AskedState),
    ("curators.md", FORMATS),
]


@pytest.mark.parametrize(
    ("document", "name"), [(document, str(name)) for document, names in LISTED for name in names]
)
def test_what_can_be_set_or_seen_is_listed(document: str, name: str) -> None:
    told = TEXTS[ROOT / "docs" / document]
    assert f"`{name}`" in told or f"`{name} =" in told


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_key_of_a_curator_is_listed(command) -> None:
    keys = ", ".join(f"`{key}`" for key in command.keys)
    assert f"| {keys} | {command.help} |" in TEXTS[ROOT / "docs" / "curators.md"]


@pytest.mark.parametrize(("letter", "reason"), REASONS)
def test_every_reason_is_listed(letter: str, reason: str) -> None:
    assert f"`{letter}` {reason}" in TEXTS[ROOT / "docs" / "curators.md"]
