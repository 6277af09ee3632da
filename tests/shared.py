"""The material shared beside the checkout: tests that read it skip where it is absent."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def shared(path: str) -> Path:
    """Return the path of one shared file or folder, or skip the calling test."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"../shared/{path} is not here")
    return found
