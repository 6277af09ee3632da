"""`metaserver attempts`: each request's outcome, its problems, and the raw answer."""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, datetime

from metaserver.base.errors import InputError
from metaserver.base.records import Attempt
from metaserver.store.place import STORE_FILE
from metaserver.store.reader import ReadStore, StoredLane, open_reader


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    return asyncio.run(_print_attempts(args))


async def _print_attempts(args: argparse.Namespace) -> int:
    async with open_reader(args.out / STORE_FILE) as reader:
        lanes = await reader.lanes()
        names = [lane.server for lane in lanes]
        if args.server is not None and args.server not in names:
            raise InputError("--server", f"{args.server!r} is none of {', '.join(names)}")
        for lane in lanes:
            if args.server in (None, lane.server):
                await _print_lane(reader, lane, args)
    return 0


async def _print_lane(reader: ReadStore, lane: StoredLane, args: argparse.Namespace) -> None:
    async for position, attempt, final in reader.attempts(lane.key, lane.server, lane.corpus):
        if args.article in (None, attempt.article) and args.outcome in (None, attempt.outcome):
            print(_head(attempt, final=final))
            for line in _problems(attempt):
                print(f"  {line}")
            if args.raw:
                raw = await reader.raw_answer(lane.key, position, attempt.number)
                print("  no answer came" if raw is None else raw.decode("utf-8", "replace"))


def _head(attempt: Attempt, *, final: bool) -> str:
    at = datetime.fromtimestamp(attempt.started_at, UTC).isoformat(" ", "seconds")
    ended = f"{attempt.outcome}{', the last' if final else ''}"
    size = f"{attempt.timings.total:.3f} s, {attempt.bytes_in} bytes"
    return f"{at} {attempt.server} {attempt.article} attempt {attempt.number}: {ended}; {size}"


def _problems(attempt: Attempt) -> list[str]:
    """Return every problem, or only the message if the answer's contents were not at fault."""
    if not attempt.problems:
        return [attempt.message] if attempt.message else []
    more = attempt.problem_count - len(attempt.problems)
    return [*map(str, attempt.problems), *([f"and {more} more"] if more else [])]
