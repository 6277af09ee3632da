"""`scoring corpus`: items an article, species, and the rates of words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scoring import figures
from scoring.analysis import article_ranks
from scoring.corpora import (
    WORDS,
    Counts,
    Species,
    WordRate,
    check_words,
    count_items,
    count_species,
    read_texts,
    word_rates,
)
from scoring.difficulty import Borders, cluster_articles
from scoring.errors import OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import read_gold
from scoring.gold import ActGold, Gold, ItemGold
from scoring.options import (
    add_format,
    add_interval_resamples,
    add_seed,
    add_task_and_gold,
    check_names,
    framed,
)
from scoring.pictures import add_pictures, check_pictures, save_pictures
from scoring.scorecard import ActScorecard
from scoring.tables import Cell, Table, styled_table
from scoring.views import read_taxa


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("corpus", help="describe a corpus: items, species, words")
    add_task_and_gold(parser)
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="ACT: result files, for easy and hard"
    )
    parser.add_argument("--taxa", type=Path, metavar="FILE", help="organisms: accession<TAB>taxon")
    parser.add_argument(
        "--texts", type=Path, metavar="DIR_OR_TSV", help="ACT: ARTICLE.txt, or article<TAB>text"
    )
    parser.add_argument(
        "--words",
        type=lambda text: text.split(","),
        default=list(WORDS),
        metavar="W,...",
        help=f"* at the end: any ending (default {','.join(WORDS)})",
    )
    add_interval_resamples(parser)
    add_seed(parser)
    add_pictures(parser)
    add_format(parser)
    parser.set_defaults(command=describe)


@dataclass(frozen=True, kw_only=True)
class _Findings:
    """The parts of a corpus that are known."""

    counts: Sequence[Counts] = ()
    species: Species | None = None
    words: Sequence[WordRate] = ()

    def tables(self) -> Iterator[Table]:
        """Yield a table of each part that is known."""
        if self.counts:
            yield _totals(self.counts)
            yield _numbers(self.counts)
        if self.species:
            yield _square(self.species)
        if self.words:
            yield _rates(self.words)


def _totals(counts: Sequence[Counts]) -> Table:
    rows: list[list[Cell]] = [["an article has", "articles", "total", "mean", "median", "most"]]
    for one in counts:
        articles = sum(one.articles.values())
        rows.append([one.name, articles, one.total, one.mean, one.median, one.most])
    return rows


def _numbers(counts: Sequence[Counts]) -> Table:
    numbers = sorted({number for one in counts for number in one.articles})
    rows: list[list[Cell]] = [["number", *(f"articles with so many {one.name}" for one in counts)]]
    rows += [[str(number), *(one.articles.get(number, 0) for one in counts)] for number in numbers]
    return rows


def _square(species: Species) -> Table:
    rows: list[list[Cell]] = [["articles with both", "proteins", *species.names]]
    for name, proteins, row in zip(species.names, species.proteins, species.together, strict=True):
        rows.append([name, proteins, *row])
    return rows


def _rates(words: Sequence[WordRate]) -> Table:
    header = ["word", "group", "articles", "words", "occurrences", "per 1,000 words", "95 %"]
    rows: list[list[Cell]] = [[*header]]
    for one in words:
        counted = (one.articles, one.words, one.occurrences)
        rows.append([one.word, one.group, *counted, one.rate, str(one.bounds or "n/a")])
    return rows


def describe(args: argparse.Namespace) -> int:
    """Print what is known of the corpus, and draw it where asked for."""
    check_pictures(args)
    gold = read_gold(args.task, args.gold)
    found = _word_findings(args, gold) if isinstance(gold, ActGold) else _item_findings(args, gold)
    if args.out or args.html:
        chart = figures.corpus(found.counts, found.species, found.words, f"gold:{gold.digest}")
        save_pictures(args, chart)
    if args.format == "json":
        values: dict[str, Any] = {"gold": gold.digest, **asdict(found)}
        print(json.dumps(values, indent=2))
        return 0
    tables = (styled_table(table, args.format) for table in found.tables())
    print(framed(args, "\n\n".join(tables)))
    return 0


def _item_findings(args: argparse.Namespace, gold: Gold) -> _Findings:
    assert isinstance(gold, ItemGold)
    if args.texts or args.runs:
        raise OptionError("--texts and result files are of ACT")
    species = count_species(gold, read_taxa(args.taxa, gold)) if args.taxa else None
    return _Findings(counts=count_items(gold), species=species)


def _word_findings(args: argparse.Namespace, gold: ActGold) -> _Findings:
    if args.taxa:
        raise OptionError("--taxa is of INT and IPT: ACT has no proteins")
    if not args.texts:
        raise OptionError("ACT has neither proteins nor pairs; expected --texts")
    check_words(args.words)
    texts = read_texts(args.texts, gold.articles)
    sampled = {"resamples": args.resamples, "seed": args.seed}
    return _Findings(words=word_rates(texts, _groups(args, gold), args.words, **sampled))


def _groups(args: argparse.Namespace, gold: ActGold) -> dict[str, list[str]]:
    """Return the relevant articles, by cluster where runs say how hard they are, and the others."""
    groups: dict[str, list[str]] = {}
    if args.runs:
        check_names(args.runs)
        cards = evaluate_runs(args.task, gold, args.runs)
        ranks = article_ranks(gold, [card for card in cards if isinstance(card, ActScorecard)])
        borders = Borders(articles=len(gold), positives=gold.positives)
        relevant = [one for one in ranks if one.relevant]
        for cluster, found in cluster_articles(relevant, borders).items():
            if found:
                groups[f"relevant, {cluster}"] = [one.article for one in found]
    else:
        groups["relevant"] = [one for one in gold.articles if gold.relevant[one]]
    groups["irrelevant"] = [one for one in gold.articles if not gold.relevant[one]]
    return {name: articles for name, articles in groups.items() if articles}
