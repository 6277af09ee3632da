"""The tables of outcomes, and the decisions by them."""

import random
from itertools import pairwise

import pytest

from metaserver.base.states import ANSWERED, RULES, Backoff, Outcome, RetryDecision, decide

RNG = random.Random(1)
BACKOFF = Backoff(base=1.0, cap=60.0)


def test_every_outcome_has_a_rule_with_a_reason() -> None:
    assert set(RULES) == set(Outcome)
    assert all(rule.reason.strip() for rule in RULES.values())


def test_an_answer_ends_an_article_and_nothing_else_does() -> None:
    assert {outcome for outcome, rule in RULES.items() if not rule.retry} == ANSWERED


def test_all_but_the_hubs_own_doing_and_lost_credentials_is_charged() -> None:
    free = {outcome for outcome, rule in RULES.items() if not rule.charged}
    assert free == {Outcome.CANCELLED, Outcome.CREDENTIALS}


def test_only_outcomes_of_unreachable_servers_open_the_circuit() -> None:
    assert {outcome for outcome, rule in RULES.items() if rule.circuit} == {
        Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT, Outcome.HTTP,
        Outcome.CREDENTIALS,
    }  # fmt: skip


def test_the_words_of_outcomes_are_fixed() -> None:
    assert " ".join(Outcome) == (
        "ok partial dns connect tls timeout http too_large credentials syntax fault shape"
        " no_valid_hit cancelled"
    )


@pytest.mark.parametrize("outcome", sorted(ANSWERED))
@pytest.mark.parametrize("charged", [1, 5, 99])
def test_an_answer_is_final_however_many_attempts_it_took(outcome: Outcome, charged: int) -> None:
    assert decide(outcome, charged, 5, BACKOFF, RNG) == RetryDecision(answered=True)


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - ANSWERED))
def test_a_failure_is_tried_again_until_the_attempts_are_used_up(outcome: Outcome) -> None:
    decisions = [decide(outcome, charged, 5, BACKOFF, RNG) for charged in range(1, 7)]
    assert [decision.final for decision in decisions] == [False] * 4 + [True] * 2
    assert decisions[4] == RetryDecision(given_up=True)


def test_an_attempt_that_was_not_charged_waits_as_after_the_first() -> None:
    decision = decide(Outcome.CANCELLED, 0, 1, BACKOFF, RNG)
    assert not decision.final
    assert 0.0 <= decision.wait <= 1.0


def test_the_wait_is_no_shorter_than_a_server_asked() -> None:
    decision = decide(Outcome.HTTP, 1, 5, BACKOFF, RNG, 40.0)
    assert decision == RetryDecision(wait=40.0)
    assert decide(Outcome.HTTP, 5, 5, BACKOFF, RNG, 40.0) == RetryDecision(given_up=True)
    longer = Backoff(base=1e9, cap=1e9)
    assert decide(Outcome.HTTP, 1, 5, longer, random.Random(1), 40.0).wait > 40.0


@pytest.mark.parametrize(
    ("retry", "longest"), [(1, 1.0), (2, 2.0), (3, 4.0), (6, 32.0), (7, 60.0), (10_000, 60.0)]
)
def test_the_longest_wait_doubles_up_to_the_cap(retry: int, longest: float) -> None:
    assert BACKOFF.limit(retry) == longest


def test_waits_fill_the_whole_range() -> None:
    waits = sorted(BACKOFF.wait(4, RNG) for _ in range(2_000))
    assert waits[0] >= 0.0
    assert waits[-1] <= 8.0
    assert max(after - before for before, after in pairwise([0.0, *waits, 8.0])) < 0.1
