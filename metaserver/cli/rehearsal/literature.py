"""The articles of a rehearsal and their gold, drawn by a seed.

The texts are of full papers' length and name real proteins; what they say of them is made up.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, TypeAlias

from metaserver.cli.rehearsal import published

Item: TypeAlias = tuple[str, ...]
"""An accession, or two of them in order."""

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
        """Return the gold of a task whose answers are lists."""
        _, interactors, pairs = published.TASKS
        return {interactors: self.interactors, pairs: self.pairs}[task]

    def gold_files(self) -> Mapping[str, str]:
        """Return the gold of each task as a file's text, in the order ACT, INT, IPT."""
        relevance = [f"{article}\t{int(article in self.interactors)}\n" for article in self.texts]
        listed = [_lines(self.interactors), _lines(self.pairs)]
        return dict(zip(published.TASKS, ["".join(relevance), *listed], strict=True))


def read_proteins(path: Path) -> Sequence[NamedProtein]:
    """Read the proteins of a table of UniProt with a name of their gene."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [NamedProtein(row["Entry"], row["Gene names"].split()[0]) for row in rows]


def draw(articles: int, proteins: Sequence[NamedProtein], seed: int) -> Literature:
    """Draw articles and gold in BioCreative II.5's proportions; a few at least are relevant."""
    rng = random.Random(f"literature {seed}")
    names = {protein.accession: protein.name for protein in proteins}
    ids = [f"article{number:04}" for number in range(1, articles + 1)]
    share = max(round(articles * published.RELEVANT / published.ARTICLES), min(3, articles))
    relevant = set(rng.sample(ids, share))
    texts, interactors, pairs = {}, {}, {}
    for article in ids:
        here = rng.sample(proteins, rng.randint(2, 6))
        joined: Sequence[Item] = ()
        if article in relevant:
            found = list(combinations(sorted(protein.accession for protein in here), 2))
            joined = rng.sample(found, min(len(found), len(here)))
            interactors[article] = sorted({(one,) for pair in joined for one in pair})
            pairs[article] = sorted(joined)
        texts[article] = _text(article, here, [(names[a], names[b]) for a, b in joined], rng)
    return Literature(texts=texts, interactors=interactors, pairs=pairs, accessions=sorted(names))


def _text(
    article: str,
    here: Sequence[NamedProtein],
    joined: Sequence[tuple[str, str]],
    rng: random.Random,
) -> str:
    told = [rng.choice(INTERACTING).format(a=a, b=b) for a, b in joined]
    for _ in range(SENTENCES):
        a, b = rng.sample(here, 2)
        told.append(rng.choice(OTHERS).format(a=a.name, b=b.name))
    rng.shuffle(told)
    title = f"On {here[0].name} and {here[1].name}: made up for a rehearsal, {article}"
    paragraphs = [" ".join(told[start : start + 12]) for start in range(0, len(told), 12)]
    return "\n\n".join([title, *paragraphs]) + "\n"


def _lines(gold: Mapping[str, Sequence[Item]]) -> str:
    return "".join(
        "\t".join([article, *item]) + "\n" for article, items in gold.items() for item in items
    )
