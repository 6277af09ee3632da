"""Candidates of answers: fused or learned, with what each server adds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.compression import pack, pack_json
from metaserver.base.curations import RequestOptions, UploadedVoice
from metaserver.base.errors import InputError, RefusedError
from metaserver.base.lanes import Asides
from metaserver.base.records import ServerName
from metaserver.base.states import Outcome
from metaserver.curation.candidates import (
    MOST_MENTIONS,
    PanelDifference,
    check_method,
    find,
    model_for,
    read_models,
)
from metaserver.curation.combining import METHOD_TITLES
from metaserver.curation.store.requests import RequestAnswer, StoredRequest
from metaserver.curation.uploaded import StoredVoice
from scoring import Task
from scoring.consensus import METHODS, ConsensusModel, Member, model_text

TEXT = "EGFR binds GRB2."
MODEL = ConsensusModel(
    task=Task.INT,
    method="stacked",
    members=(
        Member(name="a", team="a", weights=(0.5, 1.0, 0.25)),
        Member(name="silent", team="s", weights=(1.0, 1.0, 1.0)),
    ),
    panel=(1.0, 0.5, 0.25, 1.0, 0.5, 0.5, 0.75),
    bias=-2.0,
)


def request(*, text: str = TEXT, **options: Any) -> StoredRequest:
    return StoredRequest(
        id="0" * 16, token_id=1, caller="curator ana", at=0.0, article="", title="",
        length=len(text), text=pack(text.encode()), options=RequestOptions(**options),
        release="test", expires_at=1.0,
    )  # fmt: skip


def answer(server: str, version: int, found: dict[str, Any], **values: Any) -> RequestAnswer:
    given: dict[str, Any] = {
        "server_id": version, "server": ServerName(server), "team": server,
        "started_at": 0.0, "ended_at": 1.0, "payloads": pack_json(found),
        "asides": pack_json(Asides()), "version": version,
    }  # fmt: skip
    return RequestAnswer(**given | values)


ANSWERS = [
    answer("a", 3, {"INT": [["P00533", 1, 0.9], ["P62993", 2, 0.5]], "IPT": []}),
    answer("new", 7, {"INT": [["P62993", 1, 1.0]], "ACT": [True, 0.75]}),
    answer("broken", 9, {}, outcome=Outcome.FAULT, payloads=None, asides=None),
]


def test_the_parts_of_a_learned_consensus_sum_to_its_log_odds() -> None:
    found = find(request(), ANSWERS, {"INT": MODEL})
    assert found.methods == {"INT": "stacked", "IPT": "rrf1"}
    assert found.differences == {"INT": PanelDifference(absent=("silent",), unknown=("new",))}
    whole = replace(MODEL, members=(MODEL.members[0], Member(name="new", team="new")))
    assert find(request(), ANSWERS, {"INT": whole}).differences == {}
    given = {"changed": {"INT": ["a", "silent"], "IPT": ["a"]}}
    weighed = find(request(weights={"a": 1.0, "new": 2.0}), ANSWERS, {"INT": whole}, **given)
    assert weighed.differences == {"INT": PanelDifference(changed=("a",), weighted=("new",))}
    assert {one.item for one in found.candidates} == {("P00533",), ("P62993",)}
    for one in found.candidates:
        assert one.bias == -2.0
        parts = [vote.part for vote in one.votes]
        result = sum(part for part in parts if part is not None) + one.bias
        assert result == pytest.approx(one.score, abs=1e-12)
        assert 0 < one.probability < 1
    assert {one.item: one.new_since for one in found.candidates} == {("P00533",): 3, ("P62993",): 3}
    [vote] = found.relevant
    assert (vote.server, vote.relevant, vote.confidence) == ("new", True, 0.75)


def test_a_failed_answer_is_no_vote_and_no_absence() -> None:
    [first, second] = find(request(), ANSWERS, {}).candidates
    assert (first.item, first.agreement, first.probability) == (("P62993",), 1.0, None)
    assert (second.item, second.agreement) == (("P00533",), 0.5)
    assert first.score == pytest.approx(1 / 3 + 1 / 2)


def test_the_first_places_of_all_servers_are_shown() -> None:
    names = [f"P{number:05}" for number in range(5)]
    text = "p" * 500
    hits = [[name, "Q00987", rank, 0.5] for rank, name in enumerate(names, start=1)]

    def seen(accession: str, places: range) -> Any:
        return [(start, "p", "protein", accession) for start in places]

    early = [
        *seen("Q00987", range(0, 400, 2)), *seen("P00000", range(1, 3)), (3, "x", "", "P00000"),
    ]  # fmt: skip
    late = seen("Q00987", range(499, -1, -1))
    answers = [
        answer(name, 1, {"IPT": hits}, asides=pack_json(Asides(mentions=mentions)))
        for name, mentions in (("early", early), ("late", late))
    ]
    found = find(request(text=text), answers, {}, every=True).candidates
    assert len(found) == len(names)
    by_name = {one.item[0]: one.mentions for one in found}
    spans = [(one.start, one.end) for one in by_name["P00001"]]
    assert spans == [(place, place + 1) for place in range(MOST_MENTIONS)]
    servers = [one.servers for one in by_name["P00001"][:4]]
    assert servers == [("early", "late"), ("late",), ("early", "late"), ("late",)]
    assert [one.servers for one in by_name["P00000"][:4]] == [("early", "late")] * 3 + [("late",)]


def test_options_shorten_and_weigh_the_list() -> None:
    [only] = find(request(cutoff=1, weights={"a": 3.0}), ANSWERS, {}).candidates
    assert only.item == ("P00533",)
    assert len(find(request(cutoff=1), ANSWERS, {}, every=True).candidates) == 2
    likely = find(request(threshold=0.99), ANSWERS, {"INT": MODEL}).candidates
    assert len(likely) == 1
    assert find(request(), [], {}).candidates == ()


def test_a_method_must_be_there() -> None:
    assert model_for(Task.INT, "auto", {"INT": MODEL}) is MODEL
    assert model_for(Task.INT, "votes", {"INT": MODEL}).method == "votes"
    assert model_for(Task.IPT, "auto", {"INT": MODEL}).method == "rrf1"
    check_method("stacked", 0.5, {"INT": MODEL})
    for method, threshold, models in (
        ("stacked", None, {}), ("maxent", None, {"INT": MODEL}), ("votes", 0.5, {}), ("?", None, {})
    ):  # fmt: skip
        with pytest.raises(RefusedError):
            check_method(method, threshold, models)


def test_models_of_the_settings_are_read_once_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "int.json"
    file.write_text(model_text(MODEL))
    assert read_models({"INT": str(file)})["INT"].bias == -2.0
    (tmp_path / "other").write_text("{}")
    for task, path in (
        ("ACT", file), ("IPT", file), ("INT", tmp_path / "none"), ("INT", tmp_path / "other")
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            read_models({task: str(path)})
        assert caught.value.place == f"curation.models.{task}"


def test_each_method_has_a_title() -> None:
    assert set(METHOD_TITLES) == set(METHODS)


def test_an_uploaded_file_adds_candidates_and_changes_no_probability() -> None:
    stored = StoredVoice(
        voice=UploadedVoice(name="uploaded file x.json", hits=3),
        payloads={
            "INT": [["P62993", 1, 1.0], ["Q13480", 2, 0.5]],
            "IPT": [["P00533", "P62993", 1, 1.0]],
        },
        mentions=[(11, "GRB2", "", "P62993")],
    )  # fmt: skip
    given = replace(request(cutoff=1), uploaded=pack_json(stored))
    without = find(request(cutoff=2), ANSWERS, {"INT": MODEL})
    found = find(given, ANSWERS, {"INT": MODEL})
    assert found.differences == without.differences
    by_item = {one.item: one for one in found.candidates}
    assert len(by_item) == len(found.candidates)
    for one in without.candidates:  # also the one below the cutoff, because the file names it
        assert by_item[one.item].probability == one.probability
    both = by_item["P62993",]
    assert [(vote.server, vote.part is None) for vote in both.votes][-1] == (
        stored.voice.name,
        True,
    )
    assert (both.by_file_alone, both.mentions[0].servers) == ("", (stored.voice.name,))
    for item in (("Q13480",), ("P00533", "P62993")):
        alone = by_item[item]
        assert (alone.probability, alone.by_file_alone) == (None, stored.voice.name)
    assert [one.rank for one in found.candidates if one.task == "INT"] == [1, 2, 3]
    silent = find(given, (), {"INT": MODEL})
    assert {one.by_file_alone for one in silent.candidates} == {stored.voice.name}
