"""The UniProt release of the tests: built once a session, and linked to where a hub wants it."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from metaserver.uniprot.build import build_release

NAMES = Path(str(files("annotators") / "data" / "uniprot_names.tsv"))
ACCESSIONS = [line.split("\t")[0] for line in NAMES.read_text("utf-8").splitlines()[1:]]
place: list[Path] = []  # where it is built: set for the session


@cache
def _built() -> Path:
    return build_release([NAMES], name="test", out=place[0] / "test").directory


def release_at(folder: Path) -> Path:
    """Let `folder` be the release; return it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(_built(), target_is_directory=True)
    return folder
