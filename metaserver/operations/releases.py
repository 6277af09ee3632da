"""UniProt releases: built beside the hub, named in phases' plans."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.errors import InputError, Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import NAME
from metaserver.operations.table import Nothing, operation
from metaserver.uniprot.directory import MOST_FOUND, MOST_LETTERS, NamedEntry, NameDirectory


@operation("Releases.list", "GET /releases", Role.ORGANISER)
async def list_(hub: HubContext, _caller: Caller, _given: Nothing) -> Sequence[str]:
    """Return the built UniProt releases' names, the newest name first."""
    return built(hub)


class EntrySearch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text that names entries in a release."""

    release: Annotated[str, Meta(pattern=NAME, description="The UniProt release's name")]
    text: Annotated[
        str, Meta(max_length=MOST_LETTERS, description="Accession, symbol, or words of a name")
    ]
    taxon: Annotated[int, Meta(ge=0, le=2**31, description="Of this NCBI taxon; 0: any")] = 0
    limit: Annotated[
        int, Meta(ge=1, le=MOST_FOUND, description="The maximum number of entries")
    ] = 20


@operation("Releases.search", "GET /releases/{release}/entries", Role.CURATOR)
async def search(hub: HubContext, caller: Caller, request: EntrySearch) -> Sequence[NamedEntry]:
    """Return the reviewed entries that a text may mean, best first.

    First the entry with this accession, then those with this symbol or entry name, then those whose
    names have all the text's words, the last perhaps unfinished.
    """
    folder = Path(hub.settings.uniprot.releases)
    built = await asyncio.to_thread(_built, folder)
    if request.release not in built:
        raise RefusedError(
            Refusal.UNKNOWN, f"this hub has no UniProt release {request.release}", field="release"
        )
    return await caller.aside(_search, folder / request.release, request)


def _search(release: Path, request: EntrySearch) -> Sequence[NamedEntry]:
    try:
        directory = NameDirectory.open(release)
    except InputError as error:
        message = f"release {request.release} has no names: it was built without --names"
        raise RefusedError(Refusal.STATE, message) from error
    with closing(directory):
        return directory.search(request.text, taxon=request.taxon or None, limit=request.limit)


def built(hub: HubContext) -> Sequence[str]:
    """Return the built releases' names, the newest name first."""
    return _built(Path(hub.settings.uniprot.releases))


def _built(folder: Path) -> Sequence[str]:
    if not folder.is_dir():
        return []
    names = (path.name for path in folder.iterdir() if path.is_dir())
    return sorted((name for name in names if re.fullmatch(NAME, name)), reverse=True)
