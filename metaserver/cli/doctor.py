"""`metaserver doctor`: checks a configuration and says what is wrong and where, changing nothing.

With `--deep` it scores the stored answers again and compares them with the checkpoints.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import socket
import stat
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from metaserver.base import files
from metaserver.base.errors import InputError, counted
from metaserver.base.plans import DATES
from metaserver.base.records import ArticleId, TaskName
from metaserver.base.zones import known_zone, read_moment
from metaserver.cli.findings import OTHERS, Finding, FindingSeverity, examine_store
from metaserver.cli.folder import hub_settings
from metaserver.config import (
    ChallengeSettings,
    NoticeSettings,
    PhaseSettings,
    Settings,
)
from metaserver.corpus import read_articles
from metaserver.exchange.http.client import trusted
from metaserver.exchange.http.credentials import Keyring, read_key
from metaserver.exchange.protocols.installed import installed_protocols
from metaserver.operations.planning import takes_uploads_only
from metaserver.operations.rounded import warning
from metaserver.phases.mail import smtp_context
from metaserver.phases.verification import verify
from metaserver.store import logs
from metaserver.store.copies import called_back, faults, keys_elsewhere, sealed_secrets
from metaserver.store.place import STORE_FILE, StorePlace
from metaserver.store.reader import open_reader
from metaserver.store.store import open_store
from metaserver.tasks.plugin import LabelledTask, OfflineTask, installed_tasks
from metaserver.uniprot import Release

ROOM = 2**30  # bytes free that a hub should have to begin with
ANSWER_SECONDS = 2.0
ALIVE = b'{"status": "ok"}'  # at `/healthz`
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
FOUND, FINE = 1, 0  # exit statuses


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    if args.repair and not args.deep:
        raise InputError("--repair", "is for --deep")
    if args.deep:
        return asyncio.run(_deep(hub_settings(args.config), repair=args.repair))
    findings = list(examine(hub_settings(args.config)))
    for finding in findings:
        print(finding)
    bad = sum(finding.severity is FindingSeverity.ERROR for finding in findings)
    source = args.config or "the default configuration"
    print(f"{bad} errors in {source}" if bad else f"{source} is fit to serve")
    return FOUND if bad else FINE


async def _deep(settings: Settings, *, repair: bool) -> int:
    """Compare the checkpoints with the stored answers, and delete those that differ on request."""
    place_of_store = settings.place()
    checked, covered, differing = 0, 0, []
    if isinstance(place_of_store, Path) and place_of_store.is_file():
        found = await asyncio.to_thread(faults, place_of_store, deep=True)
        for fault in found:
            print(Finding(FindingSeverity.ERROR, "folder", f"{place_of_store}: {fault}"))
        if found:
            print("to repair: stop the hub, and restore its last backup (docs/operating.md)")
            return FOUND
    async with open_reader(place_of_store) as reader:
        async for lane in verify(reader, settings, time.time()):
            checked, covered = checked + 1, covered + lane.covered.serial
            place = f"phase {lane.phase}, {lane.server}"
            if lane.unused:
                print(Finding(FindingSeverity.WARNING, place, f"not used: {lane.unused}"))
            for difference in lane.differences:
                print(Finding(FindingSeverity.ERROR, place, f"{difference} differs"))
            if lane.differences:
                differing.append(lane.key)
    print(f"{checked:,} checkpoints of {covered:,} attempts, {len(differing)} differ from the log")
    if not differing:
        return FINE
    if not repair:
        print("to repair: stop the hub, and run metaserver doctor --deep --repair")
        return FOUND
    async with open_store(place_of_store) as store, store.writing() as connection:
        await logs.delete_checkpoints(connection, differing)
    print("they are deleted: the hub scores the answers again when it is started")
    return FINE


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield the findings, in the order of the settings."""
    yield from _folder(Path(settings.folder))
    yield from examine_store(settings)
    yield from _files()
    yield from _web(settings)
    yield from _mail(settings.notices)
    yield from _credentials(settings)
    yield from _callbacks(settings)
    yield from _releases(settings)
    for place, challenge in enumerate(settings.challenges):
        yield from _challenge(settings, challenge, f"challenges[{place}]")


def _folder(folder: Path) -> Iterator[Finding]:
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        yield Finding(FindingSeverity.ERROR, "folder", f"{there} is not a folder")
        return
    free = shutil.disk_usage(there).free
    severity = FindingSeverity.OK if free >= ROOM else FindingSeverity.WARNING
    yield Finding(severity, "folder", f"{folder}: {free / 2**30:.1f} GiB free")


