"""A challenge's page: its texts, its timeline, its announcements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from aiohttp import web
from markupsafe import Markup

from metaserver.base.phases import SECTIONS, SignUpMode
from metaserver.operations import challenge_pages, publishing
from metaserver.operations.challenge_pages import AnnouncementDetail, ChallengeTexts
from metaserver.operations.context import HubContext
from metaserver.operations.fields import OneChallenge
from metaserver.operations.pictures import NAME, picture_of
from metaserver.operations.table import ask
from metaserver.web.access.auth import address_for
from metaserver.web.access.visitor import caller_of
from metaserver.web.public.boards import page
from metaserver.web.public.sites import PhaseSites, PhaseSummary
from metaserver.web.ui.markdown import render
from metaserver.web.ui.templates import Templates

NEWEST = 5
"""Announcements that are shown at once; the others are folded."""


class ShownSection(NamedTuple):
    """A text of the page as it is shown."""

    name: str
    heading: str
    html: Markup


class ShownAnnouncement(NamedTuple):
    """An announcement as it is shown."""

    at: float
    title: str
    html: Markup


class Milestone(NamedTuple):
    """A date of the timeline; `word` is what a phase does then.

    `planned`: the plan's date, if an organiser did it at another time.
    """

    phase: PhaseSummary
    word: str
    at: float
    planned: float | None


def sections_of(texts: ChallengeTexts) -> list[ShownSection]:
    """Return the texts that there are; takes some milliseconds, for a thread."""
    texts_of = [(section, getattr(texts, section.name)) for section in SECTIONS]
    return [
        ShownSection(section.name, section.heading, render(text, section.name, texts.challenge))
        for section, text in texts_of
        if text.strip()
    ]


def announced(announcements: Sequence[AnnouncementDetail]) -> list[ShownAnnouncement]:
    """Return announcements with their HTML; takes some milliseconds, for a thread."""
    return [
        ShownAnnouncement(
            announcement.at,
            announcement.title,
            render(announcement.text, f"news-{announcement.at:.0f}"),
        )
        for announcement in announcements
    ]


def timeline(phases: Sequence[PhaseSummary]) -> list[Milestone]:
    """Return the dates of phases in their order."""
    milestones = [
        Milestone(phase, word, at, phase.planned.get(word))
        for phase in phases
        for word, at in phase.dates
    ]
    return sorted(milestones, key=lambda milestone: milestone.at)


@dataclass(frozen=True, kw_only=True)
class ChallengeDoor:
    """The handler, and what it draws with; `joining` if teams can sign in and up."""

    hub: HubContext
    sites: PhaseSites
    templates: Templates

    def routes(self) -> list[web.RouteDef]:
        """Return its routes."""
        return [
            web.get("/c/{challenge}", self.show),
            web.get(f"/pictures/{{challenge}}/{{name:{NAME}}}", self.picture),
        ]

    async def picture(self, request: web.Request) -> web.Response:
        """Answer with a picture of a challenge's page."""
        kind, content = await picture_of(self.hub, caller_of(request), **request.match_info)
        headers = {"Cache-Control": "private, max-age=300"}
        return web.Response(body=content, content_type=kind, headers=headers)

    async def show(self, request: web.Request) -> web.Response:
        """Answer with a challenge's page."""
        caller, name = caller_of(request), request.match_info["challenge"]
        query = OneChallenge(challenge=name)
        texts = await ask(self.hub, caller, challenge_pages.get, query)
        news = await ask(self.hub, caller, challenge_pages.list_announcements, query)
        phases = self.sites.of_challenge(name)
        context: Mapping[str, object] = {
            "c": texts,
            "address": f"{address_for(request)}/c/{quote(name)}",
            "phases_of": phases,
            "timeline": timeline(phases),
            "results": await ask(self.hub, caller, publishing.results, query),
            "sections": await caller.aside(sections_of, texts),
            "news": await caller.aside(announced, news),
            "newest": NEWEST,
            "now": self.hub.clock(),
            "joining": texts.sign_up is not SignUpMode.CLOSED,
        }
        return page(self.templates.page("challenge.html", **context))
