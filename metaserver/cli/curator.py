"""The last act of the demo: its servers agree to serve curators, and one asks them all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from rich.console import Console

from metaserver.base.records import Server
from metaserver.base.states import Role
from metaserver.cli.console import say
from metaserver.cli.remote.requests import view
from metaserver.curation.operations import requests
from metaserver.curation.operations.requests import NewRequest, RequestDetail, RequestQuery
from metaserver.operations import conformance, consents, tokens
from metaserver.operations.caller import Caller
from metaserver.operations.conformance import ServerTest
from metaserver.operations.consents import Consent
from metaserver.operations.context import HubContext
from metaserver.operations.jobs import JobQuery
from metaserver.operations.jobs import get as get_job
from metaserver.operations.table import ask
from metaserver.operations.tokens import NewToken
from metaserver.phases.jobs import MOST_AT_WORK

ORGANISER = Caller(role=Role.ORGANISER, name="demo")
ARTICLE = """SHC1 links the EGF receptor to GRB2 in living cells
EGFR is phosphorylated when it binds its ligand. We asked which adapters it recruits.
SHC1 co-immunoprecipitated with EGFR from A431 cells, and GRB2 was pulled down together with SHC1.
We conclude that EGFR interacts with SHC1, which binds GRB2; MDM2 did not bind any of them.
"""
"""An article of no phase, with proteins that the demo's servers know."""
WAIT = 30.0


async def ask_as_curator(hub: HubContext, servers: Sequence[Server]) -> RequestDetail:
    """Test the servers, let them serve curators, and return what they answer to one.

    The hub is at work meanwhile, and none of its lanes is.
    """
    places = asyncio.Semaphore(MOST_AT_WORK)
    await asyncio.gather(*(_agree(hub, server, places) for server in servers))
    issued = await ask(hub, ORGANISER, tokens.create, NewToken(role=Role.CURATOR, label="demo"))
    curator = Caller(role=Role.CURATOR, token_id=issued.id, name="curator demo")
    asked = NewRequest(text=ARTICLE, title="An article of no phase", wait=WAIT)
    found = await ask(hub, curator, requests.ask, asked)
    while not found.settled:
        query = RequestQuery(request=found.request, since=found.version, wait=WAIT)
        found = await ask(hub, curator, requests.get, query)
    return found


async def _agree(hub: HubContext, server: Server, places: asyncio.Semaphore) -> None:
    """Test a server, which must have passed before it is asked, and agree for it."""
    async with places:
        job = await ask(hub, ORGANISER, conformance.test, ServerTest(server=server.name))
        while job.ended_at is None:
            job = await ask(hub, ORGANISER, get_job, JobQuery(job=job.job, wait=WAIT))
    await ask(hub, ORGANISER, consents.serve_curators, Consent(server=server.name, serve=True))


def print_request(console: Console, found: RequestDetail) -> None:
    """Print a request as `metaserver consensus ask` does."""
    say(console, "\na curator asks all servers about an article that is in no phase:\n")
    console.print(view(msgspec.to_builtins(found)))