def _files() -> Iterator[Finding]:
    limits = files.possible()
    if shortage := limits.shortage():
        yield Finding(FindingSeverity.WARNING, "system", shortage)
    else:
        allowed = "unboundedly many" if limits.allowed is None else limits.allowed
        message = f"{allowed} open files allowed; {files.ENOUGH} are enough"
        yield Finding(FindingSeverity.OK, "system", message)


def _web(settings: Settings) -> Iterator[Finding]:
    web = settings.web
    place = f"web: {web.host}:{web.port}"
    try:
        with socket.create_server((web.host, web.port), reuse_port=False):
            yield Finding(FindingSeverity.OK, place, "free")
    except OSError as error:
        if _answers(web.host, web.port):
            yield Finding(FindingSeverity.OK, place, "a hub is at work there")
        else:
            message = f"cannot be served at: {error.strerror or error}"
            yield Finding(FindingSeverity.ERROR, place, message)
    if web.host not in LOOPBACK:
        message = "reachable from other machines by http: tokens would travel in the clear;"
        yield Finding(
            FindingSeverity.WARNING,
            "web.host",
            f"{message} keep it on 127.0.0.1 behind a TLS proxy",
        )
    elif not web.secure_cookies and web.trusted_proxies:
        yield Finding(
            FindingSeverity.WARNING,
            "web.secure_cookies",
            "off behind a proxy: cookies may go by http",
        )
    for network in settings.security.allow_networks:
        message = f"articles may be sent to {network}, and so to what else listens there"
        yield Finding(FindingSeverity.WARNING, "security.allow_networks", message)


def _answers(host: str, port: int) -> bool:
    """Return whether a hub answers at an address."""
    client = HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    try:
        client.request("GET", "/healthz")
        return client.getresponse().read(len(ALIVE) + 1) == ALIVE
    except (OSError, HTTPException):
        return False
    finally:
        client.close()


def _mail(notices: NoticeSettings) -> Iterator[Finding]:
    if not notices.smtp_host:
        return
    if not notices.smtp_starttls and notices.smtp_host not in LOOPBACK:
        message = "mail, and the password of smtp_user, go through the network in plain text"
        yield Finding(FindingSeverity.WARNING, "notices.smtp_starttls", message)
    try:
        smtp_context(notices)
    except OSError as error:
        message = f"{notices.smtp_ca}: not certificates in PEM: {error.strerror or error}"
        yield Finding(FindingSeverity.ERROR, "notices.smtp_ca", message)


def _credentials(settings: Settings) -> Iterator[Finding]:
    """Yield findings on the key for server credentials, and on further certificates."""
    path, place = settings.key_file(), "security.key_file"
    sealed = sealed_secrets(_store(settings))
    digest = Keyring(path).digest()
    others = sorted(host for host, key in keys_elsewhere(_store(settings)).items() if key != digest)
    try:
        key = read_key(path)
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        if sealed:
            message = f"{path} is missing: {_remedy(others, sealed)}"
            yield Finding(FindingSeverity.ERROR, place, message)
        else:
            yield Finding(FindingSeverity.OK, place, f"{path}: made with the first secret")
    except (OSError, InputError) as error:
        yield Finding(FindingSeverity.ERROR, place, f"cannot be read: {error}")
    else:
        if mode & OTHERS:
            message = f"{path}: others may open it (mode {mode:04o}): chmod 600"
            yield Finding(FindingSeverity.ERROR, place, message)
        lost = [name for name, secret in sealed.items() if not _opens(key, secret)]
        if lost:
            message = f"another key than {path} sealed: {_remedy(others, lost)}"
            yield Finding(FindingSeverity.ERROR, place, message)
        elif not mode & OTHERS:
            servers = counted(len(sealed), "server")
            message = f"{path} opens the credentials of {servers}; no backup has it"
            yield Finding(FindingSeverity.OK, place, message)
    try:
        trusted(settings.ca_file())
    except InputError as error:
        yield Finding(FindingSeverity.ERROR, error.place, error.message)


def _remedy(others: Sequence[str], servers: Iterable[str]) -> str:
    """Return what to do about a key that does not open some servers' credentials."""
    if others:
        return f"copy it from {', '.join(others)}, whose key is another"
    return f"enter the credentials of {', '.join(servers)} again"


def _callbacks(settings: Settings) -> Iterator[Finding]:
    """Yield findings on servers that call the hub back: where to, and with which key."""
    names = [name for name, protocol in installed_protocols().items() if protocol.calls_back]
    callers = called_back(_store(settings), names)
    if not callers:
        return
    if settings.web.url:
        message = f"{settings.web.url}, where {', '.join(callers)} call back"
        yield Finding(FindingSeverity.OK, "web.url", message)
    else:
        message = f"is not set: where do {', '.join(callers)} call the hub back?"
        yield Finding(FindingSeverity.WARNING, "web.url", message)
    if keyless := [name for name, has_key in callers.items() if not has_key]:
        message = f"{', '.join(keyless)} cannot call back: metaserver servers callback-key NAME"
        yield Finding(FindingSeverity.WARNING, "servers", message)


