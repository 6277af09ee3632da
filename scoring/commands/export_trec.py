"""`scoring export-trec`: gold and runs as the files of trec_eval, pytrec_eval, ranx and others."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from scoring.errors import OptionError
from scoring.evaluation import evaluate_runs
from scoring.files import item_hits, read_gold, read_run, run_name
from scoring.gold import ActGold, Gold
from scoring.options import (
    add_lenient_ranks,
    add_runs,
    add_task_and_gold,
    check_names,
    warn,
)
from scoring.scorecard import ActScorecard
from scoring.tasks import Item, by_rank
from scoring.views import members

QRELS = "qrels.txt"
TOPIC = "ACT"
"""The topic of an ACT run, which is one list of articles."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("export-trec", help="write gold and runs in TREC's formats")
    add_task_and_gold(parser)
    add_runs(parser)
    add_lenient_ranks(parser)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write to")
    parser.set_defaults(command=export)


def export(args: argparse.Namespace) -> int:
    """Write `qrels.txt` and a file `NAME.run` per run, and print their paths."""
    check_names(args.runs)
    gold = read_gold(args.task, args.gold)
    files = {QRELS: "".join(_qrels(gold))}
    for path in args.runs:
        files[f"{run_name(path)}.run"] = "".join(_run(args, gold, path))
    args.out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (args.out / name).write_text(text, encoding="utf-8")
        print(args.out / name)
    return 0


def _qrels(gold: Gold) -> Iterator[str]:
    """Yield lines of topic, 0, document and relevance: `10.1/x 0 P04637 1`."""
    if isinstance(gold, ActGold):
        for article, relevant in gold.relevant.items():
            yield f"{TOPIC} 0 {_word(article)} {relevant:d}\n"
        return
    for article, items in gold.items.items():
        for item in sorted(items):
            yield f"{_word(article)} 0 {_document(item)} 1\n"


def _run(args: argparse.Namespace, gold: Gold, path: Path) -> Iterator[str]:
    """Yield lines of topic, Q0, document, rank, score and run: `10.1/x Q0 P04637 1 1.0 team1`.

    The score is 1/rank, since trec_eval orders by it and not by the rank; a confidence may be that
    of several hits.
    """
    name = _word(run_name(path))
    if isinstance(gold, ActGold):
        (card,) = evaluate_runs(args.task, gold, [path], lenient_ranks=args.lenient_ranks)
        warn(card.warnings)
        assert isinstance(card, ActScorecard)
        for rank, place in enumerate(card.ranked.tolist(), start=1):
            yield f"{TOPIC} Q0 {_word(card.articles[place])} {rank} {1 / rank!r} {name}\n"
        return
    run = read_run(args.task, path, lenient_ranks=args.lenient_ranks)
    warn(run.warnings)
    for article, hits in item_hits(run).items():
        for rank, hit in enumerate(sorted(hits, key=by_rank), start=1):
            document = _document(hit.item)
            yield f"{_word(article)} Q0 {document} {rank} {1 / rank!r} {name}\n"


def _document(item: Item) -> str:
    """Return an accession, or the two of a pair with a comma between."""
    return ",".join(map(_word, members(item)))


def _word(text: str) -> str:
    if len(text.split()) != 1:
        raise OptionError(f"{text!r}: TREC's formats have no names with spaces")
    return text
