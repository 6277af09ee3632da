"""An OpenID Connect provider on this machine, which signs real tokens, and can be made to lie."""

import base64
import hashlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from joserfc import jwt
from joserfc.jwk import RSAKey
from yarl import URL

CLIENT, SECRET = "hub", "a secret of the hub"


@cache
def new_key(kid: str, owner: str = "provider") -> RSAKey:
    """Return an owner's pair of keys, made once: it takes longer than a sign-in."""
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


@dataclass
class FakeProvider:
    """A provider whose user has signed in already; `claims`, `document` and `raw` change answers.

    `raw` has bodies by path, in place of the right ones.
    """

    issuer: str = ""
    key: RSAKey = field(default_factory=lambda: new_key("1"))
    published: list[RSAKey] = field(default_factory=list)
    subject: str = "0000-0002-1825-0097"
    claims: dict[str, Any] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    token: str = ""  # in place of a signed one
    asked: list[str] = field(default_factory=list)
    codes: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def routes(self) -> list[web.RouteDef]:
        """Return its addresses."""
        return [
            web.get("/.well-known/openid-configuration", self.discover),
            web.get("/authorize", self.lead),
            web.get("/keys", self.keys),
            web.post("/token", self.redeem),
        ]

    def authorize(self, address: str, **changes: str) -> str:
        """Answer a browser that was led to it; return the path that it is led back to."""
        query = dict(URL(address).query)
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        back = {"code": code, "state": query["state"], "iss": self.issuer} | changes
        return str(URL(query["redirect_uri"]).with_query(back).relative())

    async def lead(self, request: web.Request) -> web.Response:
        """Lead a real browser back."""
        back = self.authorize(str(request.url))
        raise web.HTTPSeeOther(URL(request.query["redirect_uri"]).join(URL(back)))

    async def discover(self, request: web.Request) -> web.Response:
        """Answer with its discovery document."""
        places = {
            "authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"
        }  # fmt: skip
        document = {name: f"{self.issuer}/{path}" for name, path in places.items()}
        return self._answer(request, {"issuer": self.issuer} | document | self.document)

    async def keys(self, request: web.Request) -> web.Response:
        """Answer with its public keys."""
        published = [key.as_dict(private=False) for key in self.published or [self.key]]
        return self._answer(request, {"keys": published})

    async def redeem(self, request: web.Request) -> web.Response:
        """Give the token for a code, once, to the client that proves itself and the verifier."""
        form = await request.post()
        basic = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '+')}".encode()).decode()
        query = self.codes.pop(str(form["code"]), None)
        proof = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        right = query and base64.urlsafe_b64encode(proof).rstrip(b"=").decode()
        if query is None or right != query["code_challenge"]:
            raise web.HTTPBadRequest
        if request.headers.get("Authorization") != f"Basic {basic}":
            raise web.HTTPUnauthorized
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": query["client_id"], "sub": self.subject,
            "iat": now, "exp": now + 300, "nonce": query["nonce"], "name": "Josiah Carberry",
        } | self.claims  # fmt: skip
        given = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": "RS256", "kid": self.key.kid}
        token = self.token or jwt.encode(header, given, self.key)
        answer = {"access_token": "x", "token_type": "Bearer", "id_token": token}
        return self._answer(request, answer)

    def _answer(self, request: web.Request, value: Any) -> web.Response:
        self.asked.append(request.path)
        if request.path in self.raw:
            return web.Response(body=self.raw[request.path], content_type="application/json")
        return web.json_response(value)


@asynccontextmanager
async def provider() -> AsyncIterator[FakeProvider]:
    """Run a provider."""
    fake = FakeProvider()
    app = web.Application()
    app.add_routes(fake.routes())
    async with TestServer(app, host="127.0.0.1") as server:
        fake.issuer = str(server.make_url("")).rstrip("/")
        yield fake
