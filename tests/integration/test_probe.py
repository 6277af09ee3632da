"""`metaserver probe`: exit status, lines, JSON, and the transcript in the documents."""

import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import msgspec
import pytest

from annotators.contract import Answer, Context
from annotators.server import Kit
from metaserver.base.conformance import Conformance, Terms
from metaserver.exchange.wire.xmlrpc import encode_response
from tests.hubs.command import metaserver
from tests.hubs.inside import at_work, plan_phase, settings
from tests.hubs.release import release_at
from tests.hubs.sites import site_of
from tests.integration.kits import answer_for, served
from tests.integration.peers import answering, peer
from tests.shared import ROOT

UNKNOWN = {"normalizations": [{"dbid": "Q0ZZZ9", "rank": 1, "confidence": 0.5}]}
BAD = {"normalizations": [{"dbid": "p53\x9b[2J", "rank": 1, "confidence": 0.5}]}


@contextmanager
def serving(name: str) -> Iterator[str]:
    """Start one of the kit's servers as its users do; gives its URL."""
    command = [sys.executable, "-m", "annotators", "serve", name, "--port", "0", "--workers", "1"]
    with Popen(command, stdout=PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("listening on ").strip()
        finally:
            process.terminate()


@pytest.mark.slow
async def test_the_steps_of_a_server_that_is_not_there_and_status_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    ended = await metaserver("probe", f"http://127.0.0.1:{port}/", "--json")
    assert ended.status == 1
    lines = without_times(ended.stderr).splitlines()
    assert "failed 0 s  connect                Connection refused" in lines
    found = msgspec.json.decode(ended.stdout, type=Conformance)
    assert found.reasons() == ["connect: Connection refused"]


async def test_accessions_are_checked_by_form_or_by_a_release(tmp_path: Path) -> None:
    release = release_at(tmp_path / "uniprot")
    async with peer(answering(encode_response(UNKNOWN))) as there:
        by_form = await metaserver("probe", there.url, "--tasks", "INT")
        by_release = await metaserver("probe", there.url, "--tasks", "INT", "--uniprot", release)
    assert (by_form.status, by_release.status) == (0, 1)
    assert "no_valid_hit: 1 of 1 hits dropped" in by_release.stdout
    assert "    normalizations[0].dbid: unknown: not in UniProt test" in by_release.stdout


@pytest.mark.slow
async def test_a_server_is_probed_as_a_phase_of_a_hub_asks(tmp_path: Path) -> None:
    contexts: list[Context] = []

    def listens(text: str, context: Context) -> Answer:
        contexts.append(context)
        return answer_for(text)

    limits = {"timeout": 7.0, "answer_bytes": 100_000}
    async with (
        at_work(await settings(tmp_path)) as running,
        site_of(running) as site,
        served(Kit(listens, workers=2)) as url,
    ):
        await plan_phase(running, limits=limits, tasks=["INT"])
        hub = ("--hub", str(site.make_url("/")), "--phase")
        probe = ("probe", url, "--parameters", "text+context", *hub)
        ended = await metaserver(*probe, "test", "--json")
        assert ended.status == 0, ended.stderr
        found = msgspec.json.decode(ended.stdout, type=Conformance)
        assert found.terms == Terms(
            phase="test", tasks=("INT",), release="", timeout=7.0, answer_bytes=100_000
        )
        assert {(tuple(one["tasks"]), one["timeout"]) for one in contexts} == {(("INT",), 7.0)}
        release = tmp_path / "releases" / "test"
        ended = await metaserver(*probe, "test", "--uniprot", release, "--timeout", 9)
        assert ended.stdout.startswith(
            "For phase test: INT · UniProt release test · 9 s per article · answers up to 100,000"
        )
        assert ended.stderr == ""
        ended = await metaserver(*probe, "test")
        assert "the hub checks accessions by release test: --uniprot gives it" in ended.stderr
        ended = await metaserver(*probe, "none")
        assert ended.status == 2
        assert "--phase: phase: there is no phase 'none'" in ended.stderr
    ended = await metaserver(*probe, "test")
    assert ended.status == 2
    assert "no hub answers" in ended.stderr


async def test_what_a_server_says_does_not_command_the_terminal() -> None:
    async with peer(answering(encode_response(BAD))) as there:
        ended = await metaserver("probe", there.url)
    assert ended.status == 1
    assert "\x9b" not in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ftp://127.0.0.1/"], "URL: 'ftp://127.0.0.1/' is not the URL of a server"),
        (["http://127.0.0.1/", "--tasks", "INT,XYZ"], "--tasks: 'XYZ' is none of ACT, INT"),
        (["http://127.0.0.1/", "--method", "a b"], "--method: 'a b'; expected letters"),
        (["http://127.0.0.1/", "--timeout", "0"], "options: Expected `float` > 0.0"),
        (["http://127.0.0.1/", "--concurrency", "0"], "options: Expected `int` >= 1"),
        (["http://127.0.0.1/", "--uniprot", "/no/such"], "/no/such"),
    ],
)
async def test_bad_input_is_told_and_ends_with_2(arguments: list[str], says: str) -> None:
    ended = await metaserver("probe", *arguments)
    assert (ended.status, ended.stdout) == (2, "")
    assert says in ended.stderr


@pytest.mark.slow
async def test_the_transcript_for_teams_is_what_is_printed() -> None:
    text = (ROOT / "docs" / "teams.md").read_text("utf-8")
    written = re.search(r"\$ metaserver probe \S+ --concurrency 2\n(.*?)```", text, re.DOTALL)
    with serving("faulty") as url:
        ended = await metaserver("probe", url, "--concurrency", 2)
    assert ended.status == 1
    assert without_times(ended.stdout) == without_times(written[1])


def without_times(text: str) -> str:
    return re.sub(r" +\d+\.\d{3} s", " 0 s", text)
