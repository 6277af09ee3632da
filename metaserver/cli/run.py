"""`metaserver run`: a phase from files to leaderboards, for an organiser without registration."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
from rich.console import Console

from metaserver.base.errors import InputError
from metaserver.base.records import Article, PhaseName, ServerName
from metaserver.cli.console import make_console, print_summary, say, shown
from metaserver.cli.process import prepare_process, run_to_end
from metaserver.cli.results import LEADERBOARD_FILE, write_results
from metaserver.cli.single_phase import (
    SinglePhase,
    open_phase,
    read_gold,
    read_servers,
    work_to_end,
)
from metaserver.config import Settings, read_settings
from metaserver.corpus import read_articles
from metaserver.lanes.events import LaneEnd
from metaserver.publication.pages import PAGES
from metaserver.tasks.plugin import answered_tasks
from metaserver.uniprot import Release
from metaserver.web.public.open_pages import make_pages_app
from metaserver.web.server import serve_app

PHASE = PhaseName("run")
DONE, UNANSWERED = 0, 1  # exit statuses


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    settings = _settings(args)
    phase = _phase(args, settings)
    articles = list(read_articles(args.articles))  # all is read and checked; now write
    run = _run(phase, articles, settings, web=args.web is not None, as_json=args.json)
    return run_to_end(run)


def _phase(args: argparse.Namespace, settings: Settings) -> SinglePhase:
    gold = {
        name: path
        for name in answered_tasks()
        if (path := getattr(args, f"gold_{name.lower()}")) is not None
    }
    release = Release.open(args.uniprot)
    return SinglePhase(
        name=PHASE,
        servers=read_servers(args.server, settings.limits.concurrency),
        gold=read_gold(gold, release),
        release=release,
    )


def _settings(args: argparse.Namespace) -> Settings:
    settings = read_settings(args.config) if args.config else Settings()
    values = msgspec.to_builtins(settings) | {
        "folder": str(args.out),
        "store": "",  # a run keeps its store beside what it leaves
        "store_file": "",
    }
    for option in ("timeout", "attempts", "concurrency"):
        if getattr(args, option) is not None:
            values["limits"][option] = getattr(args, option)
    if args.web is not None:
        values["web"]["port"] = args.web
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise InputError("options", str(error)) from error


async def _run(
    phase: SinglePhase,
    articles: list[Article],
    settings: Settings,
    *,
    web: bool,
    as_json: bool,
) -> int:
    console = make_console(stderr=as_json)
    allowed = prepare_process()
    opened = open_phase(phase, articles, settings)  # no guard: who runs this names the servers
    async with AsyncExitStack() as stack:
        hub, running = await stack.enter_async_context(opened)
        articles.clear()  # they are in the store
        if shortage := allowed.shortage(sum(server.concurrency for server in phase.servers)):
            say(console, shortage)
        if web:
            pages = serve_app(make_pages_app(hub, [PAGES]), settings.web)
            say(console, f"live at {await stack.enter_async_context(pages)}")
        async with shown(running.boards, console):
            ends = await work_to_end(hub, running)
        boards = await write_results(hub, running)
        if as_json:
            _print_json(Path(settings.folder, LEADERBOARD_FILE))
        else:
            print_summary(console, running.boards.tasks(), boards, running.boards.monitor())
            say(console, f"\nresults are in {settings.folder}")
    return _status(console, phase, ends)


def _print_json(boards: Path) -> None:
    print(boards.read_text("utf-8"), end="")


def _status(console: Console, phase: SinglePhase, ends: Mapping[ServerName, LaneEnd]) -> int:
    unfinished = [
        server.name for server in phase.servers if ends.get(server.name) is not LaneEnd.FINISHED
    ]
    if not unfinished:
        return DONE
    say(
        console,
        f"not all articles were sent to {', '.join(unfinished)}; "
        "run the same command again to send the rest",
    )
    return UNANSWERED
