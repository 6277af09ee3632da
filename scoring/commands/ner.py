"""`scoring ner`: drug names as in SemEval-2013 task 9.1."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.errors import FileProblem, OptionError
from scoring.files import run_name
from scoring.intervals import Bounds, bounds_of, paired_tests
from scoring.options import (
    add_format,
    add_interval_resamples,
    add_tests,
    check_names,
    check_tests,
    framed,
    warn,
)
from scoring.rankings import (
    RankedRun,
    pairs_table,
    ranking_report,
    ranking_table,
    tests_report,
)
from scoring.semeval_files import MentionCorpus, read_ner_gold, read_ner_run, read_written_run
from scoring.semeval_ner import (
    TYPES,
    Compat,
    Criterion,
    MentionPair,
    MentionSpan,
    NerScorecard,
    evaluate,
    list_pairs,
)
from scoring.semeval_program import evaluate as evaluate_as_program
from scoring.sign_flips import PairTest
from scoring.tables import Cell, text_table
from scoring.text import Source, rereadable

_COUNTS = ("cor", "inc", "par", "mis", "spu", "pos", "act")
_SCORES = ("precision", "recall", "f_score")
_FIRST = "strict F1"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("ner", help="score drug names as in SemEval-2013 task 9.1")
    parser.add_argument(
        "--gold",
        required=True,
        type=Path,
        metavar="DIR_OR_FILE",
        help="gold standard: corpus XML, or a table with article, charOffset, text and type per"
        " line",
    )
    parser.add_argument(
        "--run",
        required=True,
        nargs="+",
        type=Path,
        metavar="FILE",
        help="result files: a table with sentence, charOffset, text and type per line, or XML"
        " like the corpus",
    )
    parser.add_argument(
        "--compat",
        type=Compat,
        choices=list(Compat),
        help="semeval2013: pair and count as the program of its organisers did",
    )
    parser.add_argument(
        "--pairs", action="store_true", help="print which gold and predicted names were paired"
    )
    add_tests(parser)
    add_interval_resamples(parser)
    add_format(parser)
    parser.set_defaults(command=score_names)


def score_names(args: argparse.Namespace) -> int:
    """Print the scorecard of one run, or the ranking of several."""
    if args.pairs and args.compat:
        raise OptionError("--pairs: the organisers' program pairs nothing, it counts predictions")
    check_names(args.run)
    check_tests(args, args.run)
    gold = read_ner_gold(args.gold)
    runs = list(map(rereadable, args.run))
    warnings: list[FileProblem] = []
    cards = {path: _score(args, gold, path, warnings) for path in runs}
    warn(warnings)
    if args.tests:
        tests = {str(criterion): _tests(args, cards, criterion) for criterion in Criterion}
        print(framed(args, tests_report(tests, args.format)))
        return 0
    bounds = {
        path: {
            criterion: bounds_of(card.on_resamples(criterion, args.resamples))
            for criterion in Criterion
        }
        for path, card in cards.items()
    }
    pairs = {path: _pairs(gold, path) for path in runs if args.pairs}
    if args.format == "json":
        values = [_values(gold, p, cards[p], bounds[p], pairs.get(p)) for p in cards]
        print(json.dumps(values, indent=2))
    elif args.format == "text" and len(cards) == 1:
        print(*(_report(card, bounds[path]) for path, card in cards.items()))
    else:
        ranked = [_ranked(path, card, bounds[path]) for path, card in cards.items()]
        table = ranking_table(ranked, _FIRST)
        print(framed(args, ranking_report(table, args.format, _FIRST)))
    if pairs and args.format != "json":
        listed = {
            run_name(path): [_pair_values(gold, pair) for pair in of_run]
            for path, of_run in pairs.items()
        }
        print(f"\n{pairs_table(listed, args.format)}")
    return 0


def _score(
    args: argparse.Namespace, gold: MentionCorpus, path: Source, warnings: list[FileProblem]
) -> NerScorecard:
    article_of = {name: sentence.document for name, sentence in gold.sentences.items()}
    if args.compat:
        return evaluate_as_program(gold.written, read_written_run(path, gold, warnings), article_of)
    return evaluate(gold.mentions, read_ner_run(path, gold, warnings), article_of=article_of)


def _tests(
    args: argparse.Namespace, cards: Mapping[Source, NerScorecard], criterion: Criterion
) -> Sequence[PairTest]:
    runs = {
        run_name(path): (
            card.micro[criterion].f_score(card.compat),
            card.on_resamples(criterion, args.resamples),
        )
        for path, card in cards.items()
    }
    return paired_tests(runs, len(next(iter(cards.values())).by_article))


def _pairs(gold: MentionCorpus, path: Source) -> list[MentionPair]:
    pairs = list_pairs(gold.mentions, read_ner_run(path, gold))
    return sorted(pairs, key=lambda pair: pair.reference or pair.prediction or ())


def _pair_values(gold: MentionCorpus, pair: MentionPair) -> dict[str, Cell]:
    one = pair.reference or pair.prediction
    assert one is not None
    return {
        "place": one.place,
        "gold": _offsets(pair.reference),
        "gold_words": _words(gold, pair.reference),
        "gold_type": pair.reference.type if pair.reference else None,
        "predicted": _offsets(pair.prediction),
        "predicted_words": _words(gold, pair.prediction),
        "predicted_type": pair.prediction.type if pair.prediction else None,
        **{str(criterion): pair.outcome(criterion) for criterion in Criterion},
    }


def _offsets(mention: MentionSpan | None) -> str | None:
    """Return inclusive offsets, as the files have them."""
    if mention is None:
        return None
    return ";".join(f"{start}-{end - 1}" for start, end in mention.span)


def _words(gold: MentionCorpus, mention: MentionSpan | None) -> str | None:
    """Return a mention's words, pieces with `...` between; a table of gold has no text."""
    text = gold.sentences[mention.place].text if mention else None
    if mention is None or text is None:
        return None
    return " ... ".join(text[start:end] for start, end in mention.span)


