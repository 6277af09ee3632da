"""A challenge with one server of each protocol: all of them on one board."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.exchange.protocols.installed import installed_protocols
from tests.fakes.becalm import becalm_peer
from tests.fakes.bioc import bioc_peer
from tests.fakes.pubannotation import NAMES, pubannotation_peer
from tests.hubs.inside import at_work, plan_phase, settings
from tests.hubs.sites import token_of, visiting
from tests.integration.kits import served

ARTICLES = 32
KNOWN = {"auth": "body", "auth_name": "becalm_key", "secret": "secret"}
SESSION = "style = session\nresult_url = results/{session}\nlooks_a_second = 20"


def annotate(text: str, _context: Context) -> Answer:
    """Find what the peers of the other protocols find."""
    found = dict.fromkeys(accession for name, accession in NAMES.items() if name in text)
    return {"normalizations": [{"dbid": one, "confidence": 1.0} for one in found]}


@pytest.mark.slow
async def test_servers_of_all_protocols_are_on_one_board(tmp_path: Path) -> None:
    async with (
        at_work(await settings(tmp_path)) as running,
        visiting(running) as visitor,
        becalm_peer(becalm_key="secret", hub=str(visitor.client.make_url("/"))) as becalm,
        served(Kit(annotate)) as kit,
        pubannotation_peer(dialect="303", looks=0) as pub,
        bioc_peer(session=True, looks=0) as bioc,
    ):
        await plan_phase(running)
        await running.do("teams.create", team="blue")
        blue = running.team("blue")
        places = {
            "xmlrpc": (kit, ""),
            "pubannotation": (pub.url, "looks_a_second = 20"),
            "bioc": (bioc.url, SESSION),
            "becalm": (becalm.url, ""),
        }
        assert [*places] == [*installed_protocols()]
        for protocol, (url, options) in places.items():
            await running.do(
                "servers.register",
                blue,
                server=protocol,
                url=url,
                protocol=protocol,
                options=options,
                concurrency=8,
                **(KNOWN if protocol == "becalm" else {}),
            )
            if installed_protocols()[protocol].calls_back:
                becalm.key = (await running.do("servers.callback-key", blue, server=protocol)).key
            tested = await running.do("servers.test", blue, server=protocol)
            assert tested.passed, tested.reasons()
        await running.do("phases.open", phase="test")
        for protocol in places:
            await running.do("servers.start", blue, server=protocol)
        watch = running.service.phase("test").boards.server_monitor
        await running.until(lambda: all(watch.status(one).done == ARTICLES for one in places))
        board = await running.do("boards.get", phase="test", task="INT")
        assert {row.run for row in board.rows} == {*places}
        counts = {tuple(row.values[key] for key in ("tp", "fp", "fn")) for row in board.rows}
        assert len(counts) == 1, "the same names are found, whatever the servers speak"
        await visitor.sign_in(await token_of(running, "blue"))
        for protocol in ("pubannotation", "bioc", "becalm"):
            page = await visitor.get(f"/team/servers/{protocol}")
            assert f'<span class="tag">{protocol}</span>' in page.text
