"""Every operation: importing this module fills the table."""

from metaserver.operations import challenges, lanes, phases, servers, teams
from metaserver.operations.table import OPERATIONS

__all__ = ["OPERATIONS", "challenges", "lanes", "phases", "servers", "teams"]
