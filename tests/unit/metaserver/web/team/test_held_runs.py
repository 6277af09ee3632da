"""Held result files: for their team alone, for a while, and never more than fit."""

from metaserver.operations.run_previews import RunPreview
from metaserver.web.team.uploads import (
    HELD_BYTES,
    HELD_OF_TEAM,
    HELD_SECONDS,
    MOST_HELD,
    HeldRun,
    HeldRuns,
)
from tests.fakes.clock import FakeClock

PREVIEW = RunPreview(
    phase="test", task="INT", run="r", team="blue", accepted=True, refused="", replaces=False,
    articles=1, missing=0, faults=(), fault_count=0, problems=(), problem_count=0, kinds=(),
)  # fmt: skip


def held(team: str, size: int = 10) -> HeldRun:
    """Return a file of a team."""
    return HeldRun(
        team=team, phase="test", task="INT", run="r", content=bytes(size), source="r.tsv",
        preview=PREVIEW,
    )  # fmt: skip


def test_a_file_is_for_its_team_alone_and_until_it_is_sent() -> None:
    files = HeldRuns()
    key = files.keep(held("blue"))
    assert files.get(key, "blue") == held("blue")
    assert files.get(key, "red") is None
    assert files.get("other", "blue") is None
    files.drop(key)
    assert files.get(key, "blue") is None


def test_a_team_keeps_few_and_pushes_out_its_own() -> None:
    files = HeldRuns()
    red = files.keep(held("red"))
    keys = [files.keep(held("blue")) for _ in range(HELD_OF_TEAM + 1)]
    assert [files.get(key, "blue") is not None for key in keys] == [False, *[True] * HELD_OF_TEAM]
    assert files.get(red, "red") is not None


def test_files_are_bounded_in_number_in_bytes_and_in_time() -> None:
    clock = FakeClock(0.0)
    files = HeldRuns(clock)
    keys = [files.keep(held(f"team{number}")) for number in range(MOST_HELD + 1)]
    assert files.get(keys[0], "team0") is None
    assert files.get(keys[-1], f"team{MOST_HELD}") is not None
    big = [files.keep(held(f"big{number}", HELD_BYTES // 2)) for number in range(3)]
    assert files.get(keys[-1], f"team{MOST_HELD}") is None
    assert [files.get(key, f"big{n}") is not None for n, key in enumerate(big)] == [
        False, True, True,
    ]  # fmt: skip
    clock.now = HELD_SECONDS + 1
    assert files.get(big[-1], "big2") is None
