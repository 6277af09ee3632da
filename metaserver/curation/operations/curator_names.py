"""Names of servers and teams where curators read them: anonymous while a phase hides its teams.

A curator sees the answers of servers beside their names. So while any phase hides its teams, every
server has an anonymous name, also one that takes no part in it: names that changed when a server
entered the phase would show which it is. These names are on no board: who works out whose an answer
is, from answers that have real names elsewhere, learns nothing of a board's names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from metaserver.base.curations import AskedServer, is_uploaded
from metaserver.base.records import ServerName, TeamName
from metaserver.base.viewer import Viewer
from metaserver.curation.candidates import (
    CandidateVote,
    ClassVote,
    ConsensusCandidate,
    FoundCandidates,
)
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext
from metaserver.operations.visibility import SeenNames, seen_asked
from metaserver.phases.runtime import Part

SHOWN_NAME = r"^(?:Team [0-9]{1,12} |Run )?[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\n)"
"""The pattern of a server's name, or of an anonymous one."""

V = TypeVar("V", CandidateVote, ClassVote)


class CuratorNames:
    """The names of servers for one viewer; `teams` has each server's team, empty for none."""

    def __init__(
        self, names: SeenNames | None, teams: Mapping[ServerName, str], viewer: Viewer
    ) -> None:
        self._names = names
        self._teams = teams
        self._viewer = viewer

    @classmethod
    async def of(
        cls, hub: HubContext, caller: Caller, teams: Mapping[ServerName, str]
    ) -> CuratorNames:
        """Return the names of these servers as the caller sees them now."""
        phases = hub.phases.scheduler.phases.values()
        hiding = [running for running in phases if SeenNames(running).hidden]
        if not hiding:
            return cls(None, teams, caller.viewer)
        newest = max(hiding, key=lambda running: running.phase.id)
        if set(teams.values()) - newest.teams.keys() - {""}:
            await newest.reload(Part.TEAMS)
        return cls(SeenNames(newest, newest.aliases.of_curators()), teams, caller.viewer)

    @property
    def hidden(self) -> bool:
        """True if names are anonymous."""
        return self._names is not None

    def server(self, name: str) -> str:
        """Return the name by which a server is shown; an uploaded file keeps its own."""
        if self._names is None or is_uploaded(name):
            return name
        return self._names.run(name, self._team(name), self._viewer)

    def team(self, name: str) -> str:
        """Return the name by which a server's team is shown; empty for none."""
        team = self._team(name)
        return (team or "") if self._names is None else self._names.team(team, self._viewer)

    def by_shown(self) -> Mapping[str, ServerName]:
        """Return the known servers by the names that they are shown by."""
        return {self.server(name): name for name in self._teams}

    def asked(self, servers: Iterable[AskedServer]) -> tuple[AskedServer, ...]:
        """Return a request's servers, by their shown names, in the order of these."""
        servers_shown = (
            msgspec.structs.replace(
                seen_asked(server, self._viewer),
                server=ServerName(self.server(server.server)),
                team=self.team(server.server),
            )
            for server in servers
        )
        return tuple(sorted(servers_shown, key=lambda server: server.server))

    def found(self, candidates_found: FoundCandidates) -> FoundCandidates:
        """Return what the answers to a request say, by the shown names of servers."""
        if self._names is None:
            return candidates_found
        relevant = (self._named(vote) for vote in candidates_found.relevant)
        return msgspec.structs.replace(
            candidates_found,
            candidates=tuple(map(self.candidate, candidates_found.candidates)),
            relevant=tuple(sorted(relevant, key=lambda vote: vote.server)),
            differences={
                task: difference.renamed(self.server)
                for task, difference in candidates_found.differences.items()
            },
        )

    def candidate(self, candidate: ConsensusCandidate) -> ConsensusCandidate:
        """Return a candidate by the shown names of servers; equal votes in the order of these."""
        if self._names is None:
            return candidate
        votes = sorted(
            map(self._named, candidate.votes),
            key=lambda vote: (-(vote.part or 0.0), vote.rank, vote.server),
        )
        mentions = tuple(
            msgspec.structs.replace(
                mention, servers=tuple(sorted(map(self.server, mention.servers)))
            )
            for mention in candidate.mentions
        )
        return msgspec.structs.replace(candidate, votes=tuple(votes), mentions=mentions)

    def _named(self, vote: V) -> V:
        return msgspec.structs.replace(vote, server=self.server(vote.server))

    def _team(self, name: str) -> TeamName | None:
        team = self._teams.get(ServerName(name), "")
        return TeamName(team) if team else None
