"""Challenges as bundles: made from a challenge, exported, made again under another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations import bundles
from metaserver.operations.bundles import BundleFault, BundleFile, BundleOrder, ChallengeCopy
from metaserver.operations.fields import NAME_HELP
from metaserver.web.access.bodies import upload
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, no_file, sent_file, tried
from metaserver.web.ui.forms import Wording

BUNDLE = "/organise/bundle"
ONE = "/organise/challenges/{challenge}"
MADE = OperationForm(
    request=BundleFile,
    names=("content", "sample", "challenge"),
    wording={
        "sample": Wording(
            label="Or one that ships with the hub",
            help="Small, with gold, to try everything.",
            choices=[
                ("", "none: the file above"),
                ("interactions", "protein interactions: ACT, INT and IPT, training and test"),
                ("names", "names of proteins: NER"),
                ("biotopes", "where bacteria live: uploads only"),
            ],
        ),
        "challenge": Wording(label="Another name", help="Empty: that of the bundle."),
    },
)
COPIED = OperationForm(
    request=ChallengeCopy,
    names=("name",),
    wording={"name": Wording(label="Name", help=f"Of the new challenge: {NAME_HELP}.")},
)


@dataclass(frozen=True, kw_only=True)
class BundlePages:
    """The handlers."""

    console: ConsoleContext

    def routes(self) -> list[web.RouteDef]:
        """Return the route of a challenge that there is."""
        return [web.get(f"{ONE}/bundle", self.export)]

    def new_routes(self) -> list[web.RouteDef]:
        """Return the routes of new challenges."""
        return [
            web.get(BUNDLE, self.new),
            web.post(BUNDLE, self.make),
            web.get(f"{ONE}/clone", self.copy),
            web.post(f"{ONE}/clone", self.clone),
        ]

    async def new(self, request: web.Request) -> web.Response:
        """Answer with the form that makes a challenge of a bundle."""
        return self._new()

    def _new(
        self,
        values: Mapping[str, Any] | MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
        faults: Sequence[BundleFault] = (),
    ) -> web.Response:
        most = self.console.hub.settings.web.upload_bytes >> 20
        content = Wording(
            label="Bundle", kind="file", help=f"A zip with challenge.yaml. At most {most} MiB."
        )
        return self.console.answer(
            "organise_bundle.html",
            status=refused.refusal if refused else 200,
            form=MADE.form(values, refused, content=content),
            faults=faults,
        )

    @upload
    async def make(self, request: web.Request) -> web.Response:
        """Make a challenge of a bundle, or show all that is wrong with it."""
        sent = await posted(request)
        file = sent_file(sent)
        values = MADE.values(sent) | {"content": file.content}
        if not file.content and not values.get("sample"):
            return self._new(sent, no_file())
        report = await tried(self.console.submit(request, bundles.check, values), ("content",))
        if isinstance(report, RefusedError):
            return self._new(sent, report)
        if report.faults:
            message = "nothing was made of it: what is wrong is listed above"
            refused = RefusedError(Refusal.INVALID, message, field="content")
            return self._new(sent, refused, report.faults)
        done = await tried(self.console.submit(request, bundles.make, values), ("content",))
        if isinstance(done, RefusedError):
            return self._new(sent, done)
        raise web.HTTPSeeOther("/organise")

    async def export(self, request: web.Request) -> web.Response:
        """Answer with a challenge as a bundle: `?answers=1` has its runs too."""
        name, answers = request.match_info["challenge"], request.query.get("answers") == "1"
        order = BundleOrder(challenge=name, answers=answers)
        made = await self.console.ask(request, bundles.export, order)
        return web.Response(
            body=made.content,
            content_type="application/zip",
            headers={
                "Content-Disposition": f'attachment; filename="{made.challenge}.zip"',
                "Cache-Control": "private, no-store",
            },
        )

    async def copy(self, request: web.Request) -> web.Response:
        """Answer with the form that makes a challenge again."""
        return self._copy(request.match_info["challenge"])

    def _copy(
        self,
        challenge: str,
        values: MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
    ) -> web.Response:
        return self.console.answer(
            "organise_clone.html",
            status=refused.refusal if refused else 200,
            challenge=challenge,
            form=COPIED.form(values, refused),
        )

    async def clone(self, request: web.Request) -> web.Response:
        """Make a challenge again under another name."""
        name, sent = request.match_info["challenge"], await posted(request)
        values = {**COPIED.values(sent), "challenge": name}
        done = await tried(self.console.submit(request, bundles.clone, values))
        if isinstance(done, RefusedError):
            return self._copy(name, sent, done)
        raise web.HTTPSeeOther("/organise")
