"""A hub at full rate for minutes, with 5,000 servers, open pages and viewers who take nothing.

`METASERVER_MINUTES` is how long.
"""

import os
from pathlib import Path

import pytest

from benchmarks import soak

pytestmark = pytest.mark.one_store("a soak watches the file of a store")

MINUTES = float(os.environ.get("METASERVER_MINUTES", "10"))
SERVERS = 5_000
MOST_MEMORY, MOST_LOG = 1_500.0, 100.0  # MB, of the hub's process and of the write-ahead log


@pytest.mark.nightly
@pytest.mark.timeout(120 * MINUTES + 600)
def test_a_hub_with_5000_servers_is_watched_for_minutes(tmp_path: Path) -> None:
    seconds = 60 * MINUTES
    with soak.soaked(tmp_path, SERVERS, seconds, None) as run:
        found = list(run)
    print(soak.growth(found, seconds))
    assert found[-1].seconds >= seconds - soak.EVERY  # it has not ended before its time
    assert found[-1].answers > found[0].answers
    assert not any("failed" in sample.note for sample in found)
    assert max(sample.private for sample in found) < MOST_MEMORY
    assert max(sample.wal for sample in found) < MOST_LOG
