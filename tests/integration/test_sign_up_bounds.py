"""Hostile sign-ups: nobody keeps others out, comes in often, or learns which teams there are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.phases import AUTOMATIC_A_DAY, DAY, SignUpState
from metaserver.config import NoticeSettings, Settings
from metaserver.operations import sign_ups as front_door
from metaserver.operations.caller import Caller
from metaserver.operations.sign_ups import OF_ORIGIN, OPEN_OF_ORIGIN
from metaserver.store import sign_ups
from metaserver.store.sign_ups import NAMES
from tests.fakes.clock import FakeClock
from tests.fakes.mailbox import Mailbox, mailbox
from tests.hubs.inside import Running, at_work, plan_phase, settings
from tests.hubs.sites import client_of, organiser_token, signed_in
from tests.hubs.stored import stored
from tests.integration.test_front_door import sent_to
from tests.waiting import until

HOUR = 3_601.0


class Door:
    """A hub with a challenge, and a clock that stands; without mail, unless it is given."""

    def __init__(self, running: Running, clock: FakeClock) -> None:
        self.running = running
        self.clock = clock
        self.count = 0

    async def begin(self, origin: str = "10.0.0.1", **values: Any) -> Any:
        self.count += 1
        given = {"team": f"team-{self.count}", "people": "Ada", "email": f"a{self.count}@x.example"}
        caller = Caller(origin=origin)
        return await self.running.do("sign-ups.begin", caller, challenge="bc", **given | values)

    async def known(self) -> Any:
        return await self.running.do("sign-ups.list", challenge="bc")

    async def confirm(self, **values: Any) -> Any:
        """Confirm the newest sign-up with a link that an organiser hands out."""
        newest = (await self.known())[0]
        secret = await self.link(newest.id)
        return await self.running.do("sign-ups.confirm", Caller(), secret=secret, **values)

    async def link(self, sign_up: int) -> str:
        made = await self.running.do("sign-ups.link", id=sign_up)
        return str(made.link).rpartition("/")[2]


@asynccontextmanager
async def opened(given: Settings, **edit: Any) -> AsyncIterator[Door]:
    clock = FakeClock(1_800_000_000.0)
    async with at_work(given, clock=clock) as running:
        await plan_phase(running)
        await running.do("challenges.edit", challenge="bc", **edit)
        yield Door(running, clock)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(await settings(tmp_path), sign_up="automatic") as door:
        yield door


async def refused(awaited: Any) -> RefusedError:
    with pytest.raises(RefusedError) as found:
        await awaited
    return found.value


async def test_one_address_does_not_close_sign_up_for_others(door, monkeypatch):
    monkeypatch.setattr(front_door, "OPEN", OPEN_OF_ORIGIN + 1)
    for number in range(OPEN_OF_ORIGIN):
        if number % OF_ORIGIN == 0:
            door.clock.now += HOUR
        await door.begin()
    door.clock.now += HOUR
    found = await refused(door.begin())
    assert found.refusal is Refusal.TOO_MANY
    assert "from your network" in found.message
    await door.running.do("sign-ups.invite", challenge="bc",
                          emails=[f"i{n}@x.example" for n in range(30)])  # fmt: skip
    await door.begin("10.0.0.2")  # invitations do not count
    assert "too many sign-ups are waiting" in (await refused(door.begin("10.0.0.3"))).message
    door.clock.now += DAY
    await door.begin("10.0.0.1")
    folder = Path(door.running.service.settings.folder)
    origins = {row[0] for row in stored(folder, "SELECT origin FROM sign_ups")}
    assert not any(one and "10.0" in one for one in origins)  # addresses are not kept


async def test_the_networks_of_one_ipv6_site_count_as_one(door: Door) -> None:
    for number in range(OF_ORIGIN):
        await door.begin(f"2001:db8:1:{number:x}::/64")
    assert (await refused(door.begin("2001:db8:1:ffff::/64"))).refusal is Refusal.TOO_MANY
    await door.begin("2001:db8:2::/64")
    await door.begin("192.0.2.1")


async def test_a_name_that_looks_like_a_team_is_taken(door: Door) -> None:
    await door.running.do("teams.create", team="blue")
    await door.begin(team="BLUE")
    assert "the team name 'BLUE' is taken" in (await refused(door.confirm())).message
    assert (await door.confirm(team="blue-2")).team == "blue-2"


@pytest.mark.slow
async def test_who_has_confirmed_leaves_room_for_others_of_the_address(door: Door) -> None:
    for number in range(OPEN_OF_ORIGIN + 2):
        if number % OF_ORIGIN == 0:
            door.clock.now += HOUR
        await door.begin()
        if number < AUTOMATIC_A_DAY:
            assert (await door.confirm()).state is SignUpState.APPROVED


@pytest.mark.slow
async def test_sign_ups_whose_link_is_over_are_deleted(tmp_path: Path) -> None:
    async with mailbox() as mail, opened(await sent_to(tmp_path, mail), sign_up="approve") as door:
        await door.begin(team="over")
        await until(lambda: bool(mail.messages))
        await door.begin("10.0.0.2", team="handed")
        await until(lambda: len(mail.messages) == 2)
        handed = (await door.known())[0]
        door.clock.now += DAY + 1
        await door.link(handed.id)  # a newer link keeps it
        await door.begin("10.0.0.3", team="new")
        assert [one.team for one in await door.known()] == ["new", "handed"]


@pytest.mark.slow
async def test_teams_come_in_by_themselves_a_few_a_day_and_organisers_are_told(door: Door) -> None:
    running, states = door.running, []
    for number in range(AUTOMATIC_A_DAY + 1):
        await door.begin(f"10.0.0.{number}")
        states.append((await door.confirm()).state)
    assert states == [*[SignUpState.APPROVED] * AUTOMATIC_A_DAY, SignUpState.WAITING]
    async with signed_in(running) as ana:
        shown = (await ana.get("/organise")).said
        assert "20 teams came into A challenge without an organiser" in shown
    await running.service.notices.alerts.look()
    alerts = await running.do("alerts.list")
    assert [one.kind for one in alerts] == ["sign_ups"]
    assert "A challenge without an organiser in 24 hours: further ones wait" in alerts[0].message
    door.clock.now += DAY + 1
    await door.begin()
    assert (await door.confirm()).state is SignUpState.APPROVED


async def test_one_address_brings_one_team_in_by_itself(door: Door) -> None:
    await door.begin(email="ada@x.example")
    assert (await door.confirm()).state is SignUpState.APPROVED
    await door.begin("10.0.0.2", email="ADA@x.example")
    progress = await door.confirm()
    assert (progress.state, progress.secret) == (SignUpState.WAITING, "")
    await door.running.do("sign-ups.invite", challenge="bc", emails=["ada@x.example"])
    assert (await door.confirm(team="third", people="Ada")).state is SignUpState.APPROVED


async def test_a_link_to_hand_out_has_the_host_that_its_organiser_came_by(door: Door) -> None:
    await door.begin()
    headers = {"Authorization": f"Bearer {await organiser_token(door.running)}"}
    headers["X-Forwarded-Host"] = "evil.example"
    path = "/api/v1/sign-ups/1/link"
    async with client_of(door.running) as client:
        for host, begins in (
            ("hub.example.org:8020", "http://hub.example.org:8020/sign-up/link/"),
            ("[::1]:8020", "http://[::1]:8020/sign-up/link/"),
            ("hub.example.org/evil?", "/sign-up/link/"),
            ("hub@evil.example", "/sign-up/link/"),
            ('"><b>', "/sign-up/link/"),
        ):
            async with client.post(path, json={}, headers=headers | {"Host": host}) as made:
                assert (await made.json())["link"].startswith(begins), host


async def test_all_spellings_of_a_mailbox_count_as_one(tmp_path: Path) -> None:
    spellings = [
        "ada@x.example", "ADA@x.example", "ada@X.EXAMPLE", "ada+1@x.example", "Ada+2@x.example",
        "ada+a.b+c@x.example", "ada+@x.example", "aDa+1@X.example",
    ]  # fmt: skip
    others = ["adam@x.example", "ad+a@x.example", "ada@y.x.example", "ada_@x.example"]
    async with mailbox() as mail, opened(await sent_to(tmp_path, mail), sign_up="approve") as door:
        for number, email in enumerate([*spellings, *others]):
            await door.begin(f"10.0.0.{number}", email=email)
        await until(lambda: len(mail.messages) == front_door.OF_ADDRESS + len(others))
        assert mail.to == [*spellings[: front_door.OF_ADDRESS], *others]


async def test_a_message_that_cannot_be_sent_puts_off_itself_alone(tmp_path: Path) -> None:
    poison = ["=?utf-8?q??=@x", "a@b,c@d", "ada@x.example\nBcc: b@y.example", ""]
    async with mailbox() as mail:
        mail.refused = "refused@x.example"
        given = await sent_to(tmp_path, mail)
        unable = msgspec.structs.replace(given, notices=NoticeSettings())
        async with opened(unable, sign_up="approve") as door:  # from before these were refused
            for number, email in enumerate([*poison, mail.refused, "last@x.example"]):
                await door.begin(f"10.0.0.{number}")
                async with door.running.service.store.writing() as connection:
                    await sign_ups.change(connection, number + 1, email=email, mail_due=True)
        async with at_work(given, clock=door.clock) as running:
            await until(lambda: bool(mail.messages))
            known = await running.do("sign-ups.list", challenge="bc")
        assert mail.to == ["last@x.example"]
        assert [one.failures for one in known] == [0, *[1] * (len(poison) + 1)]


async def test_the_code_is_looked_at_again_when_a_sign_up_is_confirmed(door: Door) -> None:
    edit = door.running.do
    await edit("challenges.edit", challenge="bc", sign_up="approve", code="abcdefgh")
    await door.begin(team="without")
    await edit("challenges.edit", challenge="bc", sign_up="code")
    assert (await door.confirm()).state is SignUpState.WAITING  # it never knew the code
    await door.begin(team="with", code="abcdefgh")
    assert (await door.confirm()).state is SignUpState.APPROVED
    await door.begin(team="old", code="abcdefgh")
    await edit("challenges.edit", challenge="bc", code="ijklmnop")  # the first leaked
    assert (await door.confirm()).state is SignUpState.WAITING


async def test_a_link_does_not_tell_which_teams_there_are(door: Door) -> None:
    do = door.running.do
    for name in ("blue", "red"):
        await do("teams.create", team=name)
    await door.begin()
    [one] = await door.known()
    secret = await door.link(one.id)
    for _ in range(NAMES // 2):
        for name in ("blue", "red"):
            found = await refused(do("sign-ups.confirm", Caller(), secret=secret, team=name))
            assert f"the team name '{name}' is taken" in found.message
    for name in ("blue", "free"):
        found = await refused(do("sign-ups.confirm", Caller(), secret=secret, team=name))
        assert "ask the organisers for another link" in found.message
    secret = await door.link(one.id)
    progress = await do("sign-ups.confirm", Caller(), secret=secret, team="free")
    assert progress.team == "free"


@pytest.mark.slow
async def test_mail_is_tried_again_ever_later_whatever_others_ask_for(tmp_path: Path) -> None:
    closed = await sent_to(tmp_path, Mailbox(port=9))  # nobody listens there
    async with opened(closed, sign_up="approve") as door:
        await door.begin()

        async def failures() -> list[int]:
            return [one.failures for one in await door.known()]

        async def failed() -> bool:
            return any(await failures())

        await until(failed)
        mailer = door.running.service.notices.sign_ups
        for _ in range(20):  # as often as others sign up
            await mailer.send()
        assert await failures() == [1]
        waits = []
        for times in range(2, 12):
            waits.append(0.0)
            while await failures() != [times]:
                door.clock.now += 60
                waits[-1] += 60
                await mailer.send()
        assert waits[:3] == [60, 120, 240]
        assert waits[-1] == 3600  # it is not given up
    async with mailbox() as mail, at_work(await sent_to(tmp_path, mail)):
        await until(lambda: bool(mail.messages))  # a start tries at once


async def test_announcements_go_to_the_teams_of_the_challenge(door: Door) -> None:
    running = door.running
    await running.do("challenges.set", challenge="other", title="Another")
    await running.do("challenges.edit", challenge="other", sign_up="automatic")
    given = {"challenge": "other", "team": "elsewhere", "people": "Eve", "email": "e@x.example"}
    await running.do("sign-ups.begin", Caller(origin="x"), **given)
    [one] = await running.do("sign-ups.list", challenge="other")
    await running.do("sign-ups.confirm", Caller(), secret=await door.link(one.id))
    await door.begin(team="here")
    await door.confirm()
    for name in ("uploads", "new", "gone"):
        await running.do("teams.create", team=name)
    await running.do("phases.open", phase="test")
    article = running.service.phase("test").corpus.ids[0]
    file = {
        "phase": "test",
        "task": "ACT",
        "run": "r",
        "content": f"{article}\t1\t1\t0.5\n".encode(),
    }
    await running.do("runs.upload", running.team("uploads"), **file)
    for name in ("elsewhere", "here", "uploads", "new", "gone"):
        await running.do("teams.notices", team=name, webhook=f"https://{name}.example/secret")
    await running.do("teams.retire", team="gone")

    async def told(challenge: str) -> set[str]:
        await running.do("challenges.announce", challenge=challenge, title=f"News of {challenge}")
        query = "SELECT t.name, n.message FROM notices n JOIN teams t ON t.id = n.team_id"
        told = stored(Path(running.service.settings.folder), query)
        return {name for name, message in told if message.endswith(f"News of {challenge}")}

    assert await told("bc") == {"here", "uploads", "new"}  # `new` is in no challenge yet
    assert await told("other") == {"elsewhere", "new"}
    async with signed_in(running) as ana:
        room = await ana.get("/organise/phases/test/watch")
        assert 'href="/organise/challenges/bc/page#announce"' in room.text
        assert "Announce" in (await ana.get("/organise/challenges/bc/page")).said


async def test_gold_outside_the_corpus_is_counted_alike_everywhere(door: Door) -> None:
    running = door.running
    article = running.service.phase("test").corpus.ids[0]
    outside = [f"nowhere-{number:03}" for number in range(125)]  # more than are listed
    gold = "".join(f"{one}\t1\n" for one in [article, *outside]).encode()
    await running.do("gold.set", phase="test", task="ACT", source="g.tsv", content=gold)
    room = await running.do("phases.watch", phase="test")
    [found] = [one for one in room.findings if one.kind == "gold_outside"]
    assert [one.name for one in found.subjects] == ["ACT"]
    counted = f"{len(outside)} articles that are not in the corpus"
    assert counted in found.subjects[0].text
    plan = await running.do("phases.plan", phase="test")
    assert plan.outside["ACT"].count == len(outside)
    assert list(plan.outside["ACT"].articles) == outside[:100]
    async with signed_in(running) as ana:
        assert counted in (await ana.get("/organise")).said
    await running.do("phases.open", phase="test")
    async with signed_in(running) as ana:
        shown = await ana.get("/organise/phases/test/watch")
        assert counted in shown.said
        assert 'href="/organise/phases/test/gold/ACT"' in shown.text
