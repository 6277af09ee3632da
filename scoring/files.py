"""Gold and result files in the format of BioCreative II.5: readers and the writer.

A reader collects every problem of a file before it raises `FormatError`. Files may be gzip, may
begin with a UTF-8 byte order mark and may end lines with CRLF; blank lines and comments are errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, cast

from scoring.biocreative import Answer
from scoring.bulk import read_hits
from scoring.errors import FileProblem, OptionError
from scoring.gold import ActGold, Gold, ItemGold
from scoring.rows import (
    ALL_COLUMNS,
    GOLD_COLUMNS,
    RESULT_COLUMNS,
    ResultLine,
    TabFile,
    check_rows,
    extra_columns,
    item_text,
    rank_groups,
    result_rows,
    without_answers,
)
from scoring.tasks import Classification, Hit, Item, Task, by_rank
from scoring.text import Source, rereadable


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as its result file has it: the answer of each article, in file order.

    `warnings` are oddities that do not stop an evaluation, such as a rising confidence.
    """

    task: Task
    name: str
    answers: Mapping[str, Answer] = field(repr=False)
    warnings: tuple[FileProblem, ...] = ()


def item_hits(run: Run) -> Mapping[str, Sequence[Hit]]:
    """Return a run's hits; raises `OptionError` for an ACT run, which has none."""
    if run.task is Task.ACT:
        raise OptionError(f"{run.name}: expected INT or IPT runs")
    return cast("Mapping[str, Sequence[Hit]]", run.answers)


def run_name(path: Source) -> str:
    """Return the name of a result file's run: the file's name without its suffixes.

    A folder has no suffix: its name is that of the run.
    """
    if isinstance(path, Path) and path.is_dir():
        return path.name
    name = path.name.removesuffix(".gz")
    return name.rsplit(".", 1)[0] or name


def read_gold(task: Task | str, path: Path | str) -> Gold:
    r"""Read a gold file: `article<TAB>class` (ACT), `article<TAB>accession[<TAB>accession]`.

    Raises `FormatError` with every problem: columns, classes, duplicates (a pair in either order
    is the same), an empty file.

    >>> _ = Path("gold.tsv").write_text("10.1\tP04637\n10.1\tQ00987\n10.2\tP04637\n")
    >>> gold = read_gold("INT", "gold.tsv")
    >>> {article: sorted(items) for article, items in gold.items.items()}
    {'10.1': ['P04637', 'Q00987'], '10.2': ['P04637']}
    """
    task = Task(task)
    sheet = TabFile(Path(path), GOLD_COLUMNS[task])
    gold = _act_gold(sheet) if task is Task.ACT else _item_gold(sheet, task)
    if not gold and not sheet.problems:
        sheet.problem(0, 0, f"empty; expected lines of {', '.join(sheet.columns)}")
    sheet.finish()
    return gold


def _act_gold(sheet: TabFile) -> ActGold:
    relevant: dict[str, bool] = {}
    for line, fields in sheet.rows():
        named, label = sheet.names(line, fields[:1]), sheet.relevance(line, fields[1])
        if fields[0] in relevant:
            sheet.problem(line, 1, f"article {fields[0]!r} again; expected one class an article")
        if named and label is not None:
            relevant[fields[0]] = label
    return ActGold(relevant=relevant)


def _item_gold(sheet: TabFile, task: Task) -> ItemGold:
    items: dict[str, set[Item]] = {}
    for line, fields in sheet.rows():
        if line == 1 and _are_column_names(fields, sheet.columns):
            sheet.problem(line, 0, f"column names; expected {', '.join(sheet.columns)}: no header")
        if not sheet.names(line, fields):
            continue
        item, found = sheet.item(fields), items.setdefault(fields[0], set())
        if item in found:
            sheet.problem(line, 2, f"{item_text(item)} again for article {fields[0]!r}")
        found.add(item)
    if task is Task.INT and {*chain.from_iterable(items.values())} in _CLASSES:
        sheet.problem(0, 2, "classes 0 and 1, as gold of ACT has; expected accessions")
    return ItemGold(
        task=task, items={article: frozenset(found) for article, found in items.items()}
    )


_CLASSES = ({"0", "1"}, {"0"}, {"1"})


def _are_column_names(fields: Sequence[str], columns: Sequence[str]) -> bool:
    """Return whether a line names the columns, such as `Article<TAB>Accession_A<TAB>...`."""
    named = zip(fields, columns, strict=True)
    return all(field.lower().startswith(column) for field, column in named)


def read_run(task: Task | str, path: Source | str, *, lenient_ranks: bool = False) -> Run:
    r"""Read a result file: the gold's columns, then rank and confidence.

    INT and IPT may have a last column of evidence, which is passed over.

    Raises `FormatError` with every problem: columns, ranks that are not 1, 2, 3, ... within an
    article (ACT: within a class) unless `lenient_ranks`, confidences outside ]0, 1], an item or
    rank twice, an ACT article twice.

    >>> _ = Path("run.tsv").write_text("10.1\tQ00987\t1\t0.9\n10.1\tP53350\t2\t0.4\n")
    >>> run = read_run("INT", "run.tsv")
    >>> [(hit.item, hit.rank, hit.confidence) for hit in run.answers["10.1"]]
    [('Q00987', 1, 0.9), ('P53350', 2, 0.4)]
    """
    task = Task(task)
    path = rereadable(path)
    if task is not Task.ACT:
        found = read_hits(path, task, lenient_ranks=lenient_ranks)
        if found:
            warnings = odd_lines(path, task, found.wide, found.rising)
            return Run(task=task, name=run_name(path), answers=found.answers, warnings=warnings)
    return read_run_by_line(task, path, lenient_ranks=lenient_ranks)


