"""Every operation: importing this module fills the table."""

from metaserver.operations import (
    annotations,
    attempts,
    boards,
    challenges,
    corpora,
    gold,
    lanes,
    monitoring,
    phases,
    runs,
    servers,
    teams,
    tokens,
)
from metaserver.operations.table import OPERATIONS

__all__ = [
    "OPERATIONS",
    "annotations",
    "attempts",
    "boards",
    "challenges",
    "corpora",
    "gold",
    "lanes",
    "monitoring",
    "phases",
    "runs",
    "servers",
    "teams",
    "tokens",
]
