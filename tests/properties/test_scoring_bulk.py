"""The bulk reader and the line by line reader agree on every file, good or bad."""

import math
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scoring import FileProblem, FormatError, read_run
from scoring.biocreative import match
from scoring.bulk import match_file
from scoring.columns import _SPACE_BEGINS, _SPACE_ENDS, split_columns
from scoring.files import read_run_by_line, rising_confidence
from scoring.gold import ItemGold
from scoring.rows import ALL_COLUMNS, extra_columns
from scoring.tasks import Classification, Task, pair
from tests.effort import examples

LONG = "A0A024R161-12"
NAMES = [
    *("P1", "P12345", "A0A024R161", LONG, LONG + "x", "ü", "p1", "12345678", "123456789"),
    *("P12345678", "P1 2", LONG + "-and-more", LONG + "-and-more1", "TNF-α", '"P1"', "é" * 8),
]
ARTICLES = ["10.1016/j.febslet.2008.01.001", "10.1016/j.febslet.2008.01.002", "1", "12345678"]
MORE_ARTICLES = ["PMID 18", "18-ß", *map(str, range(10_000_000_000, 10_000_000_020))]
SPACES = [" ", "\u00a0", "\u3000", "\u2009", "\x1c", "\x85"]
GOLD = {
    Task.INT: ItemGold(
        task=Task.INT,
        items={article: frozenset(NAMES[place:]) for place, article in enumerate(ARTICLES[:3])},
    ),
    Task.IPT: ItemGold(
        task=Task.IPT,
        items={
            article: frozenset(pair(left, right) for left in NAMES[place:] for right in NAMES[:3])
            for place, article in enumerate(ARTICLES[:3])
        },
    ),
}
CONFIDENCES = [
    *("1", "0.5", "0.25", "1e-3", ".5", "0.12345678", "0.123456789", "1.0", "00.5", "0.50"),
    *("0.30000000000000004", "0.3000000000000000444", "0.3", "0.9934640522875817", "0.1e0"),
    *("0.058823529411764705", "0.05882352941176470", "0.000000000000000000000000001"),
]
ODD_CONFIDENCES = [
    *("0", "2", "nan", "0.0", "", "0.5 ", "+0.5", "1_0", "0.5x", "0x1", "0.", "0.1234567890x"),
    *("0.00000000000000000", "1.0000000000000000000000001", "0.５", "0.1 5", "0.00000000\x30"),
]
ODD_RANKS = ["0", "-1", "1.0", "", " 1", "123456789", "+1", "007"]


@st.composite
def files(draw: st.DrawFn) -> tuple[Task, bytes]:
    task = draw(st.sampled_from([Task.INT, Task.IPT]))
    lines: list[str] = []
    for article in draw(st.lists(st.sampled_from(ARTICLES + MORE_ARTICLES), max_size=4)):
        count = draw(st.integers(0, 4))
        for rank in range(1, count + 1):
            items = [draw(st.sampled_from(NAMES)) for _ in range(1 if task is Task.INT else 2)]
            confidence = draw(st.sampled_from(CONFIDENCES))
            lines.append("\t".join([article, *items, str(rank), confidence]))
    for _ in range(draw(st.integers(0, 2)) if lines else 0):
        spoil(draw, lines)
    if draw(st.booleans()):
        lines = draw(st.permutations(lines))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return task, end.join([*lines, *[""] * draw(st.integers(0, 1))]).encode(
        errors="surrogateescape"
    )


def spoil(draw: st.DrawFn, lines: list[str]) -> None:
    place = draw(st.integers(0, len(lines) - 1))
    fields = lines[place].split("\t")
    kinds = ["rank", "confidence", "blank", "extra", "comment", "space", "byte", "fewer"]
    kind = draw(st.sampled_from(kinds))
    if kind == "rank":
        fields[-2:-1] = [draw(st.sampled_from(ODD_RANKS))]
    elif kind == "confidence":
        fields[-1] = draw(st.sampled_from(ODD_CONFIDENCES))
    elif kind == "extra":
        fields += draw(
            st.sampled_from([["more"], [""], ["a b", "ü"], [" "], ["1\r"], ["\x7f\ufeff"]])
        )
    elif kind == "comment":
        fields[0] = "#" + fields[0]
    elif kind == "space":
        field, space = draw(st.integers(0, len(fields) - 1)), draw(st.sampled_from(SPACES))
        fields[field] = draw(st.sampled_from([fields[field] + space, space + fields[field]]))
    elif kind == "byte":
        fields[0] += draw(
            st.sampled_from(
                ["\0", "\x7f", "\x9f", "\ufeff", "\u200b", "\r", "\v", "\udcff", "\udcc3"]
            )
        )
    elif kind == "fewer":
        fields = fields[:1] + fields[1:-1]
    lines[place] = "" if kind == "blank" else "\t".join(fields)


