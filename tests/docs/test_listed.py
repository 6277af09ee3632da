"""Tables of documents are complete: options, settings, methods, states, formats and keys."""

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from annotators.llm.config import LlmConfig
from metaserver.base.curations import AskedState, RequestState
from metaserver.curation.exports.formats import FORMATS
from metaserver.curation.pages.desk import COMMANDS, REASONS
from metaserver.exchange.protocols.becalm_answers import BecalmOptions
from metaserver.exchange.protocols.bioc import BiocOptions
from metaserver.exchange.protocols.pubannotation import PubAnnotationOptions
from scoring.consensus import METHODS
from tests.docs.test_docs import TEXTS
from tests.shared import ROOT
from tests.unit.metaserver.corpus.samples import BIOCREATIVE, CRAFT, SAMPLES


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
    ("exports.md", FORMATS),
]


def test_what_can_be_set_or_seen_is_listed() -> None:
    missing = [
        (document, str(name))
        for document, names in LISTED
        for name in names
        if not re.search(rf"`{re.escape(str(name))}(`| =)", TEXTS[ROOT / "docs" / document])
    ]
    assert missing == []


def test_every_key_and_reason_of_a_curator_is_listed() -> None:
    page = TEXTS[ROOT / "docs" / "curators.md"]
    keys = [(", ".join(f"`{key}`" for key in one.keys), one.help) for one in COMMANDS]
    assert [(key, words) for key, words in keys if f"| {key} | {words} |" not in page] == []
    assert [word for letter, word in REASONS if f"`{letter}` {word}" not in page] == []


def test_files_that_repeat_results_of_peers_are_there() -> None:
    files = re.findall(r"`(tests/[\w/.]+)`", TEXTS[ROOT / "docs" / "peers.md"])
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


PARTS = (
    "title", "abstract", "heading", "paragraph", "list", "caption", "row", "note", "formula",
    "image",
)  # fmt: skip
OTHERS = {"JATS": (CRAFT, CRAFT), "BioC JSON": (len(BIOCREATIVE), sum(BIOCREATIVE.values()))}
"""The files and articles of others that the reader's tests read."""


def test_what_each_kind_of_file_keeps_is_listed() -> None:
    """The reader's tests hold what is kept of each file line by line."""
    rows = []
    for kind, sample in SAMPLES.items():
        files, articles = OTHERS.get(kind, (0, 0))
        kept = Counter(part for parts, _ in sample.kept for part in parts.split())
        assert set(kept) <= set(PARTS)
        lines = " | ".join(str(kept[part] or "-") for part in PARTS)
        references = "left out" if "Old" in sample.content else "-"
        assert "Old" not in "".join(line for _, line in sample.kept)
        counts = f"{files + 1} | {articles + len(sample.ids):,}"
        rows.append(f"| {kind} | {counts} | {lines} | {references} |")
    assert "\n".join(rows) in TEXTS[ROOT / "docs" / "corpus.md"]
