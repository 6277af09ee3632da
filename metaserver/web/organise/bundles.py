"""Challenges as bundles: made from a challenge, exported, made again under another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import Refusal, RefusedError
from metaserver.operations import bundles
from metaserver.operations.bundles import BundleFault, BundleFile, BundleOrder
from metaserver.operations.fields import NAME_HELP
from metaserver.web.access.bodies import upload
from metaserver.web.access.downloads import attachment
from metaserver.web.organise.overview import challenge_named
from metaserver.web.ui.console import ConsolePages, posted
from metaserver.web.ui.form_pages import FormPage, OperationForm, no_file, sent_file, tried
from metaserver.web.ui.forms import Form, Wording

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
COPIED = {"name": Wording(label="Name", help=f"Of the new challenge: {NAME_HELP}.")}


class BundlePages(ConsolePages):
    """The handlers."""

    def routes(self) -> list[web.RouteDef]:
        """Return the route of a challenge that there is."""
        return [web.get(f"{ONE}/bundle", self.export)]

    def new_routes(self) -> list[web.RouteDef]:
        """Return the routes of new challenges."""
        clone = FormPage(
            console=self.console,
            path=f"{ONE}/clone",
            operation=bundles.clone,
            fields=("name",),
            show=self._clone,
            then="/organise",
            wording=COPIED,
        )
        return [web.get(BUNDLE, self.new), web.post(BUNDLE, self.make), *clone.routes()]

    async def new(
        self,
        request: web.Request,
        values: Mapping[str, Any] | MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
        faults: Sequence[BundleFault] = (),
    ) -> web.Response:
        """Answer with the form that makes a challenge of a bundle."""
        most = self.console.hub.settings.web.upload_bytes >> 20
        content = Wording(
            label="Bundle", kind="file", help=f"A zip with challenge.yaml. At most {most} MiB."
        )
        form = MADE.form(values, refused, content=content)
        return self.console.answer(
            "organise_bundle.html", status=form.status, form=form, faults=faults
        )

    @upload
    async def make(self, request: web.Request) -> web.Response:
        """Make a challenge of a bundle, or show all that is wrong with it."""
        sent = await posted(request)
        file = sent_file(sent)
        values = MADE.values(sent) | {"content": file.content}
        if not file.content and not values.get("sample"):
            return await self.new(request, sent, no_file())
        report = await tried(self.console.submit(request, bundles.check, values), ("content",))
        if isinstance(report, RefusedError):
            return await self.new(request, sent, report)
        if report.faults:
            message = "nothing was made of it: what is wrong is listed above"
            refused = RefusedError(Refusal.INVALID, message, field="content")
            return await self.new(request, sent, refused, report.faults)
        done = await tried(self.console.submit(request, bundles.make, values), ("content",))
        if isinstance(done, RefusedError):
            return await self.new(request, sent, done)
        raise web.HTTPSeeOther("/organise")

    async def export(self, request: web.Request) -> web.Response:
        """Answer with a challenge as a bundle: `?answers=1` has its runs too."""
        name, answers = request.match_info["challenge"], request.query.get("answers") == "1"
        order = BundleOrder(challenge=name, answers=answers)
        made = await self.console.ask(request, bundles.export, order)
        return attachment(made.content, f"{made.challenge}.zip", "application/zip")

    async def _clone(self, request: web.Request, form: Form) -> web.Response:
        """Answer with the form that makes a challenge again under another name."""
        challenge = await challenge_named(self.console, request, request.match_info["challenge"])
        return self.console.answer(
            "organise_clone.html", status=form.status, challenge=challenge, form=form
        )
