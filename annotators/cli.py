"""The `annotators` command: serve a baseline, check a server, start a new one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from annotators.baselines import articles
from annotators.baselines.proteins import SHIPPED_NAMES
from annotators.contract import MEMBER_OF_TASK
from annotators.errors import BadInputError

SUMMARY = "Serve a baseline, check a server, start a new one."
SERVERS = {
    "dictionary": ("INT",),
    "cooccurrence": ("INT", "IPT"),
    "act": ("ACT",),
    "ner": ("NER",),
    "slow": ("INT", "IPT", "ACT"),
    "faulty": ("INT", "IPT", "ACT"),
}
"""The servers and the tasks that each answers by default."""
ABLE = SERVERS | {
    "cooccurrence": ("INT", "IPT", "ACT"),
    "slow": ("INT", "IPT", "ACT", "NER"),
    "faulty": ("INT", "IPT", "ACT", "NER"),
}
"""The tasks each server can answer."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 if a check failed, or 2 on bad input."""
    options = parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except BadInputError as error:
        print(error, file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command and its subcommands."""
    top = argparse.ArgumentParser(prog="annotators", description=SUMMARY)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _add_serve(commands.add_parser("serve", help="serve a baseline, or a server that tests a hub"))
    _add_check(commands.add_parser("check", help="test an annotation server as the hub would"))
    _add_new(commands.add_parser("new", help="write a server to start from"))
    _add_train_act(commands.add_parser("train-act", help="train the model that `serve act` uses"))
    return top


def _add_serve(command: argparse.ArgumentParser) -> None:
    command.add_argument("server", choices=SERVERS, help="server to start")
    command.add_argument("--port", type=int, default=8100, help="0 takes any free one (8100)")
    command.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    command.add_argument("--workers", type=int, help="articles annotated at once (number of CPUs)")
    command.add_argument(
        "--tasks", nargs="+", choices=MEMBER_OF_TASK, help="tasks to answer (all the server can)"
    )
    command.add_argument(
        "--uniprot-names",
        type=Path,
        default=SHIPPED_NAMES,
        metavar="TSV",
        help="UniProt table with protein and gene names (a small one comes with the package)",
    )
    command.add_argument("--model", type=Path, help="act: what train-act wrote (a small one)")
    command.add_argument(
        "--delay",
        type=float,
        nargs=2,
        default=(2.0, 8.0),
        metavar=("MIN", "MAX"),
        help="slow: seconds before an answer (2 8)",
    )
    command.set_defaults(run=_serve)


def _add_check(command: argparse.ArgumentParser) -> None:
    command.add_argument("url", help="the server's address, such as http://127.0.0.1:8100/")
    command.add_argument(
        "--timeout", type=float, default=60.0, help="seconds an answer may take (60)"
    )
    command.set_defaults(run=_check)


def _add_new(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="where to write it; made if absent")
    command.set_defaults(run=_new)


def _add_train_act(command: argparse.ArgumentParser) -> None:
    command.add_argument("--gold", type=Path, required=True, help="article<TAB>0|1 a line")
    command.add_argument(
        "--articles",
        type=Path,
        nargs="+",
        required=True,
        metavar="PATH",
        help="BioC JSON, .tsv, .txt, or folders of these",
    )
    command.add_argument("--out", type=Path, required=True, metavar="MODEL", help="model to write")
    command.set_defaults(run=_train_act)


# Each command imports what it needs when it runs, so that a server starts in under a second.


def _serve(options: argparse.Namespace) -> int:
    from annotators.serving import serve_baseline

    for option, shown, expected in _serve_problems(options):
        raise BadInputError(option, f"{shown}; expected {expected}")
    serve_baseline(
        options.server,
        tasks=options.tasks or SERVERS[options.server],
        names=options.uniprot_names,
        model=options.model,
        delay=tuple(options.delay),
        host=options.host,
        port=options.port,
        workers=options.workers,
    )
    return 0


def _serve_problems(options: argparse.Namespace) -> Iterator[tuple[str, object, str]]:
    low, high = options.delay
    able = ABLE[options.server]
    if not 0 <= options.port <= 65535:
        yield "--port", options.port, "0 to 65535"
    if options.workers is not None and options.workers < 1:
        yield "--workers", options.workers, "1 or more"
    if not 0 <= low <= high < float("inf"):
        yield "--delay", f"{low} {high}", "0 <= MIN <= MAX"
    if wrong := [task for task in options.tasks or () if task not in able]:
        yield "--tasks", f"{options.server} does not answer {wrong[0]}", " or ".join(able)


def _check(options: argparse.Namespace) -> int:
    import asyncio

    from annotators.check import check

    return 0 if asyncio.run(check(options.url, limit=options.timeout)) else 1


def _new(options: argparse.Namespace) -> int:
    from annotators.starter import write_starter

    write_starter(options.folder)
    return 0


def _train_act(options: argparse.Namespace) -> int:
    from annotators.baselines import relevance

    gold = articles.read_gold(options.gold)
    texts = articles.read_articles(options.articles)
    labels = [relevant for article, relevant in gold.items() if article in texts]
    if len(set(labels)) < 2:
        raise BadInputError(
            "--gold", "its articles with a text are all of one class; expected both"
        )
    relevance.train(gold, texts).save(options.out)
    print(f"{options.out}: trained on {len(labels)} articles, {sum(labels)} relevant")
    return 0
