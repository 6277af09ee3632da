"""Uploads that an organiser should look at."""

from typing import Any

from metaserver.base.findings import FindingKind
from metaserver.base.records import ServerName, TaskName, TeamName
from metaserver.phases.watching import BURST, BURST_SECONDS, conspicuous
from metaserver.store.uploads import Upload

INT = TaskName("INT")


def upload(number: int, **given: Any) -> Upload:
    values: dict[str, Any] = {
        "id": number, "team": TeamName("blue"), "task": INT, "run": ServerName(f"r{number}"),
        "at": number * 3_600.0, "articles": 100, "changed": 50, "score": 0.5,
    }  # fmt: skip
    return Upload(**(values | given))


def kinds(*uploads: Upload, leader: str = "other") -> list[FindingKind]:
    return [kind for kind, _ in conspicuous(uploads, {INT: ServerName(leader)})]


def test_a_team_that_takes_its_time_is_not_listed() -> None:
    assert kinds(*(upload(number) for number in range(9))) == []


def test_many_uploads_within_minutes_are_a_burst() -> None:
    step = BURST_SECONDS / (BURST - 1)
    assert kinds(*(upload(n, at=n * step) for n in range(BURST))) == [FindingKind.BURST]
    assert kinds(*(upload(n, at=n * step * 1.01) for n in range(BURST))) == []
    shared = [upload(n, at=n, team=TeamName(f"t{n % 2}")) for n in range(BURST)]
    assert kinds(*shared) == []  # of two teams


def test_runs_that_change_few_answers_are_counted() -> None:
    found = dict(conspicuous([upload(1), upload(2, changed=2), upload(3, changed=1)], {}))
    result = found[FindingKind.NEAR].text
    assert result == "r3 of blue differs from an earlier INT run in 1 answer, 2 times so far"
    assert kinds(upload(1), upload(2, changed=3), upload(3, changed=None)) == []


def test_a_first_place_far_above_the_team_before_is_a_jump() -> None:
    before, after = upload(1, score=0.4), upload(2, score=0.6)
    assert kinds(before, after, leader="r2") == [FindingKind.JUMP]
    assert kinds(before, after) == []  # another run has the first place
    assert kinds(upload(1, score=0.55), after, leader="r2") == []
    assert kinds(after, leader="r2") == []  # the team's first


def test_a_jump_is_downwards_where_the_lowest_score_is_the_best() -> None:
    before, better, leader = upload(1, score=0.6), upload(2, score=0.4), {INT: ServerName("r2")}
    [(kind, subject)] = conspicuous([before, better], leader, {INT})
    assert kind is FindingKind.JUMP
    assert "0.20 better than the team's best upload before" in subject.text
    assert not [*conspicuous([better, upload(2, score=0.6)], leader, {INT})]
