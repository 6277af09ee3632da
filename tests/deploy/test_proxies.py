"""The hub behind nginx and Caddy with the files of `deploy/`: TLS, streams, uploads, addresses."""

import asyncio
import json
import os
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
import trustme

from tests.deploy.test_files import DEPLOY
from tests.event_streams import next_frame
from tests.hubs.command import DEMO
from tests.hubs.process import challenge, hub_at, new_token, write_config
from tests.tools import tool
from tests.waiting import patience

NAME = "hub.example.org"
GOLD = {"INT": DEMO / "gold_int.tsv"}
pytestmark = pytest.mark.nightly


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def nginx(folder: Path, hub: str, port: int) -> list[str]:
    """Write the configuration with this hub and port; return the command."""
    text = (DEPLOY / "nginx.conf").read_text()
    changes = {
        "127.0.0.1:8020": hub,
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/var/log/nginx/metaserver.log": str(folder / "access.log"),
        "/etc/ssl/hub.example.org/fullchain.pem": str(folder / "chain.pem"),
        "/etc/ssl/hub.example.org/privkey.pem": str(folder / "key.pem"),
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    owner = "user root;" if os.geteuid() == 0 else ""  # of the folder, which is nobody else's
    (folder / "nginx.conf").write_text(
        f"{owner} daemon off; pid {folder}/pid; error_log {folder}/error.log;"
        f"events {{}} http {{ {places} {text} }}"
    )
    return [tool("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, hub: str, port: int) -> list[str]:
    """Write the configuration with this hub and port; return the command."""
    text = (DEPLOY / "Caddyfile").read_text()
    assert "reverse_proxy" in text
    text = text.replace(
        "\trequest_body", f"\ttls {folder}/chain.pem {folder}/key.pem\n\trequest_body"
    )
    options = f"{{\n\tadmin off\n\thttp_port {free_port()}\n\thttps_port {port}\n"
    assert text.startswith("{\n")
    text = text.replace("{\n", options, 1)
    text = text.replace("{$DOMAIN:hub.example.org}", "{$DOMAIN:hub.example.org}:" + str(port))
    (folder / "Caddyfile").write_text(text)
    return [tool("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


PROXIES = {"nginx": nginx, "caddy": caddy}


@asynccontextmanager
async def proxy(name: str, folder: Path, hub: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Run a proxy in front of a hub; give a session whose requests go to it."""
    folder.mkdir()
    authority = trustme.CA()
    issued = authority.issue_cert(NAME)
    issued.private_key_pem.write_to_path(folder / "key.pem")
    for part in issued.cert_chain_pems:
        part.write_to_path(folder / "chain.pem", append=True)
    port = free_port()
    command = PROXIES[name](folder, hub, port)
    with (folder / "stderr").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=os.environ
            | {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "UPSTREAMS": hub},
            stderr=errors,
        )
    context = ssl.create_default_context()
    authority.configure_trust(context)
    connector = aiohttp.TCPConnector(ssl=context, resolver=_Here())
    try:
        async with aiohttp.ClientSession(f"https://{NAME}:{port}", connector=connector) as session:
            async with patience():
                while not await _answers(session):
                    assert process.returncode is None, (folder / "stderr").read_text()
                    await asyncio.sleep(0.1)
            yield session
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


class _Here(aiohttp.abc.AbstractResolver):
    """Every name is this machine."""

    async def resolve(self, host, port=0, family=socket.AF_INET):  # type: ignore[no-untyped-def]
        return [
            {"hostname": host, "host": "127.0.0.1", "port": port, "family": socket.AF_INET,
             "proto": 0, "flags": socket.AI_NUMERICHOST}
        ]  # fmt: skip

    async def close(self) -> None:
        return None


async def _answers(session: aiohttp.ClientSession) -> bool:
    try:
        async with session.get("/healthz") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


@pytest.mark.parametrize("name", PROXIES)
async def test_a_hub_works_behind_a_proxy(name: str, tmp_path: Path) -> None:
    plans = [challenge(DEMO / "articles", GOLD)]
    config = await write_config(tmp_path, challenges=plans)
    async with hub_at(config) as hub:
        token = await new_token(config)
        at = hub.address.removeprefix("http://").rstrip("/")
        async with proxy(name, tmp_path / name, at) as session:
            async with session.get("/c/bc/test/monitor") as page:
                assert page.status == 200
                assert "Content-Security-Policy" in page.headers
            async with patience(), session.get("/c/bc/test/events?page=monitor") as stream:
                assert stream.content_type == "text/event-stream"
                assert await next_frame(stream)  # while the stream is open: nothing is held back
                data = {"token": token}
                async with session.post("/signin", data=data, allow_redirects=False) as signed:
                    assert signed.status == 303
                    assert "; Secure" in signed.headers["Set-Cookie"]  # the proxy's https is known
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            article = b64encode(b"A title\n" + b"A word. " * 200_000).decode()
            body = BytesIO(json.dumps({"source": "1.txt", "content": article}).encode())
            sent = session.put("/api/v1/corpora/large", data=body, headers=headers)
            async with sent as answered:
                assert answered.status == 200, await answered.text()


@pytest.mark.parametrize("name", PROXIES)
async def test_a_proxy_says_when_the_hub_is_away_and_finds_it_again(name, tmp_path):
    config = await write_config(tmp_path, web={"port": free_port()})
    async with hub_at(config) as hub:
        at = hub.address.removeprefix("http://").rstrip("/")
        async with proxy(name, tmp_path / name, at) as session:
            hub.kill()
            await hub.ended()
            async with session.get("/") as page:
                assert page.status in (502, 503, 504)
            key = f"bccb_{tmp_path.name}"
            query = {"apikey": key, "communicationId": "1"}
            async with session.post("/becalm/saveAnnotations/JSON", params=query) as called:
                assert called.status in (502, 503, 504)
            async with hub_at(config), patience():
                while not await _answers(session):
                    await asyncio.sleep(0.2)
    for log in (tmp_path / name).glob("*"):
        assert log.is_dir() or key not in log.read_text(), log
