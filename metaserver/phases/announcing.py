"""Announcements to a challenge's teams: a notice for each that has turned notices on."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.base.phases import Challenge
from metaserver.config import NoticeSettings
from metaserver.store import notices, teams
from metaserver.store.notices import Notice

EVENT = "announcement"


async def tell_teams(
    connection: AsyncConnection,
    settings: NoticeSettings,
    challenge: Challenge,
    at: float,
    text: str,
) -> None:
    """Store a notice for each of its teams that can be sent one; `Notifier` sends it.

    A team that takes part in no challenge yet, as organisers make them, is sent those of all.
    """
    message = f"{challenge.title or challenge.name}: {text}"
    for team in await teams.of_challenge(connection, challenge.id):
        by_mail = team.notices.email and team.email and settings.smtp_host
        if team.notices.webhook or by_mail:
            notice = Notice(
                team=team.name, at=at, subject=challenge.name, event=EVENT, message=message
            )
            await notices.add(connection, notice)
