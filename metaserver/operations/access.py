"""Servers' credentials, as operations get them: checked, sealed, never returned."""

from __future__ import annotations

import logging
import re
from typing import Final

import msgspec
from yarl import URL

from metaserver.base.errors import HubError, Refusal, RefusedError
from metaserver.base.records import LEAST_SECRET, NO_ACCESS, Access, AuthKind
from metaserver.operations.context import HubContext
from metaserver.store import servers

log = logging.getLogger(__name__)

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_OWN_HEADERS: Final = frozenset({"accept", "connection", "expect", "host", "te", "trailer"})
"""Headers that the client writes; so are all that begin with `_OWN_PREFIXES`."""
_OWN_PREFIXES: Final = ("accept-", "content-", "transfer-", "upgrade", "user-agent")


class AccessChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says of the access to a server; None or empty for no change."""

    auth: AuthKind | None
    auth_name: str | None
    secret: str | None
    certificate: str | None


async def access_of(
    hub: HubContext, stored: Access, request: AccessChange, url: str, *, moved: bool = False
) -> Access:
    """Return the access to store; `RefusedError` names the field.

    A stored secret stays unless a new secret is given or the server `moved` to another scheme, host
    or port: whoever may change the address would receive it there.
    """
    kind = stored.auth if request.auth is None else request.auth
    certificate = stored.certificate if request.certificate is None else request.certificate
    certificate = certificate.replace(":", "").lower()
    if certificate and URL(url).scheme != "https":
        raise _refused("certificate", "only a server at https has a certificate")
    if kind is AuthKind.NONE:
        if request.secret:
            raise _refused("auth", "say how the secret is sent")
        return Access(certificate=certificate) if certificate else NO_ACCESS
    name = stored.name if request.auth_name is None else request.auth_name.strip()
    _check_name(kind, name)
    sealed = stored.sealed
    if request.secret:
        sealed = await _sealed(hub, request.secret)
    elif not sealed:
        raise _refused("secret", "is required: none is stored")
    elif moved:
        raise _refused("secret", "the stored one is of another address; enter the secret again")
    return Access(auth=kind, name=name, sealed=sealed, certificate=certificate)


def secret_state(access: Access, *, locked: bool = False) -> str:
    """Return all that is shown of a secret: whether it is set.

    A secret that is `locked`, as the hub has not its key any more, is needed again.
    """
    if access.auth is AuthKind.NONE:
        return "none"
    return "set" if access.sealed and not locked else "needed"


def _check_name(kind: AuthKind, name: str) -> None:
    if kind is AuthKind.BEARER:
        return
    if not name or not name.isprintable():
        raise _refused("auth_name", f"is required with {kind}")
    if kind is AuthKind.BASIC and ":" in name:  # RFC 7617, section 2
        raise _refused("auth_name", "a user has no colon")
    lower = name.lower()
    is_own = lower in _OWN_HEADERS or lower.startswith(_OWN_PREFIXES)
    if kind is AuthKind.HEADER and (is_own or not _TOKEN.fullmatch(name)):
        raise _refused("auth_name", "is no header that can be set")


async def _sealed(hub: HubContext, secret: str) -> str:
    if not secret.isprintable():  # a line end would begin another header
        raise _refused("secret", "has a character that cannot be sent")
    if len(secret) < LEAST_SECRET:
        message = f"has {LEAST_SECRET} characters at least: the hub could not hide a shorter one"
        raise _refused("secret", f"{message} in what the server sends back")
    async with hub.store.reading() as connection:
        has_secrets = await servers.has_secrets(connection)
    try:
        return hub.servers.client.keyring.seal(secret, first=not has_secrets)
    except HubError as error:
        log.error("a secret cannot be stored: %s", error)
        message = "the hub cannot store secrets now: tell the organisers, whose log says why"
        raise RefusedError(Refusal.STATE, message, field="secret") from error


def _refused(field: str, message: str) -> RefusedError:
    return RefusedError(Refusal.INVALID, message, field=field)
