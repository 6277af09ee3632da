"""The demo's articles, gold and protein names as files, for a first challenge of one's own."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from zipfile import ZipFile

from metaserver.base.errors import InputError
from metaserver.cli.folder import make_folder

NAMES = "uniprot_names.tsv"


def write_samples(out: Path) -> list[str]:
    """Write them into a new or empty folder; return what is in it."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("--samples", f"{out} is there; expected a new or empty folder")
    make_folder(out)
    with as_file(files("metaserver.cli.demo_data")) as data:
        texts = shutil.copytree(data / "articles", out / "articles")
        for gold in data.glob("gold_*.tsv"):
            shutil.copyfile(gold, out / gold.name)
    with ZipFile(out / "articles.zip", "w") as packed:
        for text in sorted(texts.glob("*.txt")):
            packed.write(text, text.name)
    with as_file(files("annotators") / "data" / NAMES) as names:
        shutil.copyfile(names, out / NAMES)
    return sorted(path.name for path in out.iterdir())
