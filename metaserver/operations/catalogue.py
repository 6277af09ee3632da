"""Every operation: importing this module fills the table."""

from metaserver.operations import (
    annotations,
    challenges,
    corpora,
    lanes,
    monitoring,
    phases,
    servers,
    teams,
    tokens,
)
from metaserver.operations.table import OPERATIONS

__all__ = [
    "OPERATIONS",
    "annotations",
    "challenges",
    "corpora",
    "lanes",
    "monitoring",
    "phases",
    "servers",
    "teams",
    "tokens",
]
