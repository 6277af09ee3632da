"""The `annotators` command: serve a baseline, check a server, start a new one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from annotators.baselines import articles
from annotators.baselines.proteins import SHIPPED_NAMES
from annotators.contract import MEMBER_OF_TASK
from annotators.errors import BadInputError
from annotators.organisms import HUMAN
from annotators.starter import KITS

SUMMARY = "Serve a baseline, check your server, or start a new server from a kit."
SERVERS = {
    "dictionary": ("INT",),
    "cooccurrence": ("INT", "IPT"),
    "act": ("ACT",),
    "ner": ("NER",),
    "llm": ("ACT", "INT", "IPT"),
    "slow": ("INT", "IPT", "ACT"),
    "faulty": ("INT", "IPT", "ACT"),
}
"""The servers and the tasks that each answers by default."""
ABLE = SERVERS | {
    "cooccurrence": ("INT", "IPT", "ACT"),
    "llm": ("ACT", "INT", "IPT", "NER"),
    "slow": ("INT", "IPT", "ACT", "NER"),
    "faulty": ("INT", "IPT", "ACT", "NER"),
}
"""The tasks each server can answer."""
OF_RELEASES = ("dictionary", "cooccurrence", "ner", "slow", "faulty")
"""The servers that can take their names from a release."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 if a check failed, or 2 on bad input."""
    options = parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except BadInputError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command and its subcommands."""
    top = argparse.ArgumentParser(
        prog="annotators",
        description=SUMMARY,
        epilog="Explained in docs/annotators.md of the project, at /docs/annotators of every hub.",
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _add_serve(
        commands.add_parser(
            "serve", help="serve a baseline, or a slow or faulty server to test a hub with"
        )
    )
    _add_check(commands.add_parser("check", help="test an annotation server as a hub would"))
    _add_score(
        commands.add_parser("score", help="score the result files that `check --write-runs` wrote")
    )
    _add_new(commands.add_parser("new", help="write a starter kit: a server in your language"))
    _add_train_act(commands.add_parser("train-act", help="train the model that `serve act` uses"))
    return top


def _add_serve(command: argparse.ArgumentParser) -> None:
    command.add_argument("server", choices=SERVERS, help="server to start")
    command.add_argument(
        "--port", type=int, default=8100, help="port to listen on; 0 for any free port (8100)"
    )
    command.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    command.add_argument(
        "--workers", type=int, help="articles annotated at the same time (number of CPUs)"
    )
    command.add_argument(
        "--tasks",
        nargs="+",
        choices=MEMBER_OF_TASK,
        help="tasks to answer (the server's usual tasks)",
    )
    command.add_argument(
        "--uniprot-names",
        type=Path,
        default=SHIPPED_NAMES,
        metavar="TSV",
        help="UniProt table of protein and gene names (default: a small table in the package)",
    )
    command.add_argument(
        "--uniprot",
        type=Path,
        metavar="RELEASE",
        help="take the names from a whole release: a folder that `metaserver uniprot build"
        " --names` wrote",
    )
    command.add_argument(
        "--organism",
        type=int,
        metavar="TAXON",
        help="with --uniprot: NCBI taxon assumed if a text names no organism (9606, human)",
    )
    command.add_argument(
        "--model",
        help="act: file that train-act wrote (default: a small model); llm: the model's name",
    )
    command.add_argument(
        "--base-url",
        metavar="URL",
        help="llm: address of the endpoint, such as http://127.0.0.1:8000/v1",
    )
    command.add_argument(
        "--config", type=Path, metavar="YAML", help="llm: file with the other settings"
    )
    command.add_argument(
        "--delay",
        type=float,
        nargs=2,
        default=(2.0, 8.0),
        metavar=("MIN", "MAX"),
        help="slow: seconds to wait before each answer, at least and at most (2 8)",
    )
    command.set_defaults(run=_serve)


def _add_check(command: argparse.ArgumentParser) -> None:
    command.add_argument("url", help="the server's address, such as http://127.0.0.1:8100/")
    command.add_argument(
        "--timeout", type=float, default=60.0, help="time limit per answer, in seconds (60)"
    )
    command.add_argument(
        "--articles",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="send these articles instead of the test's: BioC JSON, .tsv, .txt, or folders of them",
    )
    command.add_argument(
        "--write-runs",
        type=Path,
        metavar="DIR",
        help="with --articles: write one result file per task into DIR",
    )
    command.add_argument(
        "--at-once", type=int, default=1, help="with --articles: articles sent at the same time (1)"
    )
    command.add_argument(
        "--injection",
        action="store_true",
        help="measure whether the server follows instructions hidden in articles",
    )
    command.set_defaults(run=_check)


def _add_score(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "runs", type=Path, metavar="DIR", help="folder that `check --write-runs` wrote"
    )
    command.add_argument(
        "--gold",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder with the gold files: ACT.tsv, INT.tsv, ...",
    )
    command.add_argument(
        "--articles",
        choices=("all", "answered"),
        default="all",
        help="gold articles that count: all (as on leaderboards), or only those that were"
        " answered (all)",
    )
    command.set_defaults(run=_score)


def _add_new(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "folder", type=Path, help="folder to write the kit to; created if it does not exist"
    )
    command.add_argument(
        "--language",
        choices=KITS,
        default="python",
        help="programming language of the server (python)",
    )
    command.set_defaults(run=_new)


def _add_train_act(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--gold",
        type=Path,
        required=True,
        help="training labels: article<TAB>0 or article<TAB>1 per line",
    )
    command.add_argument(
        "--articles",
        type=Path,
        nargs="+",
        required=True,
        metavar="PATH",
        help="texts of these articles: BioC JSON, .tsv, .txt, or folders of them",
    )
    command.add_argument(
        "--uniprot-names",
        type=Path,
        default=SHIPPED_NAMES,
        metavar="TSV",
        help="UniProt table of the proteins to mask (default: a small table in the package)",
    )
    command.add_argument(
        "--out", type=Path, required=True, metavar="MODEL", help="file to write the model to"
    )
    command.set_defaults(run=_train_act)


# Each command imports what it needs when it runs, so that a server starts in under a second.


def _serve(options: argparse.Namespace) -> int:
    from annotators.serving import serve_baseline, serve_llm

    for option, shown, expected in _serve_problems(options):
        raise BadInputError(option, f"{shown}; expected {expected}")
    tasks = options.tasks or SERVERS[options.server]
    if options.server == "llm":
        from annotators.llm.config import read_config

        config = read_config(options.config, base_url=options.base_url, model=options.model)
        serve_llm(
            config, tasks=tasks, names=options.uniprot_names, host=options.host, port=options.port
        )
        return 0
    serve_baseline(
        options.server,
        tasks=tasks,
        names=options.uniprot_names,
        release=options.uniprot,
        organism=HUMAN if options.organism is None else options.organism,
        model=Path(options.model) if options.model else None,
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
    for name in ("base_url", "config"):
        if getattr(options, name) is not None and options.server != "llm":
            yield f"--{name.replace('_', '-')}", f"the server is {options.server}", "llm"
    if options.uniprot is not None and options.server not in OF_RELEASES:
        yield "--uniprot", f"the server is {options.server}", " or ".join(OF_RELEASES)
    if options.organism is not None and options.uniprot is None:
        yield "--organism", "given without a release", "--uniprot RELEASE too"
    if wrong := [task for task in options.tasks or () if task not in able]:
        yield (
            "--tasks",
            f"{options.server} does not answer {wrong[0]}",
            " or ".join(able),
        )


def _check(options: argparse.Namespace) -> int:
    import asyncio

    from annotators.article_check import check_articles
    from annotators.check import check

    if (options.articles is None) != (options.write_runs is None):
        raise BadInputError(
            "--articles", "one of --articles and --write-runs is missing; expected both or neither"
        )
    if not 0 < options.timeout < float("inf"):
        raise BadInputError("--timeout", f"{options.timeout:g}; expected a finite number above 0")
    if options.at_once < 1:
        raise BadInputError("--at-once", f"{options.at_once}; expected 1 or more")
    if options.injection:
        from annotators.injection import measure

        if options.articles is not None:
            raise BadInputError("--injection", "has articles of its own; expected no --articles")
        return 0 if asyncio.run(measure(options.url, limit=options.timeout)) else 1
    if options.articles is None:
        return 0 if asyncio.run(check(options.url, limit=options.timeout)) else 1
    right = check_articles(
        options.url,
        articles.read_articles(options.articles),
        options.write_runs,
        limit=options.timeout,
        at_once=options.at_once,
    )
    return 0 if asyncio.run(right) else 1


def _score(options: argparse.Namespace) -> int:
    from annotators.score import score

    return score(options.runs, options.gold, articles=options.articles)


def _new(options: argparse.Namespace) -> int:
    from annotators.starter import write_kit

    write_kit(options.folder, options.language)
    return 0


def _train_act(options: argparse.Namespace) -> int:
    from annotators.baselines import relevance

    gold = articles.read_gold(options.gold)
    texts = articles.read_articles(options.articles)
    labels = [relevant for article, relevant in gold.items() if article in texts]
    if len(set(labels)) < 2:
        raise BadInputError(
            "--gold",
            "all of its articles that have a text are of one class; expected articles of both, 0"
            " and 1",
        )
    relevance.train(gold, texts, options.uniprot_names).save(options.out)
    print(f"{options.out}: trained on {len(labels)} articles, {sum(labels)} relevant")
    return 0
