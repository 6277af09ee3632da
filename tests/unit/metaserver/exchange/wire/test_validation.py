"""Checks of complete answers: outcomes, the hits kept, and the messages."""

from collections.abc import Sequence
from typing import Any

import pytest

from metaserver.base.lanes import CheckedAnswer
from metaserver.base.states import Outcome
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.validation import check
from metaserver.exchange.wire.values import Unreadable
from metaserver.tasks.act import ACT
from metaserver.tasks.int_ import INT
from metaserver.tasks.ipt import IPT
from metaserver.tasks.ner import NER
from metaserver.tasks.plugin import TaskPlugin
from metaserver.uniprot.verdicts import Ruling
from tests.fakes.vocabulary import FakeVocabulary

TASKS: Sequence[TaskPlugin] = (ACT, INT, IPT)
RELEASE = FakeVocabulary.prefixed({"Q1": Ruling("P1", "Q1 is P1 now")})


def hit(dbid: Any, rank: Any = None, confidence: Any = 0.5) -> dict[str, Any]:
    ranked = {} if rank is None else {"rank": rank}
    return {"dbid": dbid, **ranked, "confidence": confidence}


def checked(value: object, tasks: Sequence[TaskPlugin] = TASKS) -> CheckedAnswer:
    return check(value, tasks, RELEASE)


def messages(answer: CheckedAnswer) -> list[str]:
    return [str(problem) for problem in answer.problems]


def test_an_answer_to_all_tasks() -> None:
    answer = checked(
        {
            "interaction": [True, 0.9],
            "normalizations": [hit("P2", 2), hit("P1", 1, 1.0)],
            "pairs": [{"dbid_a": "P2", "dbid_b": "P1", "rank": 1, "confidence": 0.5}],
        }
    )
    assert answer.outcome is Outcome.OK
    assert answer.message == ""
    assert answer.payloads == {
        "ACT": [True, 0.9], "INT": [["P1", 1, 1.0], ["P2", 2, 0.5]], "IPT": [["P1", "P2", 1, 0.5]],
    }  # fmt: skip
    assert (answer.hits_kept, answer.hits_dropped, answer.problem_count) == (4, 0, 0)


@pytest.mark.parametrize(
    ("value", "payloads"),
    [
        ({}, {}),
        ({"normalizations": [], "pairs": []}, {"INT": [], "IPT": []}),
        ({"interaction": []}, {"ACT": []}),
        ({"normalizations": None, "version": 3}, {}),
        (None, {}),
        ([], {}),
    ],
)
def test_an_answer_without_hits_is_an_answer(value: object, payloads: object) -> None:
    answer = checked(value)
    assert (answer.outcome, answer.payloads, answer.hits_kept) == (Outcome.OK, payloads, 0)


def test_members_of_other_tasks_and_unknown_members_are_ignored() -> None:
    answer = checked({"pairs": "x", "normalizations": [hit("P1", 1)], "note": 5}, [INT])
    assert (answer.outcome, answer.problem_count) == (Outcome.OK, 0)
    assert answer.payloads == {"INT": [["P1", 1, 0.5]]}


def test_unreadable_values_that_no_task_reads_are_ignored() -> None:
    odd = hit("P1", 1) | {"made": Unreadable("dateTime.iso8601"), "score": Unreadable("double")}
    answer = checked({"normalizations": [odd], "when": Unreadable("dateTime.iso8601")})
    assert (answer.outcome, answer.problem_count) == (Outcome.OK, 0)
    assert answer.payloads == {"INT": [["P1", 1, 0.5]]}


def test_the_decoders_notes_are_reported_and_cost_nothing() -> None:
    report = Report()
    report.note("when", "'soon' is no dateTime.iso8601")
    answer = check({"normalizations": [hit("P1", 1), hit("X1", 2)]}, TASKS, RELEASE, report)
    assert answer.outcome is Outcome.PARTIAL
    assert messages(answer)[1:] == ["when: 'soon' is no dateTime.iso8601"]
    assert answer.problem_count == 2


