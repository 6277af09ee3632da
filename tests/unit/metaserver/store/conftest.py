"""An empty store of either kind."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from metaserver.store.place import PostgresUrl, StorePlace
from metaserver.store.store import Store, open_store
from tests import stores


@pytest.fixture(params=stores.KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StorePlace:
    return stores.place_of(tmp_path / "hub.sqlite", request.param)


@pytest.fixture
async def store(place: StorePlace) -> AsyncIterator[Store]:
    async with open_store(place) as opened:
        yield opened


@pytest.fixture
def url(tmp_path: Path) -> PostgresUrl:
    """An empty database on PostgreSQL."""
    place = stores.place_of(tmp_path, stores.POSTGRESQL)
    assert isinstance(place, PostgresUrl)
    return place
