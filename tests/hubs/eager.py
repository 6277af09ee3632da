"""The `metaserver` command with checkpoints written as often as possible."""

import sys

from metaserver.cli.main import main
from metaserver.phases import keeper, log_reader


def hurry() -> None:
    """Let every new attempt make a checkpoint due at once."""
    log_reader.LEAST_NEW, log_reader.NEW_SHARE, log_reader.WORTH = 1, 0.0, 1
    keeper.LOOK_SECONDS, keeper.REST = 0.002, 0.0


if __name__ == "__main__":
    hurry()
    sys.exit(main())
