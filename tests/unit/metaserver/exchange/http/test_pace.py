"""The turns of looks at a host, whoever looks."""

from metaserver.exchange.http import client
from metaserver.exchange.http.client import HostPace

A, B = ("https", "a.example", 443), ("https", "b.example", 443)
NEVER = 1e9


def test_looks_at_one_host_follow_each_other() -> None:
    turns = HostPace()
    assert [turns.turn(A, 0.5, 10.0, NEVER) for _ in range(3)] == [0.0, 0.5, 1.0]
    assert turns.turn(B, 0.5, 10.0, NEVER) == 0.0
    assert turns.turn(A, 0.25, 11.25, NEVER) == 0.25  # each look says how long it keeps the host
    assert turns.turn(A, 0.5, 11.25, NEVER) == 0.5
    assert turns.turn(A, 0.5, 100.0, NEVER) == 0.0


def test_a_turn_after_the_deadline_is_not_taken() -> None:
    turns = HostPace()
    assert turns.turn(A, 5.0, 0.0, 3.0) == 0.0
    assert turns.turn(A, 5.0, 0.0, 3.0) == 5.0
    assert turns.turn(A, 5.0, 0.0, 6.0) == 5.0
    assert turns.turn(A, 5.0, 3.0, 3.0) == 7.0


def test_hosts_whose_turn_is_over_are_forgotten() -> None:
    turns = HostPace()
    for number in range(client.KNOWN):
        turns.turn(("http", f"{number}.example", 80), 1.0, 0.0, NEVER)
    assert turns.turn(A, 1.0, 2.0, NEVER) == 0.0
    assert len(vars(turns)["_free"]) == 1
