"""OpenID Connect: the providers of `sign_in`, and what they say of who signed in.

Authorization Code with PKCE. What a provider sends is bounded in size, depth and time; a token's
signature is checked by joserfc with the provider's published keys, its claims here. State, nonce
and verifier are derived from the secret cookie of the browser, so that nothing of them is stored.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Meta
from yarl import URL

from metaserver.base.errors import PeerError
from metaserver.config import ProviderSettings
from metaserver.exchange.http.client import HttpClient

S = TypeVar("S", bound=msgspec.Struct)

SECONDS = 10.0
"""The time that a provider has for an answer."""
DOCUMENT_BYTES, KEYS_BYTES, TOKEN_BYTES = 65_536, 131_072, 65_536
"""The most that is read of a discovery document, of keys, of the answer with a token."""
ID_TOKEN_LENGTH = 16_384
KEYS = 50
"""The most keys of a provider; of longer ones the work of a signature would have no bound."""
KEY_TEXT = 1_400
"""The longest value of a key: RSA of 8,192 bits."""
FRESH_SECONDS, SOON_SECONDS = 3_600.0, 60.0
"""How long documents are kept, and how soon keys are fetched again for a token they do not fit."""
LEEWAY = 60.0
"""Seconds that the clocks of provider and hub may differ."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""The signatures that are taken: none by a shared secret, and not `none`."""
ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
ORCID_ISSUERS = ("https://orcid.org", "https://sandbox.orcid.org")


class OpenIdError(Exception):
    """A provider's answer that is not believed; the message is for the log, not for strangers."""


class _Document(msgspec.Struct):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: Sequence[str] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class _Key(msgspec.Struct):
    kty: str
    kid: str = ""
    use: str = "sig"
    alg: str = ""
    n: str = ""
    e: str = ""
    crv: str = ""
    x: str = ""
    y: str = ""


class _Keys(msgspec.Struct):
    keys: Annotated[list[_Key], Meta(max_length=KEYS)]


class _TokenAnswer(msgspec.Struct):
    id_token: Annotated[str, Meta(max_length=ID_TOKEN_LENGTH)]


