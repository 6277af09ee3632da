"""Uploads of a team: a result file is looked at first, then sent, the same bytes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import OPEN_STATES
from metaserver.base.structs import convert
from metaserver.operations import run_previews, runs, uploads
from metaserver.operations.fields import NAME_HELP
from metaserver.operations.phases import PhaseDetail
from metaserver.operations.run_previews import RunPreview
from metaserver.operations.runs import UploadRun
from metaserver.operations.text_files import MOST_BYTES
from metaserver.operations.uploads import UploadAllowance, UploadsOf
from metaserver.web.access.bodies import upload
from metaserver.web.team.view import Scope, newest_phases, scope_of
from metaserver.web.ui.console import ConsolePages, phase_named, posted
from metaserver.web.ui.form_pages import (
    OperationForm,
    one_of,
    sent_file,
    tried,
    tried_file,
)
from metaserver.web.ui.forms import Wording

HELD_OF_TEAM, MOST_HELD = 2, 32
"""Files kept at a time: per team, in total; the oldest goes first."""
HELD_BYTES = 128 * 2**20
"""Bytes kept at a time; the oldest file goes first."""
HELD_SECONDS = 1_800.0
"""Seconds for which a file is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldRun:
    """A result file with what was found in it; `source` is its name.

    A file that cannot be uploaded is kept only for what was found: `content` is empty.
    """

    team: str
    phase: str
    task: str
    run: str
    content: bytes
    source: str
    preview: RunPreview


class HeldRuns:
    """A hub's held files by random keys, each only for its team."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, HeldRun]] = {}

    def keep(self, run: HeldRun) -> str:
        """Keep a file; return its key."""
        self._forget()
        keys = [key for key, (_, kept_run) in self._kept.items() if kept_run.team == run.team]
        for key in keys[: len(keys) - HELD_OF_TEAM + 1]:
            del self._kept[key]
        while self._kept and (
            len(self._kept) >= MOST_HELD or self._bytes + len(run.content) > HELD_BYTES
        ):
            del self._kept[next(iter(self._kept))]
        key = secrets.token_hex(16)
        self._kept[key] = (self._clock(), run)
        return key

    def get(self, key: str, team: str) -> HeldRun | None:
        """Return a team's file; None if it is no longer kept, or another team's."""
        self._forget()
        _, run = self._kept.get(key, (0.0, None))
        return run if run is not None and run.team == team else None

    def drop(self, key: str) -> None:
        """Forget a file."""
        self._kept.pop(key, None)

    @property
    def _bytes(self) -> int:
        return sum(len(run.content) for _, run in self._kept.values())

    def _forget(self) -> None:
        due = self._clock() - HELD_SECONDS
        for key in [key for key, (at, _) in self._kept.items() if at < due]:
            del self._kept[key]


PATH = "/team/upload"
NAMES = ("task", "run", "content")
SHEET = OperationForm(
    request=UploadRun,
    names=NAMES,
    wording={
        "run": Wording(
            help=f"{NAME_HELP.capitalize()}. Your run of the same name and task is replaced;"
            " on the boards, a name that another team also uses begins with your team's name."
        ),
        "content": Wording(
            label="Result file",
            kind="file",
            help=f"Choose the file, or drop it here. Plain or gzip, at most {MOST_BYTES >> 20} MiB"
            " unpacked. It is checked first: nothing counts until you upload it.",
        ),
    },
)


@dataclass(frozen=True, kw_only=True)
class TeamUploadPages(ConsolePages):
    """The upload handlers."""

    held: HeldRuns = field(default_factory=HeldRuns)

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [
            web.get(PATH, self.show),
            web.post(PATH, self.look),
            web.post(f"{PATH}/send", self.send),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer with the form for uploading to a phase, and what is left of its limits.

        `looked` names a previewed file: its findings are shown too.
        """
        scope = await scope_of(self.console, request)
        phase, key = phase_named(self.console, request), request.query.get("looked", "")
        held_run = self.held.get(key, scope.team.team)
        if key and held_run is None:
            return await self._show(request, scope, phase, refused=_gone())
        submitted = None if held_run is None else {"task": held_run.task, "run": held_run.run}
        return await self._show(
            request, scope, phase, submitted=submitted, held_run=held_run, key=key
        )

    async def _show(
        self,
        request: web.Request,
        scope: Scope,
        name: str | None,
        *,
        submitted: Mapping[str, Any] | MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
        held_run: HeldRun | None = None,
        key: str = "",
    ) -> web.Response:
        listed = [
            phase
            for phase in await newest_phases(self.console, request)
            if phase.state in OPEN_STATES or phase.phase == name
        ]
        phase = next(
            (phase_detail for phase_detail in listed if name in (None, phase_detail.phase)), None
        )
        remaining = await self._left(request, scope, phase)
        tasks = one_of([allowance.task for allowance in remaining], "What the file answers.")
        form = SHEET.form(submitted, refused, task=tasks) if remaining else None
        return self.console.answer(
            "team_upload.html",
            status=refused.refusal if refused else 200,
            scope=scope,
            known=listed,
            phase=phase,
            left=remaining,
            form=form,
            looked=held_run,
            key=key,
            path=PATH,
        )

    async def _left(
        self, request: web.Request, scope: Scope, phase: PhaseDetail | None
    ) -> Sequence[UploadAllowance]:
        if phase is None or phase.state not in OPEN_STATES:
            return []
        query = UploadsOf(phase=phase.phase, team=scope.team.team)
        return await self.console.ask(request, uploads.list_, query)

    @upload
    async def look(self, request: web.Request) -> web.Response:
        """Hold the file for a while, and lead to what an upload of it would do."""
        submitted = await posted(request)
        scope, file = await scope_of(self.console, request), sent_file(submitted)
        phase = str(submitted.get("phase", ""))
        values = SHEET.values(submitted) | {"content": file.content, "phase": phase}
        values["team"] = scope.team.team
        preview = await tried_file(self.console, request, run_previews.preview, values, NAMES)
        if isinstance(preview, RefusedError):
            return await self._show(request, scope, phase, submitted=submitted, refused=preview)
        held_run = HeldRun(
            team=preview.team,
            phase=preview.phase,
            task=preview.task,
            run=preview.run,
            content=file.content if preview.accepted else b"",
            source=file.source,
            preview=preview,
        )
        key = self.held.keep(held_run)
        raise web.HTTPSeeOther(scope.link(PATH, phase=preview.phase, looked=key))

    async def send(self, request: web.Request) -> web.Response:
        """Upload the file that was looked at; My results then shows it."""
        submitted = await posted(request)
        scope, key = await scope_of(self.console, request), str(submitted.get("held", ""))
        held_run = self.held.get(key, scope.team.team)
        if held_run is None or not held_run.content:
            phase = phase_named(self.console, request)
            return await self._show(request, scope, phase, refused=_gone())
        upload = convert(held_run, UploadRun)
        result = await tried(self.console.ask(request, runs.upload, upload), NAMES)
        if isinstance(result, RefusedError):
            values = {"task": held_run.task, "run": held_run.run}
            return await self._show(
                request, scope, held_run.phase, submitted=values, refused=result
            )
        self.held.drop(key)
        raise web.HTTPSeeOther(scope.link("/team", uploaded=result.run))


def _gone() -> RefusedError:
    message = "the file is no longer kept: choose it again"
    return RefusedError(Refusal.STATE, message, field="content")