@st.composite
def decimals(draw: st.DrawFn) -> str:
    """A decimal fraction: as a float is written, or with digits close to the middle of two."""
    number = draw(st.floats(1e-5, 1, exclude_max=True))
    if draw(st.booleans()):
        return repr(number)
    middle = Decimal(number) / 2 + Decimal(math.nextafter(number, 1)) / 2
    places = draw(st.integers(1, 25))
    nudge = draw(st.integers(-2, 2)) * Decimal(10) ** -places
    return f"{abs(round(middle, places) + nudge):.{places}f}"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(200))
@given(file=files(), lenient=st.booleans())
@example(file=(Task.INT, b""), lenient=False)
@example(file=(Task.INT, b"1\tP1\t1\t0.5\n1\tP1\t2\t0.4\n"), lenient=False)
@example(file=(Task.INT, b"1\tP1\t2\t0.5\n1\tP12345\t1\t0.4\n"), lenient=False)
def test_both_readers_agree(file: tuple[Task, bytes], lenient: bool, tmp_path: Path) -> None:
    task, content = file
    path = tmp_path / "run.tsv"
    path.write_bytes(content)
    slow = line_by_line(task, path, lenient)
    try:
        bulk = match_file(path, task, GOLD[task].index, lenient_ranks=lenient)
    except FormatError:
        assert slow is None
        return
    if bulk is None:
        assert not content or _LEFT.search(content)
        return
    assert slow is not None
    matches, warnings = slow
    assert bulk.matches == matches
    odd = [rising_confidence(path, task, *where) for where in bulk.rising]
    if bulk.wide is not None:
        odd.append(extra_columns(path, ALL_COLUMNS[task], bulk.wide))
    assert sorted(odd) == sorted(warnings)


_LEFT = re.compile(rb"\t\+?\d{9,}\t")
"""What the bulk reader leaves to the other: long ranks."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    articles=st.lists(st.sampled_from(ARTICLES), unique=True, min_size=1),
    names=st.lists(st.sampled_from(NAMES), unique=True),
    data=st.data(),
)
def test_good_files_are_read_in_bulk(articles, names, data, tmp_path):
    """The test above is only meaningful if good files are not refused."""
    lines = [
        f"{article}\t{name}\t{rank}\t{data.draw(st.sampled_from(CONFIDENCES))}\n"
        for article in articles
        for rank, name in enumerate(names, start=1)
    ]
    path = tmp_path / "run.tsv"
    path.write_text("".join(data.draw(st.permutations(lines))) or "1\tP1\t1\t1\n")
    assert match_file(path, Task.INT, GOLD[Task.INT].index) is not None


def line_by_line(task, path, lenient):
    refused: tuple[FileProblem, ...] = ()
    try:
        run = read_run_by_line(task, path, lenient_ranks=lenient)
    except FormatError as error:
        refused = error.problems
    if refused:
        with pytest.raises(FormatError) as raised:
            read_run(task, path, lenient_ranks=lenient)
        assert raised.value.problems == refused
        return None
    same = read_run(task, path, lenient_ranks=lenient)
    assert replace(same, warnings=()) == replace(run, warnings=())
    assert list(same.answers) == list(run.answers)
    assert sorted(same.warnings) == sorted(run.warnings)
    matches = {}
    for article, answer in run.answers.items():
        assert not isinstance(answer, Classification)
        matches[article] = match(answer, GOLD[task].items.get(article, frozenset()))
    return matches, run.warnings


@given(texts=st.lists(decimals(), min_size=1, max_size=40))
@example(texts=["0.5", "0.30000000000000004", "0.9007199254740993", "0.99999999999999994449"])
@example(texts=["0.500000000000000055511", "0.0000000000000000000001", "0.999999999999999999"])
def test_numbers_are_those_of_float(texts: list[str]) -> None:
    split = split_columns("".join(f"{text}\n" for text in texts).encode(), 1, 0, 1)
    assert split.columns[0].numbers().tolist() == list(map(float, texts))


@given(names=st.lists(st.sampled_from(NAMES) | st.from_regex(r"[a-c]{1,20}", fullmatch=True)))
def test_equal_fields_get_one_number(names: list[str]) -> None:
    names = [*names, "a"]
    split = split_columns("".join(f"{name}\n" for name in names).encode(), 1, 1, 1)
    rows, which = split.columns[0].distinct()
    assert [names[row] for row in rows[which]] == names
    assert len(rows) == len(set(names))


def test_every_space_is_looked_for() -> None:
    """The table of bytes ends at U+3000; `str.strip` removes no later character."""
    spaces = [chr(code).encode() for code in range(0x110000) if chr(code).isspace()]
    assert {space[0] for space in spaces} == set(np.flatnonzero(_SPACE_BEGINS).tolist())
    assert {space[-1] for space in spaces} == set(np.flatnonzero(_SPACE_ENDS).tolist())
