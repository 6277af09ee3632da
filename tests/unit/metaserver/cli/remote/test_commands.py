"""Commands made from a small table ask a real server that offers it."""

import argparse
import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from metaserver.base.errors import InputError
from metaserver.cli.remote import commands
from metaserver.cli.remote.client import read_url
from metaserver.operations.outline import Parameter, ValueKind
from metaserver.operations.reference import outlines
from tests.unit.metaserver.web.small import SMALL, small_site

Client = TestClient[Any, Any]


@pytest.fixture
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    async with small_site() as client:
        monkeypatch.setenv("METASERVER_URL", str(client.make_url("/")))
        monkeypatch.setenv("METASERVER_TOKEN", "blue")
        yield client


def run(*words: str) -> int:
    """Run a command of the small table; return its exit status."""
    parser = argparse.ArgumentParser(prog="metaserver")
    commands.add_nouns(parser.add_subparsers(), outlines(SMALL))
    args = parser.parse_args(words)
    status: int = args.run(args)
    return status


async def ask(*words: str) -> int:
    """Run a command beside the loop that its server is on."""
    return await asyncio.to_thread(run, *words)


async def test_options_are_sent_by_type(site: Client, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--box", "a", "--colour", "green", "--lid", "--weight", "2.5", "--labels", "x", "7",
             "--size", "width=3"]  # fmt: skip
    assert await ask("boxes", "make", *words, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["asked"] == "team blue"
    found = (made["weight"], made["labels"], made["size"])
    assert found == (2.5, ["x", "7"], {"width": 3, "height": 1})


async def test_a_get_sends_a_query(site: Client, capsys: pytest.CaptureFixture[str]) -> None:
    await ask("boxes", "make", "--box", "a")
    words = ["--limit", "3", "--no-lid", "--labels", "x", "y", "--size", "width=2", "--json"]
    capsys.readouterr()
    assert await ask("boxes", "list", *words) == 0
    [box] = json.loads(capsys.readouterr().out)
    assert json.loads(box["asked"]) == {
        "colour": None, "labels": ["x", "y"], "limit": 3, "lid": False,
        "size": {"width": 2, "height": 1}, "above": 0.0,
    }  # fmt: skip


async def test_the_path_comes_first_and_a_file_is_sent(site, capsys, tmp_path):
    (tmp_path / "x").write_bytes(b"\x00\xff")
    words = ["a/b c", "7", "--content", str(tmp_path / "x")]
    assert await ask("boxes", "fill", *words, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["box"], made["number"]) == ("a/b c", 7)
    assert base64.b64decode(made["content"]) == b"\x00\xff"


async def test_a_table_is_read_uncut_and_commands_no_terminal(site, capsys, tmp_path):
    (tmp_path / "x").write_bytes(b"[b]line\x1b[2J one\nline two")
    assert await ask("boxes", "fill", "a", "7", "--content", str(tmp_path / "x")) == 0
    assert capsys.readouterr().out.endswith("\n\ncontent:\n[b]line\ufffd[2J one\nline two\n")
    await ask("boxes", "make", "--box", "b", "--labels", "x" * 300)
    capsys.readouterr()
    assert await ask("boxes", "list") == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["box", "colour", "asked"]
    assert row.split()[:2] == ["b", "red"]


async def test_one_field_alone(site, capfdbinary, tmp_path):
    (tmp_path / "x").write_bytes(b"\x00\xff")
    fill = ["boxes", "fill", "a", "7", "--content", str(tmp_path / "x"), "--only"]
    assert await ask(*fill, "box") == 0
    assert await ask(*fill, "content") == 0
    assert capfdbinary.readouterr().out == b"a\n\x00\xff"
    with pytest.raises(InputError, match="expected one of box, colour"):
        await ask(*fill, "token")


async def test_nothing_returned_is_said_beside(site, capsys, tmp_path):
    (tmp_path / "token").write_text("ana\n")
    token = ["--token-file", str(tmp_path / "token")]
    assert await ask("boxes", "throw-away", "a", *token) == 0
    assert await ask("boxes", "list") == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "done\nnone\n")


@pytest.mark.parametrize(
    ("words", "told", "page"),
    [
        (["make", "--box", "taken"], "metaserver: box: is taken (409)\n", "interfaces#errors"),
        (
            ["throw-away", "a"],
            "organiser may do this; you are signed in as team (403)\n",
            "security#tokens",
        ),
        (["make", "--box", "a", "--size", "width=1", "depth=2"], "metaserver: depth: ", ""),
        (["fail", "bug"], "the reason is in its log (500, request ", ""),
    ],
)
async def test_what_the_hub_refuses_is_told_with_the_page_that_explains_it(
    site, capsys, words, told, page
):
    assert await ask("boxes", *words) == 1
    said = capsys.readouterr().err
    assert told in said
    assert f"see {site.make_url('/docs/')}{page}" in said


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["make", "--box", "a", "--size", "3"], "--size"),
        (["fill", "a", "1", "--content", "/nowhere/at/all"], "--content"),
        (["list", "--token-file", "/nowhere/at/all"], "--token-file"),
        (["list", "--hub", "ftp://x"], "--hub"),
        (["list", "--hub", "http://me:secret@x/"], "--hub"),
    ],
)
async def test_bad_input(site: Client, words: list[str], place: str) -> None:
    with pytest.raises(InputError) as caught:
        await ask("boxes", *words)
    assert caught.value.place == place


async def test_a_token_that_no_head_can_carry(site, monkeypatch):
    monkeypatch.setenv("METASERVER_TOKEN", "bl\u00fce")
    with pytest.raises(InputError, match="METASERVER_TOKEN"):
        await ask("boxes", "list")


def test_a_secret_is_read_without_the_end_of_its_line(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" open sesame \r\n")
    secret = Parameter(name="secret", kind=ValueKind.TEXT, long=True)
    assert commands._value(secret, f"@{file}") == " open sesame "
    assert commands._value(secret, "open sesame") == "open sesame"
    text = Parameter(name="rules", kind=ValueKind.TEXT, long=True)
    assert commands._value(text, f"@{file}").endswith(" \n")
    with pytest.raises(InputError, match="--secret"):
        commands._value(secret, f"@{tmp_path / 'none'}")


@pytest.mark.parametrize("words", [["get", "a", "x"], ["make"], ["list", "--colour", "blue"]])
def test_what_argparse_refuses(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run("boxes", *words)
    assert caught.value.code == 2


async def test_no_hub() -> None:
    with pytest.raises(InputError, match=r"no hub answers at http://127\.0\.0\.1:1"):
        await ask("boxes", "list", "--hub", "http://127.0.0.1:1")


@pytest.mark.parametrize("status", [200, 404, 302], ids=["page", "none", "redirect"])
async def test_something_else_answers_and_no_redirect_is_followed(site, status) -> None:
    async def other(_: web.Request) -> web.Response:
        where = {"Location": str(site.make_url("/api/v1/boxes"))}  # which has boxes
        return web.Response(text="<html>", status=status, headers=where)

    app = web.Application()
    app.router.add_get("/{path:.*}", other)
    async with TestServer(app) as server:
        with pytest.raises(InputError, match=f"is no hub: status {status}"):
            await ask("boxes", "list", "--hub", str(server.make_url("/below/")))


def test_a_url_is_taken_without_its_last_slash() -> None:
    assert read_url("https://hub.example.org/challenge/") == "https://hub.example.org/challenge"
