"""How the hub gets access to an annotation server: its credentials and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class AuthKind(StrEnum):
    """The way in which the hub proves itself to a server."""

    NONE = "none"
    BASIC = "basic"  # a user and a password (RFC 7617)
    BEARER = "bearer"  # a token (RFC 6750)
    HEADER = "header"  # a header of any name
    QUERY = "query"  # a parameter of the address
    BODY = "body"  # a member of the body; in XML-RPC the first parameter


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Access to a server.

    `name` is the user (basic), or the header's name, parameter or member. `sealed` is the secret,
    encrypted with the hub's key; empty if nothing is stored. `certificate` is the SHA-256 digest of
    the server's certificate, 64 hexadecimal digits; empty: any certificate that the hub trusts.
    """

    auth: AuthKind = AuthKind.NONE
    name: str = ""
    sealed: str = field(default="", repr=False)
    certificate: str = ""


LEAST_SECRET = 4
"""The minimum length of a secret: a shorter secret could not be recognised in what a server sends.
"""
NO_ACCESS = Access()
"""The access to a server that anybody may ask."""
