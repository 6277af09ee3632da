"""An operation's caller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import ParamSpec, Protocol, TypeVar

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.records import TeamName
from metaserver.base.states import ALLOWED, Role
from metaserver.base.viewer import Person, Viewer

P = ParamSpec("P")
T = TypeVar("T")


class Workbench(Protocol):
    """The threads that may work for a client."""

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `work` returns, from a thread; `RefusedError` for who had its share."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """An operation's caller: its role, team, token and request.

    `role` None is a caller without a token. `team` is set only for teams. `name` is the caller's
    name in the audit log: "team blue", "organiser ana", "clock". `workbench` None: work in threads
    is not bounded. `person` is set in the sessions of a person; `owner`: the person owns the team.
    `challenge`: who organises it alone, with the role of a reader but for requests of it.
    """

    role: Role | None = None
    team: TeamName | None = None
    team_id: int | None = None
    token_id: int | None = None
    name: str = "anonymous"
    request_id: str = ""
    origin: Hashable = ""  # the network address that counts for limits
    site: str = ""  # https://HOST as its request names the hub: for what it alone is shown
    person: Person | None = None
    owner: bool = False
    challenge: str | None = None
    challenge_title: str = ""
    workbench: Workbench | None = field(default=None, compare=False, repr=False)

    async def aside(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in one of the caller's threads and return its result.

        Raises `RefusedError` if the caller has used its share of the processors. For work whose
        duration a client chooses: by texts, answers and options.
        """
        if self.workbench is None:
            return await asyncio.to_thread(work, *args, **kwargs)
        return await self.workbench.run(work, *args, **kwargs)

    @property
    def organiser(self) -> bool:
        """True for an organiser, who may call every operation."""
        return self.role is Role.ORGANISER

    def organises(self, challenge: str) -> bool:
        """Return whether the caller is an organiser of a challenge, or of the hub."""
        return self.challenge == challenge if self.challenge is not None else self.organiser

    @property
    def viewer(self) -> Viewer:
        """The same caller, as visibility judges it."""
        return Viewer(team=self.team or "", organiser=self.organiser)

    def viewer_in(self, challenge: str) -> Viewer:
        """Return the same for what is of a challenge, whose organiser sees all of it."""
        return Viewer(organiser=True) if self.organises(challenge) else self.viewer

    def may_act_as(self, role: Role) -> bool:
        """Return whether the caller's role includes another role."""
        return self.role is not None and role in ALLOWED[self.role]

    def require_role(self, role: Role | None) -> None:
        """Raise `RefusedError` unless the caller's role includes this one."""
        if role is None or self.may_act_as(role):
            return
        if self.role is None:
            if self.person is not None:
                raise RefusedError(
                    Refusal.NOT_YOURS, "choose first which of your teams you act for"
                )
            raise RefusedError(Refusal.TOKEN, "an API token is needed: ask an organiser for one")
        if self.challenge is not None:
            label = self.challenge_title or f"challenge {self.challenge}"
            message = f"this is not of {label}, which is all that you organise"
            raise RefusedError(Refusal.NOT_YOURS, message)
        raise RefusedError(
            Refusal.NOT_YOURS, f"only the role {role} may do this; you are signed in as {self.role}"
        )

    def not_your_team(self) -> RefusedError:
        """Return the refusal to a team that names another."""
        message = "you may do this only for your own team"
        return RefusedError(Refusal.NOT_YOURS, message, field="team")

    def require_person(self) -> Person:
        """Return the person who asks; `RefusedError` for a program or a stranger."""
        if self.person is None:
            message = "sign in as a person, by mail or a provider: a token is no person"
            raise RefusedError(Refusal.TOKEN if self.role is None else Refusal.NOT_YOURS, message)
        return self.person

    def require_team(self, team: TeamName | None) -> None:
        """Raise `RefusedError` unless the caller is an organiser or of this team.

        Another team's objects are reported as unknown, so that nobody learns which exist.
        """
        if not self.viewer.owns(team):
            raise RefusedError(Refusal.UNKNOWN, "there is none of that name among your servers")
