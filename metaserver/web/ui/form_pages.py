"""Forms of the consoles, each declared once: shown, sent, and shown again with what was wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PureWindowsPath
from typing import Any, Generic, TypeVar

import msgspec
from aiohttp import web
from multidict import MultiMapping

from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.operations.table import declared
from metaserver.web.access.bodies import upload
from metaserver.web.access.form_bodies import SentFile
from metaserver.web.access.visitor import caller_of
from metaserver.web.ui.console import CORRECTABLE, AskedOperation, ConsoleContext, posted
from metaserver.web.ui.forms import Form, Wording, values_of

SOURCE_LENGTH = 200
FILE = "content"
"""The field of a form that is a file, as in the requests of all operations."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class OperationForm:
    """A form over some fields of an operation's request."""

    request: type[msgspec.Struct]
    names: Sequence[str]
    wording: Mapping[str, Wording] = field(default_factory=dict)
    name: str = "form"

    def form(
        self,
        values: Mapping[str, Any] | None = None,
        refused: RefusedError | None = None,
        **wording: Wording,
    ) -> Form:
        """Return the form, empty or with values in it; `wording` is of this page alone."""
        return Form.of(
            self.request,
            self.names,
            values=values,
            wording={**self.wording, **wording},
            refused=refused,
            name=self.name,
        )

    def values(self, submitted: MultiMapping[Any]) -> dict[str, Any]:
        """Return an operation's values from the form that was sent."""
        return values_of(self.request, self.names, submitted)


@dataclass(frozen=True, kw_only=True)
class FormPage(Generic[T]):
    """A form for one operation.

    `show` answers with the page around the form; its status is the form's. `then` answers once it
    is done, or returns the path to lead to. `values` returns what is in the form at first; without
    it these are the defaults. A field `content` is a file, which must not be empty; refusals of its
    content are shown there. Fields of the operation that the address has (`{server}`) are taken
    from there; the `team` is the form's, or else the caller's. Any refusal of one of `shown_at` is
    shown in the form.
    """

    console: ConsoleContext
    path: str
    operation: AskedOperation[Any, T]
    fields: Sequence[str] = ()
    show: Callable[[web.Request, Form], Awaitable[web.Response]]
    then: Callable[[web.Request, T], Awaitable[web.Response | str]] | str
    values: Callable[[web.Request], Awaitable[Mapping[str, Any]]] | None = None
    wording: Mapping[str, Wording] = field(default_factory=dict)
    name: str = "form"
    shown_at: Sequence[str] = ()

    def form(
        self,
        values: Mapping[str, Any] | MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
    ) -> Form:
        """Return the form with values in it, or with its defaults."""
        return self._form.form(values, refused)

    @property
    def _form(self) -> OperationForm:
        request = declared(self.operation).request
        return OperationForm(
            request=request, names=self.fields, wording=self.wording, name=self.name
        )

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for a form with its own page."""
        return [web.get(self.path, self.open), self.route()]

    def route(self) -> web.RouteDef:
        """Return the route that a form is sent to, if another page shows it."""
        if FILE not in self.fields:
            return web.post(self.path, self.submit)

        @upload
        async def submit(request: web.Request) -> web.Response:
            return await self.submit(request)

        return web.post(self.path, submit)

    async def open(self, request: web.Request) -> web.Response:
        """Answer with the form."""
        values = None if self.values is None else await self.values(request)
        return await self.show(request, self.form(values))

    async def submit(self, request: web.Request) -> web.Response:
        """Ask the operation for what was sent; show the form again if it is refused."""
        submitted = await posted(request)
        names = declared(self.operation).request.__struct_fields__
        values = self._form.values(submitted)
        values |= {name: text for name, text in request.match_info.items() if name in names}
        team = str(submitted.get("team") or "") or caller_of(request).team
        if team and "team" in names and "team" not in values:
            values["team"] = team
        result = await self._result(request, values, submitted)
        if isinstance(result, RefusedError):
            return await self.show(request, self.form(submitted, result))
        answer = self.then if isinstance(self.then, str) else await self.then(request, result)
        if isinstance(answer, str):
            raise web.HTTPSeeOther(answer)
        return answer

    async def _result(
        self, request: web.Request, values: dict[str, Any], submitted: MultiMapping[Any]
    ) -> T | RefusedError:
        if FILE not in self.fields:
            operation = self.console.submit(request, self.operation, values)
            return await tried(operation, self.shown_at)
        file = sent_file(submitted)
        values[FILE] = file.content
        if "source" in declared(self.operation).request.__struct_fields__:
            values["source"] = file.source or "-"
        return await tried_file(self.console, request, self.operation, values, self.shown_at)


async def tried(operation: Awaitable[T], fields: Sequence[str] = ()) -> T | RefusedError:
    """Await an operation; return its result, or the `RefusedError` that the viewer can correct.

    Refusals of `fields` are shown there, and so is a refusal because nothing can be stored now.
    """
    try:
        return await operation
    except RefusedError as error:
        if error.refusal in CORRECTABLE or error.field in fields:
            return error
        raise
    except UnavailableError as error:
        message = (
            f"perhaps nothing was done, the hub can store nothing now: {error.reason}; try again"
        )
        return RefusedError(Refusal.STATE, message)


async def tried_file(
    console: ConsoleContext,
    request: web.Request,
    operation: AskedOperation[Any, T],
    values: Mapping[str, Any],
    fields: Sequence[str] = (),
) -> T | RefusedError:
    """Do an operation with a file, as `tried`; without a file it is refused at that field."""
    if not values[FILE]:
        return no_file()
    return await tried(console.submit(request, operation, values), (FILE, *fields))


def sent_file(submitted: MultiMapping[Any], name: str = FILE) -> SentFile:
    """Return a form's file, its name without folders."""
    return next(iter(sent_files(submitted, name)), SentFile(b"", ""))


def sent_files(submitted: MultiMapping[Any], name: str = FILE) -> list[SentFile]:
    """Return the files of a field, their names without folders."""
    files = [field for field in submitted.getall(name, ()) if isinstance(field, SentFile)]
    return [
        SentFile(file.content, PureWindowsPath(file.source).name[:SOURCE_LENGTH])  # knows / and \
        for file in files
        if file.source or file.content
    ]


def no_file() -> RefusedError:
    """Return the refusal of a form without its file."""
    return RefusedError(Refusal.INVALID, "choose a file that is not empty", field=FILE)


def one_of(names: Sequence[str], text: str) -> Wording:
    """Return the choices for a field with some names."""
    return Wording(help=text, choices=[(name, name) for name in names])


def number(text: str) -> int:
    """Return the number in an address; 0 for what is none, or larger than any there is."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
