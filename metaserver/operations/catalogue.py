"""The catalogue of all operations, in a fixed order whatever was imported before."""

from collections.abc import Mapping

from metaserver.operations import (
    annotations,
    attempts,
    boards,
    challenges,
    conformance,
    corpora,
    exports,
    gold,
    jobs,
    lanes,
    monitoring,
    phases,
    releases,
    runs,
    servers,
    table,
    teams,
    tokens,
)
from metaserver.operations.table import Operation

MODULES = tuple(
    module.__name__
    for module in (
        challenges,
        phases,
        corpora,
        releases,
        gold,
        jobs,
        teams,
        tokens,
        servers,
        conformance,
        lanes,
        attempts,
        monitoring,
        exports,
        runs,
        boards,
        annotations,
    )
)

OPERATIONS: Mapping[str, Operation] = {
    name: operation
    for module in MODULES
    for name, operation in table.OPERATIONS.items()
    if operation.handler.__module__ == module
}
"""The operations by name, in the order of their modules."""
