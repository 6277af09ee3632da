"""BioCreative II.5 files: accepted items as gold, or ranked as a run."""

from __future__ import annotations

from collections.abc import Iterable

from metaserver.base.errors import Refusal, RefusedError
from metaserver.curation.exports.finished import CuratedItem, FinishedCuration
from scoring import ActGold, Answer, Classification, Gold, Hit, Item, ItemGold, Task, pair
from scoring.files import gold_lines, result_lines

LEAST_CONFIDENCE = 1e-6
"""The confidence of a probability of 0: the format allows none below."""


def gold_tsv(curations: Iterable[FinishedCuration], task: Task | str) -> str:
    """Return the accepted items of a task as a gold file; "" if there is none.

    An article without an accepted item has no line in INT and IPT, and neither has an unclassified
    article in ACT: the format cannot say so. Several curations of one article are united (INT,
    IPT); of different classes they are refused.
    """
    return "".join(gold_lines(gold_of(curations, task)))


def gold_of(curations: Iterable[FinishedCuration], task: Task | str) -> Gold:
    """Return the accepted items of a task as gold, articles in the order of the curations."""
    task = Task(task)
    if task is Task.ACT:
        relevant: dict[str, bool] = {}
        for curation in curations:
            if curation.relevant is not None:
                article = _column(curation.article.id)
                if relevant.setdefault(article, curation.relevant) != curation.relevant:
                    message = f"article {article} is of two classes; adjudicate it first"
                    raise RefusedError(Refusal.STATE, message)
        return ActGold(relevant=relevant)
    items: dict[str, frozenset[Item]] = {}
    for curation in curations:
        article = _column(curation.article.id)
        if item_set := frozenset(_item(item) for item in curation.found(task)):
            items[article] = items.get(article, frozenset()) | item_set
    return ItemGold(task=task, items=items)


def run_tsv(curations: Iterable[FinishedCuration], task: Task | str) -> str:
    """Return the accepted items of a task as a result file, in their order.

    The confidence is the probability that the consensus gave, else 1. A run has one answer per
    article: two curations for an article are refused.
    """
    task = Task(task)
    answers: dict[str, Answer] = {}
    for curation in curations:
        article = _column(curation.article.id)
        if article in answers:
            raise RefusedError(Refusal.STATE, f"article {article} twice; a run has one answer")
        if task is not Task.ACT:
            answers[article] = [
                Hit(_item(item), rank, _confidence(item.probability))
                for rank, item in enumerate(curation.found(task), start=1)
            ]
        elif curation.relevant is not None:
            answers[article] = Classification(curation.relevant, 1.0)
    return "".join(result_lines(task, answers.items()))


def _item(item: CuratedItem) -> Item:
    names = [_column(name) for name in item.item]
    return names[0] if len(names) == 1 else pair(*names)


def _confidence(probability: float | None) -> float:
    return 1.0 if probability is None else min(1.0, max(LEAST_CONFIDENCE, probability))


def _column(value: str) -> str:
    """Return a value that a column can hold and that is read back as it is; refuse another."""
    good = value and value.isprintable() and value == value.strip() and value[0] not in "#\ufeff"
    if not good:
        raise RefusedError(Refusal.INVALID, f"{value!r:.60} cannot be a column of a BC II.5 file")
    return value
