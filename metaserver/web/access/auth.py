"""Authentication: a token in the request's header, or a session that began with a token.

`setup` puts a gate before every request: it gets an id, counts against its client's limits, and its
`Caller` is found. A session's cookie alone changes nothing: what it sends must carry the session's
CSRF value too, and come from a page of this site.
"""

from __future__ import annotations

import base64
import binascii
import logging
import re
import time
import uuid
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from urllib.parse import quote, urlsplit
from weakref import WeakValueDictionary

import structlog
from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger
from aiohttp.typedefs import Handler, Middleware

from metaserver.base.communications import CallingServer
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import Role
from metaserver.base.viewer import Person, Session, Token, person_name
from metaserver.config import WebSettings
from metaserver.operations.caller import Caller
from metaserver.operations.sessions import Sessions
from metaserver.web.access import bodies, csrf
from metaserver.web.access.addresses import Origin, Proxies, site_of
from metaserver.web.access.aside import CHARGE, ClientWorkbench, Measured
from metaserver.web.access.posted import (
    AGAIN_FIELD,
    CSRF_FIELD,
    UnsentError,
    first_text,
    unsent_form,
)
from metaserver.web.access.roles import is_for_strangers, require_admitted
from metaserver.web.access.throttle import (
    Allowances,
    Buckets,
    Clock,
    Delays,
    Failures,
    Sharers,
    Slot,
    Slots,
)
from metaserver.web.access.visitor import VISITOR, Visitor, Ways, caller_of, remember

log = logging.getLogger(__name__)

CALLBACKS = ("/becalm/", "/api/saveAnnotations/", "/abstractserver/", "/patentserver/")
"""Path prefixes that servers call; all but the first are BeCalm's own."""
CALLBACKS_A_MINUTE = 6_000
"""Callbacks per server and minute, refused ones included."""
CALLING = web.RequestKey("CALLING", CallingServer)
_KEY_CHARACTERS = 200


def calls_back(request: web.Request) -> bool:
    """Return whether a request is for those paths."""
    return request.path.startswith(CALLBACKS)


def key_of(request: web.Request) -> str:
    """Return the key that a callback brings: `apikey`, Bearer, or either half of Basic."""
    if "apikey" in request.query:
        return request.query["apikey"][:_KEY_CHARACTERS]
    kind, _, credentials = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    match kind.lower():
        case "bearer":
            return credentials.strip()[:_KEY_CHARACTERS]
        case "basic":
            user, _, password = _decoded(credentials).partition(":")
            return (password or user)[:_KEY_CHARACTERS]
    return ""


