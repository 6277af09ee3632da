"""Announcements in the team console: the newest of all challenges."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from metaserver.operations import challenge_pages, challenges
from metaserver.operations.challenge_pages import AnnouncementDetail
from metaserver.operations.fields import OneChallenge
from metaserver.operations.table import Nothing
from metaserver.web.access.visitor import caller_of
from metaserver.web.public.challenge_page import ShownAnnouncement, announced
from metaserver.web.ui.console import ConsoleContext

NEWEST = 3


async def newest_news(console: ConsoleContext, request: web.Request) -> Sequence[ShownAnnouncement]:
    """Return the newest announcements that the viewer may see."""
    announcements: list[AnnouncementDetail] = []
    for challenge in await console.ask(request, challenges.list_challenges, Nothing()):
        query = OneChallenge(challenge=challenge.challenge)
        announcements += await console.ask(request, challenge_pages.list_announcements, query)
    newest = sorted(announcements, key=lambda announcement: announcement.at, reverse=True)[:NEWEST]
    return await caller_of(request).aside(announced, newest)
