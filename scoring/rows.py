"""The lines of gold and result files, checked: every problem is kept with its line and column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from scoring.errors import FileProblem, Problems
from scoring.tasks import Item, Task, pair
from scoring.text import Source, hidden, read_lines

_RANK = re.compile(r"[+-]?\d+", re.ASCII)
_BETWEEN = re.compile(r"[\W_]+")
_NUMBER = re.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf(inity)?)", re.ASCII | re.IGNORECASE
)

GOLD_COLUMNS = {
    Task.ACT: ("article", "class"),
    Task.INT: ("article", "accession"),
    Task.IPT: ("article", "accession", "accession"),
}
RESULT_COLUMNS = {task: (*columns, "rank", "confidence") for task, columns in GOLD_COLUMNS.items()}
ALL_COLUMNS = {
    task: columns if task is Task.ACT else (*columns, "evidence")
    for task, columns in RESULT_COLUMNS.items()
}
"""The columns of a result file with the optional one, whose words are not scored."""


class ResultLine(NamedTuple):
    """One well-formed result line: `key` is the item (INT, IPT) or the class (ACT)."""

    line: int
    article: str
    key: Item | bool
    rank: int
    confidence: float


class TabFile:
    """A tab-separated file being read: its lines, and the problems found so far."""

    def __init__(self, path: Source, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = columns
        self.problems = Problems()
        self.warnings: list[FileProblem] = []
        self._spoiled: set[str] = set()  # articles of the lines that could not be read

    def problem(self, line: int, column: int, message: str) -> None:
        """Keep a problem; lines and columns count from 1, 0 where there is none."""
        self.problems.add(self.path, line, column, message)

    def spoil(self, article: str) -> None:
        """Take note that a line of an article, whose id may be what is wrong, was not read."""
        self._spoiled.add(_folded(article))

    def spoiled(self, article: str | None) -> bool:
        """Return whether a line of an article (None: of any) was not read."""
        return bool(self._spoiled) if article is None else _folded(article) in self._spoiled

    def finish(self) -> None:
        """Raise every problem kept, in line order."""
        self.problems.finish(by_line=True)

    def rows(
        self, lines: Iterable[tuple[int, str]] | None = None, *, known: Sequence[str] = ()
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield (line number, fields) of the lines that have the right number of columns.

        They are those of the file, or some `lines` of it with their numbers. With the `known`
        columns of a result file, those beyond the last are dropped, as the official program did;
        if there are more than these, with one warning.
        """
        names = ", ".join(self.columns)
        count = len(self.columns)
        widened = False
        for number, line in enumerate(read_lines(self.path), 1) if lines is None else lines:
            fields = line.split("\t")
            if line.startswith("#"):
                self.problem(number, 0, f"comment; expected {names}: comments are not allowed")
            elif len(fields) == count:
                yield number, fields
            elif line.strip() == "":
                self.problem(number, 0, f"blank line; expected {names}")
            elif len(fields) > count and known:
                if len(fields) > len(known) and not widened:
                    self.warnings.append(extra_columns(self.path, known, number))
                    widened = True
                yield number, fields[:count]
            else:
                expected = f"expected {count} separated by tabs: {names}"
                self.spoil(fields[0])
                self.problem(
                    number, 0, f"{len(fields)} column{'' if len(fields) == 1 else 's'}; {expected}"
                )

    def names(self, line: int, fields: Sequence[str]) -> bool:
        """Check article ids and accessions; `fields` start at the first column."""
        good = True
        for column, (field, name) in enumerate(zip(fields, self.columns, strict=False), start=1):
            if fault := name_fault(field, name):
                self.problem(line, column, fault)
                good = False
        return good

    def relevance(self, line: int, field: str) -> bool | None:
        """Return an ACT class, or None where the field is none."""
        if field in ("0", "1"):
            return field == "1"
        self.problem(line, 2, f"class {field!r}; expected 0 or 1")
        return None

    def item(self, fields: Sequence[str]) -> Item:
        """Return the accession or the unordered pair in the fields after the article."""
        return pair(fields[1], fields[2]) if self.columns.count("accession") == 2 else fields[1]

    def rank(self, line: int, column: int, field: str) -> int | None:
        """Return a rank, or None where the field is none."""
        if len(field) <= 18 and _RANK.fullmatch(field) and int(field) >= 1:
            return int(field)
        self.problem(line, column, f"rank {field!r}; expected an integer from 1")
        return None

    def confidence(self, line: int, column: int, field: str) -> float | None:
        """Return a confidence, or None where the field is none."""
        if _NUMBER.fullmatch(field) and 0 < float(field) <= 1:
            return float(field)
        self.problem(line, column, f"confidence {field!r}; expected a number above 0 and up to 1")
        return None


def name_fault(field: str, name: str) -> str | None:
    """Return what is wrong with an article id, an accession or another name; None: nothing."""
    if field.strip() != field or not field:
        lack = "spaces around it"
    elif hidden(field):
        lack = "control or invisible characters"
    else:
        return None
    expected = f"expected {'an' if name[0] in 'aeiou' else 'a'} {name} without {lack}"
    return f"{f'{field!r}' if field else 'empty'}; {expected}"


def without_answers(path: Source) -> FileProblem:
    """Return the warning that a run says nothing of any article."""
    return FileProblem(str(path), 0, 0, "empty; no article has an answer")


