"""A challenge's page as organisers write it: texts with a preview, announcements."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import web

from metaserver.base.errors import RefusedError
from metaserver.base.phases import SECTIONS
from metaserver.operations import challenge_pages
from metaserver.operations.challenge_pages import AnnouncementDetail, ChallengeEdit, ChallengeTexts
from metaserver.operations.fields import OneChallenge
from metaserver.web.public.challenge_page import announced, sections_of
from metaserver.web.ui.console import ConsolePages, posted
from metaserver.web.ui.form_pages import FormPage, OperationForm, tried
from metaserver.web.ui.forms import Form, Wording
from metaserver.web.ui.markdown import MOST, render

MODES = (
    ("closed", "no sign-up: organisers add teams"),
    ("approve", "an organiser approves each team"),
    ("automatic", "every team that has confirmed its address is in"),
    ("code", "every team that knows the invitation code is in"),
)
HINTS = {
    "data": " Data packages that you release are linked beside their phases by themselves.",
    "kits": " Such as: `annotators new FOLDER` writes a server in one of eight languages;"
    " `annotators serve dictionary` is a baseline.",
}
"""The rest of the text help, by their names."""
TEXTS = OperationForm(
    request=ChallengeEdit,
    names=(
        *(section.name for section in SECTIONS),
        *("announced", "sign_up", "code", "terms", "terms_version"),
    ),
    wording={
        **{
            section.name: Wording(
                label=section.heading, kind="long", help="Markdown." + HINTS.get(section.name, "")
            )
            for section in SECTIONS
        },
        "announced": Wording(
            help="Until then only organisers see anything of the challenge: 2026-12-01T09:00;"
            " empty: everybody sees it."
        ),
        "sign_up": Wording(label="Teams sign up", choices=MODES),
        "code": Wording(
            label="New invitation code", help="8 letters or more; empty: the code stays."
        ),
        "terms": Wording(
            label="Terms", kind="long", help="Markdown. Teams accept them as they sign up."
        ),
        "terms_version": Wording(help="Give each change another one, such as 2026-11."),
    },
)


class TextPages(ConsolePages):
    """The handlers of a challenge's page and announcements."""

    @cached_property
    def _announce(self) -> FormPage[AnnouncementDetail]:
        return FormPage(
            console=self.console,
            path="/organise/challenges/{challenge}/announcements",
            operation=challenge_pages.announce,
            fields=("title", "text"),
            show=self._show_news,
            then=_news,
            wording={"text": Wording(kind="long", help="Markdown.")},
            name="news",
            shown_at=("challenge",),
        )

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        path = "/organise/challenges/{challenge}"
        return [
            web.get(f"{path}/page", self.show),
            web.post(f"{path}/page", self.change),
            self._announce.route(),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the texts as they are."""
        texts = await self._texts(request)
        return await self._show(request, texts, TEXTS.form(_values(texts)))

    async def change(self, request: web.Request) -> web.Response:
        """Change the texts, or show how they would look."""
        texts, submitted = await self._texts(request), await posted(request)
        values = {**TEXTS.values(submitted), "challenge": texts.challenge}
        if "preview" in submitted:
            written = {name: str(values.get(name) or "")[:MOST] for name in texts.__struct_fields__}
            drafts = {section.name: written[section.name] for section in SECTIONS}
            draft = msgspec.structs.replace(texts, **drafts, terms=written["terms"])
            return await self._show(request, texts, TEXTS.form(submitted), draft=draft)
        if not values.get("code"):
            values.pop("code", None)
        result = await tried(self.console.submit(request, challenge_pages.edit, values))
        if isinstance(result, RefusedError):
            return await self._show(request, texts, TEXTS.form(submitted, result))
        raise web.HTTPSeeOther(f"/c/{quote(texts.challenge, safe='')}")

    async def _show_news(self, request: web.Request, news: Form) -> web.Response:
        texts = await self._texts(request)
        return await self._show(request, texts, TEXTS.form(_values(texts)), news=news)

    async def _texts(self, request: web.Request) -> ChallengeTexts:
        query = OneChallenge(challenge=request.match_info["challenge"])
        return await self.console.ask(request, challenge_pages.get, query)

    async def _show(
        self,
        request: web.Request,
        texts: ChallengeTexts,
        form: Form,
        *,
        draft: ChallengeTexts | None = None,
        news: Form | None = None,
    ) -> web.Response:
        query = OneChallenge(challenge=texts.challenge)
        listed = await self.console.ask(request, challenge_pages.list_announcements, query)
        preview: dict[str, Any] = {"sections": (), "terms": ""}
        if draft is not None:
            preview["sections"] = await asyncio.to_thread(sections_of, draft)
            preview["terms"] = await asyncio.to_thread(render, draft.terms, "terms")
        return self.console.answer(
            "organise_texts.html",
            status=news.status if news else form.status,
            c=texts,
            form=form,
            draft=draft,
            news_form=news or self._announce.form(),
            news=await asyncio.to_thread(announced, listed),
            path=f"/organise/challenges/{quote(texts.challenge, safe='')}",
            **preview,
        )


def _values(texts: ChallengeTexts) -> Mapping[str, Any]:
    values = {name: getattr(texts, name) for name in TEXTS.names if hasattr(texts, name)}
    at = texts.announced
    return values | {"announced": at.isoformat(timespec="minutes") if at else ""}


async def _news(request: web.Request, _announced: object) -> str:
    return f"/c/{quote(request.match_info['challenge'], safe='')}#news"