def _store(settings: Settings) -> StorePlace:
    """Return where the store is; a file if the settings are wrong, as `examine_store` says."""
    try:
        return settings.place()
    except InputError:
        return Path(settings.folder) / STORE_FILE


def _opens(key: Fernet, sealed: str) -> bool:
    try:
        key.decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


def _releases(settings: Settings) -> Iterator[Finding]:
    folder = Path(settings.uniprot.releases)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if not names:
        message = f"{folder} has no release: metaserver uniprot build makes one"
        yield Finding(FindingSeverity.WARNING, "uniprot.releases", message)
    for name in names:
        try:
            Release.open(folder / name)
        except InputError as error:
            yield Finding(FindingSeverity.ERROR, "uniprot.releases", str(error))
        else:
            yield Finding(FindingSeverity.OK, "uniprot.releases", f"{folder / name} is usable")


def _challenge(settings: Settings, challenge: ChallengeSettings, where: str) -> Iterator[Finding]:
    zone = challenge.timezone
    if known_zone(zone) is None:
        message = f"{zone!r} is not a time zone such as Europe/Madrid"
        yield Finding(FindingSeverity.ERROR, f"{where}.timezone", message)
        zone = "UTC"
    for index, phase in enumerate(challenge.phases):
        place = f"{where}.phases[{index}]"
        yield from _dates(phase, zone, place)
        yield from _phase(settings, phase, place)


def _dates(phase: PhaseSettings, zone: str, where: str) -> Iterator[Finding]:
    before: tuple[str, datetime] | None = None
    for name in DATES:
        said = getattr(phase, name)
        if not said:
            message = "no date: an organiser advances it manually"
            yield Finding(FindingSeverity.OK, f"{where}.{name}", message)
            continue
        try:
            moment = read_moment(said, zone)
        except ValueError as error:
            yield Finding(FindingSeverity.ERROR, f"{where}.{name}", str(error))
            continue
        if before is not None and moment.timestamp() <= before[1].timestamp():
            yield Finding(FindingSeverity.ERROR, f"{where}.{name}", f"must be after {before[0]}")
        else:
            yield Finding(FindingSeverity.OK, f"{where}.{name}", moment.isoformat())
        before = (name, moment)


def _phase(settings: Settings, phase: PhaseSettings, where: str) -> Iterator[Finding]:
    if problem := warning(phase):
        yield Finding(FindingSeverity.WARNING, f"{where}.visibility", problem)
    release = settings.release_folder(phase.release)
    if not release.is_dir() and (phase.release or not takes_uploads_only(phase.tasks)):
        yield Finding(FindingSeverity.ERROR, f"{where}.release", f"{release} is not there")
    for task in phase.tasks:
        if task not in installed_tasks():
            message = f"{task!r} is none of {', '.join(installed_tasks())}"
            yield Finding(FindingSeverity.ERROR, f"{where}.tasks", message)
    ids: Set[ArticleId] = frozenset()
    if phase.articles:
        try:
            ids = {article.id for article in read_articles([Path(path) for path in phase.articles])}
        except InputError as error:
            yield Finding(FindingSeverity.ERROR, f"{where}.articles", str(error))
        else:
            severity = FindingSeverity.OK if ids else FindingSeverity.ERROR
            yield Finding(severity, f"{where}.articles", counted(len(ids), "article"))
    elif not phase.corpus and not takes_uploads_only(phase.tasks):
        message = "neither articles nor a corpus: the phase has nothing to send"
        yield Finding(FindingSeverity.ERROR, where, message)
    for task, path in phase.gold.items():
        yield _gold(task, Path(path), ids, f"{where}.gold.{task}")


def _gold(task: str, path: Path, ids: Set[ArticleId], where: str) -> Finding:
    if task not in installed_tasks():
        message = f"{task!r} is none of {', '.join(installed_tasks())}"
        return Finding(FindingSeverity.ERROR, where, message)
    plugin = installed_tasks()[TaskName(task)]
    try:
        gold = plugin.read_gold(path)
    except InputError as error:
        return Finding(FindingSeverity.ERROR, where, str(error))
    labelled = set(plugin.labels(gold)) if isinstance(plugin, LabelledTask) else set()
    if ids and not isinstance(plugin, OfflineTask) and (strange := sorted(labelled - ids)):
        message = f"{counted(len(strange), 'article')} not among the phase's, such as {strange[0]}"
        return Finding(FindingSeverity.WARNING, where, message)
    return Finding(FindingSeverity.OK, where, f"{path} is readable")
