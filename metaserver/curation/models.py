"""The consensus models in use: those that the hub trained, else those of the settings."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from metaserver.base.records import ServerName
from metaserver.curation.store import consensus_models
from metaserver.curation.store.consensus_models import StoredModel
from metaserver.store import servers
from metaserver.store.reader import ReadStore
from scoring.consensus import ConsensusModel, parse_model
from scoring.errors import FormatError

log = logging.getLogger(__name__)


class ActiveModels(Mapping[str, ConsensusModel]):
    """The active model of each task; `load` reads them from the store again.

    `configured` are used for tasks without a stored model.
    """

    def __init__(self, configured: Mapping[str, ConsensusModel]) -> None:
        self._configured = configured
        self._models = dict(configured)
        self.changed: Mapping[str, Sequence[ServerName]] = {}
        """By task, the members that report another version than when the model was made."""

    def __getitem__(self, task: str) -> ConsensusModel:
        return self._models[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    async def load(self, store: ReadStore) -> None:
        """Take over the models that are active in the store; an unreadable model is skipped."""
        async with store.reading() as connection:
            trained = await consensus_models.active(connection)
            registered = await servers.list_all(connection) if trained else ()
        versions = {server.server.name: server.version for server in registered}
        models, changed = dict(self._configured), {}
        for stored_model in trained:
            try:
                models[stored_model.task] = parse_model(
                    stored_model.content, f"model {stored_model.id}"
                )
            except FormatError as error:
                log.error(
                    "the consensus model %d of %s is not used: %s",
                    stored_model.id,
                    stored_model.task,
                    error,
                )
            else:
                changed[stored_model.task] = changed_members(stored_model, versions)
        self._models, self.changed = models, changed


def changed_members(model: StoredModel, versions: Mapping[ServerName, str]) -> Sequence[ServerName]:
    """Return the members that report another version now than when the model was made."""
    return [
        ServerName(member.server)
        for member in model.members
        if member.version
        and versions.get(ServerName(member.server), "") not in ("", member.version)
    ]
