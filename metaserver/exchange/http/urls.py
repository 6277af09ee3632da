"""Secrets in URLs (user info, query, fragment): they can be written, and are never shown.

`MASK` is shown in their places. A changed address may contain it: it then means the stored secret,
as long as the scheme, host and port are the same.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from yarl import URL

from metaserver.base.errors import InputError

MASK = "***"
PARTS = re.compile(r"((?:[\w+.-]+:)?//)([^/?#]*@)?([^?#]*)([?#].*)?", re.DOTALL)
_HOST = re.compile(r"(\[[^]@]*\]|[^/:@]+)(:\d*)?(/.*)?", re.DOTALL)
"""A host and port with an optional path: not part of a password."""


_OPTION = re.compile(r"(//)[^/?#@\s]*@|([?#])[^\s,]+")
"""The user info, query or fragment in an address among options."""


class UrlParts(NamedTuple):
    """The parts of a URL that `check_url` accepted; `user` and `tail` may be secret."""

    scheme: str
    user: str
    place: str
    tail: str

    @classmethod
    def of(cls, url: str) -> UrlParts:
        """Return a URL's parts; both secrets may be empty, `user` ends with "@"."""
        match = PARTS.fullmatch(url)
        if match is None:  # not a URL: any part of it may be a secret
            return cls("", "", masked(url), "")
        return cls(*(part or "" for part in match.groups()))

    def __str__(self) -> str:
        return "".join(self)

    def masked(self) -> UrlParts:
        """Return the parts with `MASK` in the place of each secret."""
        user = f"{MASK}@" if self.user else ""
        return self._replace(user=user, tail=self.tail and self.tail[0] + MASK)


def shown(url: str) -> str:
    """Return a URL as it is shown to its team and organisers: with its path, without secrets."""
    parts = UrlParts.of(url)
    return str(parts.masked())


def shown_webhook(url: str) -> str:
    """Return a webhook's URL as it is shown: without its path, which is often a secret."""
    return f"{address(url)}/{MASK}" if url else ""


def completed(submitted: str, stored: str, place: str) -> str:
    """Return a submitted URL with each `MASK` replaced by the stored URL's secret.

    Raises `InputError` if there is no stored secret, or it belongs to another host.

    Example: `completed("http://h/?***", "http://h/?key=1", "url")` returns "http://h/?key=1".
    """
    if submitted == shown(stored):
        return stored
    new_parts, old_parts = UrlParts.of(submitted), UrlParts.of(stored)
    if MASK not in new_parts.user + new_parts.tail:
        return submitted
    user = old_parts.user if new_parts.user == f"{MASK}@" else new_parts.user
    tail = old_parts.tail if new_parts.tail in (f"?{MASK}", f"#{MASK}") else new_parts.tail
    if MASK in user + tail or (new_parts.user and not user) or (new_parts.tail and not tail):
        raise InputError(
            place, f"{MASK} stands for the stored secret, but none is stored; enter the secret"
        )
    if address(submitted) != address(stored):
        raise InputError(
            place, f"{MASK} stands for the stored secret of another host; enter the secret again"
        )
    return str(new_parts._replace(user=user, tail=tail))


def shown_options(options: str) -> str:
    """Return a server's options as they are shown: users, queries and fragments may be secret."""
    return "\n".join(
        _OPTION.sub(lambda match: f"{match[1] or match[2]}{MASK}{'@' if match[1] else ''}", line)
        for line in options.splitlines()
    )


def completed_options(submitted: str, stored: str, place: str, *, moved: bool) -> str:
    """Return submitted options, with stored lines in place of lines that have a `MASK`.

    Raises `InputError` if no such line is stored, or the server `moved` to another scheme, host or
    port.
    """
    stored_lines = dict(zip(shown_options(stored).splitlines(), stored.splitlines(), strict=True))
    lines = submitted.splitlines()
    for at, line in enumerate(lines):
        if MASK in line:
            if (stored_line := stored_lines.get(line.strip())) is None or moved:
                message = f"{MASK} stands for the stored value only while the address is the same"
                raise InputError(place, f"{message}; enter the value again")
            lines[at] = stored_line
    return "\n".join(lines)


def check_url(text: str, place: str) -> str:
    """Return an annotation server's URL unchanged; raises `InputError` if it is not valid.

    Example: `check_url("http://h.example:8000/", "url")` returns its argument.
    """
    try:
        url = URL(text)
        host = url.raw_host or ""
        host.encode("idna")  # no label empty or longer than 63: RFC 1035, 2.3.4
        usable = url.scheme in ("http", "https") and bool(url.host) and url.port != 0
        usable = usable and not any(map(str.isspace, text)) and ":" not in (url.user or "")
        usable = usable and ("%" not in host or ":" in host)  # only an IPv6 address has a zone
    except ValueError:
        usable = False
    if not usable:
        raise InputError(
            place, f"{masked(text)!r} is not the URL of a server; expected http://HOST:PORT/"
        )
    return text


# The look-behind makes a scheme begin at its first character: otherwise each would be tried.
URLS = re.compile(r"(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}:)?//[^\s'\"<>]+", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """Return a text with the URLs in it masked."""
    return URLS.sub(lambda match: masked(match[0]), text)


def masked(text: str) -> str:
    """Return a text that should be a URL without its secrets: user info, query and fragment.

    Example: `masked("http://u:p@h/a?k=1")` returns "http://***@h/a?***".

    If the host is not clear, because a password has "/", "?" or "#", all up to the last "@" is
    masked.
    """
    match = PARTS.fullmatch(text)
    if match is not None and ("@" not in text or _HOST.fullmatch(match[3])):
        return str(UrlParts.of(text).masked())
    text = re.sub(r"^((?:[\w+.-]+:)?//)?.*@", r"\1***@", text, flags=re.DOTALL)
    return re.sub(r"([?#]).+", r"\1***", text, flags=re.DOTALL)


def address(url: str) -> str:
    """Return the public part of a URL: scheme, host and port, never user, path or query."""
    return str(URL(url).origin())
