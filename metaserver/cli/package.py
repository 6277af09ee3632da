"""`metaserver results`: the results package of a phase, made by a running hub, as a folder here."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from pathlib import Path

from metaserver.base import files
from metaserver.base.errors import HubError, InputError
from metaserver.base.files import FOLDER_MODE
from metaserver.cli.arguments import DEFAULT_URL, URL_VARIABLE
from metaserver.cli.remote.client import AnsweredError, JobError, RemoteHub, followed, read_url
from metaserver.cli.remote.commands import DONE, REFUSED, read_token
from metaserver.cli.remote.parts import fetch
from metaserver.cli.remote.tables import print_refusal
from metaserver.publication.unzipping import ZipReader
from metaserver.publication.zips import CHECKSUMS

PATH = "/phases/{phase}/results-package"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    out: Path = args.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("--out", f"{out} is there already; expected a new or empty folder")
    hub = RemoteHub(
        url=read_url(args.hub or os.environ.get(URL_VARIABLE) or DEFAULT_URL),
        token=read_token(args.token_file),
    )
    try:
        body = {"gold": args.gold, "license": args.license}
        job = hub.ask("POST", PATH, places={"phase": args.phase}, body=body)
        followed(hub, job)
        with tempfile.TemporaryDirectory(prefix="metaserver-results-") as folder:
            place = Path(folder) / "results.zip"
            with files.create(place) as file:
                fetch(hub, f"{PATH}/content", {"phase": args.phase}, file)
            count = unpack(place, out)
    except (AnsweredError, JobError) as error:
        print_refusal(error)
        return REFUSED
    print(f"{out}: {count} files; open {out / 'report.html'}")
    return DONE


def unpack(place: Path, out: Path) -> int:
    """Write the files of a package into a folder, each verified; return how many there are."""
    package = ZipReader(place)
    try:
        names = package.names()
        if strange := [name for name in names if not _NAME.fullmatch(name)]:
            raise InputError("--hub", f"its package has a file {strange[0]!r}: nothing is written")
        sums = []
        for name in names:
            content = package.read(name)
            sums.append(package.checksum_line(name))
            _write(out / name, content)
        _write(out / CHECKSUMS, "".join(sums).encode())
    finally:
        package.close()
    return len(names) + 1


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with files.create(path) as file:
            file.write(content)
    except OSError as error:
        raise HubError(f"{path}: {error.strerror}") from error
