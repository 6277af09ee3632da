"""The printing of a refusal: what a hub says, and where it is explained."""

from __future__ import annotations

import sys

from metaserver.cli.remote.client import AnsweredError
from metaserver.cli.remote.tables import printable


def print_refusal(error: Exception) -> None:
    """Print an error of a hub, and where its documentation explains it, on the standard error."""
    print(f"metaserver: {printable(str(error))}", file=sys.stderr)
    if isinstance(error, AnsweredError) and error.help:
        print(f"see {printable(error.help)}", file=sys.stderr)
