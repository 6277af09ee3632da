"""Signing in by an OpenID Connect provider, and attacks on it."""

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from metaserver.base.errors import Refusal
from metaserver.config import NoticeSettings, ProviderSettings, WebSettings
from metaserver.operations import openid
from metaserver.store import people
from tests.fakes.mailbox import HOST, mailbox
from tests.fakes.openid import CLIENT, SECRET, FakeProvider, new_key, provider
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import Page, visiting
from tests.integration.test_front_door import Door
from tests.integration.test_people import ADA, Browser, Lobby

URL = "https://hub.example.org"


@dataclass
class Gate:
    """A hub with two providers, and a browser."""

    running: Running
    first: FakeProvider
    second: FakeProvider
    browser: Browser
    lobby: Lobby

    async def led(self, browser: Browser | None = None, number: int = 0, after: str = "/") -> str:
        """Go to a provider; return its address."""
        client = (browser or self.browser).client
        path = f"/signin/with/{number}"
        async with client.get(path, params={"next": after}, allow_redirects=False) as response:
            assert response.status == 303, await response.text()
            return str(response.headers["Location"])

    async def enter(self, after: str = "/", **changes: str) -> Page:
        """Sign in by the first provider."""
        address = await self.led(after=after)
        return await self.browser.get(self.first.authorize(address, **changes))

    async def people(self) -> int:
        """Return how many people have an account."""

        async with self.running.service.store.reading() as connection:
            return len(await people.list_all(connection, 10))


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        first, second, mail = [
            await enter(provider()), await enter(provider()), await enter(mailbox())
        ]  # fmt: skip
        given = await settings(
            tmp_path,
            web=WebSettings(url=URL),
            notices=NoticeSettings(smtp_host=HOST, smtp_port=mail.port, smtp_starttls=False),
            sign_in=[
                ProviderSettings(
                    issuer=one.issuer,
                    client_id=CLIENT,
                    client_secret_file=str(tmp_path / "secret"),
                    label=f"Sign in by {name}",
                    emails=name == "first",
                )
                for name, one in (("first", first), ("second", second))
            ],
        )
        running = await enter(at_work(given))
        visitor = await enter(visiting(running))
        clock: Any = time.time
        lobby = Lobby(Door(running, visitor, mail, clock, given))
        yield Gate(running, first, second, Browser(visitor.client), lobby)


def unsigned(claims: dict[str, Any]) -> str:
    """Return a token whose header says that it has no signature."""
    key = OctKey.import_key("k" * 32)
    return jwt.encode({"alg": "none"}, claims, key, algorithms=["none"])


async def test_person_of_a_provider_signs_in_again_as_the_same(gate: Gate) -> None:
    await plan_phase(gate.running)
    assert "Sign in by second" in (await gate.browser.get("/signin")).text
    page = await gate.enter("/sign-up/bc")
    assert page.path == "/sign-up/bc"
    assert "Josiah Carberry" in page.text
    async with visiting(gate.running) as other:
        gate.browser = Browser(other.client)
        assert (await gate.enter()).path == "/account"
    assert await gate.people() == 1


async def test_keys_that_rotate_are_fetched_again(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gate.enter()
    gate.first.key = new_key("2")
    refused = await gate.enter()  # the keys are of just now: a provider is not asked at each token
    assert refused.status == Refusal.STATE
    monkeypatch.setattr(openid, "SOON_SECONDS", 0.0)
    assert (await gate.enter()).path == "/account"
    assert gate.first.asked.count("/keys") == 2


async def test_answer_of_another_issuer_is_refused(gate: Gate) -> None:
    assert (await gate.enter(iss=gate.second.issuer)).status == Refusal.STATE
    assert "/token" not in gate.first.asked  # its code goes nowhere


async def test_answer_to_another_provider_is_refused(gate: Gate) -> None:
    back = gate.first.authorize(await gate.led())
    page = await gate.browser.get(back.replace("/with/0/", "/with/1/"))
    assert page.status == Refusal.UNKNOWN
    assert "/token" not in gate.second.asked


async def test_issuer_that_a_provider_promises_is_required(gate: Gate) -> None:
    gate.first.document = {"authorization_response_iss_parameter_supported": True}
    back = gate.first.authorize(await gate.led())
    page = await gate.browser.get(back.partition("&iss=")[0])
    assert page.status == Refusal.STATE


async def test_answer_in_another_browser_is_refused(gate: Gate) -> None:
    back = gate.first.authorize(await gate.led())
    async with visiting(gate.running) as other:
        thief = Browser(other.client)
        assert (await thief.get(back)).status == Refusal.UNKNOWN
        await gate.led(thief)  # with a sign-in of its own: an injected code
        assert (await thief.get(back)).status == Refusal.UNKNOWN
        assert thief.cookie == ""
    assert (await gate.browser.get(back)).path == "/account"


async def test_answer_is_taken_once(gate: Gate) -> None:
    back = gate.first.authorize(await gate.led())
    bound = {one.key: one.value for one in gate.browser.client.session.cookie_jar}
    await gate.browser.get(back)
    gate.browser.plant(**bound)
    asked = gate.first.asked.count("/token")
    assert (await gate.browser.get(back)).status == Refusal.UNKNOWN
    assert gate.first.asked.count("/token") == asked


async def test_code_of_another_sign_in_is_refused(gate: Gate) -> None:
    stolen = gate.first.authorize(await gate.led())
    code = stolen.partition("code=")[2].partition("&")[0]
    assert (await gate.enter(code=code)).status == Refusal.STATE  # PKCE: another verifier


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"iss": "https://evil.example"}, {"aud": "another"}, {"aud": ["another"]},
    {"aud": [CLIENT, "another"]}, {"azp": "another"}, {"exp": int(time.time()) - 3_600},
    {"iat": int(time.time()) + 3_600}, {"nonce": "of another sign-in"}, {"nonce": None},
    {"sub": ""}, {"sub": None}, {"sub": "s" * 256}, {"exp": None}, {"exp": "tomorrow"},
]  # fmt: skip


