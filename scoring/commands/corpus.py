"""`scoring corpus`: items per article, species, and the rates of words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scoring import figures
from scoring.analysis import article_ranks
from scoring.corpora import (
    WORDS,
    Counts,
    Species,
    SpeciesAgreement,
    WordRate,
    check_words,
    count_items,
    count_species,
    frequent_words,
    read_texts,
    species_agreements,
    split_tags,
    word_rates,
)
from scoring.difficulty import Borders, cluster_articles
from scoring.errors import OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import item_hits, read_gold, read_run, run_name
from scoring.gold import ActGold, Gold, ItemGold
from scoring.options import (
    add_format,
    add_interval_resamples,
    add_seed,
    check_names,
    framed,
    natural,
    warn,
)
from scoring.pictures import add_pictures, check_pictures, save_pictures
from scoring.scorecard import ActScorecard
from scoring.tables import Cell, Table, styled_table
from scoring.tasks import Task
from scoring.views import read_taxa


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("corpus", help="describe a corpus: items, species, words")
    parser.add_argument(
        "--task", required=True, choices=[str(task) for task in Task], help="task of the files"
    )
    parser.add_argument(
        "--gold",
        required=True,
        action="append",
        metavar="[NAME=]FILE",
        help="gold standard file; INT, IPT: repeat the option to compare several gold standards",
    )
    parser.add_argument(
        "--authors",
        type=Path,
        metavar="RUN",
        help="INT, IPT: result file with the authors' own answers",
    )
    parser.add_argument(
        "runs",
        nargs="*",
        type=Path,
        metavar="RUN",
        help="ACT: result files, by which articles are easy or hard",
    )
    parser.add_argument(
        "--taxa", type=Path, metavar="FILE", help="organisms, per line: accession<TAB>taxon"
    )
    parser.add_argument(
        "--texts",
        type=Path,
        metavar="DIR_OR_TSV",
        help="ACT: folder of ARTICLE.txt files, or a file with article<TAB>text per line",
    )
    parser.add_argument(
        "--words",
        type=lambda text: text.split(","),
        default=list(WORDS),
        metavar="W,...",
        help=f"words to count; a * at the end stands for any ending (default {','.join(WORDS)})",
    )
    parser.add_argument(
        "--frequent",
        type=natural,
        default=0,
        metavar="N",
        help="ACT: also count the N words that occur in most articles, without function words",
    )
    parser.add_argument(
        "--tagged",
        action="store_true",
        help="the texts are word/TAG, from any tagger; --frequent counts only nouns",
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
    species: Sequence[Species] = ()
    agreements: Sequence[SpeciesAgreement] = ()
    words: Sequence[WordRate] = ()

    def tables(self) -> Iterator[Table]:
        """Yield a table of each part that is known."""
        if self.counts:
            yield _totals(self.counts)
            yield _numbers(self.counts)
        if self.species:
            yield _shares(self.species)
        for species in self.species:
            yield _square(species)
        if self.agreements:
            yield _agreements(self.agreements)
        if self.words:
            yield _rates(self.words)


def _totals(counts: Sequence[Counts]) -> Table:
    header = ["an article has", "articles", "annotations", "distinct", "mean", "median", "most"]
    rows: list[list[Cell]] = [[*header]]
    for one in counts:
        articles = sum(one.articles.values())
        sums = [articles, one.total, one.distinct]
        rows.append([f"{one.name} of {one.source}", *sums, one.mean, one.median, one.most])
    return rows


def _numbers(counts: Sequence[Counts]) -> Table:
    numbers = sorted({number for one in counts for number in one.articles})
    names = [f"{one.name} of {one.source}" for one in counts]
    rows: list[list[Cell]] = [["number", *(f"articles with so many {name}" for name in names)]]
    rows += [[str(number), *(one.articles.get(number, 0) for one in counts)] for number in numbers]
    return rows


def _shares(species: Sequence[Species]) -> Table:
    """Return the species' shares in the annotations and in the distinct accessions of each gold."""
    header: list[Cell] = ["species"]
    for one in species:
        header += [f"annotations of {one.source}", "share", f"accessions of {one.source}", "share"]
    rows = [header]
    for place, name in enumerate(species[0].names):
        row: list[Cell] = [name]
        for one in species:
            for numbers in (one.annotations, one.proteins):
                row += [numbers[place], numbers[place] / sum(numbers)]
        rows.append(row)
    return rows


