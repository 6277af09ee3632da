"""Result files and a gold standard in, scorecards out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scoring.biocreative import Answer, ItemScorer, new_scorer
from scoring.bulk import match_file
from scoring.errors import FileProblem, FormatError, OptionError
from scoring.files import Run, item_hits, odd_lines, read_gold, read_run, run_name
from scoring.gold import Gold, ItemGold
from scoring.rows import MARKS, lost_lines, unlike_accessions
from scoring.scorecard import ArticlePolicy, Scorecard, Signature
from scoring.tasks import Classification, Task
from scoring.text import Source, rereadable
from scoring.views import RAW, View


def evaluate_files(
    task: Task | str,
    gold: Gold | Path | str,
    run: Path | str,
    *,
    articles: ArticlePolicy = "answered",
    cutoff: int | None = None,
    lenient_ranks: bool = False,
    beta: float = 1.0,
) -> Scorecard:
    r"""Score one result file; `gold` may be a file, or a gold standard that was read already.

    `articles` says which gold articles count (docs/scoring.md); `cutoff` keeps that many of the
    best ranks of each article; `beta` weighs recall against precision in F. Raises `FormatError`
    for files that cannot be read and `OptionError` for options that do not apply.

    >>> _ = Path("gold.tsv").write_text("10.1\tP04637\n10.1\tQ00987\n")
    >>> _ = Path("run.tsv").write_text("10.1\tQ00987\t1\t0.9\n10.1\tP53350\t2\t0.4\n")
    >>> card = evaluate_files("INT", "gold.tsv", "run.tsv")
    >>> card.macro.precision, card.macro.recall, card.macro.f_score
    (0.5, 0.5, 0.5)
    """
    scorecards = evaluate_runs(
        task,
        gold,
        [run],
        articles=articles,
        cutoff=cutoff,
        lenient_ranks=lenient_ranks,
        beta=beta,
    )
    return scorecards[0]


def evaluate_runs(
    task: Task | str,
    gold: Gold | Path | str,
    runs: Iterable[Path | str],
    *,
    articles: ArticlePolicy = "answered",
    cutoff: int | None = None,
    lenient_ranks: bool = False,
    beta: float = 1.0,
    views: Sequence[View] = (RAW,),
    faults: list[FormatError] | None = None,
) -> list[Scorecard]:
    """Score result files, each in every view (`scoring.views`).

    Scorecards come run by run in the order given. Arguments are those of `evaluate_files`; raises
    one `FormatError` with the problems of all files. With a list `faults`, the error of each file
    that is not in its format is added to it, and its run is scored as one without an answer.
    """
    if isinstance(gold, (str, Path)):
        gold = read_gold(task, gold)
    signature = Signature(
        task=Task(task),
        gold=gold.digest,
        articles=articles,
        cutoff=cutoff,
        beta=beta,
        ranks="lenient" if lenient_ranks else "strict",
    )
    if not isinstance(gold, ItemGold) and views != (RAW,):
        raise OptionError("views do not apply to ACT")

    scorecards: list[Scorecard] = []
    problems: list[FileProblem] = []
    for run in runs:
        try:
            scorecards += _evaluate_file(gold, rereadable(run), signature, views)
        except FormatError as error:
            if faults is None or not Path(run).exists():
                problems += error.problems
                continue
            faults.append(error)
            empty = Run(task=signature.task, name=run_name(rereadable(run)), answers={})
            scorecards += [evaluate(gold, empty, signature, view) for view in views]
    if problems:
        raise FormatError(problems)
    return scorecards


def evaluate(gold: Gold, run: Run, signature: Signature, view: View = RAW) -> Scorecard:
    """Score a run that was read already, as its signature says."""
    signature = replace(signature, view=view.name, files=view.files)
    scorer = new_scorer(gold, signature, run.name)
    means: dict[str, float] = {}
    for article, answer in _viewed(gold, run, view):
        scorer.put(article, answer)
        if isinstance(answer, Classification):
            means[article] = answer.confidence
        elif answer:
            means[article] = math.fsum(hit.confidence for hit in answer) / len(answer)
    confidence = average_confidence(gold, means)
    return replace(scorer.scorecard(), warnings=run.warnings, confidence=confidence)


def average_confidence(gold: Gold, means: Mapping[str, float]) -> float | None:
    """Return the average confidence of a run, by which runs of equal score are ordered.

    The mean over the gold's articles of `means`, the mean confidence of each article's hits, so
    that no article weighs more than another; rounded to twelve digits, since the order of hits must
    not count. None for a run without hits.
    """
    values = [mean for article, mean in means.items() if article in gold.place]
    return round(math.fsum(values) / len(values), 12) if values else None


def in_view(gold: Gold, run: Run, view: View) -> Run:
    """Return a run as a view shows it; articles that are not in the gold stay as they are."""
    if view == RAW or not isinstance(gold, ItemGold):
        return run
    return replace(run, answers=dict(_viewed(gold, run, view)))


def _viewed(gold: Gold, run: Run, view: View) -> Iterator[tuple[str, Answer]]:
    """Yield a run's answers as a view shows them, one at a time."""
    for article, answer in run.answers.items():
        if view == RAW or not isinstance(gold, ItemGold) or isinstance(answer, Classification):
            yield article, answer
        else:
            yield article, view.apply(answer, gold.items.get(article, frozenset()))


def _evaluate_file(
    gold: Gold, path: Source, signature: Signature, views: Sequence[View]
) -> list[Scorecard]:
    if isinstance(gold, ItemGold) and tuple(views) == (RAW,):
        scorecard = _evaluate_in_bulk(gold, path, signature)
        if scorecard is not None:
            return [scorecard]
    run = read_run(signature.task, path, lenient_ranks=signature.ranks == "lenient")
    lines = {
        article: 1 if isinstance(answer, Classification) else len(answer)
        for article, answer in run.answers.items()
    }
    odd = lost_lines(path, lines, gold.place.keys())
    if isinstance(gold, ItemGold):
        odd += unlike_accessions(path, _marked(run), gold.accessions)
    run = replace(run, warnings=(*odd, *run.warnings))
    return [evaluate(gold, run, signature, view) for view in views]


def _marked(run: Run) -> Counter[str]:
    """Return the accessions of a run that have a sign of `MARKS`, counted."""
    marks = MARKS.decode()
    return Counter(
        name
        for hits in item_hits(run).values()
        for item, _, _ in hits
        for name in ((item,) if isinstance(item, str) else item)
        if any(mark in name for mark in marks)
    )


def _evaluate_in_bulk(gold: ItemGold, path: Source, signature: Signature) -> Scorecard | None:
    """Return the raw score of a well-formed file, or None: it must be read line by line."""
    lenient = signature.ranks == "lenient"
    matched = match_file(path, gold.task, gold.index, lenient_ranks=lenient)
    if matched is None:
        return None
    scorer = ItemScorer(gold, signature, run_name(path))
    for article, matches in matched.matches.items():
        scorer.put_matches(article, matches)
    lines = {article: matches.hits for article, matches in matched.matches.items()}
    lost = lost_lines(path, lines, gold.place.keys())
    lost += unlike_accessions(path, matched.marked, gold.accessions)
    odd = odd_lines(path, gold.task, matched.wide, matched.rising)
    confidence = average_confidence(gold, matched.confidences)
    return replace(scorer.scorecard(), warnings=(*lost, *odd), confidence=confidence)
