"""A hub with one phase in the test's own process, as `metaserver run` works it."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from metaserver.base.records import PhaseName, TaskName
from metaserver.cli.single_phase import SinglePhase, open_phase, read_gold, read_servers
from metaserver.config import Settings
from metaserver.corpus import read_articles
from metaserver.operations.context import HubContext
from metaserver.phases.runtime import RunningPhase
from metaserver.uniprot import Release
from tests.hubs.command import DEMO


def single_phase(
    release: Path, servers: Mapping[str, str], *, tasks: Sequence[str] = ("ACT", "INT", "IPT")
) -> SinglePhase:
    """Return a phase on the demo's gold, for servers by name."""
    opened = Release.open(release)
    return SinglePhase(
        name=PhaseName("run"),
        servers=read_servers([f"{name}={url}" for name, url in servers.items()], 1),
        gold=read_gold(
            {TaskName(task): DEMO / f"gold_{task.lower()}.tsv" for task in tasks}, opened
        ),
        release=opened,
    )


def begun(
    settings: Settings, phase: SinglePhase, articles: Path = DEMO / "articles"
) -> AbstractAsyncContextManager[tuple[HubContext, RunningPhase]]:
    """Open a hub with a phase; its lanes work while something drives the hub."""
    return open_phase(phase, read_articles([articles]), settings)
