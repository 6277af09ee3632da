"""Copies of the checkout in a temporary folder: mutants are written there, never in itself."""

import compileall
import os
import py_compile
import shutil
import subprocess
from pathlib import Path

from tests.shared import ROOT, SHARED

PACKAGES = ("metaserver", "scoring", "annotators")


def copy_tree(folder: Path, name: str) -> Path:
    """Copy the checkout's own files into a folder, beside a link to the shared material."""
    tree = folder / name
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for file in listed.stdout.decode().split("\0"):
        if file and (ROOT / file).is_file():
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, tree / file)
    link = folder / SHARED.name
    if SHARED.exists() and not link.exists():
        link.symlink_to(SHARED)
    # By the hash of the source: a mutant may have the size and the time of the file it replaces.
    for package in PACKAGES:
        invalidation_mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(tree / package, quiet=2, invalidation_mode=invalidation_mode)
    return tree


def environment(tree: Path) -> dict[str, str]:
    """Return the environment in which a copy's own packages are imported."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}
