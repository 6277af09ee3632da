"""Forms that pages send, read within bounds.

A form's first field is read before the rest has come: it is the CSRF value, so nothing is read for
another session's page. Files come in multipart forms, which only a handler of uploads takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from aiohttp import web
from multidict import MultiDict

from metaserver.base.errors import RefusedError
from metaserver.web.access.aside import LARGE, aside
from metaserver.web.access.bodies import check_plain, content_type, pieces, takes_upload
from metaserver.web.access.form_bodies import (
    CharsetError,
    Field,
    Form,
    FormBody,
    MultipartForm,
    TooLargeError,
    body_of,
)

FIRST_BYTES = 8_192
"""Within so many bytes a form's first field ends."""
KEPT_BYTES = 2**17
"""A longer form is not kept for who has to sign in first."""
CSRF_FIELD, AGAIN_FIELD = "csrf", "csrf-again"
"""The first field of a form: the session's value; under the second name nothing is done with the
form, it is only shown again."""
_NOT_KEPT = frozenset({CSRF_FIELD, AGAIN_FIELD, "secret", "token"})


class Unsent(NamedTuple):
    """A form that was not taken: where it was sent, and its texts, without files and secrets.

    `too_long`: it had more than is kept, so that no text is there.
    """

    action: str
    fields: Sequence[tuple[str, str]]
    too_long: bool = False


class UnsentError(RefusedError):
    """A form from this site's pages that came without a session, or with another's.

    Nothing was done. Its viewer signs in if needed, and is shown the form again.
    """

    def __init__(self, refused: RefusedError, unsent: Unsent) -> None:
        self.unsent = unsent
        super().__init__(refused.refusal, refused.message)


class SentForm:
    """The form of a request, which may not have come yet."""

    def __init__(self, request: web.Request, body: FormBody) -> None:
        self._request = request
        self._body = body
        self._read = 0
        self._fields: Form | None = None

    async def first(self) -> Field | None:
        """Return the first field and read no further; None if it is too long, or missing."""
        while (field := self._body.first) is None and self._read < FIRST_BYTES:
            data = await self._request.content.read(FIRST_BYTES - self._read)
            if not data:
                return next(iter((await self.fields(FIRST_BYTES)).items()), None)
            await self._feed(data)
        return field

    async def fields(self, limit: int) -> Form:
        """Return all fields of a form, at most `limit` bytes."""
        if self._fields is None:
            async for data in pieces(self._request, limit, bytes_read=self._read):
                await self._feed(data)
            self._fields = await aside(self._request, self._read > LARGE, self._body.close)
        return self._fields

    async def _feed(self, data: bytes) -> None:
        self._read += len(data)
        await aside(self._request, len(data) > LARGE, self._body.feed, data)


FORM = web.RequestKey("FORM", SentForm)


async def first_text(request: web.Request, name: str) -> str:
    """Return a form's first field, if it is a text of this name; else an empty text."""
    with _refusing():
        form = _form_of(request)
        field = None if form is None else await form.first()
    return field[1] if field and field[0] == name and isinstance(field[1], str) else ""


async def fields(request: web.Request, limit: int) -> Form:
    """Return the fields of a request's form, at most `limit` bytes."""
    with _refusing():
        form = _form_of(request)
        return MultiDict() if form is None else await form.fields(limit)


async def unsent_form(request: web.Request) -> Unsent:
    """Return what can be kept of a request's form: no field if it is long, or a button alone."""
    try:
        form = await fields(request, KEPT_BYTES)
    except web.HTTPException:
        return Unsent(request.path_qs, (), too_long=True)
    texts = ((name, value) for name, value in form.items() if isinstance(value, str))
    return Unsent(request.path_qs, [text for text in texts if text[0] not in _NOT_KEPT])


def _form_of(request: web.Request) -> SentForm | None:
    """Return a request's form, the same each time; None if it has no body."""
    if FORM not in request:
        if not request.can_read_body:
            return None
        check_plain(request)
        body = body_of(*content_type(request))
        if body is None or (
            isinstance(body, MultipartForm) and not takes_upload(request.match_info.handler)
        ):
            raise web.HTTPUnsupportedMediaType(text="Expected an urlencoded form.")
        request[FORM] = SentForm(request, body)
    return request[FORM]


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what is wrong with a form into its status."""
    try:
        yield
    except CharsetError as error:
        raise web.HTTPUnsupportedMediaType(text="A form must be UTF-8.") from error
    except TooLargeError as error:
        text = f"The form has {error}, and no setting allows more."
        raise web.HTTPRequestEntityTooLarge(0, text=text) from error
    except ValueError as error:
        raise web.HTTPBadRequest(text="The form cannot be read.") from error
