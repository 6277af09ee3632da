"""Notices to teams: a server is down, up again or finished, a challenge has an announcement.

Both are off until a team turns them on. Events within `alerts.batch` seconds are sent in one
message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.concurrency import run_uncancelled
from metaserver.base.errors import PeerError, UnavailableError
from metaserver.base.phases import Challenge
from metaserver.base.records import ServerName, TeamName
from metaserver.base.states import ServerState
from metaserver.config import NoticeSettings
from metaserver.exchange.http.client import HttpClient
from metaserver.phases.mail import MailServer, is_away, post_webhook
from metaserver.phases.state_log import THERE, ServerStateChange
from metaserver.store import alerts, teams
from metaserver.store.alerts import Notice
from metaserver.store.store import Store
from metaserver.store.teams import Team

EVENTS: Mapping[ServerState, str] = {
    ServerState.DOWN: "down",
    ServerState.FINISHED: "finished",
}

log = logging.getLogger(__name__)


class Notifier:
    """Sends notices, which are stored until they are sent; `clock` returns Unix seconds."""

    def __init__(
        self,
        store: Store,
        client: HttpClient,
        settings: NoticeSettings,
        mail: MailServer,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._client = client
        self._settings = settings
        self._mail = mail
        self._failing: set[TeamName] = set()  # as logged
        self._clock = clock

    async def seen(self, connection: AsyncConnection, seen_change: ServerStateChange) -> None:
        """Store a notice about a server's changed state (a listener for `ServerStateRecorder`)."""
        change, name = seen_change.change, seen_change.phase.servers[seen_change.server].team
        event = EVENTS.get(change.state, "")
        if change.state in THERE and seen_change.was_down:
            event = "up"
        team = await teams.get(connection, name) if event and name else None
        if team is not None and (team.notices.webhook or self._mails(team)):
            await alerts.add_notice(
                connection,
                Notice(
                    team=team.name,
                    at=change.at,
                    subject=seen_change.server,
                    event=event,
                    message=_message(
                        seen_change.server, seen_change.phase.label, event, change.note
                    ),
                ),
            )

    async def run(self) -> None:
        """Send the stored notices every `batch` seconds, until cancelled."""
        while True:
            await asyncio.sleep(self._settings.batch)
            try:
                with suppress(UnavailableError):  # the store is blocked: they wait
                    await self.send()
            except Exception:
                log.exception("notices could not be sent")

    async def send(self) -> None:
        """Send each team its waiting notices; cancelling it drops those that are being sent.

        Raises `UnavailableError` before it sends any if the store could not record that.
        """
        self._store.require_writable()
        waiting, addressees = await run_uncancelled(self._waiting())
        batches = [
            (addressees[name], list(batch))
            for name, batch in groupby(sorted(waiting, key=_by_team), key=_by_team)
        ]
        calls = (self._notify(team, batch) for team, batch in batches)
        await asyncio.gather(*calls)  # concurrently: no team waits for another's webhook

    async def _waiting(self) -> tuple[Sequence[Notice], Mapping[TeamName, Team]]:
        async with self._store.reading() as connection:
            waiting = await alerts.waiting_notices(connection)
            return waiting, {team.name: team for team in await teams.list_all(connection)}

    def _mails(self, team: Team) -> bool:
        return team.notices.email and bool(team.email) and bool(self._settings.smtp_host)

    async def _notify(self, team: Team, batch: Sequence[Notice]) -> None:
        ids = [notice.id for notice in batch]
        try:
            if team.notices.webhook:
                await self._post(team, batch)
            if self._mails(team):
                subject = f"Meta-Server: {batch[-1].message}"
                await self._mail.send(team.email, subject, f"{_text(batch)}\n")
        except (PeerError, OSError) as error:
            if not is_away(error) and team.name not in self._failing:
                log.warning("team %s could not be notified: %s", team.name, error)
                self._failing.add(team.name)
            await run_uncancelled(self._note(ids, is_sent=False))
        except Exception:  # one team's settings must not keep the others from being notified
            log.exception("team %s could not be notified", team.name)
            await run_uncancelled(self._note(ids, is_sent=False))
        else:
            if team.name in self._failing:
                log.warning("team %s is notified again", team.name)
                self._failing.remove(team.name)
            await run_uncancelled(self._note(ids, is_sent=True))

    async def _note(self, ids: Sequence[int], *, is_sent: bool) -> None:
        async with self._store.writing() as connection:
            if is_sent:
                await alerts.notices_sent(connection, ids, self._clock())
            else:
                await alerts.notices_failed(connection, ids)

    async def _post(self, team: Team, batch: Sequence[Notice]) -> None:
        message = {
            "text": _text(batch),
            "team": team.name,
            "notices": [
                {
                    "id": notice.id,
                    "at": notice.at,
                    "server": notice.subject,
                    "event": notice.event,
                    "message": notice.message,
                }
                for notice in batch
            ],
        }
        hook = team.notices
        await post_webhook(self._client, hook.webhook, hook.secret, message, self._clock())


def _by_team(notice: Notice) -> TeamName:
    return notice.team


def _message(server: ServerName, phase: str, event: str, note: str) -> str:
    words = {
        "down": f"Server {server} is down in {phase}: {note}",
        "up": f"Server {server} answers again in {phase}",
        "finished": f"Server {server} has finished {phase}",
    }
    return words[event]


def _text(batch: Sequence[Notice]) -> str:
    return "\n".join(notice.message for notice in batch)


# -- announcements to a challenge's teams: a notice for each that has turned notices on ------------

EVENT = "announcement"


async def tell_teams(
    connection: AsyncConnection,
    settings: NoticeSettings,
    challenge: Challenge,
    at: float,
    text: str,
) -> None:
    """Store a notice for each of its teams that can be reached; `Notifier` sends it.

    A team in no challenge yet, as organisers make them, gets the notices of all challenges.
    """
    message = f"{challenge.title or challenge.name}: {text}"
    for team in await teams.of_challenge(connection, challenge.id):
        by_mail = team.notices.email and team.email and settings.smtp_host
        if team.notices.webhook or by_mail:
            notice = Notice(
                team=team.name, at=at, subject=challenge.name, event=EVENT, message=message
            )
            await alerts.add_notice(connection, notice)
