"""Settings of all tests."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import effort, statements, stores
from tests.hubs import release
from tests.times import Measuring, Times, let_go

# A worker a core is enough: with threads of their own they would wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No test asserts on time: on a busy machine an example may take as long as it likes.
settings.register_profile("whole", deadline=None)
settings.register_profile("part", deadline=None, max_examples=25)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without looking for garbage, of which there is none: a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Return four on a small machine: half of the time of a test is spent waiting."""
    return max(4, os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store",
        choices=stores.KINDS,
        default=stores.SQLITE,
        help="the kind of store that hubs of tests have; tests of one store alone run on it alone",
    )
    parser.addoption(
        "--times", type=Path, help="write the processor time of each test there (tests/times.py)"
    )


def pytest_configure(config: pytest.Config) -> None:
    stores.chosen[0] = config.getoption("--store")
    statements.share()
    effort.whole[0] = "not nightly" not in config.getoption("-m")
    settings.load_profile("whole" if effort.whole[0] else "part")
    if path := config.getoption("--times"):
        config.pluginmanager.register(Measuring())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Times(path, judges=not effort.whole[0]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest tests, and leave out those of one store where another is asked for."""
    items.sort(
        key=_seconds_allowed, reverse=True
    )  # so that none is left when all others have ended
    if stores.chosen[0] == stores.SQLITE:
        return
    left = [item for item in items if item.get_closest_marker(stores.ONE_STORE)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def _seconds_allowed(item: pytest.Item) -> float:
    allowed = item.get_closest_marker("timeout")
    return 0.0 if allowed is None else float(allowed.args[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Drop the databases of a test that has ended: each takes 10 MB."""
    yield
    if folder := getattr(item, "funcargs", {}).get("tmp_path"):
        stores.drop_below(folder)


@pytest.fixture(scope="module", autouse=True)
def _few_objects_to_walk() -> None:
    """Let the hubs of earlier modules go, and leave what they still hold out of collections.

    After thousands of tests a worker has so many objects that a collection takes seconds.
    """
    let_go()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _place_of_the_release(tmp_path_factory: pytest.TempPathFactory) -> None:
    release.place.append(tmp_path_factory.mktemp("release"))
