"""Background work whose steps run to their end, even if the hub stops meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from metaserver.base.errors import UnavailableError

T = TypeVar("T")


async def run_uncancelled(step: Coroutine[Any, Any, T]) -> T:
    """Run a step to its end; a caller that is cancelled meanwhile is cancelled after it.

    A database connection that is dropped during a query is lost to its pool. If the caller was
    cancelled, a step's fault goes to the loop's handler; that the store is away is said elsewhere.
    """
    task = asyncio.create_task(step)
    try:
        await asyncio.wait([task])  # since 3.14 asyncio.shield would report each error itself
    except asyncio.CancelledError:
        await asyncio.wait([task])
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, UnavailableError):
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a step failed whose caller was cancelled", "exception": error}
            )
        raise
    return task.result()
