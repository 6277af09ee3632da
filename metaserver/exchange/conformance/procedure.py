"""A run's procedure: contact, articles in turn, then two at once, step by step."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice, product
from typing import NamedTuple

import msgspec

from metaserver.base.conformance import Conformance, ConformanceStep, StepState, skipped, warned
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.records import ArticleId, Attempt, Server
from metaserver.base.states import ANSWERED, RULES, Outcome
from metaserver.exchange.conformance.contact import asked_again, beginning, contact
from metaserver.exchange.http.articles import ArticleTexts
from metaserver.exchange.http.caller import MAX_QUERIES, ArticleCaller, PhaseArticles, protocol_of
from metaserver.exchange.http.client import HttpClient
from metaserver.exchange.http.slots import SlotUse
from metaserver.exchange.http.transfer import Exchange
from metaserver.exchange.http.urls import address
from metaserver.exchange.protocols.plugin import ServerChannel
from metaserver.exchange.protocols.xmlrpc import ASCII, XMLRPC
from metaserver.exchange.wire.contract import Completion
from metaserver.exchange.wire.validation import Part, Vocabulary
from metaserver.exchange.wire.xmlrpc import escape_text

# -- the articles of a conformance run, and their forgiven outcomes --------------------------------

LONG_BYTES = 300_000
A_FAULT = frozenset({Outcome.FAULT})


@dataclass(frozen=True, kw_only=True, slots=True)
class ConformanceArticle:
    """An article of the test; `forgiven` outcomes are only warnings."""

    name: str
    id: ArticleId
    text: str
    forgiven: frozenset[Outcome] = frozenset()


SHORT = """\
MDM2 binds the transactivation domain of p53 and promotes its degradation.
The E3 ubiquitin ligase MDM2 interacts with the tumour suppressor p53 (TP53), as shown by \
co-immunoprecipitation from U2OS cells and by a yeast two-hybrid assay. BRCA1 did not compete.
"""

LETTERS = """\
Interaktion von α-Synuclein mit Parkin: une étude à l'échelle de la protéine.
α-Synuclein (SNCA) binds Parkin (PRKN) with a Kd of 1.5 µM ± 0.2; β-catenin and γ-tubulin do not. \
La même liaison a été décrite par Müller, Håkansson et Dvořák. Αλληλεπίδραση πρωτεϊνών. \
Белок p53 связывает MDM2. 蛋白质相互作用：p53 与 MDM2 结合。タンパク質間相互作用。 \
If a < b && b > c, then "Δ" ≥ 'δ'.
"""

ASTRAL = """\
𝛼-Synuclein and 𝐏𝐚𝐫𝐤𝐢𝐧, set in mathematical letters.
Offsets count code points, after 🧬 and 🔬 too: 𝑝53 binds MDM2, and 𠀋 is one of them.
"""

CONTROL = """\
A form feed\x0c and a null \x00 within an abstract on RAD51.
RAD51\x1finteracts\x0bwith BRCA2 in the repair\x01 of breaks; \ufffe\x7f\x85 p53 may bind both.
"""

_PAIRS = (
    ("EGFR", "GRB2"),
    ("GRB2", "SOS1"),
    ("BRCA1", "BARD1"),
    ("RAD51", "BRCA2"),
    ("CDK2", "cyclin E1"),
    ("JAK2", "STAT3"),
    ("SMAD3", "SMAD4"),
    ("BAX", "BCL2"),
    ("APAF1", "caspase-9"),
    ("TRAF6", "IRAK1"),
    ("KEAP1", "NRF2"),
    ("Ste5", "Fus3"),
    ("VHL", "HIF1A"),
)
_SENTENCES = (
    "In experiment {n} the interaction of {a} with {b} was confirmed by co-immunoprecipitation.",
    "Fluorescence resonance energy transfer placed {a} within 8 nm of {b} in {n} cells.",
    "A deletion of the amino-terminal domain of {a} abolished its binding to {b} (sample {n}).",
    "Neither stress nor serum starvation for {n} min changed how much {b} was bound to {a}.",
    "Surface plasmon resonance gave a dissociation constant of {n} nM for {a} and {b}.",
    "Antibodies to {b} precipitated {a} from lysate {n}, but not from cells that lacked {b}.",
    "Phosphorylation of {a} at residue {n} is required before {b} can be recruited.",
)
_PARAGRAPH = 9  # sentences


def _long() -> str:
    """Return plain biomedical English, `LONG_BYTES` or slightly more, without repetitions."""
    parts = ["A survey of signalling complexes by six methods.\n"]
    size = len(parts[0])
    sentences = _sentences()
    while size < LONG_BYTES:
        parts.append(f"Section {len(parts)}\n{' '.join(islice(sentences, _PARAGRAPH))}\n")
        size += len(parts[-1])
    return "".join(parts)


def _sentences() -> Iterator[str]:
    for number in count(1):
        for sentence, (a, b) in product(_SENTENCES, _PAIRS):
            yield sentence.format(n=number, a=a, b=b)


ARTICLES: Sequence[ConformanceArticle] = (
    ConformanceArticle(name="short article", id=ArticleId("conformance-short"), text=SHORT),
    ConformanceArticle(
        name="long article (300 KB)", id=ArticleId("conformance-long"), text=_long()
    ),
    ConformanceArticle(
        name="non-ASCII article", id=ArticleId("conformance-non-ascii"), text=LETTERS
    ),
    ConformanceArticle(
        name="astral article",
        id=ArticleId("conformance-astral"),
        text=ASTRAL,
        forgiven=A_FAULT,  # libraries with 16-bit characters refuse it (xmlrpc-c)
    ),
    ConformanceArticle(
        name="empty article", id=ArticleId("conformance-empty"), text="", forgiven=A_FAULT
    ),
    ConformanceArticle(
        name="control characters",
        id=ArticleId("conformance-control"),
        text=CONTROL,
        forgiven=A_FAULT,
    ),
)
"""The articles in sending order, one at a time."""

FIRST, TOGETHER = 0, (0, 2)
"""Places in `ARTICLES`: the article that the others depend on; the two also sent at once."""


# -- the procedure of a run: contact, articles one at a time, then two at once, step by step -------

TASKS, AT_ONCE = "tasks", "two at once"


class _End(NamedTuple):
    """An article's end: the attempt, and its answer if accepted.

    `again` is why it was sent again, if it was: the hub itself had failed.
    """

    attempt: Attempt
    answer: CheckedAnswer | None
    again: str = ""

    @property
    def unreached(self) -> bool:
        """True if another article would fail as well."""
        return RULES[self.attempt.outcome].circuit or self.attempt.outcome is Outcome.CANCELLED


async def conformance(
    client: HttpClient,
    server: Server,
    tasks: Sequence[Part],
    vocabulary: Vocabulary,
    *,
    time_limit: float,
    completion: Completion | None = None,
    on_step: Callable[[ConformanceStep], None] | None = None,
) -> Conformance:
    """Test a server the way the hub will use it; a server's failures raise nothing.

    `tasks` are the phase's, `time_limit` is in seconds per article; `on_step` is called with each
    step as it ends. A server passes if no step failed; warnings are allowed.
    """
    at = time.time()
    caller = _caller(client, tasks, vocabulary, time_limit, completion)
    steps = []
    async for step in _steps(client, caller, server, time_limit):
        steps.append(step)
        if on_step is not None:
            on_step(step)
    return Conformance(
        url=address(server.url),
        at=at,
        passed=all(step.state is not StepState.FAILED for step in steps),
        steps=tuple(steps),
    )


def _caller(
    client: HttpClient,
    tasks: Sequence[Part],
    vocabulary: Vocabulary,
    time_limit: float,
    completion: Completion | None,
) -> ArticleCaller:
    """Return a caller, as lanes use it, for a phase with the test's articles."""

    async def load(positions: range) -> Sequence[str]:
        return [article.text for article in ARTICLES[positions.start : positions.stop]]

    articles = PhaseArticles(
        ids=[article.id for article in ARTICLES],
        wire_bytes=[len(escape_text(article.text)) for article in ARTICLES],
        texts=ArticleTexts(load),
    )
    return ArticleCaller(
        client,
        articles,
        tasks,
        vocabulary,
        time_limit=time_limit,
        completion=completion,
        use=SlotUse.TEST,
    )


