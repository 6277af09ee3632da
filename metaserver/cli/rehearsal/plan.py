"""The plan of the simulated servers: their articles, answers, response times, faults, absences."""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from annotators.contract import MEMBER_OF_TASK
from annotators.faults import FAULTS
from scoring.ranking import Matches, auc_ipr

# -- scores that runs of BioCreative II.5 got, as targets for simulated servers --------------------
# Source: F. Leitner, S. A. Mardis, M. Krallinger, G. Cesareni, L. A. Hirschman, A. Valencia, "An
# Overview of BioCreative II.5", IEEE/ACM Transactions on Computational Biology and Bioinformatics
# 7(3), 2010, tables 1 (ACT), 2 (INT) and 3 (IPT), as read from the article for this project.

ARTICLES, TEAMS, SERVERS = 595, 15, 40
RELEVANT = 63


class Classified(NamedTuple):
    """Targets for an ACT run."""

    specificity: float
    sensitivity: float
    auc_ipr: float


class Listed(NamedTuple):
    """Targets for an INT or IPT run."""

    precision: float
    recall: float
    auc_ipr: float


ACT = (
    Classified(0.487, 0.952, 0.464), Classified(0.863, 0.667, 0.550),
    Classified(0.852, 0.667, 0.560), Classified(0.962, 0.524, 0.648),
    Classified(0.908, 0.698, 0.615), Classified(0.981, 0.413, 0.675),
    Classified(0.938, 0.698, 0.672), Classified(0.573, 0.905, 0.223),
    Classified(0.658, 0.730, 0.228), Classified(0.930, 0.349, 0.395),
    Classified(0.908, 0.270, 0.278), Classified(0.944, 0.524, 0.550),
    Classified(0.932, 0.429, 0.454), Classified(0.957, 0.587, 0.699),
    Classified(0.842, 0.857, 0.657), Classified(0.944, 0.571, 0.435),
)  # fmt: skip
INT = (
    Listed(0.304, 0.291, 0.247), Listed(0.192, 0.359, 0.276), Listed(0.165, 0.161, 0.133),
    Listed(0.190, 0.188, 0.149), Listed(0.206, 0.561, 0.373), Listed(0.253, 0.355, 0.306),
    Listed(0.234, 0.439, 0.338), Listed(0.029, 0.596, 0.373), Listed(0.028, 0.584, 0.301),
    Listed(0.028, 0.181, 0.079), Listed(0.144, 0.397, 0.160), Listed(0.162, 0.397, 0.181),
    Listed(0.068, 0.444, 0.178), Listed(0.212, 0.485, 0.242), Listed(0.221, 0.503, 0.304),
    Listed(0.434, 0.482, 0.386), Listed(0.167, 0.475, 0.303), Listed(0.195, 0.333, 0.227),
    Listed(0.105, 0.535, 0.333), Listed(0.015, 0.646, 0.432),
)  # fmt: skip
IPT = (
    Listed(0.128, 0.146, 0.128), Listed(0.116, 0.129, 0.123), Listed(0.074, 0.193, 0.155),
    Listed(0.120, 0.145, 0.134), Listed(0.037, 0.038, 0.035), Listed(0.068, 0.083, 0.063),
    Listed(0.290, 0.236, 0.208), Listed(0.004, 0.299, 0.079), Listed(0.146, 0.066, 0.057),
    Listed(0.180, 0.108, 0.096), Listed(0.123, 0.101, 0.086), Listed(0.080, 0.278, 0.150),
    Listed(0.103, 0.323, 0.187), Listed(0.115, 0.347, 0.223), Listed(0.213, 0.296, 0.194),
    Listed(0.022, 0.226, 0.061), Listed(0.019, 0.173, 0.053), Listed(0.037, 0.325, 0.079),
)  # fmt: skip
TARGETS: Mapping[str, Sequence[Classified | Listed]] = {"ACT": ACT, "INT": INT, "IPT": IPT}
TASKS = tuple(TARGETS)


