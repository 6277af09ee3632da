"""`metaserver rehearse`: a whole challenge against simulated teams, in minutes instead of days."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import msgspec
import yaml

from metaserver.base import files as private
from metaserver.base.errors import InputError
from metaserver.base.files import FOLDER_MODE
from metaserver.base.states import Visibility
from metaserver.base.zones import read_moment
from metaserver.cli import package
from metaserver.cli.console import make_console, say
from metaserver.cli.process import run_to_end
from metaserver.cli.rehearsal.course import (
    Check,
    Course,
    HubProcess,
    Restart,
    Summary,
    first_places,
    judge,
    read_stored,
    simulated_servers,
)
from metaserver.cli.rehearsal.plan import (
    TASKS,
    Literature,
    PlannedServer,
    draw,
    draw_servers,
    read_proteins,
    scaled,
)
from metaserver.config import (
    ChallengeSettings,
    PhaseSettings,
    Settings,
    WebSettings,
    read_settings,
)
from metaserver.uniprot import build_release
from metaserver.web.server import require_free

# -- the settings of a rehearsal: the organiser's, or the defaults, in the rehearsal's time --------

NAME = "rehearsal"
LEAST_CONNECT = 1.0  # seconds: to connect takes no less in a rehearsal
NO_BOUND = 1_000_000  # requests a minute: all teams act from one address
TIMES: Mapping[str, tuple[str, ...]] = {
    "limits": ("timeout", "connect"),
    "retry": ("base", "cap"),
    "circuit": ("probe_base", "probe_cap", "patience", "health"),
    "notices": ("batch", "alerts"),
}
"""The settings in seconds that pass `speed` times as fast."""


@dataclass(frozen=True, kw_only=True)
class RehearsalTerms:
    """The challenge and phase that are rehearsed, as the organiser planned them.

    `length` is the time from its opening to its freeze in seconds, None without these dates.
    """

    settings: Settings
    challenge: ChallengeSettings
    phase: PhaseSettings
    tasks: Sequence[str]
    length: float | None


def read_terms(settings: Settings, source: str) -> RehearsalTerms:
    """Return what is rehearsed: the first test phase of the settings, else the first phase.

    Settings without a phase rehearse a public phase with ACT, INT and IPT.
    """
    planned = [
        (challenge, phase) for challenge in settings.challenges for phase in challenge.phases
    ]
    planned.sort(key=lambda pair: pair[1].kind != "test")
    if not planned:
        phase = PhaseSettings(phase=NAME, release=NAME, visibility=Visibility.PUBLIC)
        planned = [(ChallengeSettings(challenge=NAME, title="A rehearsal"), phase)]
    challenge, phase = planned[0]
    tasks = [task for task in TASKS if task in phase.tasks or not phase.tasks]
    if not tasks:
        names = ", ".join(TASKS)
        raise InputError(source, f"phase {phase.phase} has none of the tasks {names}: no scores")
    length = _length(phase, challenge.timezone, source)
    return RehearsalTerms(
        settings=settings, challenge=challenge, phase=phase, tasks=tasks, length=length
    )


def _length(phase: PhaseSettings, zone: str, source: str) -> float | None:
    if phase.opens is None or phase.freezes is None:
        return None
    try:
        opens, freezes = (read_moment(text, zone) for text in (phase.opens, phase.freezes))
    except ValueError as error:
        raise InputError(source, f"phase {phase.phase}: {error}") from error
    length = (freezes - opens).total_seconds()
    if length <= 0:
        raise InputError(source, f"phase {phase.phase} freezes before it opens")
    return length


def rehearsed(
    terms: RehearsalTerms,
    folder: Path,
    *,
    gold: Mapping[str, Path],
    speed: float,
    port: int,
    a_team: int,
) -> Settings:
    """Return the settings of the rehearsal's hub, all times divided by `speed`.

    Articles, gold and release are those in the folder; servers and their teams are local.
    """
    values: dict[str, Any] = msgspec.to_builtins(terms.settings)
    for section, names in TIMES.items():
        for name in names:
            values[section][name] /= speed
    values["limits"]["connect"] = max(values["limits"]["connect"], LEAST_CONNECT)
    values |= {"folder": str(folder / "hub"), "store": "", "store_file": ""}
    values["uniprot"]["releases"] = str(folder / "releases")
    values["security"] = {"allow_networks": ["127.0.0.0/8"]}
    values["logs"] = {"level": "warning"}
    values["web"] |= {
        "host": "127.0.0.1",
        "port": port,
        "secure_cookies": False,
        "requests_a_minute": NO_BOUND,
        "anonymous_requests_a_minute": NO_BOUND,
    }
    phase: dict[str, Any] = msgspec.to_builtins(terms.phase)
    phase |= {
        "articles": [str(folder / "articles")],
        "corpus": "",
        "gold": {task: str(gold[task]) for task in terms.tasks},
        "release": NAME,
        "tasks": list(terms.tasks),
        "opens": None,
        "freezes": None,
        "closes": None,
    }
    limits = phase["limits"]
    if limits["timeout"] is not None:
        limits["timeout"] /= speed
    limits["servers"] = max(limits["servers"], a_team)
    challenge = msgspec.to_builtins(terms.challenge) | {"phases": [phase]}
    return msgspec.convert(values | {"challenges": [challenge]}, Settings)


# -- `metaserver rehearse` -------------------------------------------------------------------------

HOLDS, FAILED = 0, 1  # exit statuses
SETTINGS, SUMMARY, RESULTS, LOG = "config.yaml", "summary.json", "results", "hub.log"
BOUNDS = {"teams": 1_000, "servers": 1_000, "articles": 100_000, "speed": 10_000}


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    for name, limit in BOUNDS.items():
        if not 1 <= getattr(args, name) <= limit:
            raise InputError(f"--{name}", f"{getattr(args, name):g}; expected 1 to {limit:,}")
    if args.teams > args.servers:
        raise InputError("--teams", f"{args.teams} teams with {args.servers} servers: one has none")
    out: Path = args.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("--out", f"{out} is there already; expected a new or empty folder")
    settings = read_settings(args.config) if args.config else Settings()
    terms = read_terms(settings, str(args.config or "--config"))
    out.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if args.keep:
        return run_to_end(Rehearsal(args, terms, out.absolute()).run())
    with tempfile.TemporaryDirectory(prefix="metaserver-rehearsal-") as scratch:
        return run_to_end(Rehearsal(args, terms, Path(scratch)).run())


class Rehearsal:
    """A rehearsal; hub, articles and logs are in `folder`, its results in `--out`."""

    def __init__(self, args: argparse.Namespace, terms: RehearsalTerms, folder: Path) -> None:
        self._args = args
        self._terms = terms
        self._folder = folder
        self._console = make_console()
        self._begun = time.monotonic()

    async def run(self) -> int:
        """Play it; return the exit status."""
        args = self._args
        await require_free(WebSettings(port=args.port))
        self._say(f"drawing {args.articles} articles and {args.servers} servers (seed {args.seed})")
        servers = await asyncio.to_thread(self._prepare)
        plan, log = self._folder / "plan.json", self._folder / LOG
        process = HubProcess(self._folder / SETTINGS, log)
        async with simulated_servers(plan, log) as addresses:
            try:
                await process.start()
                self._write_settings(int(process.address.rstrip("/").rpartition(":")[2]))
                status = await self._play(process, servers, dict(addresses))
                if not args.exit:
                    self._say(f"the pages stay up until Ctrl-C: {process.address}")
                    with suppress(asyncio.CancelledError):
                        await process.ended()
                return status
            finally:
                await process.stop()

    async def _play(
        self, process: HubProcess, servers: Sequence[PlannedServer], addresses: dict[str, str]
    ) -> int:
        token = await process.new_token()
        self._say(f"watch it live at {process.address}")
        self._say(f"sign in at {process.address}signin with the token {token}")
        course = Course(process, token, self._terms.phase.phase, self._args.speed)
        await course.enrol(servers, addresses)
        self._say(f"{len(servers)} servers are tested; the phase opens")
        await course.open(servers, self._terms.length)
        restart, end = await course.play(self._folder / "hub", self._say)
        return await self._end(course, process, token, restart, cut_off=end.cut_off)

    async def _end(
        self, course: Course, process: HubProcess, token: str, restart: Restart, *, cut_off: bool
    ) -> int:
        args, ended_at = self._args, course.now
        boards = await course.freeze(self._terms.tasks)
        stored = await read_stored(self._folder / "hub")
        checks = [
            *judge(stored, restart, servers=args.servers, cut_off=cut_off),
            await self._package(process, course.phase, token),
        ]
        summary = Summary(
            seed=args.seed,
            speed=args.speed,
            teams=args.teams,
            servers=args.servers,
            articles=stored.articles,
            seconds=ended_at,
            real_seconds=time.monotonic() - self._begun,
            attempts=stored.attempts,
            answered=len(stored.answers),
            given_up=len(stored.ended - stored.answers.keys()),
            without_end=stored.missing(args.servers),
            faults=stored.faults,
            restarted_at=restart.at,
            answered_before_restart=len(restart.before.answers),
            restart_real_seconds=restart.away,
            first=first_places(boards),
            checks=checks,
        )
        document = msgspec.json.format(msgspec.json.encode(summary))
        await asyncio.to_thread((args.out / SUMMARY).write_bytes, document + b"\n")
        self._say("")
        for line in summary.lines():
            self._say(line)
        self._say(f"results are in {args.out}")
        return HOLDS if all(check.holds for check in checks) else FAILED

    async def _package(self, process: HubProcess, phase: str, token: str) -> Check:
        """Fetch the results package: the hub makes it if the answers, scored again, agree."""
        secret = self._folder / "token"
        await asyncio.to_thread(_write, secret, token)
        order = argparse.Namespace(
            phase=phase, out=self._args.out / RESULTS, gold=True, license="", author=[],
            hub=process.address, token_file=secret,
        )  # fmt: skip
        try:
            status = await asyncio.to_thread(package.main, order)
        finally:
            secret.unlink()
        outcome = "the results package was made" if status == 0 else "no results package"
        return Check(
            name="the boards equal the answers scored again", holds=status == 0, found=outcome
        )

    def _prepare(self) -> Sequence[PlannedServer]:
        """Draw everything, and write what hub and servers read; return the servers."""
        args, folder = self._args, self._folder
        with as_file(files("annotators") / "data" / "uniprot_names.tsv") as names:
            literature = draw(args.articles, read_proteins(names), args.seed)
            build_release([names], name=NAME, out=folder / "releases" / NAME)
        self._write_literature(literature)
        drawn = draw_servers(
            literature,
            teams=args.teams,
            servers=args.servers,
            tasks=self._terms.tasks,
            seed=args.seed,
        )
        limit = self._terms.phase.limits.concurrency
        servers = [scaled(server, args.speed, limit) for server in drawn]
        (folder / "plan.json").write_bytes(msgspec.json.encode(servers))
        self._write_settings(args.port)
        return servers

    def _write_literature(self, literature: Literature) -> None:
        (self._folder / "articles").mkdir()
        for article, text in literature.texts.items():
            (self._folder / "articles" / f"{article}.txt").write_text(text, "utf-8")
        for task, text in literature.gold_files().items():
            (self._folder / f"gold_{task.lower()}.tsv").write_text(text, "utf-8")

    def _write_settings(self, port: int) -> None:
        gold = {task: self._folder / f"gold_{task.lower()}.tsv" for task in self._terms.tasks}
        settings = rehearsed(
            self._terms,
            self._folder,
            gold=gold,
            speed=self._args.speed,
            port=port,
            a_team=-(-self._args.servers // self._args.teams),
        )
        document = yaml.safe_dump(msgspec.to_builtins(settings), sort_keys=False)
        place = self._folder / SETTINGS
        place.unlink(missing_ok=True)
        _write(place, document)

    def _say(self, text: str) -> None:
        say(self._console, text)


def _write(path: Path, text: str) -> None:
    with private.create(path) as file:
        file.write(text.encode())
