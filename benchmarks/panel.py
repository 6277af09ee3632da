"""A panel of twelve annotation servers of eleven teams, on the abstracts of BioCreative VI PM.

The members are of the kinds that take part in challenges: good ones, one that knows half of the
names, one that confuses families, one that lists too much, one that seldom answers, one without
confidences, a near-clone of the best, and one that guesses. All are made from this project's
dictionary and the human part of Swiss-Prot. What is random in them is drawn for each member and
article by itself, so that it does not depend on the order of the articles.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from annotators.baselines.articles import read_articles
from annotators.baselines.cooccurrence import annotate, pair_scores
from annotators.baselines.dictionary import protein_scores
from annotators.baselines.proteins import read_proteins
from annotators.matching import Dictionary, Found, Protein
from scoring.files import Run, read_gold
from scoring.gold import ItemGold
from scoring.tasks import Hit, Item, Task, pair

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
MOST = 30
_WORD = re.compile(r"[a-z]+|[0-9]+")

Scores = dict[str, float]
PairScores = dict[tuple[str, str], float]
Member = Callable[[str, str], tuple[Scores, PairScores]]
"""From an article and its text to scores > 0 of accessions and of pairs."""

TEAMS = {"clone": "dictionary"}
"""The team of a member, where it is not the member itself."""


def gold_of(task: Task) -> ItemGold:
    """Return the silver gold: abstracts whose genes map to one human entry each."""
    gold = read_gold(task, SHARED / "bc6pm" / f"gold_{task.lower()}.tsv")
    assert isinstance(gold, ItemGold)
    return gold


def texts_of(gold: ItemGold) -> dict[str, str]:
    """Return the abstracts of the gold's articles."""
    folder = SHARED / "bc6pm"
    names = ("TrainingSet", "TestSet")
    texts = read_articles([folder / f"PMtask_Relations_{name}.json" for name in names])
    return {article: texts[article] for article in gold.items}


def runs_of(task: Task, texts: Mapping[str, str]) -> list[Run]:
    """Return the members' runs; an article without a hit has an empty answer."""
    runs = []
    for name, member in members().items():
        answers = {}
        for article, text in texts.items():
            singles, pairs = member(article, text)
            scores: dict[Item, float] = dict((singles if task is Task.INT else pairs).items())
            answers[article] = _hits(scores, equal=name == "unsure")
        runs.append(Run(task=task, name=name, answers=answers))
    return runs


def _hits(scores: Mapping[Item, float], *, equal: bool) -> Sequence[Hit]:
    ordered = sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))[:MOST]
    return [
        Hit(item, rank, 1.0 if equal else round(score / (1 + score), 4) or 1e-4)
        for rank, (item, score) in enumerate(ordered, start=1)
    ]