async def _steps(
    client: HttpClient, caller: ArticleCaller, server: Server, time_limit: float
) -> AsyncIterator[ConformanceStep]:
    result = await contact(client, server, time_limit)
    for step in result.steps:
        yield step
    obstacle = result.obstacle
    ends: list[_End] = []
    for place, article in enumerate(ARTICLES):
        if obstacle:
            yield skipped(article.name, obstacle)
            continue
        ends += await _send(caller, server, (place,))
        yield await _with_proposal(caller, server, place, _article_step(article, ends[place]))
        if place == FIRST and ends[place].unreached:
            obstacle = f"{article.name} failed"
    for step in _lacking(caller, server, ends):
        yield step
    yield await _two_at_once(caller, server, ends, obstacle)
    if not obstacle:
        exchanges = partial(_open_channel, client, server, time_limit)
        hide = client.target(server).hide
        await client.slots.take(server, SlotUse.TEST)
        try:
            async for step in protocol_of(server).examine(exchanges, server):
                yield msgspec.structs.replace(step, message=hide(step.message))
        finally:
            client.slots.give(server, SlotUse.TEST)


def _open_channel(client: HttpClient, server: Server, time_limit: float) -> ServerChannel:
    return client.channel(server, Exchange(client.limits.answer.bytes), time_limit)


