"""The parts of a hub that are for curators alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from metaserver.curation import psi_mi
from metaserver.curation.candidates import read_models
from metaserver.curation.desk import RequestDesk
from metaserver.curation.models import ActiveModels
from metaserver.curation.pdf import PdfReader
from metaserver.curation.proteins import ReleaseProteins
from metaserver.curation.psi_mi import read_obo
from metaserver.curation.rules import ChallengeRules
from metaserver.curation.store.curations import CurationLogs
from metaserver.curation.texts import GuardedArticles
from metaserver.operations.context import HubContext
from metaserver.uniprot.vocabulary import Policies, split_name


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationParts:
    """The parts of a hub that curators' operations use: `hub.part(CurationParts)`.

    `releases` is the folder of UniProt releases.
    """

    rules: ChallengeRules
    requests: RequestDesk
    guarded: GuardedArticles
    models: ActiveModels
    releases: Path
    pdfs: PdfReader = field(default_factory=PdfReader)
    logs: CurationLogs = field(default_factory=CurationLogs)

    def proteins(self, release: str) -> ReleaseProteins:
        """Return a release's proteins by a vocabulary's name."""
        name, _ = split_name(release, Policies())
        return ReleaseProteins(self.releases, name)


async def add_curation(hub: HubContext) -> None:
    """Add the curators' parts to a hub; they follow what other processes have changed."""
    store, settings, client = hub.store, hub.settings, hub.servers.client
    rules = ChallengeRules(hub.phases.scheduler, settings, hub.clock)
    guarded = GuardedArticles(store, rules)
    file = settings.curation.psi_mi
    psi_mi.use(await asyncio.to_thread(read_obo, Path(file)) if file else None)
    models = ActiveModels(read_models(settings.curation.models))
    await models.load(store)
    requests = RequestDesk(
        store, client, rules, guarded, models, settings, hub.clock, hub.phases.member
    )
    hub.phases.follower.listeners += [partial(models.load, store), requests.follow]
    hub.servers.withdrawn.append(requests.withdraw)
    releases = Path(settings.uniprot.releases)
    hub.add(
        CurationParts(
            rules=rules, requests=requests, guarded=guarded, models=models, releases=releases
        )
    )