def read_run_by_line(task: Task, path: Source, *, lenient_ranks: bool = False) -> Run:
    """Read a result file line by line, as `read_run` does where there may be a problem."""
    sheet = TabFile(path, RESULT_COLUMNS[task])
    rows = list(result_rows(sheet, task))
    answers = _classifications(sheet, rows) if task is Task.ACT else _hits(rows)
    check_rows(sheet, task, rows, lenient_ranks=lenient_ranks)
    for group in rank_groups(task, rows):
        _warn_rising(sheet, task, group)
    sheet.finish()
    if not rows:
        sheet.warnings.append(without_answers(path))
    return Run(task=task, name=run_name(path), answers=answers, warnings=tuple(sheet.warnings))


def _classifications(sheet: TabFile, rows: Iterable[ResultLine]) -> dict[str, Classification]:
    answers: dict[str, Classification] = {}
    for line, article, label, rank, confidence in rows:
        if article in answers:
            sheet.problem(line, 1, f"article {article!r} again; expected one class an article")
        answers[article] = Classification(bool(label), confidence, rank)
    return answers


def _hits(rows: Iterable[ResultLine]) -> Mapping[str, Sequence[Hit]]:
    answers: dict[str, list[Hit]] = {}
    for _, article, item, rank, confidence in rows:
        assert not isinstance(item, bool)
        answers.setdefault(article, []).append(Hit(item, rank, confidence))
    return answers


def _warn_rising(sheet: TabFile, task: Task, group: Sequence[ResultLine]) -> None:
    for row, following in pairwise(group):
        if following.confidence > row.confidence:
            warning = rising_confidence(sheet.path, task, following.line, following.rank)
            sheet.warnings.append(warning)
            return


def rising_confidence(path: Source, task: Task, line: int, rank: int) -> FileProblem:
    """Return the warning that a hit is more confident than the hit ranked above it."""
    message = f"confidence rises with rank {rank}; expected it to fall"
    return FileProblem(str(path), line, len(RESULT_COLUMNS[task]), message)


def odd_lines(
    path: Source, task: Task, wide: int | None, rising: Iterable[tuple[int, int]]
) -> tuple[FileProblem, ...]:
    """Return the warnings of a file that was read in bulk (`bulk.MatchedFile`)."""
    widened = [] if wide is None else [extra_columns(path, ALL_COLUMNS[task], wide)]
    return (*widened, *(rising_confidence(path, task, line, rank) for line, rank in rising))


def gold_lines(gold: Gold) -> Iterator[str]:
    r"""Yield a gold file line by line, with line ends: articles in gold order, items sorted.

    >>> gold = ItemGold(task=Task.INT, items={"10.1": frozenset({"Q00987", "P04637"})})
    >>> list(gold_lines(gold))
    ['10.1\tP04637\n', '10.1\tQ00987\n']
    """
    if isinstance(gold, ActGold):
        yield from (f"{article}\t{relevant:d}\n" for article, relevant in gold.relevant.items())
        return
    for article, items in gold.items.items():
        texts = (item if isinstance(item, str) else "\t".join(item) for item in items)
        yield from (f"{article}\t{text}\n" for text in sorted(texts))


def result_lines(task: Task | str, answers: Iterable[tuple[str, Answer]]) -> Iterator[str]:
    r"""Yield a run's result file in texts of whole lines, with line ends, ranks closed up from 1.

    ACT articles without a rank are ranked within their class by falling confidence, ties by
    article id: positives first, then negatives. Hits may be any triples of item, rank and
    confidence.

    >>> "".join(result_lines("INT", [("10.1", [("P53350", 7, 0.4), ("Q00987", 3, 0.9)])]))
    '10.1\tQ00987\t1\t0.9\n10.1\tP53350\t2\t0.4\n'
    """
    if Task(task) is Task.ACT:
        yield from _act_lines(answers)
        return
    texts = _name_lines if Task(task) is Task.INT else _pair_lines
    for article, answer in answers:
        assert not isinstance(answer, Classification)
        yield "".join(texts(article, enumerate(sorted(answer, key=by_rank), start=1)))


def _name_lines(article: str, hits: Iterable[tuple[int, Any]]) -> list[str]:
    return [f"{article}\t{name}\t{rank}\t{at!r}\n" for rank, (name, _, at) in hits]


def _pair_lines(article: str, hits: Iterable[tuple[int, Any]]) -> list[str]:
    return [f"{article}\t{a}\t{b}\t{rank}\t{at!r}\n" for rank, ((a, b), _, at) in hits]


def _act_lines(answers: Iterable[tuple[str, Answer]]) -> Iterator[str]:
    classes: dict[bool, list[tuple[int, float, str, float]]] = {True: [], False: []}
    for article, answer in answers:
        assert isinstance(answer, Classification)
        key = (answer.rank or 0, -answer.confidence, article, answer.confidence)
        classes[answer.relevant].append(key)
    for relevant, listed in classes.items():
        for rank, (*_, article, confidence) in enumerate(sorted(listed), start=1):
            yield f"{article}\t{relevant:d}\t{rank}\t{confidence!r}\n"
