"""The organiser's overview: the problems that it lists, and the steps of a new hub."""

from typing import Any

import msgspec

from metaserver.base.findings import FindingKind, Subject
from metaserver.base.states import PhaseState, Role
from metaserver.operations import conformance
from metaserver.operations.control_room import FoundDetail
from metaserver.operations.monitoring import ProcessDetail
from metaserver.operations.teams import TeamDetail
from metaserver.operations.tokens import TokenDetail
from metaserver.web.organise.overview import Overview, needs, steps
from tests.unit.metaserver.web import details

NOW = 1_000.0
TEAM = TeamDetail(team="blue", title="Blue", email="", host=False, created_at=0.0, retired_at=None)


def token(**given: Any) -> TokenDetail:
    """Return a token of team blue that is valid."""
    values: dict[str, Any] = {
        "id": 1, "role": Role.TEAM, "team": "blue", "label": "", "created_at": 0.0,
        "expires_at": None, "used_at": None, "revoked_at": None, "parent": None,
    }  # fmt: skip
    return TokenDetail(**(values | given))


def overview(**given: Any) -> Overview:
    """Return a hub with an open phase, and team blue with a token; `given` is different there."""
    values: dict[str, Any] = {
        "challenges": (), "corpora": (), "phases": (details.phase(),), "teams": (TEAM,),
        "tokens": (token(),), "servers": (), "releases": (), "processes": (), "found": {},
        "now": NOW,
    }  # fmt: skip
    return Overview(**(values | given))


def listed(**given: Any) -> list[tuple[str, str]]:
    return [(need.word, need.text) for need in needs(overview(**given))]


def test_a_hub_in_order_needs_nothing() -> None:
    up = details.server(phases=(details.progress(),))
    assert listed(servers=(up,)) == []


def test_uploads_that_may_try_the_gold_out_are_listed() -> None:
    subjects = (Subject(name="a", text="blue uploaded 6 runs"), Subject(name="b", text="more"))
    burst = FoundDetail(kind=FindingKind.BURST, count=2, subjects=subjects)
    late = FoundDetail(kind=FindingKind.LATE, count=1, subjects=subjects[:1])
    found = listed(found={"test": [burst, late]})
    assert found == [("upload burst", "test: blue uploaded 6 runs; and 1 more")]


def test_servers_of_open_phases_that_are_down_suspended_or_gave_up() -> None:
    lanes = {
        "one": details.progress(state="down"),
        "two": details.progress(state="suspended"),
        "three": details.progress(given_up=2),
    }
    servers = [details.server(name, phases=(lane,)) for name, lane in lanes.items()]
    assert listed(servers=servers) == [
        ("down", "Servers that no longer answer: one"),
        ("suspended", "Servers that are suspended: two"),
        ("given up", "Articles were given up for three: re-queue them, or leave them"),
    ]
    assert listed(servers=servers, phases=(details.phase(state=PhaseState.FROZEN),)) == []
    retired = [details.server("one", phases=(lanes["one"],), retired=True)]
    assert listed(servers=retired) == []


def test_a_phase_without_gold_alarms_once_it_is_open() -> None:
    def shapes(**given: Any) -> list[str]:
        return [need.state for need in needs(overview(phases=(details.phase(**given),)))]

    assert shapes(gold={}) == ["down"]
    assert shapes(gold={"INT": 1}, tasks=("INT", "ACT")) == ["waiting"]
    assert shapes(gold={}, state=PhaseState.CLOSED) == []
    assert listed(phases=(details.phase(state=PhaseState.SETUP, gold={}),)) == [
        ("no gold", "No gold for any task in test: that is not scored"),
        ("no date", "No date to open test: open it yourself, or set a date"),
    ]


def test_what_living_processes_lack_is_listed_once() -> None:
    def process(host: str, **given: Any) -> ProcessDetail:
        values: dict[str, Any] = {
            "process": f"{host}-1", "host": host, "role": "worker", "version": "1", "lanes": 0,
            "up": 9.0, "idle": 0.0, "lives": True, "leads": False, "blocked": "", "lacks": "a key",
        }  # fmt: skip
        return ProcessDetail(**(values | given))

    processes = (process("a"), process("b"), process("c", lacks=""), process("d", lives=False))
    assert listed(processes=processes) == [("machine", "On a, b: a key")]


def test_failed_tests_are_listed_by_server_and_phase() -> None:
    failed = conformance.Tested(phase="test", state=conformance.TestState.FAILED)
    servers = (details.server("one", tests=(failed,)), details.server("two", tests=(failed,)))
    text = "Servers whose last test for a phase failed: one (The test), two (The test)"
    phases = (details.phase(title="The test"),)
    assert listed(phases=phases, servers=servers) == [("test failed", text)]


def test_a_team_without_a_valid_token_cannot_sign_in() -> None:
    for tokens in (
        (), (token(revoked_at=1.0),), (token(expires_at=NOW),), (token(role=Role.READER),),
        (token(team="red"),),
    ):  # fmt: skip
        assert listed(tokens=tokens) == [("no token", "Teams without a token: blue")], tokens
    assert listed(tokens=(token(expires_at=NOW + 1),)) == []
    assert listed(tokens=(), teams=(msgspec.structs.replace(TEAM, host=True),)) == []


def test_the_steps_that_are_done() -> None:
    done = [step.title for step in steps(overview()) if step.done]
    assert done == ["Plan a phase", "Set its gold", "Add a team", "Give it a token"]
    empty = overview(phases=(), teams=(), tokens=())
    assert not any(step.done for step in steps(empty))