class _Header(msgspec.Struct):
    alg: str
    kid: str = ""


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What an ID token says; times are Unix seconds."""

    iss: str
    sub: Annotated[str, Meta(min_length=1, max_length=255)]
    aud: str | list[str]
    exp: float
    iat: float
    nonce: str
    azp: str | None = None
    email: str = ""
    email_verified: bool = False
    name: str = ""
    given_name: str = ""
    family_name: str = ""

    @property
    def shown(self) -> str:
        """The person's name, on one line."""
        name = self.name or f"{self.given_name} {self.family_name}"
        return " ".join("".join(one if one.isprintable() else " " for one in name).split())[:200]

    @property
    def orcid(self) -> str:
        """The ORCID iD, if ORCID says it."""
        said = self.iss in ORCID_ISSUERS and ORCID.fullmatch(self.sub)
        return self.sub if said else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The parameters with which a browser comes back from a provider."""

    code: str
    state: str
    iss: str | None
    error: str


class Provider:
    """A provider; `address` is where browsers come back to, `clock` returns Unix seconds."""

    def __init__(
        self,
        settings: ProviderSettings,
        address: str,
        client: HttpClient,
        clock: Callable[[], float],
    ) -> None:
        self.settings = settings
        self._address = address
        self._client = client
        self._clock = clock
        self._document: tuple[float, _Document] | None = None
        self._keys: tuple[float, list[_Key]] | None = None

    async def begin(self, secret: str) -> str:
        """Return the provider's address to which a browser with a secret cookie is led."""
        document = await self._discovered()
        challenge = hashlib.sha256(self._derived(secret, "verifier").encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self._address,
            "scope": self.settings.scope,
            "state": self._derived(secret, "state"),
            "nonce": self._derived(secret, "nonce"),
            "code_challenge": _plain64(challenge),
            "code_challenge_method": "S256",
        }
        joint = "&" if URL(document.authorization_endpoint).query_string else "?"
        return f"{document.authorization_endpoint}{joint}{urlencode(query)}"

    def is_answer(self, answer: Answer, secret: str) -> bool:
        """Return whether an answer is to what a browser with this cookie asked for."""
        state = self._derived(secret, "state")
        return hmac.compare_digest(answer.state.encode("utf-8", "replace"), state.encode())

    async def redeem(self, answer: Answer, secret: str) -> Claims:
        """Return what the provider says of who signed in; else `OpenIdError` or `PeerError`."""
        document = await self._discovered()
        required = document.authorization_response_iss_parameter_supported
        if (required or answer.iss is not None) and answer.iss != self.settings.issuer:
            raise OpenIdError("the answer is of another issuer")
        if answer.error or not answer.code:
            raise OpenIdError("the provider gave no code")
        form = {
            "grant_type": "authorization_code",
            "code": answer.code,
            "redirect_uri": self._address,
            "code_verifier": self._derived(secret, "verifier"),
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        own, password = self.settings.client_id, self._password()
        methods = document.token_endpoint_auth_methods_supported
        if password and "client_secret_basic" in methods:
            pair = f"{quote_plus(own)}:{quote_plus(password)}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        else:
            form |= {"client_id": own} | ({"client_secret": password} if password else {})
        body, _ = await self._client.fetch(
            document.token_endpoint,
            TOKEN_BYTES,
            SECONDS,
            body=urlencode(form).encode(),
            headers={"Accept": "application/json"} | headers,
        )
        token = _read(body, _TokenAnswer).id_token
        return self._checked(await self._verified(token, document), secret)

    def _checked(self, claims: Claims, secret: str) -> Claims:
        """Return claims that are for this hub, this browser and now."""
        own, now = self.settings.client_id, self._clock()
        audience = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        nonce = self._derived(secret, "nonce")
        if claims.iss != self.settings.issuer:
            raise OpenIdError("the token is of another issuer")
        if own not in audience or claims.azp not in (None, own):
            raise OpenIdError("the token is for another client")
        if len(audience) > 1 and claims.azp is None:
            raise OpenIdError("the token is for several clients, and names none")
        if claims.exp <= now - LEEWAY or claims.iat > now + LEEWAY:
            raise OpenIdError("the token is not of now")
        if not hmac.compare_digest(claims.nonce.encode("utf-8", "replace"), nonce.encode()):
            raise OpenIdError("the token is of another sign-in")
        return claims

    async def _verified(self, token: str, document: _Document) -> Claims:
        """Return the claims of a token whose signature fits; keys may have changed meanwhile."""
        header = _header(token)
        for last in (False, True):
            fetched, keys = await self._published(document)
            claims = _signed(token, header, keys)
            if claims is not None:
                return claims
            if last or self._clock() - fetched < SOON_SECONDS:
                break
            self._keys = None
        raise OpenIdError("the token is not signed by a key of the provider")

    async def _discovered(self) -> _Document:
        if self._document is None or self._clock() - self._document[0] >= FRESH_SECONDS:
            issuer = self.settings.issuer
            url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            body, _ = await self._client.fetch(url, DOCUMENT_BYTES, SECONDS)
            document = _read(body, _Document)
            if document.issuer != issuer:
                raise OpenIdError("the discovery document is of another issuer")
            for place in (
                document.authorization_endpoint,
                document.token_endpoint,
                document.jwks_uri,
            ):
                if not place.isascii() or URL(place).scheme not in ("https", URL(issuer).scheme):
                    raise OpenIdError("an address of the discovery document is not https")
            self._document = (self._clock(), document)
        return self._document[1]

    async def _published(self, document: _Document) -> tuple[float, list[_Key]]:
        if self._keys is None or self._clock() - self._keys[0] >= FRESH_SECONDS:
            body, _ = await self._client.fetch(document.jwks_uri, KEYS_BYTES, SECONDS)
            self._keys = (self._clock(), _read(body, _Keys).keys)
        return self._keys

    def _password(self) -> str:
        file = self.settings.client_secret_file
        try:
            return Path(file).read_text("utf-8").strip() if file else ""
        except (OSError, UnicodeDecodeError) as error:
            raise OpenIdError("client_secret_file cannot be read") from error

    def _derived(self, secret: str, purpose: str) -> str:
        words = f"{purpose} {self._address} {self.settings.issuer}"
        return _plain64(hmac.digest(secret.encode("utf-8", "replace"), words.encode(), "sha256"))


def _signed(token: str, header: _Header, keys: Sequence[_Key]) -> Claims | None:
    """Return a token's claims if one of the keys has signed it."""
    from joserfc import jwk, jws
    from joserfc.errors import JoseError

    for key in keys:
        values = {name: value for name, value in msgspec.to_builtins(key).items() if value}
        fits = key.use == "sig" and key.alg in ("", header.alg) and key.kty in ("RSA", "EC")
        named = not header.kid or key.kid == header.kid
        if not (fits and named) or any(len(value) > KEY_TEXT for value in values.values()):
            continue
        if len(key.e) > 8:  # a large exponent makes a signature slow
            continue
        try:
            imported = jwk.import_key(values)
            signed = jws.deserialize_compact(token, imported, algorithms=list(ALGORITHMS))
        except (JoseError, ValueError, TypeError, RecursionError):
            continue
        return _read(signed.payload or b"", Claims)
    return None


def _header(token: str) -> _Header:
    first, dot, _ = token.partition(".")
    try:
        raw = base64.urlsafe_b64decode(first + "=" * (-len(first) % 4))
    except ValueError as error:
        raise OpenIdError("the token has no header") from error
    header = _read(raw, _Header)
    if not dot or header.alg not in ALGORITHMS:
        raise OpenIdError("the token has a signature that is not taken")
    return header


def _read(body: bytes, kind: type[S]) -> S:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise OpenIdError("an answer of the provider cannot be read") from error


def _plain64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


FAILURES = (OpenIdError, PeerError)
"""What may come of a provider's answer."""
