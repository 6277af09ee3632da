"""`metaserver demo`: a small challenge on this machine, its annotation servers as processes.

Honest baselines, one slow server, one that misbehaves in another way on each article; in the end a
curator asks them about an article that is in no phase. Everything is real: processes, XML-RPC,
validation, storage, scoring; only the articles are few and short.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import product
from pathlib import Path
from zipfile import ZipFile

import msgspec
from rich.console import Console

from metaserver.base.errors import HubError, InputError
from metaserver.base.records import PhaseName, Server, ServerName, TaskName
from metaserver.base.states import Role, ServerState, Visibility
from metaserver.boards.snapshots import ServerStatus
from metaserver.cli.console import make_console, print_summary, say, shown
from metaserver.cli.folder import make_folder
from metaserver.cli.hub import work
from metaserver.cli.process import end_process, prepare_process, run_to_end
from metaserver.cli.remote.requests import view
from metaserver.cli.results import check_package, leave_package, write_results
from metaserver.cli.single_phase import SinglePhase, open_phase, read_gold, work_to_end
from metaserver.config import Settings
from metaserver.corpus import read_articles
from metaserver.curation.operations import requests
from metaserver.curation.operations.requests import NewRequest, RequestDetail, RequestQuery
from metaserver.operations import (
    challenge_pages,
    challenges,
    conformance,
    phases,
    publishing,
    servers,
    tokens,
)
from metaserver.operations.caller import Caller
from metaserver.operations.challenge_pages import ChallengeEdit
from metaserver.operations.challenges import NewChallenge
from metaserver.operations.conformance import ServerTest
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OnePhase
from metaserver.operations.jobs import JobQuery
from metaserver.operations.jobs import get as get_job
from metaserver.operations.publishing import NewPublication
from metaserver.operations.servers import Consent
from metaserver.operations.table import ask
from metaserver.operations.tokens import NewToken
from metaserver.phases.archiver import BoardArchiver
from metaserver.phases.jobs import MOST_AT_WORK
from metaserver.phases.live import LiveBoards
from metaserver.phases.runtime import RunningPhase
from metaserver.publication.pages import PAGES
from metaserver.uniprot import build_release
from metaserver.web.public.open_pages import make_pages_app
from metaserver.web.server import serve_app
from scoring.bacteria_biotope import SubTask
from scoring.samples import write_samples as write_evaluations

# -- the last act of the demo: its servers agree to serve curators, and one asks them all ----------

ORGANISER = Caller(role=Role.ORGANISER, name="demo")
ARTICLE = """SHC1 links the EGF receptor to GRB2 in living cells
EGFR is phosphorylated when it binds its ligand. We asked which adapters it recruits.
SHC1 co-immunoprecipitated with EGFR from A431 cells, and GRB2 was pulled down together with SHC1.
We conclude that EGFR interacts with SHC1, which binds GRB2; MDM2 did not bind any of them.
"""
"""An article outside any phase, with proteins that the demo's servers know."""
WAIT = 30.0


async def ask_as_curator(hub: HubContext, servers: Sequence[Server]) -> RequestDetail:
    """Test the servers, let them serve curators, and return their answers to a curator.

    The hub is at work meanwhile, but none of its lanes.
    """
    places = asyncio.Semaphore(MOST_AT_WORK)
    await asyncio.gather(*(_agree(hub, server, places) for server in servers))
    issued = await ask(hub, ORGANISER, tokens.create, NewToken(role=Role.CURATOR, label="demo"))
    curator = Caller(role=Role.CURATOR, token_id=issued.id, name="curator demo")
    request = NewRequest(text=ARTICLE, title="An article of no phase", wait=WAIT)
    detail = await ask(hub, curator, requests.ask, request)
    while not detail.settled:
        query = RequestQuery(request=detail.request, since=detail.version, wait=WAIT)
        detail = await ask(hub, curator, requests.get, query)
    return detail


async def _agree(hub: HubContext, server: Server, places: asyncio.Semaphore) -> None:
    """Test a server, which must pass, and agree on its behalf."""
    async with places:
        job = await ask(hub, ORGANISER, conformance.test, ServerTest(server=server.name))
        while job.ended_at is None:
            job = await ask(hub, ORGANISER, get_job, JobQuery(job=job.job, wait=WAIT))
    await ask(hub, ORGANISER, servers.serve_curators, Consent(server=server.name, serve=True))


def print_request(console: Console, request: RequestDetail) -> None:
    """Print a request as `metaserver consensus ask` does."""
    say(console, "\na curator asks all servers about an article that is in no phase:\n")
    console.print(view(msgspec.to_builtins(request)))


# -- the end of the demo: its results are published ------------------------------------------------


