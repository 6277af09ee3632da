"""The bulk reader and the line by line reader agree on every file, good or bad."""

from collections.abc import Mapping
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scoring import FileProblem, FormatError, Matches, read_run
from scoring.biocreative import match
from scoring.bulk import match_file
from scoring.files import rising_confidence
from scoring.gold import ItemGold
from scoring.tasks import Classification, Task, pair
from scoring.text import line_blocks

LONG = "A0A024R161-12"
NAMES = ["P1", "P12345", "A0A024R161", LONG, LONG + "x", "ü", "p1", "12345678", "123456789"]
ARTICLES = ["10.1016/j.febslet.2008.01.001", "10.1016/j.febslet.2008.01.002", "1", "12345678"]
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
CONFIDENCES = ["1", "0.5", "0.25", "1e-3", ".5", "0.12345678", "0.123456789", "1.0", "00.5"]
ODD_CONFIDENCES = ["0", "2", "nan", "0.0", "", "0.5 ", "+0.5", "1_0", "0.5x", "0x1"]
ODD_RANKS = ["0", "-1", "1.0", "", " 1", "123456789", "+1", "007"]


@st.composite
def files(draw: st.DrawFn) -> tuple[Task, bytes]:
    task = draw(st.sampled_from([Task.INT, Task.IPT]))
    lines: list[str] = []
    for article in draw(st.lists(st.sampled_from(ARTICLES), max_size=4)):
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
    return task, end.join([*lines, *[""] * draw(st.integers(0, 1))]).encode()


def spoil(draw: st.DrawFn, lines: list[str]) -> None:
    place = draw(st.integers(0, len(lines) - 1))
    fields = lines[place].split("\t")
    kind = draw(st.sampled_from(["rank", "confidence", "blank", "extra", "comment", "space"]))
    if kind == "rank":
        fields[-2:-1] = [draw(st.sampled_from(ODD_RANKS))]
    elif kind == "confidence":
        fields[-1] = draw(st.sampled_from(ODD_CONFIDENCES))
    elif kind == "extra":
        fields.append("more")
    elif kind == "comment":
        fields[0] = "#" + fields[0]
    elif kind == "space":
        fields[0] += " "
    lines[place] = "" if kind == "blank" else "\t".join(fields)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(file=files(), lenient=st.booleans())
@example(file=(Task.INT, b""), lenient=False)
@example(file=(Task.INT, b"1\tP1\t1\t0.5\n1\tP1\t2\t0.4\n"), lenient=False)
@example(file=(Task.INT, b"1\tP1\t2\t0.5\n1\tP12345\t1\t0.4\n"), lenient=False)
def test_both_readers_agree(file: tuple[Task, bytes], lenient: bool, tmp_path: Path) -> None:
    task, content = file
    path = tmp_path / "run.tsv"
    path.write_bytes(content)
    bulk = match_file(line_blocks(path), task, GOLD[task].index, lenient_ranks=lenient)
    slow = line_by_line(task, path, lenient)
    if bulk is None:
        return  # left to the other reader, whatever the file holds
    assert slow is not None
    matches, warnings = slow
    assert bulk.matches == matches
    rising = {rising_confidence(path, task, *where) for where in bulk.rising}
    assert rising == set(warnings)


@given(
    articles=st.lists(st.sampled_from(ARTICLES), unique=True, min_size=1),
    names=st.lists(st.sampled_from([name for name in NAMES if name.isascii()]), unique=True),
    data=st.data(),
)
def test_good_files_are_read_in_bulk(
    articles: list[str], names: list[str], data: st.DataObject
) -> None:
    """The test above is only meaningful if good files are not refused."""
    lines = [
        f"{article}\t{name}\t{rank}\t{data.draw(st.sampled_from(CONFIDENCES))}\n"
        for article in articles
        for rank, name in enumerate(names, start=1)
    ]
    content = "".join(data.draw(st.permutations(lines))) or "1\tP1\t1\t1\n"
    assert match_file([content.encode()], Task.INT, GOLD[Task.INT].index) is not None


def line_by_line(
    task: Task, path: Path, lenient: bool
) -> tuple[Mapping[str, Matches], tuple[FileProblem, ...]] | None:
    try:
        run = read_run(task, path, lenient_ranks=lenient)
    except FormatError:
        return None
    matches = {}
    for article, answer in run.answers.items():
        assert not isinstance(answer, Classification)
        matches[article] = match(answer, GOLD[task].items.get(article, frozenset()))
    return matches, run.warnings
