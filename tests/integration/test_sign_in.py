"""Tokens and sessions at a real server: who gets in, as whom, and what a session may send."""

import logging
from pathlib import Path

import pytest

from metaserver.base.states import Role
from metaserver.store import audit, tokens
from tests.integration.gated import Browser, Site, browser, gated_site, raw

TRUSTING = {"trusted_proxies": ["127.0.0.1/32"]}


async def post(web: Browser, path: str, data: dict[str, str] | None = None, **headers: str) -> int:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    async with web.client.post(path, data=data, headers=names, allow_redirects=False) as response:
        await response.read()
        return response.status


async def me(web: Browser, *, token: str | None = None) -> tuple[int, str]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with web.client.get("/api/v1/me", headers=headers) as response:
        told = await response.json()
        return response.status, told["by"] if response.status == 200 else told["error"]["message"]


async def test_a_token_says_who_asks(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web:
        organiser = await site.token(Role.ORGANISER, label="ana")
        assert await me(web, token=organiser) == (200, "organiser ana")
        assert await me(web, token=await site.token(team="blue")) == (200, "team blue")
        assert await me(web) == (200, "anonymous")
        for wrong in ("bcms_o" + "A" * 43, organiser[:-1], "x", ""):
            status, message = await me(web, token=wrong)
            assert (status, message) == (
                401,
                "this token is not valid, or has expired: ask for a new token",
            )
        async with web.client.get("/api/v1/me", headers={"Authorization": "Basic YTpi"}) as basic:
            assert (basic.status, basic.headers["WWW-Authenticate"]) == (401, "Bearer")


async def test_revoking_a_token_holds_from_the_next_request_on(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web:
        secret = await site.token()
        assert await web.sign_in(secret) == 303
        assert (await web.get("/own"))[0] == 200
        async with site.store.writing() as connection:
            token = await tokens.find(connection, secret, site.gate.now())
            await tokens.revoke(connection, token.id, site.gate.now())
        assert (await me(web, token=secret))[0] == 401
        assert await me(web) == (200, "anonymous")


@pytest.mark.both_stores
async def test_signing_in_and_out(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web:
        secret = await site.token()
        async with web.client.get("/own", headers={"Accept": "text/html"}) as response:
            assert response.url.path_qs == "/signin?next=/own"  # and back after signing in
            assert 'autocomplete="off"' in await response.text()
        async with web.client.post(
            "/signin", data={"token": f" {secret} ", "next": "/own"}
        ) as done:
            assert done.url.path == "/own"
            assert "Signed in as <b>team blue</b>" in await done.text()
            assert done.headers["Cache-Control"] == "private, no-store"
        assert (await web.get("/signin?next=/own"))[0] == 303
        cookie = web.cookie()
        assert await post(web, "/signout", {"csrf": await web.csrf()}) == 303
        assert web.cookie() is None
        web.client.cookie_jar.update_cookies({"session": cookie})
        assert await me(web) == (200, "anonymous")  # it is over, not only forgotten
        async with site.store.reading() as connection:
            assert [entry.action for entry in await audit.entries(connection)] == ["signin"]


@pytest.mark.parametrize(
    ("settings", "headers", "name", "secure"),
    [
        ({}, {}, "session", False),
        ({}, {"X-Forwarded-Proto": "https"}, "session", False),
        (TRUSTING, {"X-Forwarded-Proto": "https"}, "__Host-session", True),
        ({"secure_cookies": True}, {}, "__Host-session", True),
    ],
)  # fmt: skip
async def test_the_cookie_is_for_the_server_alone(tmp_path, settings, headers, name, secure):
    async with gated_site(tmp_path, **settings) as site, browser(site) as web:
        data = {"token": await site.token()}
        async with web.client.post(
            "/signin", data=data, headers=headers, allow_redirects=False
        ) as response:
            cookie = response.headers["Set-Cookie"]
    assert cookie.startswith(f"{name}=")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert ("Secure" in cookie.split("; ")) is secure
    assert "Domain" not in cookie


async def test_what_is_wrong_is_told_next_to_the_field(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web:
        for secret, status, told in (
            ("", 422, "Enter your token."),
            ("bcms_x", 401, "not valid, or has expired"),
        ):
            async with web.client.post("/signin", data={"token": secret, "next": "/own"}) as page:
                text = await page.text()
                assert page.status == status
            assert 'aria-invalid="true" aria-describedby="token-wrong"' in text
            assert told in text
            assert 'value="/own"' in text
            assert "bcms_x" not in text


async def test_signing_in_leads_to_this_site_alone(tmp_path: Path) -> None:
    evil = ("//evil.example", "/\\evil.example", "/\t/evil.example", "https://evil.example/",
            "javascript:alert(1)", "")  # fmt: skip
    async with gated_site(tmp_path) as site:
        for after in ("/own?x=1", *evil):
            async with browser(site) as web:
                data = {"token": await site.token(), "next": after}
                async with web.client.post("/signin", data=data, allow_redirects=False) as response:
                    leads = "/team" if after in evil else after
                    assert (response.status, response.headers["Location"]) == (303, leads), after


@pytest.mark.parametrize(
    ("role", "challenge", "leads"),
    [
        (Role.READER, None, "/"),
        (Role.TEAM, None, "/team"),
        (Role.CURATOR, None, "/curate"),
        (Role.ORGANISER, None, "/organise"),
        (Role.ORGANISER, "bc", "/organise"),
    ],
)
async def test_signing_in_leads_to_the_pages_of_the_role(tmp_path, role, challenge, leads):
    async with gated_site(tmp_path) as site, browser(site) as web:
        data = {"token": await site.token(role, challenge=challenge), "next": "/"}
        async with web.client.post("/signin", data=data, allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, leads)
        async with web.client.get("/signin", allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, leads)


async def test_a_session_changes_nothing_without_its_csrf_value(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web, browser(site) as other:
        await web.sign_in(await site.token())
        await other.sign_in(await site.token(team="red"))
        csrf, theirs = await web.csrf(), await other.csrf()
        site.entered = 0
        for path in ("/send", "/api/v1/send", "/signout"):
            assert await post(web, path) == 403
            assert await post(web, path, {"csrf": ""}) == 403
            assert await post(web, path, {"csrf": theirs}) == 403
            assert await post(web, path, X_CSRF_Token=theirs) == 403
            assert await post(web, path, X_CSRF_Token=csrf, Sec_Fetch_Site="cross-site") == 403
            assert await post(web, path, {"csrf": csrf}, Sec_Fetch_Site="same-site") == 403
            assert await post(web, path, {"csrf": csrf}, Origin="https://evil.example") == 403
            assert await post(web, path, {"csrf": csrf}, Origin="null") == 403
        assert site.entered == 0
        assert await post(web, "/send", {"csrf": csrf}, Origin=site.url) == 200
        for path in ("/send", "/api/v1/send"):
            assert await post(web, path, X_CSRF_Token=csrf) == 200
            assert await post(web, path, X_CSRF_Token=csrf, Sec_Fetch_Site="same-origin") == 200


async def test_the_csrf_value_is_a_forms_first_field(tmp_path: Path) -> None:
    """Nothing after it is read for a page of another session; programs send it as a header."""
    async with gated_site(tmp_path) as site, browser(site) as web:
        await web.sign_in(await site.token())
        csrf = await web.csrf()
        assert await post(web, "/send", {"csrf": csrf, "more": "1"}) == 200
        site.entered = 0
        assert await post(web, "/send", {"more": "1", "csrf": csrf}) == 403
        assert await post(web, "/send", {"x" * 9_000: "1", "csrf": csrf}) == 403
        assert await post(web, "/api/v1/send", {"csrf": csrf}) == 403
        assert site.entered == 0


async def test_a_page_for_one_role_reads_nothing_of_others(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web:
        assert await post(web, "/organise", {"x": "1"}) == 401
        await web.sign_in(await site.token())
        csrf = await web.csrf()
        site.entered = 0
        assert await post(web, "/organise", {"csrf": csrf}) == 403
        assert site.entered == 0
        ana = f"Bearer {await site.token(Role.ORGANISER)}"
        assert await post(web, "/organise", {"x": "1"}, Authorization=ana) == 200


async def test_a_token_in_the_head_needs_no_csrf_value_and_goes_before_the_cookie(tmp_path):
    async with gated_site(tmp_path) as site, browser(site) as web:
        await web.sign_in(await site.token())
        headers = {"Authorization": f"Bearer {await site.token(Role.ORGANISER, label='ana')}"}
        async with web.client.post("/api/v1/send", headers=headers) as response:
            assert (await response.json())["by"] == "organiser ana"


async def test_one_cannot_be_signed_in_from_another_site(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web:
        data = {"token": await site.token()}
        assert await post(web, "/signin", data, Origin="https://evil.example") == 403
        assert await post(web, "/signin", data, Sec_Fetch_Site="cross-site") == 403
        assert web.cookie() is None


async def test_a_session_cannot_be_fixed(tmp_path: Path) -> None:
    """A session that an attacker plants is never used, and earlier ones end at sign-in."""
    async with gated_site(tmp_path) as site, browser(site) as web:
        web.client.cookie_jar.update_cookies({"session": "planted"})
        await web.sign_in(await site.token())
        first = web.cookie()
        assert first not in (None, "planted")
        await web.sign_in(await site.token(team="red"), csrf=await web.csrf())
        assert web.cookie() != first
        for old in ("planted", first):
            async with browser(site) as other:
                other.client.cookie_jar.update_cookies({"session": old})
                assert await me(other) == (200, "anonymous")


async def failed(web: Browser, times: int) -> list[int]:
    return [await web.sign_in(f"bcms_o{number:043}") for number in range(times)]


async def test_failed_sign_ins_make_the_next_wait(tmp_path: Path) -> None:
    now = 0.0
    async with gated_site(tmp_path, clock=lambda: now) as site, browser(site) as web:
        secret = await site.token()
        assert await failed(web, 8) == [401] * 6 + [429] * 2
        async with web.client.post("/signin", data={"token": secret}) as response:
            assert response.status == 429  # the right one waits too, or guesses would be free
            assert response.headers["Retry-After"] == "1"
            assert "Too many failed sign-ins: try again in 1 s." in await response.text()
        now += 1.0
        assert await failed(web, 2) == [401, 429]
        now += 1.0
        assert await web.sign_in(secret) == 429  # twice as long
        now += 1.0
        assert await web.sign_in(secret) == 303


async def test_success_ends_the_waiting(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web:
        secret = await site.token()
        for _ in range(3):
            assert await failed(web, 5) == [401] * 5
            async with browser(site) as other:
                assert await other.sign_in(secret) == 303


async def test_failures_of_many_addresses_together_make_all_wait(tmp_path: Path) -> None:
    async with gated_site(tmp_path, **TRUSTING) as site, browser(site) as web:
        answers = [
            await post(web, "/signin", {"token": "wrong"}, X_Forwarded_For=f"192.0.2.{number}")
            for number in range(102)
        ]
        assert answers == [401] * 101 + [429]


async def told_everywhere(site: Site, web: Browser, secret: str) -> None:
    """Send a secret wherever one may end up by mistake."""
    await web.sign_in(secret)
    await web.sign_in(secret[:-1] + "!")
    await me(web, token=secret)
    await me(web, token=secret + "A")
    await web.get("/fail")
    async with web.client.get("/fail", headers={"Authorization": f"Bearer {secret}"}) as response:
        assert response.status == 500
    for line in (b"GET /fail HTTP/9 ", b"GET / HTTP/1.1\r\nAuthorization: Bearer\0"):
        await raw_line(site, line + secret.encode())


async def raw_line(site: Site, line: bytes) -> None:
    await raw(site, line + b"\r\n\r\n")


async def test_tokens_and_cookies_are_never_in_the_log(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    async with gated_site(tmp_path) as site, browser(site) as web:
        secret = await site.token()
        await told_everywhere(site, web, secret)
        cookie, csrf = web.cookie(), await web.csrf()
    logged = caplog.text + repr([vars(record) for record in caplog.records])
    assert "a reason for the log alone" in logged
    for value in (secret, cookie, csrf):
        assert value
        assert value not in logged
        assert value[6:40] not in logged


async def test_the_id_of_a_request_is_told_and_a_sane_one_of_a_proxy_kept(tmp_path: Path) -> None:
    async with gated_site(tmp_path, **TRUSTING) as site, browser(site) as web:
        ids = []
        for given in ("", "abcdef0123456789", "x", "a b\tc" * 20, "<script>alert(1)</script>"):
            headers = {"X-Request-Id": given} if given else {}
            async with web.client.get("/fail", headers=headers) as response:
                ids.append(response.headers["X-Request-Id"])
        assert ids[1] == "abcdef0123456789"
        assert all(len(made) == 32 and int(made, 16) for made in (*ids[:1], *ids[2:]))
        assert len(set(ids)) == 5


async def test_the_id_of_a_request_is_taken_from_trusted_proxies_alone(tmp_path: Path) -> None:
    for settings in ({}, {"trusted_proxies": ["192.0.2.0/24"]}):
        async with gated_site(tmp_path, **settings) as site, browser(site) as web:
            headers = {"X-Request-Id": "abcdef0123456789", "X-Forwarded-For": "192.0.2.1"}
            async with web.client.get("/fail", headers=headers) as response:
                made = response.headers["X-Request-Id"]
            assert made != "abcdef0123456789"
            assert len(made) == 32


async def used_at(site: Site, secret: str) -> float | None:
    async with site.store.reading() as connection:
        token = await tokens.find(connection, secret, site.gate.now())
    return token.used_at


async def test_a_tokens_last_use_is_kept_to_the_minute(tmp_path: Path) -> None:
    async with gated_site(tmp_path) as site, browser(site) as web:
        secret = await site.token()
        begun = site.gate.now()
        assert await used_at(site, secret) is None
        for later, kept in ((0.0, 0.0), (59.0, 0.0), (61.0, 61.0)):
            now = begun + later
            site.gate.now = lambda now=now: now
            assert (await me(web, token=secret))[0] == 200
            assert await used_at(site, secret) == begun + kept


async def test_sessions_behind_one_address_are_counted_by_team(tmp_path: Path) -> None:
    """Two browsers of a team share its requests; another team's browser has its own."""
    async with (
        gated_site(tmp_path, requests_a_minute=6, anonymous_requests_a_minute=100) as site,
        browser(site) as blue,
        browser(site) as too,
        browser(site) as red,
        browser(site) as ana,
        browser(site) as bob,
    ):
        assert await blue.sign_in(await site.token(team="blue")) == 303
        assert await too.sign_in(await site.token(team="blue")) == 303
        assert await red.sign_in(await site.token(team="red")) == 303
        for web in (ana, bob):
            assert await web.sign_in(await site.token(Role.ORGANISER)) == 303
        statuses = [(await web.get("/own"))[0] for web in [blue] * 3 + [too] * 4]
        assert statuses == [200] * 6 + [429]
        assert [(await red.get("/own"))[0] for _ in range(7)] == [200] * 6 + [429]
        assert [(await ana.get("/"))[0] for _ in range(7)] == [200] * 6 + [429]
        assert (await bob.get("/"))[0] == 200
