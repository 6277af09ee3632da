"""The place that requests to a server go to, with what proves the hub to it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import aiohttp
from yarl import URL

from metaserver.base.records import LEAST_SECRET, Access, AuthKind
from metaserver.exchange.http.credentials import Keyring
from metaserver.exchange.http.urls import MASK, masked
from metaserver.exchange.protocols.plugin import BodyLogin
from metaserver.exchange.protocols.polling import origin_of
from metaserver.exchange.wire.xmlrpc import escape_text


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerTarget:
    """A server's address without a login, and what is sent to it with each request.

    `secrets` are the texts that must not be kept if the server sends them back.
    """

    url: URL
    headers: Mapping[str, str]
    ssl: aiohttp.Fingerprint | bool = True
    login: BodyLogin | None = None
    query: Mapping[str, str] | None = None
    secrets: Sequence[bytes] = ()

    def at(self, url: str | None) -> tuple[URL, Mapping[str, str]]:
        """Return the place of a request and its headers; secrets go to the server's own origin."""
        if url is None:
            place = self.url
        else:
            place = URL(url)
            if origin_of(place) != origin_of(self.url):
                return place, {}
        return (place.update_query(self.query) if self.query else place), self.headers

    def hide(self, text: str) -> str:
        """Return a text without the secrets, even if it was cut within a secret."""
        for secret in map(bytes.decode, self.secrets):
            text = _without_beginning(secret, text.replace(secret, MASK))
        return text

    def hidden(self, body: bytes) -> bytes:
        """Return a body without the secrets; its time grows with the size."""
        for secret in self.secrets:
            body = body.replace(secret, MASK.encode())
        return body


def _without_beginning(secret: str, text: str) -> str:
    """Return a text without a secret's beginning at its end, if it was cut."""
    head = secret[:LEAST_SECRET]
    at = text.find(head, max(0, len(text) - len(secret)))
    while at >= 0:
        if secret.startswith(text[at:]):
            return text[:at] + MASK
        at = text.find(head, at + 1)
    return text


def target_of(url: str, access: Access, keyring: Keyring) -> ServerTarget:
    """Return a server's target; raises `aiohttp.InvalidURL`, or `PeerError` for its secret."""
    place, headers = _place(url)
    pinned: aiohttp.Fingerprint | bool = True
    if access.certificate:
        pinned = aiohttp.Fingerprint(bytes.fromhex(access.certificate))
    if access.auth is AuthKind.NONE:
        return ServerTarget(url=place, headers=headers, ssl=pinned)
    secret = keyring.open(access.sealed)
    texts = [secret]
    login, query = None, None
    match access.auth:
        case AuthKind.BASIC:
            value = aiohttp.encode_basic_auth(access.name, secret, "utf-8")
            headers = {"Authorization": value}
            texts.append(value.partition(" ")[2])
        case AuthKind.BEARER:
            headers = {"Authorization": f"Bearer {secret}"}
        case AuthKind.HEADER:
            headers = {**headers, access.name: secret}
        case AuthKind.QUERY:
            query = {access.name: secret}
            texts.append(URL.build(query=query).raw_query_string.partition("=")[2])
        case AuthKind.BODY:
            login = BodyLogin(access.name, secret)
    texts += _written(secret)
    hidden = sorted({text.encode() for text in texts if len(text) >= LEAST_SECRET}, key=len)
    return ServerTarget(
        url=place,
        headers=headers,
        ssl=pinned,
        login=login,
        query=query,
        secrets=tuple(reversed(hidden)),
    )


def _written(secret: str) -> Iterator[str]:
    """Yield a secret as a server may write it: in base64, JSON, XML, an address, a message."""
    yield base64.b64encode(secret.encode()).decode()
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (" ".join(secret.split()), repr(secret)[1:-1])
    for escaped in (json.dumps(secret), json.dumps(secret, ensure_ascii=False)):
        yield escaped[1:-1]
        yield escaped[1:-1].replace("/", "\\/")
    yield escape_text(secret).decode()
    yield escape_text(secret).decode().encode("ascii", "xmlcharrefreplace").decode()


def _place(url: str) -> tuple[URL, Mapping[str, str]]:
    """Return a URL without its login, and the login's header: in UTF-8 (RFC 7617, 2.1)."""
    try:
        place = URL(url)
        if place.user is None:
            return place, {}
        login = aiohttp.encode_basic_auth(place.user, place.password or "", "utf-8")
    except ValueError as error:
        raise aiohttp.InvalidURL(masked(url)) from error
    return place.with_user(None), {"Authorization": login}
