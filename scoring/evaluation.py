"""Result files and a gold standard in, scorecards out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from scoring.biocreative import ItemScorer, new_scorer
from scoring.bulk import match_file
from scoring.errors import FormatError, OptionError
from scoring.files import Run, read_gold, read_run, rising_confidence, run_name
from scoring.gold import Gold, ItemGold
from scoring.scorecard import ArticlePolicy, Scorecard, Signature
from scoring.tasks import Classification, Task
from scoring.text import read_bytes
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
    """Score one result file; `gold` may be a file, or a gold standard that was read already.

    `articles` says which gold articles count (docs/scoring.md); `cutoff` keeps that many of the
    best ranks of each article; `beta` weighs recall against precision in F. Raises `FormatError`
    for files that cannot be read and `OptionError` for options that do not apply.
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
) -> list[Scorecard]:
    """Score result files on all processors, each in every view (`scoring.views`).

    Scorecards come run by run in the order given. Arguments are those of `evaluate_files`; raises
    one `FormatError` with the problems of all files.
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

    def attempt(path: Path) -> list[Scorecard] | FormatError:
        try:
            return _evaluate_file(gold, path, signature, views)
        except FormatError as error:
            return error

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(attempt, map(Path, runs)))
    errors = [result for result in results if isinstance(result, FormatError)]
    if errors:
        raise FormatError([problem for error in errors for problem in error.problems])
    return [card for result in results if not isinstance(result, FormatError) for card in result]


def evaluate(gold: Gold, run: Run, signature: Signature, view: View = RAW) -> Scorecard:
    """Score a run that was read already, as its signature says."""
    signature = replace(signature, view=view.name, files=view.files)
    scorer = new_scorer(gold, signature, run.name)
    for article, answer in run.answers.items():
        if isinstance(gold, ItemGold) and not isinstance(answer, Classification):
            answer = view.apply(answer, gold.items.get(article, frozenset()))
        scorer.put(article, answer)
    return replace(scorer.scorecard(), warnings=run.warnings)


def _evaluate_file(
    gold: Gold, path: Path, signature: Signature, views: Sequence[View]
) -> list[Scorecard]:
    if isinstance(gold, ItemGold) and tuple(views) == (RAW,):
        scorecard = _evaluate_in_bulk(gold, path, signature)
        if scorecard is not None:
            return [scorecard]
    run = read_run(signature.task, path, lenient_ranks=signature.ranks == "lenient")
    return [evaluate(gold, run, signature, view) for view in views]


def _evaluate_in_bulk(gold: ItemGold, path: Path, signature: Signature) -> Scorecard | None:
    """Return the raw score of a file in good order, or None: it must be read line by line."""
    lenient = signature.ranks == "lenient"
    matched = match_file(read_bytes(path), gold.task, gold.index, lenient_ranks=lenient)
    if matched is None:
        return None
    scorer = ItemScorer(gold, signature, run_name(path))
    for article, matches in matched.matches.items():
        scorer.put_matches(article, matches)
    warnings = (rising_confidence(path, gold.task, line, rank) for line, rank in matched.rising)
    return replace(scorer.scorecard(), warnings=tuple(warnings))
