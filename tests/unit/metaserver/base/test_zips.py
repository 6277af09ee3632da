"""Zips as they are written: read by zipfile, the same on any day."""

import io
import zipfile
from pathlib import Path

from metaserver.base.zips import files_in, write_zip, zip_of

CONTENTS = {"a/empty.txt": b"", "a/Überraschung.tsv": b"\xff\0" * 10, "b": b" " * 3_000_000}


def test_a_folder_and_its_contents_make_the_same_zip_on_any_day(tmp_path: Path) -> None:
    for name, content in CONTENTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    named = {f"top/{name}": content for name, content in CONTENTS.items()}
    out = io.BytesIO()
    write_zip(out, files_in(tmp_path, "top"))
    with zipfile.ZipFile(out) as found:
        assert {name: found.read(name) for name in found.namelist()} == named
        assert {one.external_attr >> 16 for one in found.infolist()} == {0o600}
        assert {one.date_time[0] for one in found.infolist()} == {1980}
    assert zip_of(named.items()) == out.getvalue()
    assert len(out.getvalue()) < 10_000