async def test_token_with_wrong_claims_is_refused(gate: Gate) -> None:
    for claims in WRONG_CLAIMS:
        gate.first.claims = claims
        assert (await gate.enter()).status == Refusal.STATE, claims
    assert await gate.people() == 0
    assert gate.browser.cookie == ""


def _by_public_key(gate: Gate) -> str:
    """Return a token that is signed with the public key as a shared secret."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
        for part in ({"alg": "HS256", "kid": "1"}, {"sub": "eve"})
    ]
    mac = hmac.digest(gate.first.key.as_pem(private=False), b".".join(parts), "sha256")
    return b".".join([*parts, base64.urlsafe_b64encode(mac).rstrip(b"=")]).decode()


@pytest.mark.filterwarnings("ignore::UserWarning")
async def test_forged_token_is_refused(gate: Gate) -> None:
    foreign = jwt.encode({"alg": "RS256", "kid": "1"}, {"sub": "eve"}, new_key("1", "eve"))
    for forged in (
        "e30.e30.", "x", "." * 20_000, unsigned({"sub": "eve"}), _by_public_key(gate), foreign
    ):  # fmt: skip
        gate.first.token = forged
        assert (await gate.enter()).status == Refusal.STATE, forged[:99]
    assert await gate.people() == 0


@pytest.mark.parametrize(
    "body", [b"{", b"[" * 60_000, b'{"a":' * 12_000, b" " * 200_000, b"\xff", b"null"]
)
async def test_bad_answers_of_a_provider_are_bounded(gate: Gate, body: bytes) -> None:
    back = gate.first.authorize(await gate.led())
    gate.first.raw["/token"] = body
    assert (await gate.browser.get(back)).status == Refusal.STATE
    gate.first.raw = {"/keys": body}
    assert (await gate.enter()).status == Refusal.STATE
    gate.second.raw["/.well-known/openid-configuration"] = body
    assert (await gate.browser.get("/signin/with/1")).status == Refusal.STATE


async def test_discovery_of_another_issuer_is_refused(gate: Gate) -> None:
    gate.first.document = {"issuer": gate.second.issuer}
    page = await gate.browser.get("/signin/with/0")
    assert page.status == Refusal.STATE
    assert "could not confirm who you are" in page.said


async def test_provider_that_refuses_leaves_nobody_signed_in(gate: Gate) -> None:
    assert (await gate.enter(error="access_denied", code="")).status == Refusal.STATE
    assert gate.browser.cookie == ""


async def test_sign_in_by_a_provider_leads_to_no_other_site(gate: Gate) -> None:
    assert (await gate.enter("https://evil.example/")).path == "/account"


async def test_sign_in_from_another_site_does_not_begin(gate: Gate) -> None:
    head = {"Sec-Fetch-Site": "cross-site"}
    path = "/signin/with/0"
    async with gate.browser.client.get(path, headers=head, allow_redirects=False) as response:
        assert response.headers["Location"] == "/signin"


async def test_address_of_an_account_joins_no_provider_unasked(gate: Gate) -> None:
    gate.first.claims = {"email": "ADA@green.example", "email_verified": True}
    async with gate.lobby.browser(ADA) as ada:
        page = await gate.enter()
        assert page.status == Refusal.STATE
        assert "then add the provider to your account" in page.said
        await ada.get("/account")
        leads = await ada.post("/account/providers", provider="0")
        address = leads.text.partition('class="button first" href="')[2].partition('"')[0]
        back = gate.first.authorize(address.replace("&amp;", "&"))
        assert (await ada.get(back)).path == "/account"
    page = await gate.enter()  # from now on the same person
    assert ADA in page.text
    assert await gate.people() == 1


async def test_address_that_a_provider_did_not_verify_is_not_believed(gate: Gate) -> None:
    await gate.running.do("teams.create", team="green", email=ADA)
    gate.first.claims = {"email": ADA, "email_verified": False}
    assert "You belong to no team yet" in (await gate.enter()).said
    gate.second.claims = {"email": ADA, "email_verified": True}  # `emails` is false there
    back = gate.second.authorize(await gate.led(number=1))
    assert "You belong to no team yet" in (await gate.browser.get(back)).said
