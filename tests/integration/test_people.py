"""Accounts of people: signing in by mail, teams and roles by person, and attacks on them."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from metaserver.base.errors import Refusal
from metaserver.operations import sign_ins
from metaserver.store.people import CODE_TRIES
from tests.hubs.command import DEMO
from tests.hubs.sites import Page, Visitor, organiser_token, token_of, visiting
from tests.integration.test_front_door import Door, opened

ADA, BOB = "ada@green.example", "bob@green.example"


class Browser(Visitor):
    """A browser whose forms carry the value of the newest page."""

    async def get(self, path: str) -> Page:
        return self._seen(await super().get(path))

    async def post(self, path: str, form: Any = None, **fields: Any) -> Page:
        return self._seen(await super().post(path, form, **fields))

    @property
    def cookie(self) -> str:
        """The cookie of its session; empty for none."""
        jar = self.client.session.cookie_jar
        return next((one.value for one in jar if one.key == "session"), "")

    def plant(self, **cookies: str) -> None:
        """Put cookies into it, as another site of its domain may."""
        self.client.session.cookie_jar.update_cookies(cookies, self.client.make_url("/"))

    def _seen(self, page: Page) -> Page:
        values = re.findall(r'name="csrf" value="([^"]+)"', page.text)
        self.csrf = values[0] if values else ""
        return page


class Lobby:
    """A hub that sends mail, and its browsers."""

    def __init__(self, door: Door) -> None:
        self.door, self.running, self.mail = door, door.running, door.mail

    @asynccontextmanager
    async def browser(self, email: str = "") -> AsyncIterator[Browser]:
        """Open a new browser, in which a person is signed in."""
        async with visiting(self.running) as visitor:
            browser = Browser(visitor.client)
            if email:
                await self.enter(browser, email)
            yield browser

    async def ask(self, browser: Browser, email: str, after: str = "/") -> tuple[str, str]:
        """Ask for a link; return its path and the code of the mail."""
        count = len(self.mail.messages)
        page = await browser.post("/signin/mail", email=email, next=after)
        assert (page.status, page.path) == (200, "/signin/code"), page.said
        link = await self.door.mailed(count + 1)
        code = re.search(r"type this code there: (\S+ \S+)", self.mail.text())
        assert code
        return link, code[1]

    async def enter(self, browser: Browser, email: str, after: str = "/") -> Page:
        """Sign in by the link of a mail."""
        link, _ = await self.ask(browser, email, after)
        await browser.get(link)
        return await browser.post(link)

    async def owned(self, team: str, email: str) -> None:
        """Make a team whose contact has an address."""
        await self.running.do("teams.create", team=team, email=email)


@pytest.fixture
async def lobby(tmp_path: Path) -> AsyncIterator[Lobby]:
    async with opened(tmp_path, sign_up="automatic") as door:
        yield Lobby(door)


# -- signing in by mail ----------------------------------------------------------------------------


async def test_contact_of_a_team_signs_in_by_mail_and_is_its_owner(lobby: Lobby) -> None:
    await lobby.owned("green", ADA)
    async with lobby.browser() as browser:
        page = await lobby.enter(browser, ADA)
        assert page.path == "/team"
        assert "Team green" in page.said
        members = await browser.get("/team/members")
        assert f"{ADA} you {ADA} owner" in members.said
    entries = await lobby.running.do("audit.list", subject="person 1")
    assert [(entry.actor, entry.action) for entry in entries] == [
        ("person 1, team green", "signin")
    ]


async def test_code_signs_in_only_the_browser_that_asked(lobby: Lobby) -> None:
    async with lobby.browser() as mine, lobby.browser() as other:
        _, code = await lobby.ask(mine, ADA)
        assert (await other.post("/signin/code", code=code)).status == Refusal.UNKNOWN
        page = await mine.post("/signin/code", code=code.lower().replace(" ", "-"))
        assert page.path == "/account"
        assert (await mine.post("/signin/code", code=code)).status == Refusal.UNKNOWN


async def test_wrong_codes_end_a_sign_in(lobby: Lobby) -> None:
    async with lobby.browser() as browser:
        _, code = await lobby.ask(browser, ADA)
        for _ in range(CODE_TRIES):
            assert (await browser.post("/signin/code", code="AAAA AAAA")).status == Refusal.INVALID
        assert (await browser.post("/signin/code", code=code)).status == Refusal.UNKNOWN


async def test_link_in_another_browser_is_refused(lobby: Lobby) -> None:
    async with lobby.browser() as mine, lobby.browser() as other:
        link, _ = await lobby.ask(mine, ADA)
        assert "asked for in another browser" in (await other.get(link)).said
        assert (await other.post(link)).status == Refusal.UNKNOWN
        assert other.cookie == ""
        for _ in range(2):  # scanners of mail open links
            assert (await mine.get(link)).status == 200
        assert (await mine.post(link)).path == "/account"


async def test_used_link_is_refused(lobby: Lobby) -> None:
    async with lobby.browser() as browser:
        link, _ = await lobby.ask(browser, ADA)
        bound = {one.key: one.value for one in browser.client.session.cookie_jar}
        await browser.post(link)
        browser.plant(**bound)  # a copy of the earlier cookie
        await browser.get("/account")
        assert (await browser.post(link)).status == Refusal.UNKNOWN


async def test_expired_link_is_refused(lobby: Lobby) -> None:
    async with lobby.browser() as browser:
        link, code = await lobby.ask(browser, ADA)
        lobby.door.clock.now += 901
        assert (await browser.post(link)).status == Refusal.UNKNOWN
        assert (await browser.post("/signin/code", code=code)).status == Refusal.UNKNOWN


async def test_session_is_new_at_each_sign_in(lobby: Lobby) -> None:
    async with lobby.browser() as browser:
        browser.plant(session="a" * 43)
        await lobby.enter(browser, ADA)
        first = browser.cookie
        assert first not in ("", "a" * 43)
        await lobby.enter(browser, ADA)
        assert browser.cookie != first
        async with lobby.browser() as thief:
            thief.plant(session=first)
            assert (await thief.get("/account")).path.startswith("/signin")


async def test_sign_in_leads_to_no_other_site(lobby: Lobby) -> None:
    for place, (after, leads_to) in enumerate((
        ("/docs?q=gold", "/docs?q=gold"), ("https://evil.example/", "/account"),
        ("//evil.example", "/account"), ("/\\evil.example", "/account"),
        ("/" + "a" * 5_000, "/account"),
    )):  # fmt: skip
        async with lobby.browser() as browser:
            page = await lobby.enter(browser, f"ada{place}@x.example", after)
            assert page.path == leads_to, after[:99]


async def test_planted_cookie_leads_to_no_other_site(lobby: Lobby) -> None:
    async with lobby.browser() as browser:
        link, _ = await lobby.ask(browser, ADA)
        jar = browser.client.session.cookie_jar
        bound = next(one.value for one in jar if one.key == "signing-in")
        planted = bound.partition(".")[0] + ".https%3A%2F%2Fevil.example"
        browser.plant(**{"signing-in": planted})
        assert (await browser.post(link)).path == "/account"


async def test_spelling_of_an_address_is_no_second_account(lobby: Lobby) -> None:
    async with lobby.browser(ADA) as first, lobby.browser() as second:
        await lobby.enter(second, "ADA@Green.example")
        assert lobby.mail.to[-1] == ADA  # mail goes to the address that was verified
        accounts = [(await one.get("/account/data.json")).text for one in (first, second)]
        assert json.loads(accounts[0])["id"] == json.loads(accounts[1])["id"]


async def test_alias_of_an_address_is_another_person(lobby: Lobby) -> None:
    await lobby.owned("green", ADA)
    async with lobby.browser("ada+green@green.example") as browser:
        assert "You belong to no team yet" in (await browser.get("/account")).said


async def test_known_and_unknown_addresses_are_answered_alike(lobby: Lobby) -> None:
    await lobby.owned("green", ADA)
    async with lobby.browser(ADA), lobby.browser() as browser:
        answers = []
        for email in (ADA, "nobody@x.example"):
            page = await browser.post("/signin/mail", email=email)
            answers.append((page.status, page.path, page.said))
        assert answers[0] == answers[1]


async def test_mails_to_a_mailbox_are_bounded_silently(
    lobby: Lobby, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_ins, "OF_MAILBOX", 2)
    async with lobby.browser() as browser:
        for alias in ("ada", "ada+1"):
            await lobby.ask(browser, f"{alias}@green.example")
        for alias in ("ada+2", "ADA"):
            page = await browser.post("/signin/mail", email=f"{alias}@green.example")
            assert page.path == "/signin/code"
        await lobby.ask(browser, BOB)
    assert [to.lower() for to in lobby.mail.to] == [ADA, "ada+1@green.example", BOB]


async def test_sign_ins_of_an_origin_are_bounded(lobby: Lobby) -> None:
    async with lobby.browser() as browser:
        for _ in range(sign_ins.OF_ORIGIN):
            await browser.post("/signin/mail", email=ADA)
        refused = await browser.post("/signin/mail", email=BOB)
    assert refused.status == Refusal.TOO_MANY
    assert int(refused.headers["Retry-After"]) > 0


async def test_what_is_no_address_is_refused(lobby: Lobby) -> None:
    async with lobby.browser() as browser:
        for email in ("", "ada", "a@b, c@d", "a@b\r\nBcc: c@d.e", "<a@b.c>"):
            page = await browser.post("/signin/mail", email=email)
            assert page.status == Refusal.INVALID, email
            assert 'id="email-wrong"' in page.text, email


async def test_other_site_cannot_begin_a_sign_in(lobby: Lobby) -> None:
    async with lobby.browser() as browser:
        link, code = await lobby.ask(browser, ADA)
        head = {"Sec-Fetch-Site": "cross-site"}
        for path, form in (("/signin/mail", {"email": BOB}), ("/signin/code", {"code": code}),
                           (link, {})):  # fmt: skip
            async with browser.client.post(path, data=form, headers=head) as response:
                assert response.status == Refusal.NOT_YOURS
        assert browser.cookie == ""


# -- teams and roles by person ---------------------------------------------------------------------


async def test_person_signs_a_team_up_without_another_mail(lobby: Lobby) -> None:
    async with lobby.browser(ADA) as browser:
        form = await browser.get("/sign-up/bc")
        assert 'name="email"' not in form.text
        count = len(lobby.mail.messages)
        page = await browser.post("/sign-up/bc", team="green", people="Ada", email=BOB)
        assert page.path == "/team"
        assert "Team green" in page.said
        assert len(lobby.mail.messages) == count
    team = await lobby.running.do("teams.get", team="green")
    assert team.email == ADA  # not the one that was sent along


async def test_invited_person_joins_and_leaves(lobby: Lobby) -> None:
    await lobby.owned("green", ADA)
    async with lobby.browser(ADA) as ada, lobby.browser() as bob:
        await ada.get("/team/members")
        count = len(lobby.mail.messages)
        assert "Invited: bob@green.example" in (await ada.post("/team/members", email=BOB)).said
        invitation = await lobby.door.mailed(count + 1)
        assert lobby.mail.to[-1] == BOB
        stranger = await bob.get(invitation)
        assert "sign in with your own account first" in stranger.said
        page = await lobby.enter(bob, BOB, invitation)
        assert (page.path, "To team green, as a member" in page.said) == (invitation, True)
        assert (await bob.post(invitation)).path == "/team"
        assert (await bob.get(invitation)).status == Refusal.UNKNOWN  # once
        members = await bob.get("/team/members")
        assert f"{BOB} you {BOB} member" in members.said
        refused = await bob.post("/team/members", email="eve@x.example")
        assert refused.status == Refusal.NOT_YOURS
        await bob.get("/team/tokens")
        page = await bob.post("/team/tokens", label="bob")
        token = page.secret
        await bob.get("/team/members")
        mine = await _membership(lobby, "green", BOB)
        await bob.post(f"/team/members/{mine}/end")
        assert (await bob.get("/team")).path == "/account"  # still signed in, for no team
        head = {"Authorization": f"Bearer {token}"}
        async with bob.client.get("/api/v1/whoami", headers=head) as response:
            assert response.status == Refusal.TOKEN  # what a member made ends with the membership


@pytest.mark.slow
async def test_last_owner_stays_until_another_is_owner(lobby: Lobby) -> None:
    await lobby.owned("green", ADA)
    async with lobby.browser(ADA) as ada, lobby.browser(BOB) as bob:
        await _join(lobby, ada, bob)
        mine, his = [await _membership(lobby, "green", one) for one in (ADA, BOB)]
        await ada.get("/team/members")
        for act in ("end", "member"):
            assert (await ada.post(f"/team/members/{mine}/{act}")).status == Refusal.STATE
        assert (await ada.post(f"/team/members/{his}/owner")).status == 200
        await ada.post(f"/team/members/{mine}/end")
        assert (await ada.get("/account")).status == 200
        members = await lobby.running.do("memberships.list", team="green")
        assert [one.email for one in members] == [BOB]


@pytest.mark.slow
async def test_owner_of_one_team_changes_nothing_of_another(lobby: Lobby) -> None:
    await lobby.owned("green", ADA)
    await lobby.owned("red", BOB)
    async with lobby.browser(ADA) as ada, lobby.browser(BOB) as bob:
        await bob.get("/team/members")
        his, mine = await _membership(lobby, "red", BOB), await _membership(lobby, "green", ADA)
        for act in ("end", "member", "owner"):
            assert (await bob.post(f"/team/members/{mine}/{act}")).status == Refusal.UNKNOWN
        assert (await bob.post("/team/members", team="green", email=BOB)).status in (403, 404)
        await ada.get("/account")
        assert (await ada.post("/account/act", membership=str(his))).status == Refusal.UNKNOWN
        # A plain member of green who owns red does not become owner of green.
        await _join(lobby, ada, bob)
        joined = await _membership(lobby, "green", BOB)
        await bob.get("/account")
        await bob.post("/account/act", membership=str(his))
        await bob.get("/team/members")
        assert (await bob.post(f"/team/members/{joined}/owner")).status == Refusal.NOT_YOURS


async def test_token_of_a_team_with_an_owner_invites_nobody(lobby: Lobby) -> None:
    await lobby.running.do("teams.create", team="green")
    token = await token_of(lobby.running, "green")
    async with lobby.browser() as program:
        await program.sign_in(token)
        page = await program.post("/team/members", owner="true")
        link = urlsplit(page.secret).path  # while nobody owns the team, its token invites the first
        async with lobby.browser(ADA) as ada:
            await ada.get(link)
            assert (await ada.post(link)).path == "/team"
        await program.get("/team/members")
        assert (await program.post("/team/members")).status == Refusal.NOT_YOURS


@pytest.mark.slow
async def test_organiser_invites_a_curator_and_takes_an_invitation_back(lobby: Lobby) -> None:
    async with lobby.browser() as organiser, lobby.browser(ADA) as ada:
        await organiser.sign_in(await organiser_token(lobby.running))
        page = await organiser.post("/organise/people", role="curator", email="")
        link = urlsplit(page.secret).path
        await ada.get(link)
        assert (await ada.post(link)).path == "/curate"
        assert (await ada.get("/organise")).status == Refusal.NOT_YOURS
        count = len(lobby.mail.messages)
        await organiser.post("/organise/people", role="organiser", email=ADA, challenge="")
        invitation = await lobby.door.mailed(count + 1)
        [opened] = await lobby.running.do("memberships.invitations")
        await organiser.post(f"/organise/people/invitations/{opened.id}/withdraw")
        assert (await ada.get(invitation)).status == Refusal.UNKNOWN


@pytest.mark.slow
async def test_organiser_of_one_challenge_runs_it_and_nothing_else(lobby: Lobby) -> None:
    running = lobby.running
    await running.do("challenges.set", challenge="other", title="The other")
    hidden = {"corpus": "demo", "release": "test"}
    await running.do("phases.create", challenge="other", phase="theirs", **hidden)
    await running.do("challenges.edit", challenge="other", announced="2100-01-01T00:00")
    await lobby.owned("stranger", BOB)
    async with lobby.browser() as organiser, lobby.browser(ADA) as ada:
        await organiser.sign_in(await organiser_token(running))
        people = await organiser.get("/organise/people")
        assert "challenge The other alone" in people.said
        form = {"role": "curator", "challenge": "bc"}
        assert (
            "Only an organiser's token can be limited to one challenge"
            in (await organiser.post("/organise/people", form)).said
        )
        page = await organiser.post("/organise/people", role="organiser", challenge="bc")
        link = urlsplit(page.secret).path
        assert "To be organiser of A challenge" in (await ada.get(link)).said
        page = await ada.post(link)
        assert (page.path, "organiser of A challenge" in page.text) == ("/organise", True)
        for told in ("The other", "theirs", "Disk left", "Make a challenge", "/organise/alerts"):
            assert told not in page.text
        for path in (
            *("/challenges/bc", "/challenges/bc/page", "/challenges/bc/sign-ups"),
            *("/phases/test", "/phases/test/edit", "/phases/test/open", "/phases/test/gold/INT"),
            *("/phases/test/watch", "/phases/test/data", "/phases/test/results", "/jobs"),
            *("/servers", "/uploads", "/uploads?phase=test", "/challenges/bc/bundle"),
            *("/people", "/tokens"),
        ):
            assert (await ada.get(f"/organise{path}")).status == 200, path
        for path in (
            *("/challenges/other", "/challenges/other/page", "/challenges/other/sign-ups"),
            *("/phases/theirs", "/phases/theirs/edit", "/phases/theirs/data", "/phases/none"),
            *("/phases/theirs/results/package", "/challenges/other/bundle", "/new-challenge"),
            *("/challenges/bc/delete", "/new-phase", "/corpora", "/teams"),
            *("/alerts", "/machines", "/audit", "/consensus"),
        ):
            assert (await ada.get(f"/organise{path}")).status == Refusal.NOT_YOURS, path
        assert (await ada.get("/challenges/other/theirs/monitor")).status == Refusal.UNKNOWN
        for path in ("/organise/people", "/organise/tokens"):
            page = await ada.get(path)
            choices = re.findall(r'<option value="(\w*)"', page.text)
            assert set(choices) == {"organiser", "bc"}, path
            told = "Members of a team are managed by its owners and by organisers of the whole hub"
            assert (told in page.said) == path.endswith("people"), path
            page = await ada.post(path, role="organiser", challenge="bc")
            assert 'id="secret"' in page.text, path
        await ada.get("/organise/phases/test/open")
        await ada.post("/organise/phases/test/open")
        await ada.get("/organise/phases/test/gold/INT")
        gold = ("gold.tsv", (DEMO / "gold_int.tsv").read_bytes())
        page = await ada.send("/organise/phases/test/gold/INT", {"content": gold})
        assert page.path.startswith("/organise/phases/test/gold/INT/previews/"), page.said
        await ada.get("/organise/phases/test/edit")
        await ada.post("/organise/phases/test/edit", title="Mine", corpus="demo")
    phase = await running.do("phases.get", phase="test")
    assert (phase.state, phase.title) == ("test", "Mine")
    entries = await running.do("audit.list", subject="test")
    assert "person 1, organiser of challenge bc" in {entry.actor for entry in entries}


async def test_roles_of_a_challenge_end_with_it(lobby: Lobby) -> None:
    running = lobby.running
    await running.do("challenges.set", challenge="new", title="New")
    issued = await running.do("tokens.create", role="organiser", challenge="new")
    await running.do("memberships.invite", role="organiser", challenge="new")
    await running.do("challenges.delete", challenge="new")
    assert await running.do("memberships.invitations") == []
    await running.do("challenges.set", challenge="new", title="Another of that name")
    async with lobby.browser() as program:
        head = {"Authorization": f"Bearer {issued.token}"}
        async with program.client.get("/api/v1/whoami", headers=head) as response:
            assert response.status == Refusal.TOKEN


async def test_deleted_person_leaves_no_name(lobby: Lobby) -> None:
    await lobby.owned("green", ADA)
    async with lobby.browser(ADA) as ada:
        await ada.get("/account")
        await ada.post("/account/name", name="Ada Example")
        await ada.get("/team/settings")
        await ada.post("/team/settings", title="Greens", email=ADA)
        kept = json.loads((await ada.get("/account/data.json")).text)
        assert (kept["email"], kept["name"]) == (ADA, "Ada Example")
        await ada.get("/account")
        assert (await ada.post("/account/delete", confirm="yes")).status == Refusal.INVALID
        assert (await ada.post("/account/delete", confirm="delete")).path == "/"
        assert (await ada.get("/account")).path.startswith("/signin")
    assert (await lobby.running.do("teams.get", team="green")).email == ""
    entries = [str(entry) for entry in await lobby.running.do("audit.list")]
    assert any("teams.update" in entry and "person 1'" in entry for entry in entries)
    assert "Ada Example" not in "".join(entries)
    assert ADA not in "".join(entries)


async def test_program_is_no_person(lobby: Lobby) -> None:
    await lobby.owned("green", ADA)
    refused = await lobby.running.refused("people.me", lobby.running.team("green"))
    assert refused.refusal is Refusal.NOT_YOURS
    async with lobby.browser(ADA):
        mine = await _membership(lobby, "green", ADA)
        refused = await lobby.running.refused("tokens.revoke", id=mine)
        assert refused.refusal is Refusal.STATE  # a token revokes no person's membership


async def _membership(lobby: Lobby, team: str, email: str) -> int:
    members = await lobby.running.do("memberships.list", team=team)
    return int(next(one.id for one in members if one.email == email))


async def _join(lobby: Lobby, owner: Browser, guest: Browser) -> None:
    """Let an owner invite by a link, and a guest accept."""
    await owner.get("/team/members")
    count = len(lobby.mail.messages)
    await owner.post("/team/members", email="guest@x.example")
    invitation = await lobby.door.mailed(count + 1)
    await guest.get(invitation)
    assert (await guest.post(invitation)).path == "/team"