# -- the articles of a rehearsal and their gold, drawn by a seed -----------------------------------
# The texts are of full papers' length and name real proteins; what they say of them is made up.

Item: TypeAlias = tuple[str, ...]
"""An accession, or an ordered pair."""

SENTENCES = 130
INTERACTING = (
    "{a} interacts with {b}, as shown by co-immunoprecipitation from transfected cells.",
    "A yeast two-hybrid screen with {a} as bait found {b} in nine of twelve clones.",
    "Purified {a} bound {b} in a pull-down assay, and a mutant of its second domain did not.",
    "Binding of {a} to {b} was confirmed by surface plasmon resonance.",
)
OTHERS = (
    "Expression of {a} rose threefold after serum starvation, and that of {b} did not change.",
    "Lysates were cleared at 14,000 g for ten minutes and probed with an antibody against {a}.",
    "Cells that lack {a} grew as fast as their parents for five passages.",
    "Neither {a} nor {b} was found in the nuclear fraction.",
    "The results are means of three experiments, and bars are standard errors.",
    "Primers for {a} were taken from an earlier study, and checked on genomic DNA.",
    "Whether {a} has the same role in other tissues remains open.",
    "Images were taken with a 63x objective and processed with the same settings throughout.",
)


class NamedProtein(NamedTuple):
    """A protein of the release: its accession and the name that texts call it by."""

    accession: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Literature:
    """Articles by id, and their gold: every article of `interactors` is relevant.

    `accessions` are all that answers draw from.
    """

    texts: Mapping[str, str]
    interactors: Mapping[str, Sequence[Item]]
    pairs: Mapping[str, Sequence[Item]]
    accessions: Sequence[str]

    def lists(self, task: str) -> Mapping[str, Sequence[Item]]:
        """Return the gold for a task with lists as answers."""
        _, interactors, pairs = TASKS
        return {interactors: self.interactors, pairs: self.pairs}[task]

    def gold_files(self) -> Mapping[str, str]:
        """Return the gold of each task as a file's text, in the order ACT, INT, IPT."""
        relevance = [f"{article}\t{int(article in self.interactors)}\n" for article in self.texts]
        listed = [_lines(self.interactors), _lines(self.pairs)]
        return dict(zip(TASKS, ["".join(relevance), *listed], strict=True))


def read_proteins(path: Path) -> Sequence[NamedProtein]:
    r"""Read the proteins in a UniProt table with their gene names.

    >>> _ = Path("names.tsv").write_text("Entry\tGene names\nP04637\tTP53 P53\n")
    >>> read_proteins(Path("names.tsv"))
    [NamedProtein(accession='P04637', name='TP53')]
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [NamedProtein(row["Entry"], row["Gene names"].split()[0]) for row in rows]


def draw(articles: int, proteins: Sequence[NamedProtein], seed: int) -> Literature:
    """Draw articles and gold in BioCreative II.5's proportions; a few at least are relevant."""
    rng = random.Random(f"literature {seed}")
    names = {protein.accession: protein.name for protein in proteins}
    ids = [f"article{number:04}" for number in range(1, articles + 1)]
    share = max(round(articles * RELEVANT / ARTICLES), min(3, articles))
    relevant = set(rng.sample(ids, share))
    texts, interactors, pairs = {}, {}, {}
    for article in ids:
        here = rng.sample(proteins, rng.randint(2, 6))
        joined: Sequence[Item] = ()
        if article in relevant:
            all_pairs = list(combinations(sorted(protein.accession for protein in here), 2))
            joined = rng.sample(all_pairs, min(len(all_pairs), len(here)))
            interactors[article] = sorted({(accession,) for pair in joined for accession in pair})
            pairs[article] = sorted(joined)
        texts[article] = _text(article, here, [(names[a], names[b]) for a, b in joined], rng)
    return Literature(texts=texts, interactors=interactors, pairs=pairs, accessions=sorted(names))