def _decoded(credentials: str) -> str:
    try:
        return base64.b64decode(credentials.strip()[: 2 * _KEY_CHARACTERS], validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


CSRF_HEADER = "X-CSRF-Token"
REQUEST_ID_HEADER = "X-Request-Id"
REQUEST_ID = web.RequestKey("REQUEST_ID", str)
SAFE = frozenset({hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS})
AGAIN = web.RequestKey("AGAIN", bool)
"""True for a form that is only to be shown again, with what was written in it."""
PAYERS = web.RequestKey("PAYERS", list[Visitor])
"""The visitors who pay for a request's processor time."""
PROGRAMS = ("/api/", "/xmlrpc")
"""Prefixes of the paths for programs, which send no forms."""
UNCOUNTED = ("/static/", "/healthz", "/readyz")
STREAM = "/events"  # how the path of an event stream ends
_SANE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_EVERYBODY = ""


class Gate:
    """The gate before every request.

    `now` gives Unix seconds, `clock` measures time and `work` the processor time of the event loop.
    """

    def __init__(
        self,
        sessions: Sessions,
        settings: WebSettings,
        *,
        now: Callable[[], float] = time.time,
        clock: Clock = time.monotonic,
        work: Clock = time.thread_time,
        sharers: Sharers = lambda: 1,
    ) -> None:
        self.sessions = sessions
        self.settings = settings
        self.now = now
        self.work = work
        self.ways = Ways()
        self.proxies = Proxies(settings.trusted_proxies)
        self._tokens = Allowances(settings.requests_a_minute, clock=clock, sharers=sharers)
        anonymous = settings.anonymous_requests_a_minute
        self._addresses = Allowances(anonymous, clock=clock, sharers=sharers)
        self._callbacks = Allowances(CALLBACKS_A_MINUTE, clock=clock, sharers=sharers)
        self._wrong = Buckets(anonymous, clock=clock, sharers=sharers)
        self._workbenches: WeakValueDictionary[Hashable, ClientWorkbench] = WeakValueDictionary()
        self._streams = Slots(settings.streams_an_address, settings.streams)
        self.uploads = Slots(
            bodies.UPLOADS_OF_ONE, bodies.UPLOADS, reserved_slots=bodies.UPLOADS_KEPT
        )
        self.downloads = Slots(
            bodies.DOWNLOADS_OF_ONE, bodies.DOWNLOADS, reserved_slots=bodies.DOWNLOADS_KEPT
        )
        self._sign_ins = Failures(Delays(), clock=clock, sharers=sharers)
        self._all_sign_ins = Failures(Delays(free=100, cap=5.0), clock=clock, sharers=sharers)

    # -- who asks --------------------------------------------------------------------------------

    def origin(self, request: web.Request) -> Origin:
        """Return a request's origin."""
        return self.proxies.origin(
            request.remote,
            secure=request.secure,
            forwarded=request.headers.getall("X-Forwarded-For", ()),
            protocol=request.headers.get("X-Forwarded-Proto", ""),
        )

    async def token(self, secret: str, origin: Origin) -> Token:
        """Return a secret's token; `RefusedError` if it is invalid or expired."""
        refuse_after(self._wrong.wait(origin.key), "too many wrong tokens")
        token = await self.sessions.token(secret, self.now())
        if token is None:
            self._wrong.take(origin.key)
            message = "this token is not valid, or has expired: ask for a new token"
            raise RefusedError(Refusal.TOKEN, message)
        return token

    async def calling_server(self, key: str, origin: Origin) -> CallingServer:
        """Return the server that calls back with a key; else `RefusedError`."""
        refuse_after(self._wrong.wait(origin.key), "too many wrong keys")
        server = await self.sessions.calling_server(key) if key else None
        if server is None:
            self._wrong.take(origin.key)
            message = (
                "apikey is missing, or is not the callback key of a server (make one with"
                " `metaserver servers callback-key`)"
            )
            raise RefusedError(Refusal.TOKEN, message)
        return server

    async def signing_in(self, secret: str, origin: Origin) -> Token:
        """Return the token that someone signs in with; each failure makes the next try wait."""
        wait = max(self._sign_ins.wait(origin.key), self._all_sign_ins.wait(_EVERYBODY))
        refuse_after(wait, "too many failed sign-ins")
        try:
            token = await self.token(secret, origin)
        except RefusedError as error:
            if error.refusal is Refusal.TOKEN:
                self._sign_ins.failed(origin.key)
                self._all_sign_ins.failed(_EVERYBODY)
            raise
        self._sign_ins.succeeded(origin.key)
        return token

    async def session(self, request: web.Request, origin: Origin) -> Session | None:
        """Return the session of a request's cookie, if it is valid."""
        cookie = request.cookies.get(self.cookie_name(origin))
        if not cookie:
            return None
        return await self.sessions.session(cookie, self.now())

    def secure(self, origin: Origin) -> bool:
        """Return whether cookies are for https alone."""
        return origin.secure or self.settings.secure_cookies

    def cookie_name(self, origin: Origin) -> str:
        """Return the name of the session's cookie: by https no other host can set it."""
        return "__Host-session" if self.secure(origin) else "session"

    def set_cookie(
        self, request: web.Request, response: web.Response, name: str, value: str, seconds: int
    ) -> None:
        """Give a browser a cookie that only this site's pages send, and no script reads."""
        response.set_cookie(
            name,
            value,
            max_age=seconds,
            path="/",
            httponly=True,
            samesite="Lax",
            secure=self.secure(request[VISITOR].origin),
        )

    def drop_cookie(self, request: web.Request, response: web.Response, name: str) -> None:
        """Take such a cookie from a browser."""
        secure = self.secure(request[VISITOR].origin)
        response.del_cookie(name, path="/", secure=secure, httponly=True)

    # -- how much --------------------------------------------------------------------------------

    def count(self, visitor: Visitor) -> None:
        """Count a request; `RefusedError` if its client asks too often, or for too much."""
        allowances, key = self._counted(visitor)
        _require_share(allowances, key)
        refuse_after(allowances.requests.take(key), "too many requests")

    def charge(self, payers: Sequence[Visitor], seconds: float) -> None:
        """Charge those who pay for a request for the processor time that it took."""
        for visitor in payers:
            allowances, key = self._counted(visitor)
            allowances.seconds.spend(key, seconds)

    def with_workbench(self, visitor: Visitor) -> Visitor:
        """Return a visitor with its client's workbench; organisers have none."""
        if visitor.caller.organiser or visitor.calls_back:
            return visitor
        allowances, key = self._counted(visitor)
        bench = self._workbenches.get(key)
        if bench is None:
            bench = self._workbenches[key] = ClientWorkbench(
                partial(_require_share, allowances, key), partial(allowances.seconds.spend, key)
            )
        return replace(visitor, caller=replace(visitor.caller, workbench=bench))

    def _counted(self, visitor: Visitor) -> tuple[Allowances, Hashable]:
        if visitor.calls_back:
            return self._callbacks, visitor.payer
        if visitor.payer is None:
            return self._addresses, visitor.origin.key
        return self._tokens, visitor.payer

    def stream_place(self, request: web.Request, visitor: Visitor) -> AbstractContextManager[None]:
        """Hold the place of an event stream; `RefusedError` if all are taken."""
        slot = self._streams.take(visitor.origin.key, lambda: request.transport is not None)
        return _held(self._streams, slot)

    def upload_place(self, request: web.Request, visitor: Visitor) -> AbstractContextManager[None]:
        """Hold the place of a large body; `RefusedError` if all are taken."""
        slot = self.uploads.take(
            visitor.payer,
            lambda: request.transport is not None,
            favoured=visitor.caller.organiser,
        )
        return _held(self.uploads, slot)


GATE = web.AppKey("GATE", Gate)


def _require_share(allowances: Allowances, key: Hashable) -> None:
    """Raise `RefusedError` if a client has used its share of the hub's time."""
    refuse_after(allowances.seconds.wait(key), "these requests take too much of the hub's time")


@contextmanager
def _held(slots: Slots, slot: Slot | None) -> Iterator[None]:
    if slot is None:
        message = "too many of these requests at the same time"
        raise RefusedError(Refusal.TOO_MANY, message, retry_after=bodies.RETRY_SECONDS)
    try:
        yield
    finally:
        slots.give(slot)


def is_stream(request: web.Request) -> bool:
    """Return whether a request is for an event stream."""
    return request.path.endswith(STREAM) and not request.path.startswith("/api/")


def refuse_after(wait: float, message: str) -> None:
    """Raise `RefusedError` if there are seconds to wait."""
    if wait:
        raise RefusedError(
            Refusal.TOO_MANY, f"{message}: try again in {wait:.0f} s", retry_after=wait
        )


def setup(
    app: web.Application,
    sessions: Sessions,
    settings: WebSettings,
    *,
    clock: Clock = time.monotonic,
    sharers: Sharers = lambda: 1,
) -> Gate:
    """Put the gate before an application's requests; call it before the application starts.

    The gate's middlewares are around those of the application for what they log, and within them
    for what they refuse: the application must already have `error_pages`.
    """
    server_logger.addFilter(without_what_was_sent)
    app[GATE] = gate = Gate(sessions, settings, clock=clock, sharers=sharers)
    app.middlewares.insert(0, identified(gate.proxies))
    app.middlewares.append(bodies.deadline(settings.body_seconds))
    app.middlewares.append(gated)
    app.on_response_prepare.append(_mark)
    app.on_response_prepare.append(bodies.end_stalled(settings.body_seconds))
    return gate


def without_what_was_sent(record: logging.LogRecord) -> bool:
    """Log a request that is not HTTP without its bytes, which aiohttp quotes.

    A filter of the log: a token may be in them, and who sends rubbish must not fill the disk.
    """
    if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
        record.levelno, record.levelname = logging.INFO, "INFO"
        record.exc_info = None
        return log.isEnabledFor(logging.INFO)
    return True


def identified(proxies: Proxies) -> Middleware:
    """Return the middleware that gives each request its id.

    A trusted proxy's id is used, if it is fit for logs.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        header_value = request.headers.get(REQUEST_ID_HEADER, "")
        sane = proxies.trusts(request.remote) and _SANE_ID.fullmatch(header_value)
        request[REQUEST_ID] = header_value if sane else uuid.uuid4().hex
        with structlog.contextvars.bound_contextvars(request_id=request[REQUEST_ID]):
            return await handler(request)

    return middleware


@web.middleware
async def gated(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Find out who asks, and let in who may."""
    if request.path.startswith(UNCOUNTED):
        return await handler(request)
    gate = request.config_dict[GATE]
    visitor = gate.with_workbench(await _recognised(request, gate))
    remember(request, visitor)
    gate.count(visitor)
    payers = [visitor]
    charge: Callable[[float], None] = partial(gate.charge, payers)  # not the request: no cycle
    request[PAYERS] = payers
    request[CHARGE] = charge
    return await Measured(_in_turn(request, handler, visitor, gate), gate.work, charge)


async def _in_turn(
    request: web.Request, handler: Handler, visitor: Visitor, gate: Gate
) -> web.StreamResponse:
    """Answer a request once it has the place that its kind needs."""
    if is_stream(request):
        with gate.stream_place(request, visitor):
            return await _answered(request, handler, visitor)
    if may_upload(request, visitor.caller):  # judged once: its limit is raised next
        with gate.upload_place(request, visitor):
            large = request.clone(client_max_size=gate.settings.upload_bytes)
            return await _answered(large, handler, visitor)
    return await _answered(request, handler, visitor)


async def _answered(request: web.Request, handler: Handler, visitor: Visitor) -> web.StreamResponse:
    try:
        require_admitted(visitor.caller, request.match_info.handler)
        if visitor.session is not None and request.method not in SAFE:
            await _check_sent_by_page(request, visitor.session)
        return await handler(request)
    except RefusedError as error:
        undecided = visitor.caller.person is not None and visitor.caller.role is None
        if undecided and error.refusal is Refusal.NOT_YOURS and _is_read(request):
            raise web.HTTPSeeOther("/account") from error
        if not _is_page(request) or not (
            error.refusal is Refusal.TOKEN or isinstance(error, _OtherSessionError)
        ):
            raise
        if request.method in SAFE:
            raise web.HTTPSeeOther(f"/signin?next={quote(request.path_qs, safe='/')}") from error
        check_same_site(request)
        raise UnsentError(error, await unsent_form(request)) from error


async def authenticate(request: web.Request) -> Caller:
    """Return who asks, by token or session; `RefusedError` for an invalid or expired token."""
    return (await _recognised(request, request.config_dict[GATE])).caller


async def token_caller(request: web.Request, secret: str) -> Caller:
    """Return the caller whose token is in the request's body (XML-RPC)."""
    gate = request.config_dict[GATE]
    origin = gate.origin(request)
    token = await gate.token(secret, origin)
    caller = _caller(token, request, origin)
    visitor = gate.with_workbench(Visitor(caller=caller, origin=origin, payer=_payer(token)))
    gate.count(visitor)
    payers = request[PAYERS]
    if all(other_visitor.payer != visitor.payer for other_visitor in payers):
        payers.append(visitor)
    return visitor.caller


def count_call(request: web.Request) -> None:
    """Count a further call in a request that brings several (XML-RPC)."""
    request.config_dict[GATE].count(request[VISITOR])


async def _recognised(request: web.Request, gate: Gate) -> Visitor:
    origin = gate.origin(request)
    if calls_back(request):
        server = request[CALLING] = await gate.calling_server(key_of(request), origin)
        caller = Caller(name=f"server {server.name}", request_id=request.get(REQUEST_ID, ""))
        return Visitor(caller=caller, origin=origin, payer=("server", server.id), calls_back=True)
    if is_for_strangers(request.match_info.handler):
        return _stranger(request, origin)
    kind, _, secret = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    path = request.path_qs if request.method == hdrs.METH_GET else "/"
    if kind:
        if kind.lower() != "bearer":
            gate.count(Visitor(caller=Caller(), origin=origin))
            raise RefusedError(Refusal.TOKEN, "expected Authorization: Bearer TOKEN")
        token = await gate.token(secret.strip(), origin)
        caller = _caller(token, request, origin)
        return Visitor(caller=caller, origin=origin, path=path, payer=_payer(token))
    session = await gate.session(request, origin)
    if session is None:
        return replace(_stranger(request, origin), path=path, ways=gate.ways)
    return visitor_of(session, request, origin, path)


def _stranger(request: web.Request, origin: Origin) -> Visitor:
    caller = Caller(request_id=request.get(REQUEST_ID, ""), origin=origin.key)
    return Visitor(caller=caller, origin=origin)


def address_for(request: web.Request) -> str:
    """Return the hub's address without a slash at its end, or else the request's way to it.

    The latter is for the answer to that request alone.
    """
    gate = request.config_dict.get(GATE)
    if gate is None:
        return site_of(request.host, secure=request.secure)
    return gate.settings.url.rstrip("/") or site_of(
        request.host, secure=gate.origin(request).secure
    )


def visitor_of(session: Session, request: web.Request, origin: Origin, path: str = "/") -> Visitor:
    """Return the visitor of a session."""
    token, person = session.token, session.person
    if token is not None:
        caller, payer = _caller(token, request, origin, person), _payer(token)
    else:
        assert person is not None
        caller = Caller(
            name=person_name(person.id, person.name),
            person=person,
            site=site_of(request.host, secure=origin.secure),
            request_id=request.get(REQUEST_ID, ""),
            origin=origin.key,
        )
        payer = ("person", person.id)
    return Visitor(caller=caller, origin=origin, session=session, path=path, payer=payer)


def _payer(token: Token) -> Hashable:
    """Return the account of a token's requests: a team makes itself as many tokens as it likes."""
    return ("token", token.id) if token.team_id is None else ("team", token.team_id)


def _caller(
    token: Token, request: web.Request, origin: Origin, person: Person | None = None
) -> Caller:
    of_team = token.role is Role.TEAM
    return Caller(
        role=token.role if token.challenge is None else Role.READER,
        team=token.team if of_team else None,
        team_id=token.team_id if of_team else None,
        token_id=token.id,
        name=token.bearer,
        site=site_of(request.host, secure=origin.secure),
        request_id=request.get(REQUEST_ID, ""),
        origin=origin.key,
        person=person,
        owner=person is not None and token.owner,
        challenge=token.challenge,
        challenge_title=token.challenge_title,
    )


def may_upload(request: web.Request, caller: Caller) -> bool:
    """Return whether a request may bring more than others: it says it does, and may."""
    roles = caller.may_act_as(Role.TEAM) or caller.may_act_as(Role.CURATOR)
    uploader = roles or caller.challenge is not None
    return uploader and bodies.is_large(request) and bodies.takes_upload(request.match_info.handler)


# -- what a page may send --------------------------------------------------------------------------


class _OtherSessionError(RefusedError):
    """A form without this session's CSRF value."""

    def __init__(self) -> None:
        message = "this form belongs to another session: reload the page"
        super().__init__(Refusal.NOT_YOURS, message)


async def _check_sent_by_page(request: web.Request, session: Session) -> None:
    check_same_site(request)
    csrf_value = request.headers.get(CSRF_HEADER, "")
    if not csrf_value and not request.path.startswith(PROGRAMS):
        csrf_value = await first_text(request, CSRF_FIELD)
        if not csrf_value:
            csrf_value = await first_text(request, AGAIN_FIELD)
            request[AGAIN] = bool(csrf_value)
    if not csrf.matches(csrf_value, session.csrf):
        raise _OtherSessionError


def check_same_site(request: web.Request) -> None:
    """Raise `RefusedError` for what a browser sent from another site's page."""
    fetched, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get(hdrs.ORIGIN)
    if fetched is not None:
        same = fetched == "same-origin"
    else:  # an old browser, or a program
        same = origin is None or urlsplit(origin).netloc == request.host
    if not same:
        raise RefusedError(Refusal.NOT_YOURS, "the request was sent from a page of another site")


def _is_read(request: web.Request) -> bool:
    return request.method in SAFE and _is_page(request)


def _is_page(request: web.Request) -> bool:
    accepted = request.headers.get(hdrs.ACCEPT, "")
    return not request.path.startswith(PROGRAMS) and "text/html" in accepted


async def _mark(request: web.Request, response: web.StreamResponse) -> None:
    response.headers[REQUEST_ID_HEADER] = request.get(REQUEST_ID, "")
    caller = caller_of(request)
    if caller.role is not None or caller.person is not None:
        response.headers[hdrs.CACHE_CONTROL] = "private, no-store"
