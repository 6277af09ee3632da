"""Headers of every response, and errors without a traceback."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from metaserver.base.errors import Refusal, RefusedError, UnavailableError
from metaserver.web.access.posted import Unsent, UnsentError
from metaserver.web.access.refusals import sentence
from metaserver.web.access.visitor import visitor
from metaserver.web.manual.library import address_of, help_of_error
from metaserver.web.ui.templates import Templates

log = logging.getLogger(__name__)

HOME = "/"
OPEN_TO = "Cross-Origin-Resource-Policy"
POLICY = "Content-Security-Policy"
FRAMES = "X-Frame-Options"
HEADERS = {
    POLICY: (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    OPEN_TO: "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "Server": "metaserver",  # aiohttp would name its own and Python's version
    "X-Content-Type-Options": "nosniff",
    FRAMES: "DENY",
}
FRAMED = web.ResponseKey("FRAMED", bool)
"""Set on a response that pages of other sites may frame: it runs nothing and sends no form."""
FRAMED_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors *"
)

REASONS = {
    400: "The address asks for something that this page cannot show.",
    404: "There is no such page.",
    405: "This page can only be read.",
    500: "The hub could not make this page. The reason is in its log.",
}


_WITHOUT_SLASH = web.normalize_path_middleware(
    append_slash=False, remove_slash=True, merge_slashes=False
)


@web.middleware
async def without_slash(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Lead a reader from `/docs/` to `/docs`; it goes within `error_pages`.

    A program that leaves out a name, `/api/v1/challenges/`, is not led to another operation.
    """
    if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD) or request.path.startswith("/api/"):
        return await handler(request)
    return await _WITHOUT_SLASH(request, handler)


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Put the security headers on a response that is about to be sent."""
    open_to = response.headers.get(OPEN_TO)  # a picture says itself whose pages may show it
    response.headers.update(HEADERS if open_to is None else HEADERS | {OPEN_TO: open_to})
    if response.get(FRAMED):
        response.headers[POLICY] = FRAMED_POLICY
        del response.headers[FRAMES]


def error_pages(templates: Templates) -> Middleware:
    """Return the middleware that turns errors into pages, or into JSON for programs."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            response = _error_page(templates, request, error.status, error.text)
            if "Allow" in error.headers:
                response.headers["Allow"] = error.headers["Allow"]
            return response
        except UnsentError as error:
            current = visitor()
            if current and current.session:
                return unsent_page(
                    templates, error.unsent, error.message, error.refusal, _page_before(request)
                )
            headers, after = refusal_headers(error), _page_before(request)
            return sign_in_page(templates, after, error.unsent, {}, error.refusal, headers)
        except RefusedError as error:
            response = _error_page(templates, request, error.refusal, str(error))
            response.headers.update(refusal_headers(error))
            return response
        except UnavailableError as error:
            return _error_page(
                templates,
                request,
                503,
                f"The hub cannot store changes at the moment: {error.reason}.",
            )
        except Exception:
            log.exception("%s %s failed", request.method, _place(request))
            return _error_page(templates, request, 500, None)

    return middleware


def sign_in_page(
    templates: Templates,
    after: str,
    unsent: Unsent | None = None,
    wrong: Mapping[str, str] = MappingProxyType({}),
    status: int = 200,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> web.Response:
    """Answer with the forms of a sign-in; that of tokens keeps another that was not sent.

    `wrong` is what is wrong with a field, by its name.
    """
    page = templates.page("signin.html", after=after, unsent=unsent, wrong=wrong)
    return unkept(page, status, headers)


def unsent_page(
    templates: Templates, unsent: Unsent, why: str, status: int = 200, before: str = HOME
) -> web.Response:
    """Answer who is signed in with the way back to a form that was not sent.

    `before` is the way back from a button without fields.
    """
    text = templates.page("unsent.html", unsent=unsent, why=sentence(why), before=before)
    return unkept(text, status)


def own_path(path: str) -> str:
    """Return a path of this site to redirect to; for anything else, the first page.

    Browsers read two slashes as the start of a host's name, a backslash as a slash, and pass over
    tabs and line ends.
    """
    is_local = path.startswith("/") and not path.startswith("//")
    return path if is_local and path.isprintable() and "\\" not in path else HOME


def _page_before(request: web.Request) -> str:
    """Return the path and query of the page of this site that sent a request; "/" if unknown."""
    try:
        page = urlsplit(request.headers.get(hdrs.REFERER, ""))
    except ValueError:
        return HOME
    if page.netloc != request.host:
        return HOME
    return own_path(page.path + (f"?{page.query}" if page.query else ""))


def unkept(
    page: str, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})
) -> web.Response:
    """Answer with a page that no cache keeps."""
    all_headers = {hdrs.CACHE_CONTROL: "no-store", **headers}
    return web.Response(text=page, status=status, content_type="text/html", headers=all_headers)


def _place(request: web.Request) -> str:
    """Return the path of a request's route: the path itself may have a link's secret."""
    resource = request.match_info.route.resource
    return request.path if resource is None else resource.canonical


def refusal_headers(error: RefusedError) -> dict[str, str]:
    """Return the headers that a refused request is answered with."""
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers[hdrs.RETRY_AFTER] = str(math.ceil(error.retry_after))
    if error.refusal is Refusal.TOKEN:
        headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
    return headers


def help_link(status: int) -> str:
    """Return the header `Link` of an error for programs: if it is explained."""
    return f'<{address_of(help_of_error(status))}>; rel="help"'


def _error_page(
    templates: Templates, request: web.Request, status: int, detail: str | None
) -> web.Response:
    generic = f"{status}: "  # aiohttp's own text, as "404: Not Found"
    message = detail if detail and not detail.startswith(generic) else REASONS.get(status, "")
    if request.path.startswith("/api/") or request.path.endswith(".json"):
        return web.json_response(
            {"error": {"status": status, "message": message}},
            status=status,
            headers={hdrs.LINK: help_link(status)},
        )
    page = templates.page("error.html", status=status, message=message, help=help_of_error(status))
    return web.Response(text=page, status=status, content_type="text/html")
