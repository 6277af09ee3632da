"""A result file and a gold standard in, a scorecard out."""

from __future__ import annotations

from pathlib import Path

from scoring.biocreative import new_scorer
from scoring.files import Run, read_gold, read_run
from scoring.gold import Gold
from scoring.scorecard import ArticlePolicy, Scorecard, Signature
from scoring.tasks import Task


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
    if isinstance(gold, (str, Path)):
        gold = read_gold(task, gold)
    answers = read_run(task, run, lenient_ranks=lenient_ranks)
    signature = Signature(
        task=Task(task),
        gold=gold.digest,
        articles=articles,
        cutoff=cutoff,
        beta=beta,
        ranks="lenient" if lenient_ranks else "strict",
    )
    return evaluate(gold, answers, signature)


def evaluate(gold: Gold, run: Run, signature: Signature) -> Scorecard:
    """Score a run that was read already, as its signature says."""
    scorer = new_scorer(gold, signature, run.name)
    for article, answer in run.answers.items():
        scorer.put(article, answer)
    return scorer.scorecard()
