"""What tests of several packages share."""

import pytest

from metaserver.uniprot import Release
from tests.unit.metaserver.uniprot.samples import SOURCES, build


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A small release."""
    return build(tmp_path_factory.mktemp("uniprot"), SOURCES)
