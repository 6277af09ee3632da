"""A new phase: planned in four steps, with its corpus and gold in the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from multidict import MultiDict, MultiMapping

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import JobState
from metaserver.operations import challenges, corpora, gold, jobs, phases, releases
from metaserver.operations.challenges import ChallengeDetail
from metaserver.operations.gold import NewGold
from metaserver.operations.jobs import JobQuery
from metaserver.operations.phases import NewPhase, PhaseDetail
from metaserver.operations.table import Nothing
from metaserver.web.access.bodies import upload
from metaserver.web.access.refusals import in_words, sentence
from metaserver.web.organise.jobs import SOON
from metaserver.web.organise.overview import NEW_PHASE, phase_path
from metaserver.web.organise.phase_form import (
    CORPUS_FILE,
    FAMILIES,
    FIXED,
    GOLD_FILES,
    PLANNED,
    WORDING,
    Family,
    corpus_choices,
    date_wording,
    read_dates,
    release_choices,
    steps,
    with_files,
    with_questions,
)
from metaserver.web.organise.phases import GoldRefusals
from metaserver.web.ui.console import ConsoleContext, posted
from metaserver.web.ui.form_pages import OperationForm, sent_file, tried
from metaserver.web.ui.forms import Form

NAMES = ("phase", "title", "kind", *FIXED, *PLANNED[2:])
AGAIN = "Choose the file again: it was not kept."
MOST_REFUSED = 64
NOTHING_SENT: Mapping[str, str] = {}


def _family(query: MultiMapping[Any], built: Sequence[str] = ("any",)) -> Family:
    """Return the family that was chosen; servers if their answers can be checked by a release."""
    name = str(query.get("family", ""))
    return Family(name) if name in set(Family) else Family.SERVERS if built else Family.UPLOADS


@dataclass(frozen=True, kw_only=True)
class NewPhasePages:
    """The handlers for new phases; `refused` is what phase pages say about their gold."""

    console: ConsoleContext
    refused: GoldRefusals = field(default_factory=dict)

    def routes(self) -> list[web.RouteDef]:
        """Return their routes."""
        return [web.get(NEW_PHASE, self.new), web.post(NEW_PHASE, self.make)]

    async def new(self, request: web.Request) -> web.Response:
        """Answer with the form for a new phase in the addressed challenge.

        `family` is how runs come into it: from servers, or as files.
        """
        return await self._new(request, request.query.get("challenge"))

    async def _new(
        self,
        request: web.Request,
        name: str | None,
        submitted: MultiMapping[Any] | None = None,
        refused: RefusedError | None = None,
        errors: Mapping[str, str] = NOTHING_SENT,
    ) -> web.Response:
        listed = await self.console.ask(request, challenges.list_challenges, Nothing())
        challenge = next(
            (challenge for challenge in reversed(listed) if name in (None, challenge.challenge)),
            None,
        )
        if name is not None and challenge is None:
            raise web.HTTPNotFound(text=f"There is no challenge called {name or repr(name)}.")
        built = await self.console.ask(request, releases.list_, Nothing())
        form, family = None, _family(submitted or request.query, built)
        if challenge is not None and (built or family is Family.UPLOADS):
            form = await self._form(request, challenge, family, built, submitted, refused, errors)
        return self.console.answer(
            "organise_new_phase.html",
            status=refused.refusal if refused else 200,
            challenges=listed,
            challenge=challenge,
            releases=built,
            folder=self.console.hub.settings.uniprot.releases,
            form=form,
            steps=steps(form) if form else (),
            family=family,
            families=FAMILIES,
        )

    async def _form(
        self,
        request: web.Request,
        challenge: ChallengeDetail,
        family: Family,
        built: Sequence[str],
        submitted: MultiMapping[Any] | None,
        refused: RefusedError | None,
        errors: Mapping[str, str],
    ) -> Form:
        imported = await self.console.ask(request, corpora.list_, Nothing())
        choices = {"tasks": family.tasks()}
        if family is Family.SERVERS:
            choices |= {"corpus": corpus_choices(imported), "release": release_choices(built)}
        blank = OperationForm(request=NewPhase, names=family.names(NAMES), wording=WORDING)
        form = blank.form(submitted, refused, **choices, **date_wording(challenge.timezone))
        form = with_files(form, family, errors)
        return with_questions(form, submitted, challenge.timezone, self.console.hub.clock())

    @upload
    async def make(self, request: web.Request) -> web.Response:
        """Plan a phase, with the files that were sent; its page shows what became of its gold."""
        submitted = await posted(request)
        challenge = await self._challenge(request, str(submitted.get("challenge", "")))
        again = {name: AGAIN for name in GOLD_FILES if sent_file(submitted, name).content}
        values = OperationForm(request=NewPhase, names=NAMES).values(submitted)
        values["challenge"] = challenge.challenge
        if _family(submitted) is Family.UPLOADS and not values.get("tasks"):
            refused = RefusedError(Refusal.INVALID, "choose what teams upload", field="tasks")
            return await self._new(request, challenge.challenge, submitted, refused, again)
        clock = self.console.hub.clock()
        dates_read = read_dates(values, submitted, challenge.timezone, clock)
        if isinstance(dates_read, RefusedError):
            if sent_file(submitted, CORPUS_FILE).content:
                again[CORPUS_FILE] = AGAIN
            return await self._new(request, challenge.challenge, submitted, dates_read, again)
        imported = await self._import(request, submitted, dates_read)
        if isinstance(imported, RefusedError):
            again[CORPUS_FILE] = in_words(imported)
            refused = RefusedError(imported.refusal, "the corpus was not imported: see its file")
            return await self._new(request, challenge.challenge, submitted, refused, again)
        if imported:
            dates_read["corpus"] = imported
            submitted = MultiDict(submitted)
            submitted["corpus"] = imported  # it is there, whatever becomes of the phase
        result = await tried(self.console.submit(request, phases.create, dates_read), FIXED)
        if isinstance(result, RefusedError):
            return await self._new(request, challenge.challenge, submitted, result, again)
        problems = []
        for name, task in GOLD_FILES.items():
            if why := await self._set_gold(request, result, task, submitted, name):
                self.refused.pop((result.phase, task), None)
                self.refused[result.phase, task] = why
                problems.append(f"gold-problem={task}")
        for refused_key in list(self.refused)[:-MOST_REFUSED]:
            del self.refused[refused_key]
        query = f"?{'&'.join(problems)}" if problems else ""
        raise web.HTTPSeeOther(f"{phase_path(result.phase)}{query}")

    async def _challenge(self, request: web.Request, name: str) -> ChallengeDetail:
        for challenge in await self.console.ask(request, challenges.list_challenges, Nothing()):
            if challenge.challenge == name:
                return challenge
        raise web.HTTPNotFound(text=f"There is no challenge called {name or repr(name)}.")

    async def _import(
        self, request: web.Request, submitted: MultiMapping[Any], values: Mapping[str, Any]
    ) -> str | RefusedError:
        """Import the corpus that was sent, by the phase's name; return its name and version."""
        file = sent_file(submitted, CORPUS_FILE)
        if not file.content:
            return ""
        if not values.get("phase"):
            return RefusedError(Refusal.INVALID, "write the phase's name: it is the corpus's too")
        values_sent = {
            "corpus": values["phase"],
            "content": file.content,
            "source": file.source or "-",
        }
        result = await tried(
            self.console.submit(request, corpora.import_, values_sent), ("content",)
        )
        return result if isinstance(result, RefusedError) else f"{result.corpus}@{result.version}"

    async def _set_gold(
        self,
        request: web.Request,
        phase: PhaseDetail,
        task: str,
        submitted: MultiMapping[Any],
        name: str,
    ) -> str:
        """Begin to set a task's gold, if a file was sent; return why not, if it is refused."""
        file = sent_file(submitted, name)
        if not file.content:
            return ""
        new_gold = NewGold(
            phase=phase.phase, task=task, content=file.content, source=file.source or "-"
        )
        result = await tried(self.console.ask(request, gold.set_, new_gold), ("content", "task"))
        if isinstance(result, RefusedError):
            return in_words(result)
        ended = await self.console.ask(request, jobs.get, JobQuery(job=result.job, wait=SOON))
        return sentence(ended.error) if ended.state is JobState.FAILED else ""
