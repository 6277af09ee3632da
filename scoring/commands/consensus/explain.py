"""`scoring consensus explain`: what each run adds to the candidates of an article."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from scoring.commands.consensus.apply import Application, add_application
from scoring.consensus.ranker import Consensus, RankedCandidate
from scoring.errors import OptionError
from scoring.tables import text_table
from scoring.tasks import Item, Task, pair


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "explain", help="explain a candidate, or the whole list of an article"
    )
    parser.add_argument("article", metavar="ARTICLE", help="id of the article")
    parser.add_argument(
        "--item",
        metavar="ID[,ID]",
        help="explain only this candidate: its accession, or the two of a pair",
    )
    add_application(parser)
    parser.set_defaults(command=explain)


def explain(args: argparse.Namespace) -> int:
    """Print the parts of one candidate's log-odds, or a line a candidate."""
    application = Application(args)
    if args.article not in application.articles():
        raise OptionError(f"no run has candidates for {args.article!r}")
    consensus = application.consensus(args.article, None, 0.0)
    if args.item is None:
        print(text_table(list(_list(consensus))))
        return 0
    item = _item(args.item, application.model.task)
    for candidate in consensus.candidates:
        if candidate.item == item:
            print(*_lines(candidate, consensus), sep="\n")
            return 0
    raise OptionError(
        f"{item!r} is not among the candidates of any run for article {args.article!r}"
    )


def _item(text: str, task: Task) -> Item:
    accessions = text.split(",")
    if len(accessions) != (1 if task is Task.INT else 2):
        expected = "an accession" if task is Task.INT else "two accessions with a comma between"
        raise OptionError(f"--item {text}; expected {expected}")
    return pair(*accessions) if task is Task.IPT else text


def _list(consensus: Consensus) -> Iterator[list[str | int | float | None]]:
    yield ["item", "rank", "score", "probability", "agreement", "named by"]
    for one in consensus.candidates:
        named = " ".join(vote.server for vote in one.votes)
        yield [_name(one.item), one.rank, one.score, one.probability, one.agreement, named]


def _lines(candidate: RankedCandidate, consensus: Consensus) -> Iterator[str]:
    answered = len(consensus.answered) + len(consensus.unknown)
    yield (
        f"{_name(candidate.item)}: rank {candidate.rank}, "
        f"named by {len(candidate.votes)} of {answered}"
    )
    for vote in candidate.votes:
        part = "" if vote.part is None else f"{vote.part:+9.4f}  "
        yield f"{part}{vote.server}, rank {vote.rank}, confidence {vote.confidence:.4g}"
    if candidate.bias is None or candidate.probability is None:
        yield f"score {candidate.score:.4f}"
        return
    yield f"{candidate.bias:+9.4f}  bias"
    yield f"{candidate.score:+9.4f}  log-odds, a probability of {candidate.probability:.4f}"


def _name(item: Item) -> str:
    return item if isinstance(item, str) else " ".join(item)
