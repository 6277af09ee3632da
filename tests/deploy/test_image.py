"""The container's image: built from `deploy/Dockerfile`, and a hub that runs in it."""

import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shared import ROOT
from tests.tools import tool

BASE = """FROM scratch
ADD root /
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt
"""
SETTINGS = """folder: /srv/metaserver/hub
web: {host: 127.0.0.1, port: 0}
"""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")  # of this machine: those of a mirror too


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Return Buildah's command, with the image `hub` made of this tree."""
    folder = tmp_path_factory.mktemp("image")
    if os.geteuid() != 0:
        pytest.skip("a root file system is made as root alone")
    store = ("--root", str(folder / "store"), "--runroot", str(folder / "run"))
    buildah = (tool("buildah"), *store, "--storage-driver", "vfs")
    packages = "python3,python3-venv,ca-certificates"
    command = (tool("debootstrap"), "--variant=minbase", f"--include={packages}", "trixie")
    subprocess.run([*command, folder / "root"], check=True, stdout=subprocess.DEVNULL)
    (folder / "root/usr/bin/python").symlink_to("python3")
    (folder / "root" / CERTIFICATES.relative_to("/")).write_bytes(CERTIFICATES.read_bytes())
    (folder / "Base").write_text(BASE)
    build = (*buildah, "build", "--quiet", "--isolation", "chroot", "--network", "host")
    subprocess.run([*build, "--file", folder / "Base", "--tag", "base", folder], check=True)
    of_base = ("--file", ROOT / "deploy/Dockerfile", "--build-arg", "PYTHON=localhost/base")
    subprocess.run([*build, *of_base, "--tag", "hub", ROOT], check=True)
    yield buildah
    subprocess.run([*buildah, "rm", "--all"], check=False)
    subprocess.run([*buildah, "rmi", "--all", "--force"], check=False)


@pytest.mark.nightly
def test_a_hub_runs_in_the_image_that_the_dockerfile_builds(
    built: tuple[str, ...], tmp_path: Path
) -> None:
    made = subprocess.run([*built, "from", "localhost/hub"], capture_output=True, check=True)
    settings = tmp_path / "config.yaml"
    settings.write_text(SETTINGS)
    inside = (*built, "run", "--isolation", "chroot", "--network", "host")
    mounted = ("--volume", f"{settings}:/etc/metaserver/config.yaml:ro")
    serve = (made.stdout.decode().strip(), "--", "metaserver", "serve", "--config")
    hub = subprocess.Popen(
        [*inside, *mounted, *serve, "/etc/metaserver/config.yaml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        assert hub.stdout is not None
        found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in hub.stdout)
        address = next(one[0] for one in found if one)
        with urllib.request.urlopen(f"{address}/readyz") as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{address}/") as answer:
            assert b"<h1" in answer.read()
    finally:
        os.killpg(hub.pid, signal.SIGTERM)
        hub.communicate(timeout=60)
    user = subprocess.run(
        [*inside, serve[0], "--", "id", "-un"], capture_output=True, text=True, check=True
    )
    assert user.stdout.strip() == "metaserver"
    assert subprocess.run(
        [*inside, serve[0], "--", "pg_dump", "--version"], check=True, capture_output=True
    ).stdout.startswith(b"pg_dump (PostgreSQL)")
