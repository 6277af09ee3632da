"""Values of answers read as the agreed types, with the problems reported."""

from typing import Any

import pytest

from metaserver.exchange.wire.contract import (
    MAX_PROBLEMS,
    Report,
    Severity,
    described,
    read,
    read_member,
    read_mentions,
)


def messages(report: Report) -> list[str]:
    return [str(problem) for problem in report.problems]


@pytest.mark.parametrize(
    ("kind", "value", "coerced", "note"),
    [
        (str, 7, "7", "int 7 read as string '7'"),
        (float, 1, 1.0, "int 1 read as double 1.0"),
        (float, " 1E-3", 0.001, "string ' 1E-3' read as double 0.001"),
        (int, 3.0, 3, "double 3.0 read as int 3"),
        (int, "3", 3, "string '3' read as int 3"),
        (int, "3.0", 3, "string '3.0' read as int 3"),
        (int, 1_000_001.0, 1_000_001, "double 1000001.0 read as int 1000001"),
        (int, 2.0**53, 2**53, f"double {2.0**53} read as int {2**53}"),
        (int, -(2.0**53), -(2**53), f"double {-(2.0**53)} read as int {-(2**53)}"),
        (bool, 1, True, "int 1 read as boolean True"),
        (bool, 0.0, False, "double 0.0 read as boolean False"),
        (bool, "True", True, "string 'True' read as boolean True"),
        (bool, "0", False, "string '0' read as boolean False"),
        (bool, "1", True, "string '1' read as boolean True"),
        (bool, " FALSE ", False, "string ' FALSE ' read as boolean False"),
        (bool, 0, False, "int 0 read as boolean False"),
        (bool, 1.0, True, "double 1.0 read as boolean True"),
    ],
)
def test_reads_what_untyped_languages_send_and_says_so(kind, value, coerced, note):
    report = Report()
    found = read(value, kind, "pairs[2].x", report)
    assert found == coerced
    assert type(found) is kind
    assert messages(report) == [f"pairs[2].x: {note}"]
    assert report.count(Severity.NOTE) == 1


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (int, "x", "expected int, got string 'x'"),
        (int, 3.5, "expected int, got double 3.5"),
        (int, 1e300, "expected int, got double 1e+300"),
        (int, 2.0**53 + 2, f"expected int, got double {2.0**53 + 2}"),  # others are read as it is
        (int, str(2**53 + 2), f"expected int, got string '{2**53 + 2}'"),
        (int, float("inf"), "expected int, got double inf"),
        (int, True, "expected int, got boolean True"),
        (int, "1_0", "expected int, got string '1_0'"),
        (int, "٣", "expected int, got string '٣'"),
        (float, "nan", "expected double, got string 'nan'"),
        (float, "1e999", "expected double, got string '1e999'"),
        (float, True, "expected double, got boolean True"),
        (float, None, "expected double, got nil"),
        (str, 1.5, "expected string, got double 1.5"),
        (str, True, "expected string, got boolean True"),
        (str, b"abc", "expected string, got base64 of 3"),
        (bool, 2, "expected boolean, got int 2"),
        (bool, 0.5, "expected boolean, got double 0.5"),
        (bool, "", "expected boolean, got string ''"),
        (bool, "yes", "expected boolean, got string 'yes'"),
        (list, {}, "expected array, got struct"),
        (dict, [1, 2], "expected struct, got array of 2"),
    ],
)
def test_ambiguous_values_are_refused(kind: type, value: object, said: str) -> None:
    report = Report()
    assert read(value, kind, "a.b", report) is None
    assert messages(report) == [f"a.b: {said}"]
    assert report.count(Severity.SHAPE) == 1


def test_a_value_of_its_type_is_taken_as_it_is() -> None:
    report, value = Report(), {"rank": 3}
    assert read(value, dict, "", report) is value
    assert read_member(value, "rank", int, "pairs[0]", report) == 3
    assert report.problem_count == 0


def test_a_missing_member_names_its_path_and_type() -> None:
    report = Report()
    assert read_member({}, "confidence", float, "pairs[0]", report) is None
    assert messages(report) == ["pairs[0].confidence: missing; expected double"]


def test_a_long_string_is_cut() -> None:
    assert described("x" * 41) == f"string {'x' * 39 + '…'!r}"
    assert described("x" * 40) == f"string {'x' * 40!r}"


def test_mentions_are_for_display_only() -> None:
    good = {"offset": 3, "mention": "p53", "section": "Results", "confidence": 0.5}
    sent: list[Any] = [good, {"offset": "here", "mention": "x"}, 5, {"mention": "y"}]
    report = Report()
    found = list(read_mentions([*sent, {**good, "section": 1.5}], report))
    assert found == [good, {**good, "section": 1.5}]
    assert messages(report) == [
        "mentions[1].offset: expected int, got string 'here'",
        "mentions[2]: expected struct, got int 5",
        "mentions[3].offset: missing; expected int",
        "mentions[4].section: expected string, got double 1.5",
    ]
    assert report.count(Severity.NOTE) == report.problem_count
    assert read_mentions("none", report) == []


def test_a_report_keeps_the_first_hundred_and_the_worst_first() -> None:
    report = Report()
    for place in range(150):
        report.note(f"a[{place}]", "read as int")
    for place in range(3):
        report.hit(f"b[{place}]", "dropped")
    report.shape("c", "wrong")
    assert report.problem_count == 154
    kept = messages(report)
    assert len(kept) == MAX_PROBLEMS
    assert kept[:5] == ["c: wrong", *(f"b[{n}]: dropped" for n in range(3)), "a[0]: read as int"]
