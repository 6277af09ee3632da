"""`metaserver run`: one phase from files to leaderboards, for an organiser without registration."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AsyncExitStack

import msgspec
from rich.console import Console

from metaserver.cli.app import Hub, Plan, open_hub, run_to_end, serve_pages
from metaserver.cli.console import make_console, print_summary, say, shown
from metaserver.cli.options import read_gold, read_servers
from metaserver.cli.results import LEADERBOARD_FILE, write_results
from metaserver.client import descriptors
from metaserver.config import Settings, read_settings
from metaserver.corpus import read_articles
from metaserver.lanes.engine import work_lanes
from metaserver.lanes.events import LaneEnd
from metaserver.model.errors import InputError
from metaserver.model.records import Article
from metaserver.tasks.plugin import installed_tasks
from metaserver.uniprot import Release

PHASE = "run"
DONE, UNANSWERED = 0, 1  # exit statuses


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    plan = _read_plan(args)
    articles = list(read_articles(args.articles))  # all is read and checked; now write
    return run_to_end(_run(plan, articles, web=args.web is not None, as_json=args.json))


def _read_plan(args: argparse.Namespace) -> Plan:
    settings = _settings(args)
    files = {
        name: path
        for name in installed_tasks()
        if (path := getattr(args, f"gold_{name.lower()}")) is not None
    }
    return Plan(
        phase=PHASE,
        servers=read_servers(args.server, settings.limits.concurrency),
        gold=read_gold(files),
        release=Release.open(args.uniprot),
        folder=args.out,
        settings=settings,
    )


def _settings(args: argparse.Namespace) -> Settings:
    settings = read_settings(args.config) if args.config else Settings()
    given = msgspec.to_builtins(settings)
    for option in ("timeout", "attempts", "concurrency"):
        if getattr(args, option) is not None:
            given["limits"][option] = getattr(args, option)
    if args.web is not None:
        given["web"]["port"] = args.web
    try:
        return msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise InputError("options", str(error)) from error


async def _run(plan: Plan, articles: list[Article], *, web: bool, as_json: bool) -> int:
    console = make_console(stderr=as_json)
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(open_hub(plan, articles))
        articles.clear()  # they are in the store
        planned = sum(server.concurrency for server in plan.servers)
        if shortage := descriptors.current().shortage(planned):
            say(console, shortage)
        if web:
            settings = plan.settings.web
            pages = serve_pages(hub.boards, settings.host, settings.port)
            say(console, f"live at {await stack.enter_async_context(pages)}")
        ends = await work(hub, console)
        boards = await write_results(hub)
        if as_json:
            print((plan.folder / LEADERBOARD_FILE).read_text("utf-8"), end="")
        else:
            print_summary(console, hub.boards.tasks(), boards, hub.boards.monitor())
            say(console, f"\nresults are in {plan.folder}")
        return _status(console, ends)


async def work(hub: Hub, console: Console) -> Sequence[str]:
    """Run all lanes to their end, showing how they go; return the servers that were left."""
    async with shown(hub.boards, console):
        ends = await work_lanes(hub.lanes)
    return [name for name, end in ends.items() if end is not LaneEnd.FINISHED]


def _status(console: Console, left: Sequence[str]) -> int:
    if not left:
        return DONE
    say(
        console,
        f"not all articles were sent to {', '.join(left)}; the same command goes on with them",
    )
    return UNANSWERED
