"""What went wrong, the same things together."""

from metaserver.model.records import Problem, Timings
from metaserver.model.states import Outcome
from metaserver.operations.attempts import AttemptDetail
from metaserver.web.public.groups import grouped


def attempt(number, outcome, message="", *problems):
    return AttemptDetail(
        article=f"a{number}",
        number=1,
        started_at=float(-number),
        outcome=Outcome(outcome),
        message=message,
        timings=Timings(),
        bytes_out=1,
        bytes_in=1,
        problems=tuple(Problem(path=path, message=told) for path, told in problems),
        problem_count=len(problems),
        final=True,
    )


def told(groups):
    return [(group.outcome, group.text, group.attempts, group.times) for group in groups]


def test_the_same_problem_at_other_places_is_one_group():
    first = ("normalizations[3].rank", "expected 1 or more, got 0")
    again = ("normalizations[41].rank", "expected 1 or more, got 0")
    groups = grouped(
        [
            attempt(1, "partial", "", first, again),
            attempt(2, "partial", "", first),
            attempt(3, "ok"),
        ]
    )
    assert told(groups) == [
        ("partial", "normalizations[…].rank: expected 1 or more, got 0", 2, 3),
    ]
    assert groups[0].newest.article == "a1"


def test_accessions_do_not_make_groups():
    problems = [("pairs[0].dbid_a", f"unknown: {name} is in no release") for name in
                ("P04637", "Q99999", "A0A023GPI8")]  # fmt: skip
    assert told(grouped([attempt(1, "partial", "", *problems)])) == [
        ("partial", "pairs[…].dbid_a: unknown: … is in no release", 1, 3)
    ]


def test_outcomes_without_problems_are_grouped_by_message_the_most_first():
    groups = grouped(
        [attempt(1, "http", "HTTP status 500"), attempt(2, "timeout", "no answer in 600 s"),
         attempt(3, "http", "HTTP status 500"), attempt(4, "cancelled", "by the team")]
    )  # fmt: skip
    assert told(groups) == [
        ("http", "HTTP status 500", 2, 2),
        ("timeout", "no answer in 600 s", 1, 1),
    ]
