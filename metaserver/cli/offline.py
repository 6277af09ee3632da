"""`metaserver challenges check --offline`: a bundle is checked here, by an empty hub of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from metaserver.base.errors import Refusal, RefusedError
from metaserver.cli.hub import open_hub
from metaserver.config import Settings, read_settings
from metaserver.operations.bundles import BundleFile, BundleReport, check_offline
from metaserver.operations.table import invalid


def check(values: Mapping[str, Any], config: Path | None) -> Any:
    """Return the report on a bundle as a hub answers it; `values` are those of the request in JSON.

    Raises `RefusedError` for what a hub refuses, `InputError` for settings that cannot be read.
    """
    settings = read_settings(config) if config else Settings()
    try:
        request = msgspec.convert(values, BundleFile)
    except msgspec.ValidationError as error:
        raise invalid(error, values) from error
    if len(request.content) > settings.web.upload_bytes:
        message = f"larger than {settings.web.upload_bytes:,} bytes, as web.upload_bytes says"
        raise RefusedError(Refusal.TOO_LARGE, message, field="content")
    with tempfile.TemporaryDirectory(prefix="metaserver-check-") as folder:
        report = asyncio.run(_checked(request, settings, folder))
    return msgspec.json.decode(msgspec.json.encode(report))


async def _checked(request: BundleFile, settings: Settings, folder: str) -> BundleReport:
    """Open an empty hub, with those settings that a check goes by, and check."""
    empty = Settings(
        folder=folder, uniprot=settings.uniprot, limits=settings.limits, answers=settings.answers
    )
    async with open_hub(empty, empty.address_guard()) as hub:
        return await check_offline(hub, request)
