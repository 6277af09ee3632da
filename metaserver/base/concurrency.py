"""Background work whose steps run to their end, even if the hub stops meanwhile.

It may import nothing from the hub.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_uncancelled(step: Coroutine[Any, Any, T]) -> T:
    """Run a step to its end; a caller that is cancelled meanwhile is cancelled after it.

    A database connection that is dropped during a query is lost to its pool.
    """
    task = asyncio.create_task(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
