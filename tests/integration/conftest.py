"""Fixtures of tests of a running service."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.hub import build_release


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the release of all tests: building one takes a second."""
    folder = tmp_path_factory.mktemp("hub") / "releases"
    asyncio.run(build_release(folder / "test"))
    return folder
