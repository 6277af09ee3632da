"""The catalogue of all operations, in a fixed order whatever was imported before."""

from collections.abc import Mapping

from metaserver.operations import (
    alerts,
    annotations,
    attempts,
    boards,
    challenge_pages,
    challenges,
    conformance,
    consents,
    control_room,
    corpora,
    data_packages,
    deletion,
    exports,
    gold,
    jobs,
    lanes,
    methods,
    monitoring,
    phases,
    releases,
    requests,
    results,
    run_previews,
    runs,
    servers,
    sign_up_links,
    sign_ups,
    table,
    team_results,
    teams,
    tokens,
    uploads,
)
from metaserver.operations.table import Operation

MODULES = tuple(
    module.__name__
    for module in (
        challenges,
        challenge_pages,
        sign_ups,
        sign_up_links,
        phases,
        deletion,
        control_room,
        corpora,
        releases,
        gold,
        jobs,
        teams,
        tokens,
        servers,
        consents,
        conformance,
        lanes,
        attempts,
        monitoring,
        alerts,
        exports,
        results,
        data_packages,
        runs,
        run_previews,
        team_results,
        uploads,
        methods,
        boards,
        annotations,
        requests,
    )
)

OPERATIONS: Mapping[str, Operation] = {
    name: operation
    for module in MODULES
    for name, operation in table.OPERATIONS.items()
    if operation.handler.__module__ == module
}
"""The operations by name, in the order of their modules."""