def lost_lines(path: Source, lines: Mapping[str, int], gold: Set[str]) -> tuple[FileProblem, ...]:
    """Return the warning that a run seems to name its articles otherwise than the gold.

    `lines` are counted by article. A run may cover more articles than the gold: lines are lost
    where a gold article without a line has the same letters and digits, or where no line counts.
    """
    outside = [article for article in lines if article not in gold]
    if not outside:
        return ()
    without = {_folded(article): article for article in gold if article not in lines}
    lost = [article for article in outside if _folded(article) in without]
    if not lost and len(outside) < len(lines):
        return ()
    lost = lost or outside
    count = sum(lines[article] for article in lost)
    of = "an article that is" if len(lost) == 1 else f"{len(lost)} articles that are"
    ignored = f"ignored {count} line{'' if count == 1 else 's'} of {of} not in the gold"
    meant = without.get(_folded(lost[0]))
    message = f"{ignored}, the first of {lost[0]!r}{f': the gold has {meant!r}' if meant else ''}"
    return (FileProblem(str(path), 0, 0, message),)


def unlike_accessions(
    path: Source, names: Mapping[str, int], gold: Set[str]
) -> tuple[FileProblem, ...]:
    """Return the warning that a run names entries or isoforms, of which the gold has none.

    `names` are the run's, counted; those that have a sign of `MARKS` suffice.
    """
    odd = [name for name in names if name not in gold and _is_of_another_kind(name)]
    if not odd:
        return ()
    count = sum(names[name] for name in odd)
    message = (
        f"{count} items are entry names or isoforms that the gold does not have, the first"
        f" {odd[0]!r}; they are compared as written"
    )
    return (FileProblem(str(path), 0, 0, message),)


MARKS = b"_-"
"""A name of UniProt that is no accession has one of these: `P53_HUMAN`, `P12345-2`."""
_MOST_OF_A_NAME = 32
_OTHER_KIND = re.compile(
    r"[A-Z0-9]{1,10}_[A-Z0-9]{1,5}|[OPQ][0-9][A-Z0-9]{3}[0-9](?:-\w+)|"
    r"[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}(?:-\w+)",
    re.ASCII | re.IGNORECASE,
)


def _is_of_another_kind(name: str) -> bool:
    return len(name) <= _MOST_OF_A_NAME and _OTHER_KIND.fullmatch(name) is not None


def _folded(article: str) -> str:
    """Return an id's letters and digits without case: 10.1/X.2 is 10.1_x.2 as a file's name."""
    return _BETWEEN.sub("", article).lower()


def extra_columns(path: Source, columns: Sequence[str], line: int) -> FileProblem:
    """Return the warning that a line, and perhaps others below, has more columns."""
    message = f"extra columns ignored; expected {', '.join(columns)}"
    return FileProblem(str(path), line, len(columns) + 1, message)


def result_rows(
    sheet: TabFile, task: Task, lines: Iterable[tuple[int, str]] | None = None
) -> Iterator[ResultLine]:
    """Yield the well-formed lines of a result file; the others become the sheet's problems.

    `lines` are those of `TabFile.rows`.
    """
    width = len(sheet.columns)
    for line, fields in sheet.rows(lines, known=ALL_COLUMNS[task]):
        if task is Task.ACT:
            named = sheet.names(line, fields[:1])
            key: Item | bool | None = sheet.relevance(line, fields[1])
        else:
            named = sheet.names(line, fields[:-2])
            key = sheet.item(fields)
        rank = sheet.rank(line, width - 1, fields[-2])
        confidence = sheet.confidence(line, width, fields[-1])
        if named and key is not None and rank is not None and confidence is not None:
            yield ResultLine(line, fields[0], key, rank, confidence)
        else:
            sheet.spoil(fields[0])


def check_rows(
    sheet: TabFile, task: Task, rows: Sequence[ResultLine], *, lenient_ranks: bool
) -> None:
    """Keep the problems of well-formed lines among each other: items and ranks that come twice.

    So do ranks that are not 1, 2, 3, ... unless `lenient_ranks`. `rows` are all those of some
    articles (ACT: of the file).
    """
    if task is not Task.ACT:
        seen: set[tuple[str, Item | bool]] = set()
        for line, article, item, _, _ in rows:
            if (article, item) in seen:
                sheet.problem(line, 2, f"{item_text(item)} again for article {article!r}")
            seen.add((article, item))
    for group in rank_groups(task, rows):
        _check_ranks(sheet, group, gaps=not lenient_ranks and not _spoiled(sheet, task, group))


def rank_groups(task: Task, rows: Iterable[ResultLine]) -> Iterator[list[ResultLine]]:
    """Yield the rows, by rank, within which ranks are 1, 2, 3: an article's, or a class's."""
    groups: dict[object, list[ResultLine]] = {}
    for row in rows:
        groups.setdefault(row.key if task is Task.ACT else row.article, []).append(row)
    for group in groups.values():
        yield sorted(group, key=lambda row: row.rank)


def _spoiled(sheet: TabFile, task: Task, group: Sequence[ResultLine]) -> bool:
    """Return whether an unreadable line may be the cause of a gap among these rows."""
    return sheet.spoiled(None if task is Task.ACT else group[0].article)


def _check_ranks(sheet: TabFile, group: Sequence[ResultLine], *, gaps: bool) -> None:
    column = len(sheet.columns) - 1
    last = 0
    for row in group:
        named = f"class {row.key:d}" if isinstance(row.key, bool) else f"article {row.article!r}"
        if row.rank == last:
            sheet.problem(row.line, column, f"rank {row.rank} again for {named}")
        elif row.rank > last + 1 and gaps:
            sheet.problem(row.line, column, f"rank {row.rank} for {named}; expected {last + 1}")
        last = row.rank


def item_text(item: Item | bool) -> str:
    """Return an item as text: an accession, or a pair in its stored order."""
    return f"the pair {item[0]!r}, {item[1]!r}" if isinstance(item, tuple) else repr(item)
