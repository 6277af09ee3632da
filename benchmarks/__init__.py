"""Measurements against named peers (docs/benchmarks.md): `python -m benchmarks [NAME ...]`.

With `--toy` each is as small as can be: this says that it runs, and nothing of how fast.
"""

import os
import pkgutil
import sys
from importlib.util import find_spec
from typing import TypeVar

Size = TypeVar("Size")
TOY = "BENCHMARKS_TOY"
"""The variable that is set for toy sizes, so that processes of a benchmark see it as well."""
PARTS = {"__main__", "filled", "panel", "peer", "phase", "sampling"}
"""The modules that are no benchmarks."""


def names() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted({one.name for one in pkgutil.iter_modules(__path__)} - PARTS)


def sized(full: Size, toy: Size) -> Size:
    """Return a size: the toy one if `--toy` was given."""
    return toy if TOY in os.environ else full


def installed(peer: str) -> bool:
    """Return whether a peer is here, and say if it is not: `make bench` installs all of them."""
    if find_spec(peer) is None:
        print(f"{peer} is left out: it is not installed", file=sys.stderr)
        return False
    return True
