"""The run as it goes, on the terminal: a live table, or a plain line now and then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Literal

from rich.console import Console
from rich.live import Live
from rich.table import Table

from metaserver.base.boards import Board, board_columns
from metaserver.base.records import TaskName
from metaserver.base.states import Outcome, ServerState
from metaserver.boards.snapshots import Monitor, ServerStatus
from metaserver.phases.live import LiveBoards
from metaserver.tasks.plugin import TaskPlugin

REFRESH_SECONDS = 0.5
PLAIN_SECONDS = 10.0
PIPE_COLUMNS = 120

STYLES: Mapping[ServerState, str] = {
    ServerState.DOWN: "red",
    ServerState.SLOW: "yellow",
    ServerState.FINISHED: "green",
}


def make_console(*, stderr: bool = False) -> Console:
    """Return the console to report on; what is piped into a file is not cut to 80 columns."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=PIPE_COLUMNS)


def say(console: Console, text: str) -> None:
    """Print a line as it is: names of folders may hold brackets, and are not cut."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


@asynccontextmanager
async def shown(boards: LiveBoards, console: Console) -> AsyncIterator[None]:
    """Show the monitor while the context lasts; on no terminal, a line every ten seconds."""
    show = _live if console.is_terminal else _plain
    task = asyncio.create_task(show(boards, console), name="progress")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _live(boards: LiveBoards, console: Console) -> None:
    with Live(console=console, auto_refresh=False) as live:
        try:
            while True:
                live.update(monitor_table(boards.monitor()), refresh=True)
                await asyncio.sleep(REFRESH_SECONDS)
        finally:
            live.update(monitor_table(boards.monitor()), refresh=True)


async def _plain(boards: LiveBoards, console: Console) -> None:
    while True:
        await asyncio.sleep(PLAIN_SECONDS)
        monitor = boards.monitor()
        articles_done = sum(status.done + status.given_up for status in monitor.servers)
        total = sum(status.total for status in monitor.servers)
        down = [status.name for status in monitor.servers if status.state is ServerState.DOWN]
        tail = f", down: {', '.join(down)}" if down else ""
        tail += f"; {_waiting(monitor)}" if monitor.blocked else ""
        say(console, f"{articles_done} of {total} articles{tail}")


def monitor_table(monitor: Monitor) -> Table:
    """Return a row a server: state, queue, response times, errors."""
    table = Table(box=None, header_style="bold", pad_edge=False, caption_justify="left")
    if monitor.blocked:
        table.caption, table.caption_style = _waiting(monitor), "red"
    table.add_column("server")
    table.add_column("state")
    for heading in ("answered", "given up", "p50 s", "p95 s", "errors", "ETA s"):
        table.add_column(heading, justify="right")
    for status in monitor.servers:
        style = STYLES.get(status.state, "")
        table.add_row(status.name, f"[{style}]{status.state}[/]" if style else status.state,
                      *_figures(status))  # fmt: skip
    return table


def _waiting(monitor: Monitor) -> str:
    return f"all servers wait: answers cannot be stored ({monitor.blocked})"


def _figures(status: ServerStatus) -> Sequence[str]:
    return (
        f"{status.done}/{status.total}",
        str(status.given_up),
        _number(status.p50, 2),
        _number(status.p95, 2),
        str(sum(status.outcomes.values()) - status.outcomes.get(Outcome.OK, 0)),
        _number(status.eta, 0),
    )


def board_table(task: TaskPlugin, board: Board) -> Table:
    """Return a leaderboard as a table."""
    table = _table(f"{task.name} · {task.title}")
    columns = [column for column in board_columns(task.columns) if column.key != "mode"]
    for column in columns:
        justify: Literal["left", "right"] = "left" if column.key == "run" else "right"
        table.add_column(column.heading, justify=justify, overflow="fold")
    for row in board.rows:
        table.add_row(*(row.text(column) for column in columns))
    return table


def outcome_table(monitor: Monitor) -> Table:
    """Return how many attempts ended with which outcome code, and at which servers."""
    table = _table("Attempts by outcome code")
    table.add_column("outcome")
    table.add_column("attempts", justify="right")
    table.add_column("servers", overflow="fold")
    for outcome in Outcome:
        counts = {
            status.name: count
            for status in monitor.servers
            if (count := status.outcomes.get(outcome, 0))
        }
        if counts:
            servers = ", ".join(f"{name} {count}" for name, count in counts.items())
            table.add_row(outcome, str(sum(counts.values())), servers)
    return table


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", title_style="bold", header_style="bold",
        box=None, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip


def print_summary(
    console: Console,
    tasks: Sequence[TaskPlugin],
    boards: Mapping[TaskName, Board],
    monitor: Monitor,
) -> None:
    """Print the leaderboards and the outcome codes."""
    for task in tasks:
        console.print()
        console.print(board_table(task, boards[task.name]))
    console.print()
    console.print(outcome_table(monitor))


def _number(value: float | None, decimals: int) -> str:
    return "" if value is None else f"{value:.{decimals}f}"