def test_mentions_are_for_display_unless_a_task_reads_them() -> None:
    sent = {"mentions": [{"offset": 3, "mention": "p53"}, {"mention": "p21", "length": "x"}]}
    shown = checked(sent)
    assert (shown.outcome, shown.payloads) == (Outcome.OK, {})
    assert messages(shown) == [
        "mentions[1].offset: missing; expected int",
        "mentions[1].length: expected int, got string 'x'",
    ]
    asked = checked(sent, [*TASKS, NER])
    assert (asked.outcome, asked.problem_count) == (Outcome.SHAPE, 4)
    assert asked.message == "mentions[0].type: missing; expected string (and 3 more)"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], "expected struct, got array of 1"),
        (Unreadable("double"), "expected struct, got unreadable double"),
        ({"normalizations": [hit("P1", 1, Unreadable("double"))]},
         "normalizations[0].confidence: expected double, got unreadable double"),
        ("busy", "expected struct, got string 'busy'"),
        ({"normalizations": {}}, "normalizations: expected array, got struct"),
        ({"normalizations": [hit("P1", 1), hit("P2", "x")]},
         "normalizations[1].rank: expected int, got string 'x'"),
        ({"normalizations": [5]}, "normalizations[0]: expected struct, got int 5"),
        ({"pairs": [{"dbid_a": "P1", "rank": 1, "confidence": 0.5}]},
         "pairs[0].dbid_b: missing; expected string"),
        ({"interaction": [True]}, "interaction: expected [boolean, double], got array of 1"),
        ({"interaction": ["maybe", 0.5]},
         "interaction[0]: expected boolean, got string 'maybe'"),
        ({"interaction": True}, "interaction: expected array, got boolean True"),
    ],
)  # fmt: skip
def test_another_type_fails_the_attempt_and_names_the_path(value: object, message: str) -> None:
    answer = checked(value)
    assert (answer.outcome, answer.message, answer.payloads) == (Outcome.SHAPE, message, {})
    assert answer.hits_kept == 0


def test_every_problem_of_an_answer_is_reported_worst_first() -> None:
    answer = checked(
        {
            "normalizations": [hit("X1", 0, 1.5), hit(7, 1), hit("P1", "x", None)],
            "interaction": [1, 2.0],
        }
    )
    assert messages(answer) == [
        "normalizations[2].confidence: missing; expected double",
        "normalizations[2].rank: expected int, got string 'x'",
        "interaction[1]: expected a confidence above 0 and up to 1, got 2.0",
        "normalizations[0].confidence: expected a confidence above 0 and up to 1, got 1.5",
        "normalizations[0].rank: expected 1 or more, got 0",
        "normalizations[0].dbid: X1 is unknown",
        "normalizations[1].dbid: 7 is unknown",
        "interaction[0]: int 1 read as boolean True",
        "normalizations[1].dbid: int 7 read as string '7'",
    ]
    assert (answer.problem_count, answer.message) == (9, f"{answer.problems[0]} (and 8 more)")


def test_a_bad_hit_is_dropped_and_the_rest_kept() -> None:
    answer = checked({"normalizations": [hit("P1", 1), hit("X9", 2), hit("P2", 3)]})
    assert answer.outcome is Outcome.PARTIAL
    assert answer.payloads == {"INT": [["P1", 1, 0.5], ["P2", 3, 0.5]]}
    assert answer.message == "1 of 3 hits dropped; normalizations[1].dbid: X9 is unknown"
    assert (answer.hits_kept, answer.hits_dropped) == (2, 1)


def test_no_valid_hit_where_hits_were_sent() -> None:
    answer = checked({"normalizations": [hit("X9", 1)], "interaction": [False, 0.0]})
    assert answer.outcome is Outcome.NO_VALID_HIT
    assert (answer.payloads, answer.hits_kept, answer.hits_dropped) == ({}, 0, 2)


def test_one_good_task_carries_a_bad_one() -> None:
    answer = checked({"normalizations": [hit("X9", 1)], "interaction": [False, 0.1]})
    assert answer.outcome is Outcome.PARTIAL
    assert answer.payloads == {"ACT": [False, 0.1], "INT": []}


def test_coerced_values_of_a_good_answer_are_reported() -> None:
    answer = checked({"normalizations": [hit("P1", 3.0, 1)]})
    assert answer.outcome is Outcome.OK
    assert answer.payloads == {"INT": [["P1", 3, 1.0]]}
    assert messages(answer) == [
        "normalizations[0].confidence: int 1 read as double 1.0",
        "normalizations[0].rank: double 3.0 read as int 3",
    ]