def _text(
    article: str,
    here: Sequence[NamedProtein],
    joined: Sequence[tuple[str, str]],
    rng: random.Random,
) -> str:
    sentences = [rng.choice(INTERACTING).format(a=a, b=b) for a, b in joined]
    for _ in range(SENTENCES):
        a, b = rng.sample(here, 2)
        sentences.append(rng.choice(OTHERS).format(a=a.name, b=b.name))
    rng.shuffle(sentences)
    title = f"On {here[0].name} and {here[1].name}: made up for a rehearsal, {article}"
    paragraphs = [" ".join(sentences[start : start + 12]) for start in range(0, len(sentences), 12)]
    return "\n\n".join([title, *paragraphs]) + "\n"


def _lines(gold: Mapping[str, Sequence[Item]]) -> str:
    return "".join(
        "\t".join([article, *item]) + "\n" for article, items in gold.items() for item in items
    )


# -- answers drawn so that a run's scores lie near given ones --------------------------------------
# One number decides how good a list's order is. It is found by halving: the same random draws are
# made with it again and again, until the evaluator's own AUC iP/R is the target's.

STEPS = 12
MOST_HITS = 25  # of an article: published runs had hundreds, which cost much and show nothing more
NOISE = 0.4  # the share of articles without gold that get hits all the same


def classify(literature: Literature, target: Classified, seed: str) -> Mapping[str, list[object]]:
    """Draw an ACT answer, [relevant, confidence], for every article."""
    relevant = literature.interactors.keys()
    rng = random.Random(seed)
    noise = {article: rng.gauss(0.0, 1.0) for article in literature.texts}

    def ordered(distance: float) -> list[str]:
        """Return the articles, best first: relevant ones are ahead by the distance."""
        return sorted(noise, key=lambda article: -noise[article] - distance * (article in relevant))

    def score(distance: float) -> float:
        places = [
            place for place, article in enumerate(ordered(distance), 1) if article in relevant
        ]
        return auc_ipr(Matches(tuple(places), len(noise), len(places))) or 0.0

    order = ordered(_halved(score, target.auc_ipr, 0.0, 5.0))
    irrelevant = len(order) - len(relevant)
    called = target.sensitivity * len(relevant) + (1 - target.specificity) * irrelevant
    cut = min(max(round(called), 1), len(order) - 1)
    return {
        article: [True, 1 - 0.5 * place / cut]
        if place < cut
        else [False, 0.5 + 0.5 * (place + 1 - cut) / (len(order) - cut)]
        for place, article in enumerate(order)
    }


def rank(
    gold: Mapping[str, Sequence[Item]],
    wrong_item: Callable[[random.Random], Item],
    articles: Sequence[str],
    target: Listed,
    seed: str,
) -> Mapping[str, Sequence[Item]]:
    """Draw a list of hits, best first, for every article; `wrong_item` draws wrong hits."""
    recall = max(target.recall, min(1.0, 1.1 * target.auc_ipr))

    def places(article: str, sharpness: float) -> Sequence[int]:
        """Return the found items' ranks: the sharper, the nearer to the top."""
        rng = random.Random(f"{seed} {article}")
        ranks, at = [], 0
        for _ in gold[article]:
            hit, wrong = rng.random() < recall, rng.expovariate(1.0)
            if hit:
                at += 1 + min(int(wrong * (1 - sharpness) / sharpness), MOST_HITS)
                ranks.append(at)
        return ranks

    def score(sharpness: float) -> float:
        each = [
            auc_ipr(Matches(tuple(places(article, sharpness)), MOST_HITS, len(items))) or 0.0
            for article, items in gold.items()
        ]
        return sum(each) / len(each)

    sharpness = _halved(score, target.auc_ipr, 0.01, 1.0)
    lists = {}
    for article in articles:
        rng = random.Random(f"{seed} {article} hits")
        correct = list(gold.get(article, ()))
        rng.shuffle(correct)
        ranks = places(article, sharpness) if correct else ()
        wanted = round(len(ranks) / target.precision) if ranks else rng.randint(1, 8)
        if not ranks and rng.random() > NOISE:
            wanted = 0
        length = max(min(wanted, MOST_HITS), *ranks, 0)
        lists[article] = _merged(correct, frozenset(ranks), length, wrong_item, rng)
    return lists


