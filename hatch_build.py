"""The step of the build that makes the outlines of the operations (metaserver.cli.remote)."""

import os
import subprocess
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE = "metaserver.cli.remote.outlines"


class OutlinesHook(BuildHookInterface[Any]):
    """The hook that hatchling runs before it packs a wheel, an editable one included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the file out of this tree's operations, and pack it."""
        path = os.pathsep.join(filter(None, [self.root, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", MODULE]
        subprocess.run(command, cwd=self.root, env=os.environ | {"PYTHONPATH": path}, check=True)  # noqa: S603 - our own module
        build_data["artifacts"].append(f"/{MODULE.replace('.', '/')}.json")
