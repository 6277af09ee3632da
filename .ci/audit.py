"""Asks the advisory service of PyPI about every library of requirements/hub.lock.

Ends with 1 where one has a known vulnerability. Where the service cannot be reached (a mirror of
packages has no advisories) it says so and ends with 0, with AUDIT=required with 1.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements" / "hub.lock"


def main() -> int:
    """Run pip-audit and print what it found; return the exit status."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes"]
    command += ["--format", "json", "--progress-spinner", "off", "--requirement", str(LOCK)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    try:
        known = json.loads(ended.stdout)["dependencies"]
    except (ValueError, KeyError):
        return unreached(ended.stderr.strip().splitlines()[-1:] or ["no answer"])
    audited = [one for one in known if "skip_reason" not in one]
    if not audited:
        return unreached([f"none of the {len(known)} libraries is known there"])
    found = [(one, bug) for one in audited for bug in one["vulns"]]
    for one, bug in found:
        fixed = ", ".join(bug["fix_versions"]) or "none yet"
        print(f"{one['name']} {one['version']}: {bug['id']}, mended in {fixed}")
    print(f"{len(audited)} of {len(known)} libraries audited, {len(found)} known vulnerabilities")
    return 1 if found else 0


def unreached(reason: list[str]) -> int:
    """Print that nothing was audited, and return the exit status of that."""
    print(f"not audited: {' '.join(reason)}")
    return 1 if os.environ.get("AUDIT") == "required" else 0


if __name__ == "__main__":
    sys.exit(main())