async def publish(hub: HubContext, running: RunningPhase) -> None:
    """Freeze the phase, and publish its results with an announcement."""
    phase = OnePhase(phase=running.name)
    await ask(hub, ORGANISER, phases.freeze, phase)
    await hub.part(BoardArchiver).look(running)
    plan = await ask(hub, ORGANISER, publishing.plan, phase)
    said = NewPublication(phase=plan.phase, title=plan.title, text=plan.text)
    await ask(hub, ORGANISER, publishing.publish, said)


# -- the annotation servers of the demo: the kit's baselines, each a process -----------------------

START_SECONDS = 60.0
STOP_SECONDS = 5.0


class DemoServer:
    """A kit server, on a port that it keeps across restarts."""

    def __init__(self, name: str, options: Sequence[str]) -> None:
        self.name = ServerName(name)
        self._options = options
        self._port = "0"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def server(self) -> Server:
        """The server as it is registered."""
        return Server(name=self.name, url=f"http://127.0.0.1:{self._port}/")

    async def start(self) -> None:
        """Start it and wait until it listens; raises `HubError` if it does not."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "annotators", "serve", self.name, "--port", self._port,
            *self._options,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the hub, which stops its servers itself
        )  # fmt: skip
        assert self._process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = (await self._process.stdout.readline()).decode().strip()
        if not line.startswith("listening on "):
            reason = line or "no word from it"
            raise HubError(f"the demo's server {self.name} did not start: {reason}")
        self._port = line.rstrip("/").rpartition(":")[2]

    async def stop(self) -> None:
        """End it, at once if it takes long; nothing happens if it does not run."""
        if self._process is not None:
            await end_process(self._process, STOP_SECONDS)


@asynccontextmanager
async def demo_server(name: str, options: Sequence[str]) -> AsyncIterator[DemoServer]:
    """Run a server while the context lasts."""
    server = DemoServer(name, options)
    try:
        await server.start()
        yield server
    finally:
        await server.stop()


# -- the story of the demo -------------------------------------------------------------------------

LOOK_SECONDS = 0.2
AWAY_SECONDS = 1.0
"""Time that the server stays away after the hub has noticed."""
BEFORE = 6
"""Articles that it answers before it is stopped."""
PLACED = 5
"""From how many articles on a run's place is worth a line."""

NEXT = """
next:
  organise:   metaserver rehearse --out rehearsal   a week's challenge in minutes, simulated teams
  take part:  annotators new my-server              a server to start from, in eight languages
  run a hub:  metaserver serve                      the service; its pages explain it at /docs
"""
"""Commands that a newcomer may try next."""


