"""Settings of all tests."""

import os

import pytest
from hypothesis import settings

from tests.hubs import release

# A worker a core is enough: with threads of their own they would wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No test asserts on time: on a busy machine an example may take as long as it likes.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def _place_of_the_release(tmp_path_factory: pytest.TempPathFactory) -> None:
    release.place.append(tmp_path_factory.mktemp("release"))
