"""What went wrong, the same things together."""

from metaserver.base.conformance import ConformanceStep, StepState
from metaserver.base.records import Problem, Timings
from metaserver.base.states import Outcome
from metaserver.operations.attempts import AttemptDetail
from metaserver.web.public.groups import grouped, grouped_steps


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
    assert told(groups) == [("partial", "normalizations[…].rank: expected 1 or more, got 0", 2, 3)]
    assert groups[0].newest.article == "a1"


def test_accessions_do_not_make_groups():
    problems = [("pairs[0].dbid_a", f"unknown: {name} is in no release") for name in
                ("P04637", "Q99999", "A0A023GPI8")]  # fmt: skip
    found = told(grouped([attempt(1, "partial", "", *problems)]))
    assert found == [("partial", "pairs[…].dbid_a: unknown: … is in no release", 1, 3)]


def test_outcomes_without_problems_are_grouped_by_message_the_most_first():
    groups = grouped(
        [attempt(1, "http", "HTTP status 500"), attempt(2, "timeout", "no answer in 600 s"),
         attempt(3, "http", "HTTP status 500"), attempt(4, "cancelled", "by the team")]
    )  # fmt: skip
    found = told(groups)
    assert found == [("http", "HTTP status 500", 2, 2), ("timeout", "no answer in 600 s", 1, 1)]


def step(name, state, message="", *problems):
    return ConformanceStep(
        name=name,
        state=StepState(state),
        message=message,
        problems=tuple(Problem(path=path, message=told) for path, told in problems),
        outcome=Outcome.SHAPE if problems else None,
    )


def test_the_same_problem_of_several_steps_is_one_group_what_failed_first():
    rank = ("normalizations[0].rank", "expected int, got string")
    groups = grouped_steps(
        [
            step("state", "warning", "knows neither method"),
            step("short article", "failed", "wrong types", rank, rank),
            step("two at once", "failed", "wrong types", ("normalizations[7].rank", rank[1])),
            step("TLS", "skipped", "not asked for: http"),
            step("connect", "passed"),
        ]
    )
    assert [(one.text, one.times, one.steps, one.failed) for one in groups] == [
        ("normalizations[…].rank: expected int, got string", 3, ["short article", "two at once"],
         True),
        ("knows neither method", 1, ["state"], False),
    ]  # fmt: skip
