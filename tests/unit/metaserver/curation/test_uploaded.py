"""Annotations of uploaded BioC files: exact places, what is left out, and what is not read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from metaserver.base.compression import unpack
from metaserver.curation import uploaded
from metaserver.curation.texts import FileArticle, read_file
from metaserver.curation.uploaded import StoredVoice, checked
from metaserver.tasks.plugin import answered_tasks
from metaserver.uniprot.verdicts import Ruling

LATER = 5_000  # an offset of a passage in its file, which is not its place in the text


class Release:
    """A release that knows all accessions but one, and one by another name."""

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        known = {
            "Q99999": Ruling(None, "Q99999 is not in the release"),
            "NCBIGene:2885": Ruling("P62993", "mapped"),
        }
        return {at: known[name] for at, name in enumerate(accessions) if name in known}


def annotation(key: str, words: str, offset: Any, name: str, **infons: str) -> dict[str, Any]:
    return {
        "id": key, "text": words, "infons": {"type": "Gene", "identifier": name} | infons,
        "locations": [{"offset": offset, "length": len(words)}],
    }  # fmt: skip


def read(passages: Any, name: str = "1.json", **document: Any) -> FileArticle:
    content = {"source": "x", "documents": [{"id": "1", "passages": passages} | document]}
    return read_file(json.dumps(content).encode(), name, 100_000)


def voice(article: FileArticle) -> StoredVoice:
    assert article.annotations is not None
    parts = list(answered_tasks().values())
    packed = checked(article.annotations, parts, article.article.text, Release())
    return msgspec.json.decode(unpack(packed), type=StoredVoice)


PASSAGES = [
    {"offset": 0, "text": "EGFR binds GRB2", "annotations": [annotation("1", "EGFR", 0, "P00533")]},
    {"offset": 20, "infons": {"section_type": "REF"}, "text": "EGFR again",
     "annotations": [annotation("9", "EGFR", 20, "P00533")]},
    {"offset": 100, "text": "", "sentences": [
        {"offset": 100, "text": "We show it.", "annotations": []},
        {"offset": LATER, "text": "\U0001d6fc GRB2 too.", "annotations": [
            annotation("2", "GRB2", LATER + 2, "2885"),
            annotation("3", "too", LATER + 7, "Q99999"),
            annotation("4", "too", LATER + 7, "nonsense"),
        ]},
    ]},
]  # fmt: skip
RELATION = {"infons": {"type": "PPI"}, "nodes": [{"refid": "1"}, {"refid": "2"}]}


def test_annotations_keep_their_places_and_what_is_left_out_is_named() -> None:
    article = read(PASSAGES, relations=[RELATION])
    text, found = article.article.text, voice(article)
    assert text == "EGFR binds GRB2\nWe show it. \U0001d6fc GRB2 too."
    places = [(start, words, name) for start, words, _, name in found.mentions]
    assert places == [(0, "EGFR", "P00533"), (text.rindex("GRB2"), "GRB2", "P62993")]
    assert [hit[0] for hit in found.payloads["INT"]] == ["P00533", "P62993"]
    assert [hit[:2] for hit in found.payloads["IPT"]] == [["P00533", "P62993"]]
    assert (found.voice.name, found.voice.hits) == ("uploaded file 1.json", 3)
    said = " | ".join(found.voice.left_out)
    for name in ("Q99999", "nonsense", "list of references"):
        assert name in said
    assert found.voice.lost == len(found.voice.left_out)


def test_relations_of_other_types_are_counted_by_type() -> None:
    kinds = ["Regulation"] * 3 + ["PPI", "Bind"]
    relations = [{**RELATION, "infons": {"type": kind}} for kind in kinds]
    whole, none = (voice(read(PASSAGES, relations=some)) for some in (relations, [RELATION]))
    assert whole.voice.left_out[:2] == (
        "relations of type Regulation: 3 not read",
        "relations of type Bind: 1 not read",
    )
    assert (whole.voice.lost - none.voice.lost, whole.voice.hits) == (4, none.voice.hits)


@pytest.mark.parametrize(
    ("infons", "opinion"),
    [
        ({"relevant": "yes", "score": 0.25}, [True, 0.25]),
        ({"interaction": "no"}, [False, 1.0]),
        ({"score": 0.25}, None),  # a pair alone is no opinion
    ],
)
def test_the_documents_class_is_an_opinion(infons, opinion) -> None:
    found = voice(read(PASSAGES, relations=[RELATION], infons=infons))
    assert (found.payloads.get("ACT"), found.voice.hits) == (opinion, 3)


def test_xml_is_read_as_json_is() -> None:
    content = (
        b'<?xml version="1.0"?><collection><source>x</source><document><id>1</id><passage>'
        b"<offset>7</offset><text>EGFR binds GRB2</text><annotation id='a'>"
        b"<infon key='identifier'>UniProt:P62993</infon><location offset='18' length='4'/>"
        b"<text>GRB2</text></annotation></passage></document></collection>"
    )
    found = voice(read_file(content, "1.xml", 1_000))
    assert list(found.mentions) == [(11, "GRB2", "", "P62993")]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ('{"id": "1", "passages": [{"offset": 0, "text": "T", "annotations": []}]}', "1.json"),
        ('{"passages": "annotation"}', "1.txt"),
        ("EGFR annotation", "1.txt"),
    ],
)
def test_a_file_without_annotations_has_no_voice(content: str, name: str) -> None:
    assert read_file(content.encode(), name, 1_000).annotations is None


def test_annotations_that_cannot_be_read_leave_the_article(monkeypatch: pytest.MonkeyPatch) -> None:
    one = annotation("1", "EGFR", "0", "P00533")
    passages = [{"offset": 0, "text": "EGFR", "annotations": [one]}]
    for broken in (passages, [{**passages[0], "annotations": {"1": one}}]):
        article = read(broken)
        found = voice(article)
        assert (article.article.text, found.payloads, found.voice.hits) == ("EGFR", {}, 0)
        assert found.voice.left_out[0].startswith("its annotations cannot be read: ")
    monkeypatch.setattr(uploaded, "MOST_VALUES", 10)
    assert "more than 10 values" in voice(read(PASSAGES)).voice.left_out[0]


def test_more_candidates_than_are_taken_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded, "MOST_CANDIDATES", 1)
    found = voice(read(PASSAGES, relations=[RELATION]))
    assert (found.voice.hits, len(found.payloads["INT"])) == (2, 1)
    assert "1 candidates" in found.voice.left_out[0]
