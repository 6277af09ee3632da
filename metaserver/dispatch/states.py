"""The states of servers, looked at once a second: kept when they change, told to who listens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from metaserver.dispatch.phase import RunningPhase
from metaserver.errors import UnavailableError
from metaserver.lifecycle import ServerState
from metaserver.store import states
from metaserver.store.states import StateChange
from metaserver.store.store import Store
from metaserver.store.writer import LaneKey

LOOK_SECONDS = 1.0

log = logging.getLogger(__name__)


class StateLog:
    """Keeps the changes of all lanes' states; `listeners` are told of each when it is kept.

