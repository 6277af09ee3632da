"""Names of teams until the freeze: nobody but the team itself and organisers learns them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.cli.catalogue import OPERATIONS
from metaserver.operations.phase_view import PhaseView
from metaserver.web.public.monitor import server_id
from metaserver.web.ui.formatting import element_id
from tests.integration.test_leaks import pages
from tests.integration.test_roles import ROWS, HubOfRoles, by_http, by_rpc, hub_with_blue
from tests.waiting import patience

pytestmark = pytest.mark.slow

TITLE = "The Azure Laboratory"
RUNS = ("blue-1", "blue-run", "blue-blue", "blue-organiser")
OTHERS = {"": "training", "reader": "test", "red": "training"}
"""Who only looks, and the kind of the phase that they look at."""
TOLD = re.compile(
    "|".join(
        [TITLE, *RUNS, r"team blue\b", r"\bblue ·", r'"blue"', ",blue,"]
        + [re.escape(one) for run in RUNS for one in (server_id(run), element_id("r", run))]
    )
)


def alias_of(hub: HubOfRoles, viewer: Viewer = ANYBODY) -> str:
    """Return the name by which the server blue-1 is shown."""
    view = PhaseView.find(hub.running.service, "test")
    [name] = {row.run for row in view.board("INT", viewer=viewer).rows if not row.offline}
    return name


def addresses(hub: HubOfRoles, alias: str) -> Iterator[str]:
    """Yield the addresses of all pages, with the anonymous name for the server's."""
    yield from (address.replace("blue-1", alias) for address in pages(hub))
    yield from (f"/c/bc/test/board/ACT{end}" for end in ("", ".csv", ".json"))
    yield from (f"/c/bc/test/servers/{alias}", "/c/bc/test/monitor")
    yield f"/events?page=monitor&phase=test&rows={server_id(alias)}"
    yield from (f"/events?page=t/{task}&phase=test" for task in ("ACT", "INT", "IPT"))
    yield f"/events?page=servers/{alias}&phase=test"


async def told_to(hub: HubOfRoles, who: str, alias: str) -> Mapping[str, str]:
    """Return all that pages, streams and operations answer somebody who only looks."""
    told = {}
    head = {"Authorization": f"Bearer {hub.tokens[who]}"} if who else {}
    for address in addresses(hub, alias):
        if address.startswith(("/api", "/xmlrpc", "/metrics")):
            continue  # the reference has examples; from this machine metrics are the operator's
        async with hub.client.get(address, headers=head) as response:
            if response.content_type == "text/event-stream":
                async with patience():
                    text = (await response.content.readuntil(b"\n\n")).decode()
            else:
                text = await response.text(errors="replace")  # of a picture
            for one in re.findall(r"blue-\w+", address):  # what was asked for is repeated
                text = text.replace(one, "")
            told[address] = f"{response.status} {response.content_type} {text}"
    for name, row in ROWS.items():
        if OPERATIONS[name].method == "GET":
            values: dict[str, Any] = await hub.values(row, who or "anyone")
            for ask in (by_http, by_rpc):
                _, text = await ask(hub, name, who, values)
                asked = [one for one in values.values() if isinstance(one, str) and one]
                for one in asked:  # a refusal repeats what was asked for
                    text = text.replace(one, "")
                told[f"{name} {ask.__name__}"] = text
    return told


async def test_nothing_tells_a_name_before_the_freeze_and_all_does_after(tmp_path: Path) -> None:
    async with hub_with_blue(tmp_path) as hub:
        do = hub.running.do
        await do("teams.update", team="blue", title=TITLE)
        await do("phases.update", phase="test", visibility="public", team_names="hidden")
        alias = alias_of(hub)
        assert re.fullmatch(r"Team \d+ [a-z2-7]{4}", alias)
        for who, kind in OTHERS.items():
            await do("phases.update", phase="test", kind=kind)
            told = await told_to(hub, who, alias)
            found = {place: set(TOLD.findall(text)) for place, text in told.items()}
            assert {place: names for place, names in found.items() if names} == {}
            assert told[f"/c/bc/test/servers/{alias}"].startswith("200")
            assert alias in told["/c/bc/test/board/ACT.csv"]
            frozen = told[f"/b/{hub.board}.csv"]  # an open test phase shows none
            assert (alias in frozen) is (kind == "training"), frozen
            assert frozen.startswith("200" if kind == "training" else "404")
        for place in ("/servers/blue-1", "/servers/blue-1/badge.svg"):
            async with hub.client.get(f"/c/bc/test{place}") as response:
                missing = await response.text()
                assert response.status == 404
            async with hub.client.get(f"/c/bc/test{place}".replace("blue", "none")) as response:
                assert (await response.text()).replace("none", "blue") == missing
        asked = {name: f"/events?page=monitor&phase=test&rows={server_id(name)}" for name in
                 ("blue-1", "nobody")}  # fmt: skip
        frames = {}
        for name, address in asked.items():
            async with hub.client.get(address) as response, patience():
                frame = (await response.content.readuntil(b"\n\n")).decode()
                frames[name] = frame.count(server_id(name))
        assert frames["blue-1"] == frames["nobody"]  # a guess cannot be checked

        own = await told_to(hub, "blue", "blue-1")
        assert TITLE in own["/c/bc/test/board/ACT"]
        assert f"others see this server as <b>{alias}</b>" in own["/c/bc/test/servers/blue-1"]
        assert (
            alias_of(hub, Viewer(organiser=True)) == "blue-1" == alias_of(hub, Viewer(team="blue"))
        )

        await do("phases.freeze", phase="test")
        told = await told_to(hub, "", alias)
        assert TITLE in told["/c/bc/test/board/ACT"]
        assert "blue-1" in told[f"/b/{hub.board}.csv"]
        assert "blue-1" in told[f"/c/bc/test/servers/{alias}"]  # links of before still lead there