def _values(
    gold: MentionCorpus,
    path: Source,
    card: NerScorecard,
    bounds: dict[Criterion, Bounds | None],
    pairs: list[MentionPair] | None,
) -> dict[str, Any]:
    intervals = {str(criterion): found for criterion, found in bounds.items()}
    values = {"run": run_name(path), **card.to_dict(), "f_score_intervals": intervals}
    if pairs is not None:
        values["pairs"] = [_pair_values(gold, pair) for pair in pairs]
    return values


def _ranked(path: Source, card: NerScorecard, bounds: dict[Criterion, Bounds | None]) -> RankedRun:
    micro = card.micro
    strict = micro[Criterion.STRICT]
    others = [criterion for criterion in Criterion if criterion is not Criterion.STRICT]
    return RankedRun(
        run=run_name(path),
        score=strict.f_score(card.compat),
        bounds=bounds[Criterion.STRICT],
        cells={
            "strict P": strict.precision(card.compat),
            "strict R": strict.recall(),
            **{f"{other} F1": micro[other].f_score(card.compat) for other in others},
            f"macro F1 of the {len(TYPES)}": card.macro()["f_score"],
            "predictions": strict.act,
        },
    )


def _report(card: NerScorecard, bounds: dict[Criterion, Bounds | None]) -> str:
    heading = [*map(str.upper, _COUNTS), "P", "R", "F1"]
    values = card.to_dict()
    criteria = [["all types", *heading, "95 % of F1"]]
    for criterion, found in bounds.items():
        criteria.append([criterion, *_cells(values["micro"][criterion]), str(found or "n/a")])
    types = [["strict, by type", *heading]]
    for name, table in values["per_type"].items():
        types.append([name, *_cells(table[Criterion.STRICT])])
    blank = [""] * len(_COUNTS)
    macro = [f"{card.macro()[key]:.3f}" for key in _SCORES]
    types.append([f"macro of the {len(TYPES)}", *blank, *macro])
    compat = f", compat {card.compat}" if card.compat else ""
    end = f"articles: {len(card.by_article)}, which the intervals resample{compat}"
    return "\n".join([text_table(criteria), "", text_table(types), "", end])


def _cells(counts: dict[str, float]) -> list[str]:
    return [*(str(counts[key]) for key in _COUNTS), *(f"{counts[key]:.3f}" for key in _SCORES)]