def members() -> Mapping[str, Member]:
    """Return the twelve members by name."""
    proteins = read_proteins(SHARED / "uniprot" / "human_reviewed.tsv")
    whole = Dictionary(proteins)
    symbols = Dictionary(_changed(one, names=()) for one in proteins)
    names = Dictionary(_changed(one, symbols=()) for one in proteins)
    some = Dictionary(one for one in proteins if _rng("some", one.accession).random() < 0.6)
    families = _families(proteins)
    accessions = [one.accession for one in proteins]
    loose = _loose(proteins)

    def dictionary(_: str, text: str) -> tuple[Scores, PairScores]:
        return _both(protein_scores(text, whole.find(text)))

    def cooccurrence(_: str, text: str) -> tuple[Scores, PairScores]:
        answer = annotate(whole, text)
        singles = {hit["dbid"]: _odds(hit["confidence"]) for hit in answer["normalizations"]}
        return singles, pair_scores(text, whole.find(text))

    def of(part: Dictionary) -> Member:
        def member(_: str, text: str) -> tuple[Scores, PairScores]:
            found = part.find(text)
            return protein_scores(text, found), pair_scores(text, found)

        return member

    def confused(article: str, text: str) -> tuple[Scores, PairScores]:
        rng = _rng("families", article)
        found = protein_scores(text, whole.find(text))
        swapped: Scores = defaultdict(float)
        for accession, score in sorted(found.items()):
            others = families[accession]
            wrong = len(others) > 1 and rng.random() < 0.4
            swapped[rng.choice(others) if wrong else accession] += score
        return _both(dict(swapped))

    def generous(_: str, text: str) -> tuple[Scores, PairScores]:
        return _both(loose(text), most=20)

    def precise(_: str, text: str) -> tuple[Scores, PairScores]:
        found = whole.find(text)
        pairs = {one: score for one, score in pair_scores(text, found).items() if score >= 3}
        inside = {accession for one in pairs for accession in one}
        singles = {a: s for a, s in protein_scores(text, found).items() if a in inside and s >= 4}
        return singles, pairs

    def last(_: str, text: str) -> tuple[Scores, PairScores]:
        found: Sequence[Found] = whole.find(text)
        singles = {a: 3 * (one.start + 1) / len(text) for one in found for a in one.weights}
        return _both(singles)

    def clone(article: str, text: str) -> tuple[Scores, PairScores]:
        rng = _rng("clone", article)
        singles = protein_scores(text, whole.find(text))
        return _both({a: s * rng.uniform(0.9, 1.1) for a, s in sorted(singles.items())})

    def noise(article: str, text: str) -> tuple[Scores, PairScores]:
        rng = _rng("noise", article)
        real = sorted(protein_scores(text, whole.find(text)))
        drawn = rng.sample(accessions, 10) + rng.sample(real, len(real) // 3)
        return _both({accession: rng.uniform(0.2, 5) for accession in drawn})

    return {
        "dictionary": dictionary,
        "cooccurrence": cooccurrence,
        "symbols": of(symbols),
        "names": of(names),
        "some": of(some),
        "families": confused,
        "generous": generous,
        "precise": precise,
        "unsure": of(whole),
        "last": last,
        "clone": clone,
        "noise": noise,
    }


def _both(singles: Scores, most: int = 10) -> tuple[Scores, PairScores]:
    """Return scores with those of all pairs of the best, which say nothing of contact."""
    best = sorted(singles, key=lambda one: (-singles[one], one))[:most]
    pairs = {pair(a, b): (singles[a] * singles[b]) ** 0.5 for a, b in combinations(best, 2)}
    if len(best) == 1:
        pairs[best[0], best[0]] = singles[best[0]] / 2
    return singles, pairs


def _loose(proteins: Sequence[Protein]) -> Callable[[str], Scores]:
    """Return a matcher of its own: words in any case, ambiguous and short symbols, shortened names.

    A name counts by its length and for each entry that shares it less.
    """
    entries: defaultdict[str, set[str]] = defaultdict(set)
    for one in proteins:
        for name in (*one.symbols, *one.names):
            shorter = name.partition(", ")[0], re.sub(r" protein$|^Protein ", "", name)
            for written in (name, *shorter):
                entries[" ".join(_WORD.findall(written.lower()))].add(one.accession)

    def scores(text: str) -> Scores:
        words = _WORD.findall(text.lower())
        found: defaultdict[str, float] = defaultdict(float)
        for start in range(len(words)):
            for length in range(1, 7):
                name = " ".join(words[start : start + length])
                if len(name) > 1 and len(entries.get(name, ())) in range(1, 9):
                    for accession in entries[name]:
                        found[accession] += (1 + length) / 2 / len(entries[name])
        return dict(found)

    return scores


def _changed(
    protein: Protein,
    *,
    names: tuple[str, ...] | None = None,
    symbols: tuple[str, ...] | None = None,
) -> Protein:
    return Protein(
        accession=protein.accession,
        names=protein.names if names is None else names,
        symbols=protein.symbols if symbols is None else symbols,
    )


def _families(proteins: Sequence[Protein]) -> Mapping[str, list[str]]:
    """Return for each accession those of its family: the first symbol without its number."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    stem_of: dict[str, str] = {}
    for one in proteins:
        symbol = one.symbols[0] if one.symbols else one.accession
        stem_of[one.accession] = stem = re.sub(r"\d.*$", "", symbol) or symbol
        groups[stem].append(one.accession)
    return {accession: groups[stem] for accession, stem in stem_of.items()}


def _odds(confidence: float) -> float:
    return confidence / max(1e-4, 1 - confidence)


def _rng(member: str, key: str) -> random.Random:
    return random.Random(f"{member} {key}")
