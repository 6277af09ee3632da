"""The work of a phase's lanes: articles, limits, and how servers are asked.

Gold and boards are no part of it: a process that works lanes alone has no phase but these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from metaserver.base.lanes import Corpus, TakenLane
from metaserver.base.records import Server
from metaserver.config import Settings
from metaserver.exchange.http.caller import ArticleCaller
from metaserver.exchange.http.client import HttpClient
from metaserver.lanes.events import AttemptEnded, LaneChanged, Recorder
from metaserver.lanes.lane import Lane
from metaserver.phases.restore import articles_of
from metaserver.store.reader import ReadStore
from metaserver.tasks.plugin import AnsweredTask, TaskPlugin, answered_tasks
from metaserver.uniprot import ReleaseVocabulary

Publish: TypeAlias = Callable[[AttemptEnded | LaneChanged], None]
Prepare: TypeAlias = Callable[[AttemptEnded], Awaitable[None] | None]


class PhaseWork:
    """The work of a phase's lanes, by one plan and one choice of tasks.

    `settings` have the phase's own limits. A server that is down is left after `patience` seconds;
    None: it is probed for ever. `scope` is that of `communications.Exchanged`.
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: Settings,
        vocabulary: ReleaseVocabulary,
        tasks: Sequence[TaskPlugin],
        *,
        store: ReadStore,
        client: HttpClient,
        clock: Callable[[], float],
        patience: float | None,
        scope: str,
    ) -> None:
        self.corpus = corpus
        self.settings = settings
        self.tasks = tasks
        self._clock = clock
        self._patience = patience
        self._caller = ArticleCaller(
            client.bounded(settings.http_limits()),
            articles_of(store, corpus),
            answered_of(tasks),
            vocabulary,
            time_limit=settings.limits.timeout,
            completion=settings.completion(),
            clock=clock,
            scope=scope,
        )

    def lane(
        self,
        server: Server,
        taken: TakenLane,
        recorder: Recorder,
        publish: Publish,
        *,
        prepare: Prepare | None = None,
        down: str = "",
    ) -> Lane:
        """Return the lane of a server that was taken; one that was `down` is probed first."""
        return Lane(
            server,
            self.corpus,
            taken.state,
            self.settings.lane_limits(self._patience),
            caller=self._caller,
            recorder=recorder,
            publish=publish,
            prepare=prepare,
            clock=self._clock,
            down=down,
        )


def answered_of(tasks: Sequence[TaskPlugin]) -> Sequence[AnsweredTask]:
    """Return those of some tasks that servers answer."""
    answered = answered_tasks()
    return [answered[task.name] for task in tasks if task.name in answered]
