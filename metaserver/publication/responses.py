"""Response statistics of a phase's servers: the overview's times, and the TIPS measures.

They are explained in docs/monitoring.md, and cover all the phase's attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaserver.base.lanes import LaneKey
from metaserver.base.records import ServerName
from metaserver.base.states import ANSWERED
from metaserver.boards.measures import (
    UPTIME_STATES,
    Availability,
    Timing,
    Tips,
    availability,
    timings,
    tips,
)
from metaserver.boards.tally import TOTAL, EndedAttempt, Tally
from metaserver.publication.source import PhaseSource
from metaserver.store import states
from metaserver.store.reader import ReadStore
from scoring.charts import Chart, Panel, Scale, Series
from scoring.tables import Cell, Table


@dataclass(frozen=True, kw_only=True)
class ServerResponses:
    """A server's statistics in a phase; times in seconds.

    `began` and `ended` are Unix seconds, None without attempts; `times` cover attempts that brought
    a response or timed out.
    """

    server: ServerName
    articles: int
    tally: Tally
    began: float | None
    ended: float | None
    times: Timing | None
    availability: Availability
    tips: Tips


async def read_responses(store: ReadStore, source: PhaseSource) -> Sequence[ServerResponses]:
    """Return every server's statistics in the phase, ordered by name."""
    return [
        await _responses(store, source, server, source.lanes[server])
        for server in sorted(source.lanes)
    ]


async def _responses(
    store: ReadStore, source: PhaseSource, server: ServerName, key: LaneKey
) -> ServerResponses:
    limit, corpus = source.settings.limits.timeout, source.corpus
    hits = await store.hits_kept(key)
    tally, began, ended = Tally(), None, 0.0
    async for stored in store.attempts(key, server, corpus):
        ended_attempt = EndedAttempt.of(
            stored.attempt,
            hits=hits.get(stored.position, 0) if stored.attempt.outcome in ANSWERED else 0,
            article_bytes=corpus.wire_bytes[stored.position],
            final=stored.final,
        )
        tally.add(ended_attempt, limit)
        began = stored.attempt.started_at if began is None else began
        ended = max(ended, ended_attempt.at)
    async with store.reading() as connection:
        changes = await states.list_changes(connection, key)
    known = [(change.at, UPTIME_STATES[change.state]) for change in changes]
    since = began if began is not None else 0.0
    return ServerResponses(
        server=server,
        articles=len(corpus),
        tally=tally,
        began=began,
        ended=ended if began is not None else None,
        times=timings(tally, limit).get(TOTAL),
        availability=availability(known, since, ended) if began is not None else Availability(),
        tips=tips(tally),
    )


def responses_table(responses: Sequence[ServerResponses]) -> Table:
    """Return the statistics, a row a server; times in seconds."""
    header: list[Cell] = [
        "server", "articles", "answered", "given up", "attempts", "timed out",
        "median (s)", "p95 (s)", "p99 (s)", "articles/min", "uptime", "MTBF (s)", "MTTR (s)",
        "MAD", "MTDV (s/B)", "MTDV (B/s)", "MTSA (s)", "ART (s)",
    ]  # fmt: skip
    return [header, *(_row(response) for response in responses)]


def _row(response: ServerResponses) -> Sequence[Cell]:
    times, uptime, mean = response.times, response.availability, response.tips
    percentiles: Sequence[Cell] = [None] * 3
    if times is not None:
        percentiles = [times.p50.seconds, times.p95.seconds, times.p99.seconds]
    minutes = ((response.ended or 0.0) - (response.began or 0.0)) / 60
    return [
        response.server,
        response.articles,
        response.tally.answered,
        response.tally.given_up,
        sum(response.tally.outcomes.values()),
        response.tally.timed_out,
        *percentiles,
        response.tally.answered / minutes if minutes > 0 else None,
        uptime.uptime,
        uptime.mtbf,
        uptime.mttr,
        mean.mad,
        mean.mtdv_seconds_per_byte,
        mean.mtdv_bytes_per_second,
        mean.mtsa,
        mean.art,
    ]


def outcomes_table(responses: Sequence[ServerResponses]) -> Table:
    """Return the number of attempts by outcome, a row per server and outcome."""
    header: list[Cell] = ["server", "outcome", "attempts"]
    return [
        header,
        *(
            [response.server, outcome.value, count]
            for response in responses
            for outcome, count in sorted(response.tally.outcomes.items())
        ),
    ]


def responses_chart(responses: Sequence[ServerResponses]) -> Chart | None:
    """Return each server's median with its 95th percentile, None if nobody answered."""
    timed = [
        (response.server, response.times) for response in responses if response.times is not None
    ][::-1]
    if not timed:
        return None
    ends = [(times.p50.seconds, times.p95.seconds) for _, times in timed]
    series = Series(
        name="median to 95th percentile",
        x=[low for low, _ in ends],
        y=list(range(len(timed))),
        kind="points",
        style=0,
        ends=ends,
        ends_of="x",
        texts=[server for server, _ in timed],
    )
    lowest = min(low for low, _ in ends)
    highest = max(high for _, high in ends)
    panel = Panel(
        x=Scale(
            label="seconds an article: median, and up to the 95th percentile",
            low=max(lowest / 2, 1e-4),
            high=max(2 * highest, 1e-3),
            logarithmic=True,
        ),
        y=Scale(
            label="",
            low=-0.5,
            high=len(timed) - 0.5,
            names=[server for server, _ in timed],
        ),
        series=[series],
    )
    return Chart(title="Response times of the servers", signature="", panels=[panel])
