"""Servers and phases as operations return them, with the values that most tests take."""

from typing import Any

from metaserver.base.plans import PhaseLimits, TeamNames, Visibility
from metaserver.base.records import AuthKind
from metaserver.base.states import PhaseState
from metaserver.operations.conformance import TestState
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.servers import LaneProgress, ServerDetail


def phase(name: str = "test", **given: Any) -> PhaseDetail:
    """Return an open phase with gold for its one task."""
    values: dict[str, Any] = {
        "phase": name, "own_name": name, "challenge": "bc", "title": "", "timezone": "UTC",
        "state": PhaseState.TEST, "coming": (), "kind": PhaseState.TEST,
        "opens": None, "freezes": None, "closes": None,
        "tasks": ("INT",), "limits": PhaseLimits(), "timeout": 60.0, "answer_bytes": 1_000,
        "visibility": Visibility.PUBLIC, "team_names": TeamNames.SHOWN, "uploads_only": False,
        "release": "", "articles": 10, "gold": {"INT": 1}, "servers": 1, "teams": 1,
        "attempts": 3, "catching_up": "",
    }  # fmt: skip
    return PhaseDetail(**(values | given))


def progress(phase: str = "test", **given: Any) -> LaneProgress:
    """Return the progress of a server that is up, with half of its articles done."""
    values: dict[str, Any] = {
        "state": "up", "note": "", "done": 5, "given_up": 0, "total": 10, "in_flight": 0,
        "eta": None,
    }  # fmt: skip
    return LaneProgress(phase=phase, **(values | given))


def server(name: str = "blue-1", **given: Any) -> ServerDetail:
    """Return a server of team blue that has passed its test and is in no phase."""
    values: dict[str, Any] = {
        "team": "blue", "url": "http://blue.example/", "method": "Annotator.getAnnotation",
        "parameters": "text", "tasks": (), "concurrency": 1, "protocol": "xmlrpc",
        "encoding": "utf-8", "options": "", "auth": AuthKind.NONE, "auth_name": "", "secret": "",
        "certificate": "", "callback_key": "", "serves_curators": False, "retired": False,
        "tested": TestState.PASSED, "tested_for": "test", "reasons": (), "tests": (),
        "testing": False, "phases": (),
    }  # fmt: skip
    return ServerDetail(server=name, **(values | given))
