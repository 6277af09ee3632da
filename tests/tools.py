"""Programs that tests need beside the project's own: `.ci/peers` installs them."""

import os
import shutil

import pytest


def tool(name: str) -> str:
    """Return the path of a command. Skips where it is not; with CI=true that is a failure."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no {name}: bash .ci/peers")
        pytest.skip(f"no {name} here: bash .ci/peers")
    return path
