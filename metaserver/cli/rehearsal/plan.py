"""The plan of the simulated servers: each one's answers, response times, faults and absences."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from annotators.contract import MEMBER_OF_TASK
from annotators.faults import FAULTS
from metaserver.cli.rehearsal import published, quality
from metaserver.cli.rehearsal.literature import Item, Literature
from metaserver.cli.rehearsal.published import Classified, Listed

LEFT_OUT = frozenset({"honest", "no hits", "quirks", "oversized", "gzip bomb"})
"""Answers that are no faults, and two of 256 MB or more, which would hold up all other servers."""
KINDS = tuple(fault for fault in FAULTS if fault.name not in LEFT_OUT)
RELIABLE, UNRELIABLE = 0.01, 0.06  # shares of articles with a fault
FOR_EVER = 0.1  # the share of faults that do not heal
MEDIAN, SLOWEST = 120.0, 500.0  # seconds for an article
PACE = 60.0  # seconds between two answers of a server: slower ones take more articles at a time
ABSENCES = (300.0, 1_200.0)  # seconds that a restarted server is away


class PlannedArticle(msgspec.Struct, frozen=True, kw_only=True):
    """The response to one article: after `seconds`, the answer, or first a fault.

    `fault` is one of `annotators.faults` by name, empty for none; after `failures` times the
    article is answered honestly, 0 is never.
    """

    seconds: float
    answer: dict[str, Any]
    fault: str = ""
    failures: int = 0


class PlannedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A simulated server; after `answers` requests it is away for `away` seconds, once."""

    name: str
    team: str
    concurrency: int
    articles: dict[str, PlannedArticle]
    answers: int
    away: float


def draw_servers(
    literature: Literature, *, teams: int, servers: int, tasks: Sequence[str], seed: int
) -> Sequence[PlannedServer]:
    """Draw the plan of all servers, in the challenge's time; teams have them in turn."""
    rng = random.Random(f"servers {seed}")
    targets = {task: rng.sample(runs, len(runs)) for task, runs in published.TARGETS.items()}
    planned = []
    for number in range(servers):
        team = f"team{number % teams + 1:02}"
        name = f"{team}-{number // teams + 1}"
        best = {task: targets[task][number % len(targets[task])] for task in tasks}
        answers = _answers(literature, best, f"{seed} {name}")
        planned.append(_server(name, team, answers, random.Random(f"times {seed} {name}")))
    return planned


def scaled(server: PlannedServer, speed: float, most: int | None) -> PlannedServer:
    """Return the server `speed` times as fast, with at most so many articles at a time."""
    articles = {
        article: msgspec.structs.replace(planned, seconds=planned.seconds / speed)
        for article, planned in server.articles.items()
    }
    return msgspec.structs.replace(
        server,
        articles=articles,
        away=server.away / speed,
        concurrency=min(server.concurrency, most or server.concurrency),
    )


def _server(
    name: str, team: str, answers: Mapping[str, dict[str, Any]], rng: random.Random
) -> PlannedServer:
    median = min(max(rng.lognormvariate(math.log(MEDIAN), 0.35), MEDIAN / 2), MEDIAN * 2)
    share = rng.choice((RELIABLE, UNRELIABLE))
    articles = {
        article: _article(answer, min(rng.lognormvariate(math.log(median), 0.4), SLOWEST),
                          faulty=rng.random() < share, rng=rng)
        for article, answer in answers.items()
    }  # fmt: skip
    return PlannedServer(
        name=name,
        team=team,
        concurrency=math.ceil(median / PACE),
        articles=articles,
        answers=rng.randint(1, len(articles)),
        away=rng.choice((0.0, rng.uniform(*ABSENCES))),
    )


def _article(
    answer: dict[str, Any], seconds: float, *, faulty: bool, rng: random.Random
) -> PlannedArticle:
    if not faulty:
        return PlannedArticle(seconds=seconds, answer=answer)
    fault = rng.choice(KINDS)
    failures = 0 if rng.random() < FOR_EVER else fault.heals_after or 1
    return PlannedArticle(seconds=seconds, answer=answer, fault=fault.name, failures=failures)


def _answers(
    literature: Literature, targets: Mapping[str, Classified | Listed], seed: str
) -> Mapping[str, dict[str, Any]]:
    """Return the complete honest answer for every article."""
    answers: dict[str, dict[str, Any]] = {article: {} for article in literature.texts}
    for task, target in targets.items():
        own = f"{seed} {task}"
        members: Mapping[str, object]
        if isinstance(target, Classified):
            members = quality.classify(literature, target, own)
        else:
            members = _hits(literature, literature.lists(task), target, own)
        for article, member in members.items():
            answers[article][MEMBER_OF_TASK[task]] = member
    return answers


def _hits(
    literature: Literature,
    gold: Mapping[str, Sequence[Item]],
    target: Listed,
    seed: str,
) -> Mapping[str, object]:
    """Return lists of hits in the form of an answer."""
    size = max(len(item) for items in gold.values() for item in items)

    def others(rng: random.Random) -> Item:
        return tuple(sorted(rng.sample(literature.accessions, size)))

    names = ("dbid",) if size == 1 else ("dbid_a", "dbid_b")
    lists = quality.rank(gold, others, list(literature.texts), target, seed)
    return {
        article: [
            {**dict(zip(names, item, strict=True)), "rank": rank, "confidence": 0.95 * 0.9**rank}
            for rank, item in enumerate(items, 1)
        ]
        for article, items in lists.items()
    }
