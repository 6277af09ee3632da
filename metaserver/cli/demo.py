"""`metaserver demo`: a small challenge on this machine, its annotation servers as processes.

Honest baselines, one slow server, one that misbehaves in another way on each article; in the end a
curator asks them about an article that is in no phase. Everything is real: processes, XML-RPC,
validation, storage, scoring; only the articles are few and short.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from metaserver.base.records import PhaseName, TaskName
from metaserver.cli.console import make_console, print_summary, say, shown
from metaserver.cli.curator import ask_as_curator, print_request
from metaserver.cli.demo_servers import demo_server
from metaserver.cli.demo_story import NEXT, story
from metaserver.cli.hub import work
from metaserver.cli.options import read_gold
from metaserver.cli.process import prepare_process, run_to_end
from metaserver.cli.results import check_package, leave_package, write_results
from metaserver.cli.samples import write_samples
from metaserver.cli.single_phase import SinglePhase, open_phase, work_to_end
from metaserver.config import Settings
from metaserver.corpus import read_articles
from metaserver.curation.operations.requests import RequestDetail
from metaserver.publication.pages import PAGES
from metaserver.uniprot import build_release
from metaserver.web.public.open_pages import make_pages_app
from metaserver.web.server import serve_app

PHASE = PhaseName("demo")
SETTINGS = {
    "security": {"allow_networks": ["127.0.0.0/8"]},
    "limits": {"timeout": 5, "attempts": 3},
    "retry": {"base": 0.2, "cap": 1},
    "circuit": {"failures": 2, "probe_base": 0.5, "probe_cap": 2, "patience": 60},
}
DELAY = ("--delay", "0.3", "1.2")


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoChallenge:
    """The tasks that are scored, and the servers with their options."""

    tasks: Sequence[str]
    servers: Mapping[str, Sequence[str]]


INTERACTIONS = DemoChallenge(
    tasks=("ACT", "INT", "IPT"),
    servers={"dictionary": (), "cooccurrence": (), "act": (), "slow": DELAY, "faulty": ()},
)
NAMES = DemoChallenge(
    tasks=("NER",),
    servers={
        "ner": (),
        "slow": ("--tasks", "NER", *DELAY),
        "faulty": ("--tasks", "NER"),
    },
)
FAILS = "slow"
"""The server that crashes in the middle, and is started again."""


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    if args.samples is not None:
        print(f"{args.samples}: {', '.join(write_samples(args.samples))}")
        return 0
    challenge = NAMES if args.ner else INTERACTIONS
    if args.package is not None:
        check_package(args.package)
    with tempfile.TemporaryDirectory(prefix="metaserver-demo-") as scratch:
        folder = args.out or Path(scratch) / "out"
        web = {} if args.port is None else {"port": args.port}
        settings = msgspec.convert(SETTINGS | {"folder": str(folder), "web": web}, Settings)
        demo = _demo(challenge, Path(scratch), settings, package=args.package, stay=not args.exit)
        return run_to_end(demo)


async def _demo(
    challenge: DemoChallenge,
    scratch: Path,
    settings: Settings,
    *,
    package: Path | None,
    stay: bool,
) -> int:
    console = make_console()
    prepare_process()
    async with AsyncExitStack() as stack:
        data = stack.enter_context(as_file(files("metaserver.cli.demo_data")))
        names = stack.enter_context(as_file(files("annotators") / "data" / "uniprot_names.tsv"))
        console.print("starting annotation servers: " + ", ".join(challenge.servers))
        processes = await asyncio.gather(
            *(
                stack.enter_async_context(demo_server(name, options))
                for name, options in challenge.servers.items()
            )
        )
        servers = [process.server for process in processes]
        [fails] = [process for process in processes if process.name == FAILS]
        gold = {TaskName(task): data / f"gold_{task.lower()}.tsv" for task in challenge.tasks}
        release = build_release([names], name="demo", out=scratch / "uniprot")
        phase = SinglePhase(
            name=PHASE, servers=servers, gold=read_gold(gold, release), release=release
        )
        articles = read_articles([data / "articles"])
        opened = open_phase(phase, articles, settings, settings.address_guard())
        hub, running = await stack.enter_async_context(opened)
        pages = serve_app(make_pages_app(hub, [PAGES]), settings.web)
        address = await stack.enter_async_context(pages)
        console.print(f"{len(running.corpus)} articles; watch it live at [bold]{address}[/]\n")
        asked: list[RequestDetail] = []

        async def curate() -> None:
            if challenge is INTERACTIONS:
                asked.append(await ask_as_curator(hub, servers))

        async with shown(running.boards, console), story(running.boards, fails, console):
            await work_to_end(hub, running, curate)
        boards = await write_results(hub, running)
        print_summary(console, running.boards.tasks(), boards, running.boards.monitor())
        if not Path(settings.folder).is_relative_to(scratch):
            say(console, f"\nresults are in {settings.folder}")
        if package is not None:
            await leave_package(hub, running, package)
            say(console, f"\na results package is in {package}: open {package / 'report.html'}")
        for found in asked:
            print_request(console, found)
        say(console, NEXT)
        if stay:
            console.print(f"\nthe pages stay up at [bold]{address}[/] until Ctrl-C")
            await work(hub, notices=False)
    return 0
