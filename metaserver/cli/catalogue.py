"""The catalogue with all operations, in a fixed order whatever was imported before."""

from collections.abc import Mapping

from metaserver.curation.operations import (
    consensus_models,
    curation_events,
    curation_exports,
    curation_sets,
    curations,
    requests,
    set_agreement,
    set_gold,
    set_seats,
    stored_consensus,
)
from metaserver.operations import (
    alerts,
    annotations,
    attempts,
    boards,
    bundles,
    callbacks,
    challenge_pages,
    challenges,
    conformance,
    control_room,
    corpora,
    deletion,
    gold,
    jobs,
    lanes,
    memberships,
    methods,
    monitoring,
    people,
    phases,
    publishing,
    releases,
    run_cards,
    run_previews,
    runs,
    servers,
    sign_up_links,
    sign_ups,
    table,
    team_results,
    teams,
    tokens,
    trials,
    uploads,
)
from metaserver.operations.table import Operation
from metaserver.publication.operations import data_packages, results

MODULES = tuple(
    module.__name__
    for module in (
        challenges,
        challenge_pages,
        bundles,
        sign_ups,
        sign_up_links,
        phases,
        publishing,
        deletion,
        control_room,
        corpora,
        releases,
        gold,
        jobs,
        teams,
        tokens,
        people,
        memberships,
        servers,
        callbacks,
        conformance,
        trials,
        lanes,
        attempts,
        monitoring,
        alerts,
        results,
        data_packages,
        runs,
        run_previews,
        run_cards,
        team_results,
        uploads,
        methods,
        boards,
        annotations,
        requests,
        consensus_models,
        stored_consensus,
        curations,
        curation_events,
        curation_exports,
        curation_sets,
        set_seats,
        set_agreement,
        set_gold,
    )
)

OPERATIONS: Mapping[str, Operation] = {
    name: operation
    for module in MODULES
    for name, operation in table.OPERATIONS.items()
    if operation.handler.__module__ == module
}
"""The operations by name, in module order."""
