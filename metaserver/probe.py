"""`metaserver probe URL`: the conformance run, from this machine, before a server is registered."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from metaserver.client.http import open_client
from metaserver.client.urls import check_url
from metaserver.config import Settings
from metaserver.errors import InputError
from metaserver.lifecycle import Outcome
from metaserver.records import Server, ServerName, TaskName
from metaserver.services.conformance import Conformance, Step, conformance
from metaserver.services.conformance.articles import ARTICLES
from metaserver.tasks.plugin import installed_tasks
from metaserver.uniprot import FormatVocabulary, Release, ReleaseVocabulary
from metaserver.wire.validation import Vocabulary

PASSED, FAILED = 0, 1  # exit statuses
_METHOD = re.compile(r"[A-Za-z0-9_.:/]+")  # what the specification of XML-RPC allows
_NAME_WIDTH = max(len(article.name) for article in ARTICLES)
PARAMETERS = ("text", "text+context")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `probe` command."""
    limits = Settings().limits
    parser = commands.add_parser(
        "probe",
        help="test an annotation server as the hub does before its first article counts",
        description="Tests an annotation server as the hub does before its first article counts,"
        " and says of each step how long it took and what was wrong. Exit status: 0 if the server"
        " passes, 1 if not.",
    )
    add = parser.add_argument
    add("url", metavar="URL", help="where the server is")
    add("--method", default="Annotator.getAnnotation", metavar="M",
        help="the method that annotates (default %(default)s)")  # fmt: skip
    add("--parameters", choices=PARAMETERS, default="text",
        help="what it is sent (default %(default)s)")  # fmt: skip
    add("--tasks", metavar="T,T", help="the tasks it takes part in (default: all)")
    add("--concurrency", type=int, default=limits.concurrency, metavar="N",
        help="requests it shall have in flight (default %(default)s)")  # fmt: skip
    add("--timeout", type=float, default=limits.timeout, metavar="S",
        help=f"for one article, in seconds (default {limits.timeout:g})")  # fmt: skip
    add("--uniprot", type=Path, metavar="RELEASE_DIR",
        help="the release that accessions are checked by (default: their form alone)")  # fmt: skip
    add("--json", action="store_true", help="print the result as JSON, the steps on stderr")
    parser.set_defaults(run=main)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    server, settings = _read_server(args), _read_settings(args)
    release = Release.open(args.uniprot) if args.uniprot else None
    vocabulary = ReleaseVocabulary(release=release) if release else FormatVocabulary()
    found = asyncio.run(_probe(server, settings, vocabulary, as_json=args.json))
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
    return PASSED if found.passed else FAILED


def _read_server(args: argparse.Namespace) -> Server:
    return Server(
        name=ServerName("probed"),
        url=check_url(args.url, "URL"),
        method=_read_method(args.method),
        parameters=args.parameters,
        tasks=_read_tasks(args.tasks),
        concurrency=args.concurrency,
    )


def _read_method(name: str) -> str:
    if not _METHOD.fullmatch(name):
        raise InputError("--method", f"{name!r}; expected letters, digits and '_', '.', ':', '/'")
    return name


def _read_tasks(option: str | None) -> tuple[TaskName, ...]:
    if option is None:
        return ()
    names = tuple(TaskName(name.strip()) for name in option.split(","))
    for name in names:
        if name not in installed_tasks():
            raise InputError("--tasks", f"{name!r} is none of {', '.join(installed_tasks())}")
    return names


def _read_settings(args: argparse.Namespace) -> Settings:
    """Return the settings of a hub that was given these limits."""
    given = {"limits": {"timeout": args.timeout, "concurrency": args.concurrency}}
    try:
        return msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise InputError("options", str(error)) from error


async def _probe(
    server: Server, settings: Settings, vocabulary: Vocabulary, *, as_json: bool
) -> Conformance:
    def show(step: Step) -> None:
        for line in _lines(step):
            print(_printable(line), file=sys.stderr if as_json else sys.stdout, flush=True)

    async with open_client(settings.http_limits()) as client:
        found = await conformance(
            client,
            server,
            list(installed_tasks().values()),
            vocabulary,
            time_limit=settings.limits.timeout,
            on_step=show,
        )
    if not as_json:
        print("passed" if found.passed else "failed: the hub would send it no article")
    return found


def _lines(step: Step) -> Iterator[str]:
    seconds = " " * 10 if step.seconds is None else f"{step.seconds:8.3f} s"
    wrong = step.outcome not in (None, Outcome.OK, step.name.lower())
    word = f"{step.outcome}: " if wrong else ""
    yield f"{step.state:7}  {seconds}  {step.name:{_NAME_WIDTH}}  {word}{step.message}".rstrip()
    for problem in step.problems:
        yield f"    {problem}"
    more = step.problem_count - len(step.problems)
    if more:
        yield f"    and {more} more"


def _printable(line: str) -> str:
    """What a server says must not command the terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
