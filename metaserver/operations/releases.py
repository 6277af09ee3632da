"""UniProt releases: built beside the hub, named in the plans of phases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from metaserver.model.states import Role
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.fields import NAME
from metaserver.operations.table import Nothing, operation


@operation("Releases.list", "GET /releases", Role.ORGANISER)
async def list_(hub: HubContext, _caller: Caller, _given: Nothing) -> Sequence[str]:
    """Return the names of the UniProt releases that were built, the newest name first."""
    return _built(Path(hub.settings.uniprot.releases))


def _built(folder: Path) -> Sequence[str]:
    if not folder.is_dir():
        return []
    found = (path.name for path in folder.iterdir() if path.is_dir())
    return sorted((name for name in found if re.fullmatch(NAME, name)), reverse=True)