@asynccontextmanager
async def story(boards: LiveBoards, fails: DemoServer, console: Console) -> AsyncIterator[None]:
    """Stop a server in the middle and start it again while the context lasts; say what changes."""
    tasks = [
        asyncio.create_task(_fail(boards, fails, console), name="failing server"),
        asyncio.create_task(_narrate(boards, console), name="story"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)


async def _fail(boards: LiveBoards, server: DemoServer, console: Console) -> None:
    await _until(boards, server.name, lambda status: status.done >= BEFORE)
    say(console, f"{server.name} crashes after {BEFORE} articles (the demo stops it)")
    await server.stop()
    try:
        await _until(boards, server.name, lambda status: status.state is ServerState.DOWN)
        await asyncio.sleep(AWAY_SECONDS)
    finally:
        await server.start()


async def _until(
    boards: LiveBoards, name: ServerName, reached: Callable[[ServerStatus], bool]
) -> None:
    while True:
        if reached(next(status for status in boards.monitor().servers if status.name == name)):
            return
        await asyncio.sleep(LOOK_SECONDS)


async def _narrate(boards: LiveBoards, console: Console) -> None:
    states: dict[ServerName, ServerState] = {}
    leaders: dict[str, str] = {}
    while True:
        for status in boards.monitor().servers:
            before, states[status.name] = states.get(status.name), status.state
            if status.state is ServerState.DOWN and before is not ServerState.DOWN:
                say(console, f"{status.name} is down: its articles wait, and the hub probes it")
            elif before is ServerState.DOWN and status.state is not before:
                say(console, f"{status.name} is back, and gets the rest of its articles")
        for task in boards.tasks():
            first = [row for row in boards.board(task.name).rows if row.place == 1]
            if len(first) != 1 or first[0].articles_scored < PLACED:
                continue
            if leaders.get(task.name) != first[0].run:
                leaders[task.name] = first[0].run
                say(console, f"{first[0].run} leads {task.name}")
        await asyncio.sleep(LOOK_SECONDS)


# -- the demo's articles, gold and protein names as files, for a first challenge of one's own ------

NAMES_FILE = "uniprot_names.tsv"


def write_samples(out: Path) -> list[str]:
    """Write them into a new or empty folder; return what is in it."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("--samples", f"{out} is there; expected a new or empty folder")
    make_folder(out)
    with as_file(files("metaserver.cli.demo_data")) as data:
        texts = shutil.copytree(data / "articles", out / "articles")
        for gold in data.glob("gold_*.tsv"):
            shutil.copyfile(gold, out / gold.name)
    with ZipFile(out / "articles.zip", "w") as packed:
        for text in sorted(texts.glob("*.txt")):
            packed.write(text, text.name)
    with as_file(files("annotators") / "data" / NAMES_FILE) as names:
        shutil.copyfile(names, out / NAMES_FILE)
    _write_offline(out / "offline")
    return sorted(path.name for path in out.iterdir())


def _write_offline(out: Path) -> None:
    """Write a gold and a run of each offline task, as a hub takes them."""
    make_folder(out)
    with tempfile.TemporaryDirectory(prefix="metaserver-samples-") as folder:
        data = Path(folder)
        write_evaluations(data)
        for subtask, side in product(SubTask, ("gold", "run")):
            with ZipFile(out / f"BB-{subtask}_{side}.zip", "w") as packed:
                for path in sorted((data / "bb" / subtask / side).iterdir()):
                    packed.write(path, path.name)
                if side == "gold":
                    packed.write(data / "bb" / "ontology.tsv", "ontology.tsv")
        shutil.copyfile(data / "ner" / "gold.xml", out / "DDI-NER_gold.xml")
        shutil.copyfile(data / "ner" / "first.tsv", out / "DDI-NER_run.tsv")
        shutil.copyfile(data / "ppi3d" / "gold.tsv", out / "PPI-3D_gold.tsv")
        shutil.copyfile(data / "ppi3d" / "first_pairs.tsv", out / "PPI-3D_run.tsv")


# -- `metaserver demo`: a small challenge on this machine, its annotation servers as processes -----

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
    """The challenge's title and texts (files), its tasks, and the servers with their options."""

    title: str
    about: str
    evaluation: str
    tasks: Sequence[str]
    servers: Mapping[str, Sequence[str]]


INTERACTIONS = DemoChallenge(
    title="Demo: protein interactions",
    about="about.md",
    evaluation="evaluation.md",
    tasks=("ACT", "INT", "IPT"),
    servers={"dictionary": (), "cooccurrence": (), "act": (), "slow": DELAY, "faulty": ()},
)
NAMES = DemoChallenge(
    title="Demo: names of proteins",
    about="about_ner.md",
    evaluation="evaluation_ner.md",
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
            name=PHASE,
            servers=servers,
            gold=read_gold(gold, release),
            release=release,
            visibility=Visibility.PUBLIC,
        )
        articles = read_articles([data / "articles"])
        opened = open_phase(phase, articles, settings, settings.address_guard())
        hub, running = await stack.enter_async_context(opened)
        await _write_page(hub, challenge, data)
        pages = serve_app(make_pages_app(hub, [PAGES]), settings.web)
        address = await stack.enter_async_context(pages)
        console.print(f"{len(running.corpus)} articles; watch it live at [bold]{address}[/]\n")
        details: list[RequestDetail] = []

        async def end() -> None:
            await publish(hub, running)
            if challenge is INTERACTIONS:
                details.append(await ask_as_curator(hub, servers))

        async with shown(running.boards, console), story(running.boards, fails, console):
            await work_to_end(hub, running, end)
        boards = await write_results(hub, running)
        print_summary(console, running.boards.tasks(), boards, running.boards.monitor())
        if not Path(settings.folder).is_relative_to(scratch):
            say(console, f"\nresults are in {settings.folder}")
        if package is not None:
            await leave_package(hub, running, package)
            say(console, f"\na results package is in {package}: open {package / 'report.html'}")
        for detail in details:
            print_request(console, detail)
        say(console, NEXT)
        if stay:
            console.print(
                f"\nthe pages stay up until Ctrl-C; results: [bold]{address}results/{PHASE}[/]"
            )
            await work(hub, notices=False)
    return 0


async def _write_page(hub: HubContext, challenge: DemoChallenge, data: Path) -> None:
    """Say on the challenge's page what the demo is, and what there is to see."""
    named = NewChallenge(challenge=PHASE, title=challenge.title)
    await ask(hub, ORGANISER, challenges.set_challenge, named)
    texts = ChallengeEdit(
        challenge=PHASE,
        description=(data / challenge.about).read_text("utf-8"),
        evaluation=(data / challenge.evaluation).read_text("utf-8"),
    )
    await ask(hub, ORGANISER, challenge_pages.edit, texts)