async def _send(caller: ArticleCaller, server: Server, places: Sequence[int]) -> Sequence[_End]:
    """Send articles at once, and again if the hub failed, a few times at most."""
    again = ""
    for _ in range(MAX_QUERIES):
        calls = [caller.call(server, place, 1) for place in places]
        ends = [_End(*end, again) for end in await asyncio.gather(*calls)]
        failed = [end for end in ends if end.attempt.outcome is Outcome.CANCELLED]
        if not failed:
            break
        again = asked_again(failed[0].attempt.message)
    return ends


async def _with_proposal(
    caller: ArticleCaller, server: Server, place: int, step: ConformanceStep
) -> ConformanceStep:
    """Return a step that proposes `encoding = ascii` if only its letters failed."""
    proposes = (
        ARTICLES[place].text is LETTERS
        and step.state is StepState.FAILED
        and server.protocol == XMLRPC.name
        and server.encoding != ASCII
    )
    if not proposes:
        return step
    in_ascii = msgspec.structs.replace(server, encoding=ASCII)
    (end,) = await _send(caller, in_ascii, (place,))
    if end.answer is None:
        return step
    message = (
        f"{step.message}; the same text in ASCII was answered: register the server with"
        " encoding = ascii"
    )
    return msgspec.structs.replace(step, message=message)


def _article_step(article: ConformanceArticle, end: _End) -> ConformanceStep:
    outcome = end.attempt.outcome
    state = _STATES.get(outcome, StepState.FAILED)
    return _step(article.name, StepState.WARNING if outcome in article.forgiven else state, end)


_STATES = {Outcome.OK: StepState.PASSED, Outcome.PARTIAL: StepState.WARNING}
"""The states of steps by outcomes that are not forgiven; any other outcome is `failed`."""


def _step(name: str, state: StepState, end: _End, message: str = "") -> ConformanceStep:
    attempt = end.attempt
    return ConformanceStep(
        name=name,
        state=state,
        seconds=attempt.timings.total,
        message=(message or attempt.message or _hits_message(end.answer)) + end.again,
        problems=attempt.problems,
        problem_count=attempt.problem_count,
        outcome=attempt.outcome,
        raw=beginning(attempt.raw),
    )


def _hits_message(answer: CheckedAnswer | None) -> str:
    if answer is None or not answer.payloads:
        return "the answer has no member of any task"
    return f"hits: {answer.hits_kept} ({', '.join(sorted(answer.payloads))})"


def _lacking(
    caller: ArticleCaller, server: Server, ends: Sequence[_End]
) -> Iterator[ConformanceStep]:
    """Yield a warning if no answer had some task that the server should answer."""
    answered = [end.answer.payloads for end in ends if end.answer is not None]
    task_names = [task.name for task in caller.tasks_of(server)]
    missing = [task for task in task_names if not any(task in payloads for payloads in answered)]
    if answered and missing:
        message = (
            f"no answer had a hit for {', '.join(missing)}, which the server is registered for"
        )
        yield warned(TASKS, message)


async def _two_at_once(
    caller: ArticleCaller, server: Server, alone: Sequence[_End], obstacle: str
) -> ConformanceStep:
    """Send two articles at once that were answered separately; each must get its own answer again.

    A server registered for a single request at a time is only warned: the hub never sends it two.
    """
    names = " and ".join(ARTICLES[place].name for place in TOGETHER)
    if obstacle or any(alone[place].answer is None for place in TOGETHER):
        return skipped(AT_ONCE, obstacle or f"{names}: not both were answered")
    pair = await _send(caller, server, TOGETHER)
    worst = max(pair, key=_badness)
    state, message = _STATES.get(worst.attempt.outcome, StepState.FAILED), ""
    if _crossed([alone[place] for place in TOGETHER], pair):
        state = StepState.FAILED
        message = f"{names} were sent at the same time and got each other's answers"
    if state is StepState.FAILED and server.concurrency == 1:
        state = StepState.WARNING
    return _step(AT_ONCE, state, worst, message)


def _badness(end: _End) -> tuple[bool, bool, float]:
    """Return the sort key of an end: the worst is last, equals by duration."""
    outcome = end.attempt.outcome
    return outcome not in ANSWERED, outcome is not Outcome.OK, end.attempt.timings.total


def _crossed(alone: Sequence[_End], pair: Sequence[_End]) -> bool:
    """Return whether an article got the other's answer instead of its own."""
    alone_payloads = [end.answer.payloads if end.answer else None for end in alone]
    got = [end.answer.payloads if end.answer else None for end in pair]
    return (
        alone_payloads[0] != alone_payloads[1]
        and None not in got
        and (got[0] == alone_payloads[1] or got[1] == alone_payloads[0])
    )