def _square(species: Species) -> Table:
    first = f"articles with both of {species.source}"
    rows: list[list[Cell]] = [[first, *species.names]]
    rows += [[name, *row] for name, row in zip(species.names, species.together, strict=True)]
    return rows


def _agreements(agreements: Sequence[SpeciesAgreement]) -> Table:
    rows: list[list[Cell]] = [["gold", "other gold", "agreement of annotations", "of accessions"]]
    rows += [[one.a, one.b, one.annotations, one.accessions] for one in agreements]
    return rows


def _rates(words: Sequence[WordRate]) -> Table:
    header = ["word", "group", "articles", "words", "occurrences", "per 1,000 words", "95 %"]
    rows: list[list[Cell]] = [[*header]]
    for one in words:
        counted = (one.articles, one.words, one.occurrences)
        rows.append([one.word, one.group, *counted, one.rate, str(one.bounds or "n/a")])
    return rows


def describe(args: argparse.Namespace) -> int:
    """Print what is known of the corpus, and draw it if `--out` or `--html` asks for it."""
    check_pictures(args)
    golds = _read_golds(args)
    act = next((gold for gold in golds.values() if isinstance(gold, ActGold)), None)
    found = _word_findings(args, act) if act else _item_findings(args, golds)
    digests = {name: gold.digest for name, gold in golds.items()}
    if args.out or args.html:
        signature = "; ".join(f"gold:{digest}" for digest in digests.values())
        chart = figures.corpus(found.counts, found.species, found.words, signature)
        save_pictures(args, chart)
    if args.format == "json":
        values: dict[str, Any] = {"golds": digests, **asdict(found)}
        print(json.dumps(values, indent=2))
        return 0
    tables = (styled_table(table, args.format) for table in found.tables())
    print(framed(args, "\n\n".join(tables)))
    return 0


def _read_golds(args: argparse.Namespace) -> dict[str, Gold]:
    """Return the golds by name: `NAME=FILE`, or the name of the file."""
    golds: dict[str, Gold] = {}
    for text in args.gold:
        name, separator, file = text.partition("=")
        path = Path(file if separator and not Path(text).exists() else text)
        name = name if str(path) != text else run_name(path)
        if name in golds:
            raise OptionError(f"two golds are named {name!r}; expected --gold NAME=FILE")
        golds[name] = read_gold(args.task, path)
    if len(golds) > 1 and args.task == Task.ACT:
        raise OptionError("ACT has one --gold; several are of INT and IPT")
    return golds


def _item_findings(args: argparse.Namespace, found: Mapping[str, Gold]) -> _Findings:
    golds = {name: gold for name, gold in found.items() if isinstance(gold, ItemGold)}
    if args.texts or args.tagged or args.frequent or args.runs:
        raise OptionError("--texts, --tagged, --frequent and result files are of ACT")
    counted = dict(golds)
    if args.authors:
        authors = run_name(args.authors)
        if authors in golds:
            raise OptionError(f"a gold is named {authors!r}, as the file of the authors is")
        counted[authors] = _answers_of(args)
    counts = [one for name, gold in counted.items() for one in count_items(gold, name)]
    if not args.taxa:
        return _Findings(counts=counts)
    taxa: dict[str, str] = {}
    for gold in golds.values():
        taxa |= read_taxa(args.taxa, gold)
    return _Findings(
        counts=counts,
        species=count_species(golds, taxa),
        agreements=species_agreements(golds, taxa),
    )


def _answers_of(args: argparse.Namespace) -> ItemGold:
    """Return the authors' answers in place of a gold: the items of the articles that have any."""
    run = read_run(args.task, args.authors)
    warn(run.warnings)
    items = {
        article: frozenset(hit.item for hit in hits)
        for article, hits in item_hits(run).items()
        if hits
    }
    if not items:
        raise OptionError(f"{args.authors}: no article has an answer")
    return ItemGold(task=Task(args.task), items=items)


def _word_findings(args: argparse.Namespace, gold: ActGold) -> _Findings:
    if args.taxa or args.authors:
        raise OptionError("--taxa and --authors are of INT and IPT: ACT has no proteins")
    if not args.texts:
        raise OptionError("ACT has neither proteins nor pairs; expected --texts")
    check_words(args.words)
    texts = nouns = read_texts(args.texts, gold.articles)
    if args.tagged:
        texts, nouns = split_tags(args.texts, texts)
    sampled = {"resamples": args.resamples, "seed": args.seed}
    words = list(dict.fromkeys([*args.words, *frequent_words(nouns, args.frequent)]))
    return _Findings(words=word_rates(texts, _groups(args, gold), words, **sampled))


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
