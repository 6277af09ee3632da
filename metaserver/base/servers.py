"""Registered servers, and the desired states of their lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metaserver.base.records import Server, TeamName
from metaserver.base.states import Control


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredServer:
    """A stored server; `verdicts` is JSON with its conformance runs, by the phase's name.

    `serves_curators`: its team agrees that curators' requests are sent to it.

    `has_callback_key`: it may call the hub back. `version` is what it reported last.

    Two values that differ only in verdicts, key or version are equal.
    """

    id: int
    server: Server
    team: TeamName | None
    created_at: float
    retired_at: float | None = None
    serves_curators: bool = False
    has_callback_key: bool = field(default=False, compare=False)
    version: str = field(default="", compare=False)
    verdicts: Mapping[str, bytes] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneControl:
    """The desired state of a lane, and a note that says why."""

    control: Control
    note: str
