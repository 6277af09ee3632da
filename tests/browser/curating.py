"""A hub to curate at with a browser: servers that answer when a test says so, and an article."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from annotators.contract import Answer
from metaserver.uniprot import build_release
from tests.browser.conftest import Visits
from tests.hubs.inside import plan_phase
from tests.hubs.release import NAMES
from tests.hubs.thread import HubThread
from tests.integration.curating import Scripted, register, scripted

ROWS = [line.split("\t") for line in NAMES.read_text("utf-8").splitlines()[1:]]
HEADER = NAMES.read_text("utf-8").splitlines()[0].split("\t")
SYMBOL = next(place for place, name in enumerate(HEADER) if name.startswith("Gene"))
PROTEINS = [(row[0], row[SYMBOL].split(" ")[0]) for row in ROWS if row[SYMBOL]][:40]
"""Accessions with their gene symbols."""
TITLE = "Proteins that bind one another in living cells"
HOSTILE = '<img src=x onerror="alert(1)">'
WORDS = "We grew the cells, lysed them and looked at what came down with the antibody. "


def article(count: int = 30, *, lines: int = 60) -> str:
    """Return a full text in which each of the first proteins is named several times."""
    named = PROTEINS[:count]
    body = [TITLE, ""]
    for line in range(lines):
        first, second = named[line % count][1], named[(line * 7 + 1) % count][1]
        body.append(f"{WORDS}Here {first} was pulled down with {second}. {WORDS}{first} again.")
        body.append("")
    return "\n".join(body)


def answer(text: str, accessions: Sequence[int], *, pairs: int = 4) -> Answer:
    """Return an answer with these proteins of `PROTEINS`, and pairs of those that follow."""
    hits: list[Any] = []
    for rank, number in enumerate(accessions, 1):
        accession, symbol = PROTEINS[number]
        at = text.find(f"Here {symbol} was")
        hit: dict[str, Any] = {"dbid": accession, "rank": rank, "confidence": 1 / rank}
        if at >= 0:
            hit["evidence"] = text[at : text.index(".", at) + 1]
        hits.append(hit)
    found = [PROTEINS[number][0] for number in accessions]
    couples = list(pairwise(found))[:pairs]
    return {
        "interaction": [True, 0.9],
        "normalizations": hits,
        "pairs": [
            {"dbid_a": a, "dbid_b": b, "rank": rank, "confidence": 0.5}
            for rank, (a, b) in enumerate(couples, 1)
        ],
    }


class CuratorHub(HubThread):
    """A hub with servers by name, a release with names, and a curator."""

    def __init__(
        self,
        folder: Path,
        names: Sequence[str] = ("fast", "slow"),
        *,
        entries: Sequence[Path] = (),
        **changes: Any,
    ) -> None:
        super().__init__(folder, **changes)
        self.names = names
        self.servers: dict[str, Scripted] = {}
        releases = folder / "releases"
        releases.mkdir()
        build_release([NAMES, *entries], name="test", out=releases / "test", names=True)

    async def fill(self) -> None:
        self.servers = await self.stack.enter_async_context(scripted(self.names))
        await plan_phase(self.running)
        await register(self.running, self.servers)
        issued = await self.running.do("tokens.create", role="curator", label="ana")
        self.token, self.token_id = issued.token, issued.id

    def answers(self, text: str, by_server: dict[str, Sequence[int]]) -> None:
        """Let servers answer with these proteins."""
        for name, accessions in by_server.items():
            self.servers[name].answer = answer(text, accessions)

    def hold(self, *names: str) -> None:
        """Let servers wait with their answers."""
        for name in names:
            self.call(self.servers[name].open.clear)

    def let_go(self, *names: str) -> None:
        """Let servers answer."""
        for name in names:
            self.call(self.servers[name].open.set)


def asked(hub: CuratorHub, visits: Visits, text: str, *, pmid: str = "", **options: Any) -> Any:
    """Sign in, ask about a text by the form, and return its page."""
    page = visits.open(f"{hub.url}/curate", **options)
    page.get_by_label("Token").fill(hub.token)
    page.locator("main button").click()
    page.wait_for_url("**/curate")
    page.locator("#ask-text").fill(text)
    page.locator("#ask-pmid").fill(pmid)
    page.get_by_role("button", name="Ask the servers").click()
    page.wait_for_url("**/curate/curations/*")
    return page
