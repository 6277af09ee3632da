"""A curator's request on the terminal: its servers as they answer, then the candidates."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from metaserver.cli.remote.client import RemoteHub
from metaserver.cli.remote.tables import UNCUT, printable

PATH = "/requests/{request}"
WAIT = 10.0
"""Seconds that the hub may hold an answer back."""
UNFINISHED = frozenset({"received", "asking"})
ENDED = frozenset({"answered", "failed", "not asked"})

Request = Mapping[str, Any]


def followed(hub: RemoteHub, request: Request) -> Request:
    """Return a request when it no longer changes, and show it until then.

    On a terminal it is a table that changes; elsewhere a line per finished server.
    """
    console = Console(highlight=False)
    if console.is_terminal:
        with Live(view(request), console=console, transient=True) as live:
            while not request["settled"]:
                request = _next(hub, request)
                live.update(view(request))
        return request
    reported: set[str] = set()
    while True:
        for server in request["servers"]:
            if server["state"] in ENDED and server["server"] not in reported:
                reported.add(server["server"])
                print(printable(f"{server['server']}: {_words(server)}"), flush=True)
        if request["settled"]:
            return request
        request = _next(hub, request)


def _next(hub: RemoteHub, request: Request) -> Request:
    query = {"since": request["version"], "wait": WAIT}
    answer: Request = hub.ask("GET", PATH, places={"request": request["request"]}, query=query)
    return answer


def show(request: Request) -> None:
    """Print a request: its state, its servers, its candidates."""
    console = Console(width=None if sys.stdout.isatty() else UNCUT, highlight=False)
    with console.capture() as captured:
        console.print(view(request))
    for line in captured.get().splitlines():
        print(line.rstrip())


def nobody_answered(request: Request) -> bool:
    """Return whether a request has ended, and no server has answered."""
    answered = any(server["state"] == "answered" for server in request["servers"])
    return request["state"] not in UNFINISHED and request["settled"] and not answered


def view(request: Request) -> Group:
    """Return a request as tables."""
    answered = sum(server["state"] == "answered" for server in request["servers"])
    heading = " ".join(filter(None, (request["request"], request["article"], request["title"])))
    state = f"{request['state']}: {answered} of {len(request['servers'])} servers answered"
    message = f" ({request['message']})" if request["message"] else ""
    heads = filter(None, (heading, state + message, request["notice"]))
    return Group(
        *(Text(printable(head)) for head in heads), Text(), _servers(request),
        Text(), _candidates(request),
    )  # fmt: skip


def _servers(request: Request) -> Table:
    table = _table("server", "state", "hits", "seconds")
    for server in request["servers"]:
        seconds = server["seconds"]
        late = ", late" if server["late"] else ""
        _add(
            table, server["server"], _words(server) + late,
            str(server["hits"]) if server["state"] == "answered" else "",
            "" if seconds is None else f"{seconds:.1f}",
        )  # fmt: skip
    return table


def _words(server: Mapping[str, Any]) -> str:
    """Return a server's state, and why."""
    why = server["message"] or (server["outcome"] if server["state"] == "failed" else "")
    return f"{server['state']}: {why}" if why else str(server["state"])


def _candidates(request: Request) -> Table:
    """Return the candidates; with a probability if the servers are as the model learned them."""
    table = _table("task", "rank", "candidate", "probability", "score", "agreement", "servers")
    for candidate in request["candidates"]:
        differs = candidate["task"] in request["differences"]
        probability = None if differs else candidate["probability"]
        votes = (f"{vote['server']} {vote['rank']}" for vote in candidate["votes"])
        _add(
            table, candidate["task"], str(candidate["rank"]), " ".join(candidate["item"]),
            "" if probability is None else f"{probability:.2f}", f"{candidate['score']:.3f}",
            f"{candidate['agreement']:.0%}", ", ".join(votes),
        )  # fmt: skip
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(Text(name), justify="right" if name in NUMBERS else "left")
    return table


def _add(table: Table, *cells: str) -> None:
    table.add_row(*(Text(printable(cell)) for cell in cells))


NUMBERS: Sequence[str] = ("rank", "probability", "score", "agreement", "hits", "seconds")
