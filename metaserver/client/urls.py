"""Secrets in URLs (user info, query, fragment): who gives them writes them, nobody reads them.

`MASK` stands in their places. Who changes an address may leave it there: it then stands for what is
kept, as long as that goes to the same scheme, host and port.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from yarl import URL

from metaserver.model.errors import InputError

MASK = "***"
PARTS = re.compile(r"((?:[\w+.-]+:)?//)([^/?#]*@)?([^?#]*)([?#].*)?", re.DOTALL)
_HOST = re.compile(r"(\[[^]@]*\]|[^/:@]+)(:\d*)?(/.*)?", re.DOTALL)
"""A place that begins as the host and port of a URL: no cut-off piece of a password."""


class UrlParts(NamedTuple):
    """A URL that `check_url` has let pass, cut where a secret may be: `user` and `tail`."""

    scheme: str
    user: str
    place: str
    tail: str

    @classmethod
    def of(cls, url: str) -> UrlParts:
        """Cut a URL; both secrets may be empty, `user` ends with "@"."""
        found = PARTS.fullmatch(url)
        if found is None:  # not a URL at all: nothing of it can be told to be no secret
            return cls("", "", masked(url), "")
        return cls(*(part or "" for part in found.groups()))

    def __str__(self) -> str:
        return "".join(self)

    def masked(self) -> UrlParts:
        """Return it with `MASK` in the place of each secret."""
        user = f"{MASK}@" if self.user else ""
        return self._replace(user=user, tail=self.tail and self.tail[0] + MASK)


def shown(url: str) -> str:
    """Return a URL as its team and organisers see it: with its path, without its secrets."""
    parts = UrlParts.of(url)
    return str(parts.masked())


def shown_webhook(url: str) -> str:
    """Return a webhook's URL as it is shown: its path is often all that keeps others from it."""
    return f"{address(url)}/{MASK}" if url else ""


def completed(given: str, kept: str, place: str) -> str:
    """Return a given URL with what `MASK` stands for in it, from the one that is kept.

    Raises `InputError` where it stands for nothing, or for a secret of another host.
    """
    if given == shown(kept):
        return kept
    new, old = UrlParts.of(given), UrlParts.of(kept)
    if MASK not in new.user + new.tail:
        return given
    user = old.user if new.user == f"{MASK}@" else new.user
    tail = old.tail if new.tail in (f"?{MASK}", f"#{MASK}") else new.tail
    if MASK in user + tail or (new.user and not user) or (new.tail and not tail):
        raise InputError(place, f"{MASK} stands for what is kept, and there is nothing: write it")
    if address(given) != address(kept):
        raise InputError(place, f"{MASK} stands for what is kept of another address: write it anew")
    return str(new._replace(user=user, tail=tail))


def check_url(text: str, place: str) -> str:
    """Return an annotation server's URL as it is to be kept, or raise `InputError`."""
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


# A scheme begins where no other could: otherwise each of its points and signs would be tried.
URLS = re.compile(r"(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}:)?//[^\s'\"<>]+", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """Return a text with the URLs in it masked."""
    return URLS.sub(lambda found: masked(found[0]), text)


def masked(text: str) -> str:
    """Return what should be a URL without what may be secret: user info, query and fragment.

    Where no host can be told, because a password has "/", "?" or "#", all up to the last "@" goes.
    """
    found = PARTS.fullmatch(text)
    if found is not None and ("@" not in text or _HOST.fullmatch(found[3])):
        return str(UrlParts.of(text).masked())
    text = re.sub(r"^((?:[\w+.-]+:)?//)?.*@", r"\1***@", text, flags=re.DOTALL)
    return re.sub(r"([?#]).+", r"\1***", text, flags=re.DOTALL)


def address(url: str) -> str:
    """Return what may be shown of a URL: scheme, host and port, never user, path or query."""
    return str(URL(url).origin())
