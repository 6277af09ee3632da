"""The rules between challenges and curators: who is asked when, and about which articles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from metaserver.base.conformance import ConformanceVerdict
from metaserver.base.lanes import Corpus
from metaserver.base.records import ArticleId, RegisteredServer
from metaserver.base.states import OPEN_STATES, PhaseState, ServerState
from metaserver.config import ServersForCurators, Settings
from metaserver.exchange.wire.validation import Vocabulary
from metaserver.phases.restore import vocabulary_of
from metaserver.phases.runtime import RunningPhase
from metaserver.phases.scheduler import Scheduler
from metaserver.uniprot.vocabulary import FormatVocabulary

BUSY = "busy with the challenge"


@dataclass(frozen=True, kw_only=True, slots=True)
class Obstacle:
    """The reason why a server is not asked now; `passing`: it may be asked later."""

    reason: str
    passing: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredArticle:
    """The place of an article in a corpus."""

    corpus: Corpus
    position: int


class ChallengeRules:
    """A hub's challenges, as curators' requests see them."""

    def __init__(
        self, scheduler: Scheduler, settings: Settings, clock: Callable[[], float]
    ) -> None:
        self._scheduler = scheduler
        self._settings = settings
        self._clock = clock
        self._release: tuple[Vocabulary, str] | None = None

    def obstacle(self, registered: RegisteredServer) -> Obstacle | None:
        """Return why a server is not asked now; None if it may be."""
        if not _has_passed(registered):
            return Obstacle(reason="it has not passed a conformance run", passing=False)
        name, policy = registered.server.name, self._settings.curation.servers
        for running in self._phases(*OPEN_STATES):
            if name not in running.servers:
                continue
            state, _ = running.boards.server_monitor.state(name)  # the note is for its team
            if state is ServerState.SUSPENDED:
                return Obstacle(reason="suspended by the organisers", passing=False)
            if state is ServerState.DOWN:
                return Obstacle(reason="it is down", passing=False)
            if policy is ServersForCurators.NEVER:
                return Obstacle(reason="it takes part in a challenge", passing=False)
        if policy is ServersForCurators.IDLE and self._scheduler.lanes.at_work(registered):
            return Obstacle(reason=BUSY, passing=True)
        return None

    def guarded(self) -> Sequence[Corpus]:
        """Return the corpora of phases that are not closed, whose articles nobody may ask about."""
        open_states = [state for state in PhaseState if state is not PhaseState.CLOSED]
        return [running.corpus for running in self._phases(*open_states)]

    def published(self, article: str) -> StoredArticle | None:
        """Return the place of an article of a closed phase."""
        for running in self._phases(PhaseState.CLOSED):
            position = running.positions.get(ArticleId(article))
            if position is not None and not running.phase.is_embargoed(self._clock()):
                return StoredArticle(corpus=running.corpus, position=position)
        return None

    def vocabulary(self) -> tuple[Vocabulary, str]:
        """Return the answer vocabulary: of the release that is set, or of the newest phase."""
        if self._settings.curation.release:
            if self._release is None:
                vocabulary = vocabulary_of(self._settings, self._settings.curation.release)
                self._release = vocabulary, vocabulary.name
            return self._release
        with_release = (one for one in self._scheduler.phases.values() if one.phase.release)
        newest = max(with_release, key=lambda running: running.phase.id, default=None)
        if newest is None:
            return FormatVocabulary(), ""
        return newest.vocabulary, newest.vocabulary.name

    def _phases(self, *states: PhaseState) -> Sequence[RunningPhase]:
        now = self._clock()
        phases = self._scheduler.phases.values()
        return [running for running in phases if running.phase.state(now) in states]


def _has_passed(registered: RegisteredServer) -> bool:
    """Return whether the newest conformance run of a server, for any phase, was passed."""
    verdicts = [
        msgspec.json.decode(document, type=ConformanceVerdict)
        for document in registered.verdicts.values()
    ]
    newest = max(verdicts, key=lambda verdict: verdict.at, default=None)
    return newest is not None and newest.passed
