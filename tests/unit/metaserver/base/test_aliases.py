"""Anonymous names: one a team, another in each phase, and in no order."""

import re

from metaserver.base.viewer import BLOCK, Aliases

KEY = bytes(range(32))


def test_no_two_teams_have_one_name_however_many_there_are() -> None:
    aliases = Aliases(KEY, 1)
    names = [aliases.team(number) for number in range(1, 2 * BLOCK + 1)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"Team [1-9][0-9]*", name) for name in names)
    assert set(names[:BLOCK]) == {f"Team {n}" for n in range(1, BLOCK + 1)}


def test_names_are_stable_and_differ_by_phase_and_by_key() -> None:
    def names(key: bytes, phase: int) -> list[str]:
        return [Aliases(key, phase).team(number) for number in range(1, 16)]

    known = names(KEY, 1)
    assert known == names(KEY, 1)
    assert known != sorted(known, key=lambda name: int(name.split()[1]))
    for other in (names(KEY, 2), names(bytes(32), 1)):
        assert sum(a == b for a, b in zip(known, other, strict=True)) <= 1


def test_a_run_is_called_after_its_team_and_by_no_name_that_a_server_may_have() -> None:
    aliases = Aliases(KEY, 1)
    name = aliases.run("Team 7", "blue-1")
    assert re.fullmatch(r"Team 7 [a-z2-7]{4}", name)
    assert name == aliases.run("Team 7", "blue-1") != aliases.run("Team 7", "blue-2")
    assert re.fullmatch(r"Run [a-z2-7]{4}", aliases.run("", "blue-1"))
    assert name != Aliases(KEY, 2).run("Team 7", "blue-1")
    others = aliases.run("Team 8", "blue-1")  # runs of one name in two teams do not look alike
    assert name.rpartition(" ")[2] != others.rpartition(" ")[2]


def test_curators_see_names_of_no_phase_and_the_same_in_all() -> None:
    one, other = (Aliases(KEY, phase).of_curators() for phase in (1, 2))
    assert one.team(7) == other.team(7)
    assert one.run("", "blue-1") == other.run("", "blue-1") != Aliases(KEY, 1).run("", "blue-1")
    known = [one.team(number) for number in range(1, 16)]
    for phase in (0, 1, 2):
        board = [Aliases(KEY, phase).team(number) for number in range(1, 16)]
        assert sum(a == b for a, b in zip(known, board, strict=True)) <= 1
