"""BioC: numbers of sessions, and annotations that count from their passage in any unit."""

import json

import pytest

from metaserver.base.errors import PeerError
from metaserver.base.states import Outcome
from metaserver.exchange.protocols.bioc import BiocOptions, BiocReading, session_of
from metaserver.exchange.protocols.options import Unit
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.values import Limits

TITLE = "A title that is longer than the words may be away: \N{GREEK SMALL LETTER ALPHA}"
REST = "\N{GREEK SMALL LETTER BETA}\N{MATHEMATICAL ITALIC SMALL ALPHA}" * 12 + " TP53 binds MDM2."
WIDTHS = {
    Unit.CODE_POINT: len,
    Unit.UTF16: lambda text: len(text.encode("utf-16-le")) // 2,
    Unit.UTF8: lambda text: len(text.encode()),
}


@pytest.mark.parametrize(
    ("body", "session"),
    [
        (b"17", "17"),
        (b" 0017\n", "0017"),
        (b"12e4", "12e4"),
        (b"abc_1234-def is your session", "abc_1234-def"),
        (b"a/b+c=", "a/b+c="),
        (b"x" * 200, "x" * 200),
        (b'"ABCDEF1"', "ABCDEF1"),
        (b'{"id": 17}', "17"),
        (b'{"id": "a.b_c.12345"}', "a.b_c.12345"),
        (b'{"id": "a b/\xc3\xa4"}', "a b/\N{LATIN SMALL LETTER A WITH DIAERESIS}"),
        (json.dumps({"message": "x" * 1_200, "id": "ABCDEF"}).encode(), "ABCDEF"),
    ],
)
def test_the_number_of_a_session_is_taken_whole(body: bytes, session: str) -> None:
    assert session_of(body) == session


@pytest.mark.parametrize(
    "body",
    [
        b"", b" \n", b"..", b"\xff", b"x" * 201, b"<html>", b"[4711]", b"{}", b'{"id": ""}',
        b'{"id": null}', b'{"id": true}', b'{"id": "\xff"}', b'{"id": "cut',
        b'{"id": 1, "further": ' + b"[" * 100_000, b'{"id": ' + b"9" * 5_000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_session_is_shown(body: bytes) -> None:
    with pytest.raises(PeerError, match="expected the number of a session, of 200") as caught:
        session_of(body)
    assert caught.value.outcome is Outcome.SHAPE


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("own", [False, True])
def test_offsets_in_a_passage_are_read_in_every_unit(unit: Unit, own: bool) -> None:
    text, start = f"{TITLE}\n{REST}", len(TITLE) + 1
    before, found = REST.partition("MDM2")[0], Report()
    location = {"offset": WIDTHS[unit](before) + (0 if own else start), "length": 4}
    annotation = {"text": "MDM2", "infons": {}, "locations": [location]}
    passage = {"offset": start, "text": REST, "annotations": [annotation]}
    reading = BiocReading(text, "a0", BiocOptions(offsets=unit), Limits(), found)
    answer = reading.read({"passages": [passage]}, 1_000)
    assert [one["offset"] for one in answer["mentions"]] == [text.index("MDM2")]
    moved = f"/passages/0/annotations: offsets in the passage: moved by {start}"
    assert [str(one) for one in found.problems] == ([moved] if own else [])


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("empty", ["", " ", None])
def test_a_passage_of_sentences_needs_no_text(unit: Unit, empty: str | None) -> None:
    """Libraries that cut sentences leave the text of the passage empty."""
    text, start = f"{TITLE}\n{REST}", len(TITLE) + 1
    location = {"offset": WIDTHS[unit](text.partition("MDM2")[0]), "length": 4}
    annotation = {"text": "MDM2", "infons": {}, "locations": [location]}
    sentence = {"offset": start, "text": REST, "annotations": [annotation]}
    passage = {"offset": start, "text": empty, "sentences": [sentence]}
    found = Report()
    reading = BiocReading(text, "a0", BiocOptions(offsets=unit), Limits(), found)
    answer = reading.read({"id": "a0", "passages": [passage]}, 1_000)
    assert [one["offset"] for one in answer["mentions"]] == [text.index("MDM2")]
    assert not found.problems


def test_an_annotation_without_id_is_no_end_of_a_relation() -> None:
    names = {"identifier": "P04637", "UniProt": "P04637,Q00987"}
    annotation = {"infons": names, "locations": []}
    relation = {"infons": {"type": "ppi"}, "nodes": [{}, {}]}
    passage = {"offset": 0, "annotations": [annotation], "relations": [relation]}
    found = Report()
    answer = BiocReading("x", "a0", BiocOptions(), Limits(), found).read({"passages": [passage]}, 1)
    assert answer["pairs"] == []
    result = answer["normalizations"]
    assert result == [{"dbid": "P04637", "confidence": 1.0}, {"dbid": "Q00987", "confidence": 1.0}]
    assert "relates what has no accession" in str(found.problems[0])
