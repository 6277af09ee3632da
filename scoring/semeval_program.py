"""Counts of names as the organisers' program of SemEval-2013 task 9.1 makes them (`evaluateNER`).

Its rules were read from the program that the organisers gave to the teams, and its counts are kept
as test cases (`tests/golden/semeval_program.json`). They differ from the definitions of the task:

- Each prediction is judged alone, against the first gold mention of its sentence, in the order of
  the corpus, that it agrees with or overlaps. A gold mention may so be found more than once, and
  MIS, what remains of POS, may be below 0.
- A name overlaps another where their outer ends do, gaps included.
- Offsets are compared as they are written: `0-3;4-6` is not `0-6`.
- A prediction in a sentence without gold mentions is not counted; by type, one in a sentence
  without gold mentions of its type.
- A prediction that comes twice is counted twice.
- Partial precision is COR/ACT, partial recall (COR + PAR/2)/POS.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from scoring.semeval_ner import TYPES, Compat, Criterion, MentionCounts, NerScorecard, Table, total


class WrittenMention(NamedTuple):
    """A name with its offsets as its file has them: inclusive, such as `12-15;21-25`."""

    place: str
    offsets: str
    type: str

    @property
    def ends(self) -> tuple[int, int]:
        """The first number of the offsets and the last, which is all of them that overlaps."""
        return int(self.offsets.partition("-")[0]), int(self.offsets.rpartition("-")[2])


Gold: TypeAlias = Mapping[str, Sequence[WrittenMention]]


def evaluate(
    gold: Iterable[WrittenMention],
    run: Iterable[WrittenMention],
    article_of: Mapping[str, str],
) -> NerScorecard:
    """Score predicted names; `gold` is in the order of the corpus, the run in any.

    `article_of` says which article each place is a part of.
    """
    gold, run = list(gold), list(run)
    by_article = dict.fromkeys(article_of.values(), total([]))
    for place, table in _count(gold, run).items():
        article = article_of[place]
        by_article[article] = total([by_article[article], table])
    per_type = {
        name: total(_count(_only(gold, name), _only(run, name)).values())
        for name in dict.fromkeys([*TYPES, *(mention.type for mention in gold)])
    }
    return NerScorecard(by_article=by_article, per_type=per_type, compat=Compat.SEMEVAL2013)


def _only(mentions: Iterable[WrittenMention], name: str) -> list[WrittenMention]:
    return [mention for mention in mentions if mention.type == name]


def _count(gold: Sequence[WrittenMention], run: Sequence[WrittenMention]) -> dict[str, Table]:
    """Return the counts of every place that has a gold mention."""
    by_place: defaultdict[str, list[WrittenMention]] = defaultdict(list)
    for mention in gold:
        by_place[mention.place].append(mention)
    judged: Counter[tuple[str, Criterion, str]] = Counter()
    for prediction in run:
        if prediction.place in by_place:
            for criterion in Criterion:
                outcome = _judge(prediction, by_place[prediction.place], criterion)
                judged[prediction.place, criterion, outcome] += 1
    return {
        place: {
            criterion: _counts(
                {name: judged[place, criterion, name] for name in ("cor", "inc", "par", "spu")},
                len(mentions),
            )
            for criterion in Criterion
        }
        for place, mentions in by_place.items()
    }


def _counts(judged: Mapping[str, int], gold: int) -> MentionCounts:
    return MentionCounts(**judged, mis=gold - judged["cor"] - judged["inc"] - judged["par"])


def _judge(
    prediction: WrittenMention, mentions: Sequence[WrittenMention], criterion: Criterion
) -> str:
    """Return the outcome of a prediction: that of the first mention that it meets."""
    start, end = prediction.ends
    for mention in mentions:
        first, last = mention.ends
        same = prediction.offsets == mention.offsets
        if not same and (start > last or first > end):
            continue
        same_type = prediction.type == mention.type
        correct = {
            Criterion.STRICT: same and same_type,
            Criterion.EXACT: same,
            Criterion.PARTIAL: same,
            Criterion.TYPE: same_type,
        }[criterion]
        if correct:
            return "cor"
        return "par" if criterion is Criterion.PARTIAL else "inc"
    return "spu"
