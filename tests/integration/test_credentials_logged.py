"""Credentials of servers are in no log: of requests, at debug level, of crashes, after kill -9."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import aiohttp
import pytest
from aiohttp import web

from metaserver.exchange.http.credentials import KEY_FILE
from tests.fakes.web_peer import web_peer
from tests.hubs.command import metaserver
from tests.hubs.process import Api, RefusedRequestError, hub_at, new_token, write_config
from tests.hubs.stored import change

SECRET = 'k7/"ünd+ &<w0rd'
OTHER = "an0ther-secret-that-is-refused"
IN_ADDRESS = "in-the-address-5501"
KINDS = {
    "basic": {"auth": "basic", "auth_name": "blue"},
    "header": {"auth": "header", "auth_name": "X-Api-Key"},
    "query": {"auth": "query", "auth_name": "k"},
    "body": {"auth": "body", "auth_name": "key"},
}
"""Servers by name, each with its own way to send the secret."""


def forms(secret: str) -> Iterator[bytes]:
    """Yield a secret as a log may have it."""
    for text in (
        secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1], quote(secret), quote(secret, safe=""), quote_plus(secret),
        base64.b64encode(secret.encode()).decode(), json.dumps(json.dumps(secret))[3:-3],
    ):  # fmt: skip
        yield text.encode()


async def echo(request: web.Request) -> web.Response:
    """Answer with all that came, in the status, a header and the body; the next one is no HTTP."""
    body = (await request.read()).decode("utf-8", "replace")
    told = f"{request.path_qs} {dict(request.headers)} {body}"
    plain = "".join(one if one.isprintable() and ord(one) < 127 else "?" for one in told)
    if len(body) % 2:
        assert request.transport is not None
        request.transport.write(f"HTTP/1.1 {plain}\r\n\r\n".encode())
        request.transport.close()
    return web.Response(status=500, reason=plain[:400], text=told, headers={"X-Told": plain})


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "console"])
async def test_no_log_has_a_secret(tmp_path: Path, form: str) -> None:
    config = await write_config(tmp_path, logs={"level": "debug", "format": form})
    token = await new_token(config)
    logged: list[str] = []
    async with web_peer(echo) as url, hub_at(config) as hub:
        async with aiohttp.ClientSession() as session:
            api = Api(session, hub.address, token)
            await register_all(api, url)
            for server in (*KINDS, "bioc"):
                await examine(api, server)
            spoil(tmp_path / "hub")
            for values in ({"secret": OTHER}, {"url": f"http://u:{OTHER}@127.0.0.1/"}):
                with pytest.raises(RefusedRequestError, match="500"):
                    await api("PATCH", "/servers/header", **values)
        hub.kill()
        await hub.ended()
        logged += hub.log
    for command in (("doctor",), ("backup", "--out", tmp_path / "b.sqlite")):
        ended = await metaserver(*command, "--config", config)
        logged += [ended.stdout, ended.stderr]
    text = "\n".join(logged).encode()
    assert b"Traceback" in text, "a crash was logged"
    assert b"/api/v1/servers/header" in text, "requests were logged"
    key = (tmp_path / "hub" / KEY_FILE).read_bytes().strip()
    for secret in (key, *forms(SECRET), *forms(OTHER), IN_ADDRESS.encode()):
        assert secret not in text, (secret, _around(text, secret))
    for file in (tmp_path / "hub").rglob("*"):
        content = file.read_bytes() if file.is_file() and file.name != KEY_FILE else b""
        for secret in (key, *forms(SECRET), *forms(OTHER)):
            assert secret not in content, file


async def register_all(api: Api, url: str) -> None:
    """Register a server of each kind, and one whose options have a key."""
    await api("POST", "/teams", team="blue")
    for server, given in KINDS.items():
        values = {"server": server, "url": url, "team": "blue", "secret": SECRET}
        await api("POST", "/servers", **values, **given)
        with pytest.raises(RefusedRequestError):  # refused for what else it has
            await api("POST", "/servers", **values | {"secret": f"{OTHER}\n"}, **given)
    options = f"style = session\nresult_url = /r?key={IN_ADDRESS}&s={{session}}"
    found = await api(
        "POST", "/servers", server="bioc", url=url, team="blue", protocol="bioc", options=options,
        auth="bearer", secret=SECRET,
    )  # fmt: skip
    assert found["options"] == "style = session\nresult_url = /r?***"
    changed = await api(
        "PATCH", "/servers/bioc", options="score_min = 0\nstyle = session\nresult_url = /r?***"
    )
    assert changed["options"] == "score_min = 0\nstyle = session\nresult_url = /r?***"
    moved = url.replace("127.0.0.1", "127.0.0.2")
    with pytest.raises(RefusedRequestError, match="old host"):
        await api("PATCH", "/servers/bioc", url=moved, secret=SECRET)


async def examine(api: Api, server: str) -> None:
    """Have a server tested, which echoes all it is sent; wait for the end."""
    job = await api("POST", f"/servers/{server}/test")
    while job["ended_at"] is None:
        job = await api("GET", f"/jobs/{job['job']}", wait=10)
    assert json.dumps(job).count(SECRET) == 0


def spoil(folder: Path) -> None:
    """Break the store so that a change of a server is a crash of the hub."""
    change(folder, "ALTER TABLE servers RENAME COLUMN options TO lost")


def _around(text: bytes, secret: bytes) -> bytes:
    place = text.find(secret)
    return text[max(0, place - 200) : place + 200]
