"""Entries of a release, found by curators in a running hub."""

from pathlib import Path

import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.uniprot import build_release
from tests.hubs.inside import at_work, settings
from tests.hubs.release import NAMES
from tests.integration.curating import curator


@pytest.mark.both_stores
async def test_curators_find_entries_by_symbol_and_name(tmp_path: Path) -> None:
    given = await settings(tmp_path)
    releases = Path(given.uniprot.releases)
    build_release([NAMES], name="named", out=releases / "named", names=True)
    build_release([NAMES], name="bare", out=releases / "bare")
    async with at_work(given) as running:
        ana = await curator(running)

        async def found(text: str, **values: object) -> list[str]:
            query = {"release": "named", "text": text, **values}
            return [one.accession for one in await running.do("releases.search", ana, **query)]

        symbol = NAMES.read_text("utf-8").splitlines()[1].split("\t")
        assert symbol[0] in await found(symbol[0])
        several = await found("protein")
        assert 1 < len(several) <= 20
        assert await found("protein", limit=1) == several[:1]
        assert await found("protein", taxon=1) == []
        assert await found('" OR *') == []
        for release, refusal in (
            ("none", Refusal.UNKNOWN),
            ("bare", Refusal.STATE),
            ("../named", Refusal.INVALID),
        ):
            with pytest.raises(RefusedError) as caught:
                await found("x", release=release)
            assert caught.value.refusal is refusal
