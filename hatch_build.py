"""What the build adds to a wheel: outlines of the operations, and the documentation."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE = "metaserver.cli.remote.outlines"
MANUAL = Path("metaserver/web/manual")
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md")


class OutlinesHook(BuildHookInterface[Any]):
    """The hook that hatchling runs before it packs a wheel, an editable one included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the outlines out of this tree's operations, and pack them and the documentation."""
        path = os.pathsep.join(filter(None, [self.root, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", MODULE]
        subprocess.run(command, cwd=self.root, env=os.environ | {"PYTHONPATH": path}, check=True)  # noqa: S603 - our own module
        build_data["artifacts"].append(f"/{MODULE.replace('.', '/')}.json")
        if version != "editable":  # a checkout has the documentation where it is
            build_data["force_include"] |= {str(one): str(MANUAL / one) for one in self._pages()}

    def _pages(self) -> list[Path]:
        """Return the files that a hub serves at /docs; docs/site is the site's alone."""
        root = Path(self.root)
        found = [one.relative_to(root) for one in (root / "docs").rglob("*") if one.is_file()]
        kept = [one for one in found if not one.is_relative_to("docs/site")]
        return [Path(name) for name in ROOT_PAGES] + sorted(kept)
