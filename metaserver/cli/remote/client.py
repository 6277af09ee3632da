"""A running hub, asked over HTTP with the standard library: a command must start at once."""

from __future__ import annotations

import http.client
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from metaserver.base.errors import InputError
from metaserver.operations.outline import PREFIX

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 7_200.0  # testing a server takes as long as it takes for ten articles
NO_JSON = object()
HELP = re.compile(r'<(/[^<>]*)>; rel="help"')
SCHEMES = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}


class AnsweredError(Exception):
    """The hub answered with an error; `field` is the parameter at fault, `faults` those of a file.

    `help` is the address of what explains it, in the hub's own documentation.
    """

    def __init__(self, status: int, error: Mapping[str, Any], explained: str = "") -> None:
        self.status = status
        self.help = explained
        self.field = str(error.get("field", ""))
        self.faults: Sequence[str] = ()
        match error.get("detail"):
            case {"faults": list(faults)}:
                self.faults = [
                    f"{one.get('place')}: {one.get('message')}"
                    for one in faults
                    if isinstance(one, dict)
                ]
        message = str(error.get("message") or http.client.responses.get(status, ""))
        described = f"{self.field}: {message}" if self.field else message
        number = f", request {error['request_id']}" if status >= 500 else ""
        super().__init__(f"{described} ({status}{number})")


@dataclass(frozen=True, kw_only=True)
class RemoteHub:
    """A running hub at an address, asked with a token; redirects are not followed."""

    url: str
    token: str = ""

    def ask(
        self,
        method: str,
        path: str,
        *,
        places: Mapping[str, Any],
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return what the hub answers, read from JSON; None for nothing.

        `places` fill the path. Raises `AnsweredError`, and `InputError` if no hub answers.
        """
        filled = path.format_map(
            {name: quote(str(value), safe="") for name, value in places.items()}
        )
        query_string = f"?{urlencode(query, doseq=True)}" if query else ""
        data = None if body is None else json.dumps(body).encode()
        try:
            status, answer, link = self._exchange(method, f"{PREFIX}{filled}{query_string}", data)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            message = f"no hub answers at {self.url}: {reason}"
            raise InputError("--hub", message) from error
        return self._read(status, answer, link)

    def _exchange(self, method: str, path: str, data: bytes | None) -> tuple[int, bytes, str]:
        parts = urlsplit(self.url)
        connection = SCHEMES[parts.scheme](parts.netloc, timeout=CONNECT_SECONDS)
        headers = {"Accept": "application/json", "User-Agent": "metaserver"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            connection.connect()
            connection.sock.settimeout(ANSWER_SECONDS)
            connection.request(method, f"{parts.path.rstrip('/')}{path}", data, headers)
            response = connection.getresponse()
            return response.status, response.read(), response.getheader("Link", "")
        finally:
            connection.close()

    def _read(self, status: int, answer: bytes, link: str) -> Any:
        try:
            document = json.loads(answer) if answer else None
        except ValueError:
            document = NO_JSON
        if status < 300 and document is not NO_JSON:
            return document
        match document:
            case {"error": dict(error)}:
                page = HELP.match(link)
                raise AnsweredError(status, error, f"{self.url}{page[1]}" if page else "")
        raise InputError("--hub", f"what answers at {self.url} is no hub: status {status}")


def read_url(text: str) -> str:
    """Return a hub's URL, or raise `InputError`.

    >>> read_url("https://hub.example.org/")
    'https://hub.example.org'
    """
    parts = urlsplit(text)
    if parts.scheme not in SCHEMES or not parts.hostname or parts.username or parts.query:
        raise InputError("--hub", f"{text!r}; expected http://HOST:PORT or https://...")
    return text.rstrip("/")


# -- a background job that a command began, followed to its end ------------------------------------

WAIT = 10.0  # seconds that the hub may hold an answer back
PATH = "/jobs/{job}"
RUNNING, DONE = "running", "done"

Job = Mapping[str, Any]


class JobError(Exception):
    """A job that has changed nothing, and why."""


def followed(hub: RemoteHub, job: Job) -> Any:
    """Return a job's report when it is done; raises `JobError`, or what asking the hub raises.

    The job continues in the hub without this process, which prints how to ask when it is stopped.
    """
    try:
        while job["state"] == RUNNING:
            _print_progress(job)
            wait = 1.0 if sys.stderr.isatty() else WAIT
            job = hub.ask("GET", PATH, places={"job": job["job"]}, query={"wait": wait})
    except (InputError, KeyboardInterrupt):
        print(f"metaserver: not waited for: metaserver jobs get {job['job']}", file=sys.stderr)
        raise
    finally:
        if sys.stderr.isatty():
            print(end="\r\x1b[K", file=sys.stderr)
    if job["state"] != DONE:
        raise JobError(job["error"] or f"the job was {job['state']}")
    return job["report"]


def _print_progress(job: Job) -> None:
    """Show how far a job is, on a terminal alone."""
    if sys.stderr.isatty():
        of = f" {job['done']:,} of {job['total']:,}" if job["total"] else ""
        print(f"\r\x1b[K{job['step']}{of}", end="", file=sys.stderr, flush=True)
