"""`metaserver probe URL`: the conformance run, from this machine, before a server is registered."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from metaserver.base.conformance import Conformance, ConformanceStep, Terms
from metaserver.base.errors import InputError
from metaserver.base.plans import Count, Seconds
from metaserver.base.records import (
    LEAST_SECRET,
    NO_ACCESS,
    Access,
    AuthKind,
    Server,
    ServerName,
    TaskName,
)
from metaserver.base.states import Outcome
from metaserver.cli.arguments import SERVER_VARIABLE
from metaserver.cli.remote.client import AnsweredError, RemoteHub, read_url
from metaserver.config import Settings
from metaserver.exchange.conformance.procedure import ARTICLES, conformance
from metaserver.exchange.http.client import HttpLimits, open_client
from metaserver.exchange.http.credentials import Keyring
from metaserver.exchange.http.urls import check_url
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.tasks.plugin import AnsweredTask, answered_tasks
from metaserver.uniprot import FormatVocabulary, Release, ReleaseVocabulary

PASSED, FAILED = 0, 1  # exit statuses
_METHOD = re.compile(r"[A-Za-z0-9_.:/]+")  # what the specification of XML-RPC allows
_NAME_WIDTH = max(len(article.name) for article in ARTICLES)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    phase = _ask_phase(args.hub, args.phase) if args.phase is not None else None
    keyring = Keyring()
    server, settings = _read_server(args, keyring), _read_settings(args, phase)
    release = Release.open(args.uniprot) if args.uniprot else None
    vocabulary = ReleaseVocabulary(release=release) if release else FormatVocabulary()
    tasks_installed = answered_tasks()
    tasks = (
        [tasks_installed[TaskName(name)] for name in phase.tasks]
        if phase
        else list(tasks_installed.values())
    )
    conditions = ProbeConditions(
        terms=Terms(
            phase=phase.phase if phase else "",
            tasks=tuple(
                task.name for task in tasks if not server.tasks or task.name in server.tasks
            ),
            release=release.name if release else "",
            timeout=settings.limits.timeout,
            answer_bytes=settings.limits.answer_bytes,
        ),
        tasks=tasks,
        vocabulary=vocabulary,
        limits=settings.http_limits(),
        keyring=keyring,
    )
    if phase and phase.release not in _names(args.uniprot, release):
        message = f"the hub checks accessions by release {phase.release}: --uniprot gives it"
        print(_printable(message), file=sys.stderr)
    report = asyncio.run(_probe(server, conditions, as_json=args.json))
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(report)).decode())
    return PASSED if report.passed else FAILED


def _names(folder: Path | None, release: Release | None) -> set[str]:
    """Return what a release may be called: a hub knows it by its folder."""
    return {folder.resolve().name, release.name} if folder and release else set()


class AskedPhase(msgspec.Struct, frozen=True):
    """A phase as a hub describes it, as far as a test depends on it."""

    phase: str
    tasks: tuple[str, ...]
    release: str
    timeout: Seconds
    answer_bytes: Count


def _ask_phase(hub: str, name: str) -> AskedPhase:
    """Ask a hub for a phase; `InputError` if it has none, or its tasks are not installed here."""
    try:
        path = "/phases/{phase}"
        answer = RemoteHub(url=read_url(hub)).ask("GET", path, places={"phase": name})
        phase = msgspec.convert(answer, AskedPhase)
    except (AnsweredError, msgspec.ValidationError) as error:
        raise InputError("--phase", str(error)) from error
    for task in phase.tasks:
        if task not in answered_tasks():
            raise InputError("--phase", f"its task {task!r} is not installed here")
    return phase


def _read_server(args: argparse.Namespace, keyring: Keyring) -> Server:
    server = Server(
        name=ServerName("probed"),
        url=check_url(args.url, "URL"),
        method=_read_method(args.method),
        parameters=args.parameters,
        tasks=_read_tasks(args.tasks),
        concurrency=args.concurrency,
        protocol=args.protocol,
        options="\n".join(args.options),
        access=_read_access(args, keyring),
    )
    if server.protocol not in installed_protocols():
        names = ", ".join(installed_protocols())
        raise InputError("--protocol", f"{server.protocol!r} is none of {names}")
    protocol = installed_protocols()[server.protocol]
    if protocol.calls_back:
        message = f"{protocol.title} servers call the hub back: register it there, and test it"
        raise InputError("--protocol", message)
    try:
        protocol.check(server)
    except ValueError as error:
        raise InputError("--options", str(error)) from error
    return server


def _read_access(args: argparse.Namespace, keyring: Keyring) -> Access:
    """Return the credentials, whose secret is in the environment: others see a command line."""
    kind = AuthKind(args.auth)
    if kind is AuthKind.NONE:
        return NO_ACCESS
    secret = os.environ.get(SERVER_VARIABLE, "")
    if not secret.isprintable():
        raise InputError(SERVER_VARIABLE, "has a character that cannot be sent")
    if len(secret) < LEAST_SECRET:
        raise InputError(SERVER_VARIABLE, f"has no secret of {LEAST_SECRET} characters at least")
    if not args.auth_name and kind is not AuthKind.BEARER:
        raise InputError("--auth-name", f"is required with {kind}")
    return Access(auth=kind, name=args.auth_name, sealed=keyring.seal(secret))


def _read_method(name: str) -> str:
    if not _METHOD.fullmatch(name):
        raise InputError("--method", f"{name!r}; expected letters, digits and '_', '.', ':', '/'")
    return name


def _read_tasks(option: str | None) -> tuple[TaskName, ...]:
    if option is None:
        return ()
    names = tuple(TaskName(name.strip()) for name in option.split(","))
    for name in names:
        if name not in answered_tasks():
            raise InputError("--tasks", f"{name!r} is none of {', '.join(answered_tasks())}")
    return names


def _read_settings(args: argparse.Namespace, phase: AskedPhase | None) -> Settings:
    """Return the settings for a hub with these limits, else the phase's."""
    limits: dict[str, float] = {"concurrency": args.concurrency}
    for name in ("timeout", "answer_bytes"):
        value = getattr(args, name)
        if value is None and phase is not None:
            value = getattr(phase, name)
        if value is not None:
            limits[name] = value
    values = {"limits": limits}
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise InputError("options", str(error)) from error


@dataclass(frozen=True, kw_only=True)
class ProbeConditions:
    """A test's terms, ready for use."""

    terms: Terms
    tasks: Sequence[AnsweredTask]
    vocabulary: Vocabulary
    limits: HttpLimits
    keyring: Keyring


async def _probe(server: Server, conditions: ProbeConditions, *, as_json: bool) -> Conformance:
    def say(line: str) -> None:
        print(_printable(line), file=sys.stderr if as_json else sys.stdout, flush=True)

    def show(step: ConformanceStep) -> None:
        for line in _lines(step):
            say(line)

    say(conditions.terms.words())
    async with open_client(conditions.limits, keyring=conditions.keyring) as client:
        report = await conformance(
            client,
            server,
            conditions.tasks,
            conditions.vocabulary,
            time_limit=conditions.terms.timeout,
            on_step=show,
        )
    if not as_json:
        print("passed" if report.passed else "failed: the hub would send it no article")
    return msgspec.structs.replace(report, terms=conditions.terms)


def _lines(step: ConformanceStep) -> Iterator[str]:
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
    """Return a server's line without terminal commands."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