def _merged(
    correct: Sequence[Item],
    ranks: frozenset[int],
    length: int,
    wrong_item: Callable[[random.Random], Item],
    rng: random.Random,
) -> Sequence[Item]:
    """Return a list that has correct items at their ranks, and wrong items elsewhere."""
    hits: dict[Item, None] = {}
    remaining = iter(correct)
    for place in range(1, length + 1):
        if place in ranks:
            hits[next(remaining)] = None
            continue
        while (wrong := wrong_item(rng)) in hits or wrong in correct:
            pass
        hits[wrong] = None
    return list(hits)


def _halved(score: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Return where a rising function reaches the target, or the nearer end."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) < target else (low, middle)
    return (low + high) / 2


# -- the plan of the simulated servers: each one's answers, response times, faults and absences ----

LEFT_OUT = frozenset({"honest", "no hits", "quirks", "oversized", "gzip bomb"})
"""Answers that are no faults, and two of 256 MB or more, which would hold up all other servers."""
KINDS = tuple(fault for fault in FAULTS if fault.name not in LEFT_OUT)
RELIABLE, UNRELIABLE = 0.01, 0.06  # shares of articles with a fault
FOR_EVER = 0.1  # the share of faults that do not heal
MEDIAN, SLOWEST = 120.0, 500.0  # seconds for an article
PACE = 60.0  # seconds between two answers of a server: slower ones take more articles at a time
ABSENCES = (300.0, 1_200.0)  # seconds that a restarted server is away


class PlannedArticle(msgspec.Struct, frozen=True, kw_only=True):
    """The response to an article: after `seconds`, the answer, or first a fault.

    `fault` names one in `annotators.faults`, or is empty; after `failures` times the article is
    answered honestly, 0 is never.
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
    targets = {task: rng.sample(runs, len(runs)) for task, runs in TARGETS.items()}
    planned = []
    for number in range(servers):
        team = f"team{number % teams + 1:02}"
        name = f"{team}-{number // teams + 1}"
        best = {task: targets[task][number % len(targets[task])] for task in tasks}
        answers = _answers(literature, best, f"{seed} {name}")
        planned.append(_server(name, team, answers, random.Random(f"times {seed} {name}")))
    return planned


def scaled(server: PlannedServer, speed: float, limit: int | None) -> PlannedServer:
    """Return the server `speed` times as fast, with at most so many articles at a time."""
    articles = {
        article: msgspec.structs.replace(planned, seconds=planned.seconds / speed)
        for article, planned in server.articles.items()
    }
    return msgspec.structs.replace(
        server,
        articles=articles,
        away=server.away / speed,
        concurrency=min(server.concurrency, limit or server.concurrency),
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
        salt = f"{seed} {task}"
        members: Mapping[str, object]
        if isinstance(target, Classified):
            members = classify(literature, target, salt)
        else:
            members = _hits(literature, literature.lists(task), target, salt)
        for article, member in members.items():
            answers[article][MEMBER_OF_TASK[task]] = member
    return answers


def _hits(
    literature: Literature,
    gold: Mapping[str, Sequence[Item]],
    target: Listed,
    seed: str,
) -> Mapping[str, object]:
    """Return lists of hits in answer form."""
    size = max(len(item) for items in gold.values() for item in items)

    def others(rng: random.Random) -> Item:
        return tuple(sorted(rng.sample(literature.accessions, size)))

    names = ("dbid",) if size == 1 else ("dbid_a", "dbid_b")
    lists = rank(gold, others, list(literature.texts), target, seed)
    return {
        article: [
            {**dict(zip(names, item, strict=True)), "rank": rank, "confidence": 0.95 * 0.9**rank}
            for rank, item in enumerate(items, 1)
        ]
        for article, items in lists.items()
    }
