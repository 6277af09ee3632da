"""Curator requests: an article goes to all servers that agree, a consensus comes back."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated

import msgspec
from msgspec import Meta

from metaserver.base.compression import pack, unpack
from metaserver.base.curations import (
    UNFINISHED,
    AskedServer,
    RequestOptions,
    RequestState,
    UploadedVoice,
)
from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.publications import Publication, normal, plain_id
from metaserver.base.records import Article, ArticleId, ServerName
from metaserver.base.states import Role
from metaserver.base.structs import convert
from metaserver.curation.asking import LiveRequest, tasks_of
from metaserver.curation.candidates import (
    ClassVote,
    ConsensusCandidate,
    FoundCandidates,
    PanelDifference,
    check_method,
    find,
)
from metaserver.curation.operations.curator_names import SHOWN_NAME, CuratorNames
from metaserver.curation.operations.withheld import is_withheld
from metaserver.curation.parts import CurationParts
from metaserver.curation.pdf import NOTICE, UnreadPdfError
from metaserver.curation.places import placed
from metaserver.curation.proteins import NamedPlaces
from metaserver.curation.store import requests
from metaserver.curation.store.requests import StoredRequest
from metaserver.curation.texts import GUARDED, FileArticle, fetch, not_there, read_article, with_id
from metaserver.curation.uploaded import checked, stored_voice
from metaserver.operations.caller import Caller
from metaserver.operations.context import HubContext, audit_log
from metaserver.operations.fields import GREATEST, Cutoff, Limit, Threshold, require_one_of
from metaserver.operations.table import operation
from metaserver.store import articles, servers
from metaserver.tasks.plugin import answered_tasks

LONGEST_WAIT = 30.0
DEADLINE = 120.0
"""The mean time of an answer of BioCreative II.5's servers, in seconds."""
DAY = 86_400.0  # seconds
TELLING = frozenset({Refusal.UNKNOWN, Refusal.STATE})
"""Refusals of articles that say something of the hub's: they count as requests."""
MOST_FILE = 16 * 2**20
"""The most bytes of a file, whatever `curation.text_bytes` is."""

RequestField = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)", description="The request's id")]
Wait = Annotated[
    float, Meta(ge=0, le=LONGEST_WAIT, description="Wait for a change, at most this many seconds")
]
Name = Annotated[str, Meta(pattern=SHOWN_NAME)]


MOST_WORDS, MOST_TITLE = 10, 300
"""The most words that are looked for, and characters of a title that is taken from a text."""
WordsField = Annotated[
    str, Meta(max_length=200, description="Words in the title or the article's id; none: all")
]


class NewRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An article for all servers that serve curators, or some: exactly one of three.

    `article` is one of a closed phase, `text` plain text, `content` a file as corpora have
    (docs/corpus.md), or a PDF if the hub reads them, with its name in `source`. `pmid`, `pmcid` and
    `doi` name the publication; they replace those that the file says.
    """

    article: Annotated[str, Meta(max_length=200, description="PMID, PMCID or DOI")] = ""
    text: Annotated[str, Meta(max_length=MOST_FILE, description="Its text")] = ""
    content: Annotated[bytes, Meta(max_length=MOST_FILE, description="The article as a file")] = b""
    source: Annotated[str, Meta(max_length=200, description="The file's name")] = "article.txt"
    title: Annotated[str, Meta(max_length=500, description="A title for people")] = ""
    pmid: Annotated[str, Meta(max_length=200, description="The PMID of a text or file")] = ""
    pmcid: Annotated[str, Meta(max_length=200, description="Its PMCID")] = ""
    doi: Annotated[str, Meta(max_length=300, description="Its DOI")] = ""
    tasks: Annotated[tuple[str, ...], Meta(max_length=20, description="None: all")] = ()
    servers: Annotated[tuple[Name, ...], Meta(max_length=200, description="None: all")] = ()
    deadline: Annotated[
        Annotated[float, Meta(ge=5)] | None,
        Meta(description="Seconds until answers are late; none: 120, or the hub's time limit"),
    ] = None
    method: Annotated[
        str, Meta(max_length=32, description="How answers are combined (docs/consensus.md)")
    ] = "auto"
    weights: Annotated[
        dict[Name, Annotated[float, Meta(ge=0, le=100)]],
        Meta(max_length=200, description="Weights of servers; 1 for a server without one"),
    ] = {}
    threshold: Threshold = None
    cutoff: Cutoff = 30
    keep_days: Annotated[
        Annotated[int, Meta(ge=1, le=GREATEST)] | None,
        Meta(description="Days until it is deleted; none: as long as this hub allows"),
    ] = None
    wait: Wait = 0.0


class OneRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request by id."""

    request: RequestField


class RequestQuery(OneRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request by id, returned when it has a version above `since`, or after `wait` seconds."""

    since: Annotated[
        int, Meta(ge=0, le=GREATEST, description="The version that is known; 0: none")
    ] = 0
    wait: Wait = 0.0


class RequestList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest requests, at most `limit`."""

    words: WordsField = ""
    limit: Limit = 100


class OneCandidate(OneRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A candidate of a request."""

    item: Annotated[
        str, Meta(max_length=40, description="An accession, or two with a comma between them")
    ]


class RequestSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A request in the list; times are Unix seconds.

    `same_as` is the token's request before it for the same article, by its id or by its text.
    """

    request: str
    same_as: str
    article: str
    title: str
    length: int
    state: RequestState
    asked_by: str
    asked_at: float
    expires_at: float


class RequestDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A request with its servers and the candidates so far.

    `version` grows with each change; once it is `settled`, nothing changes any more. `deadline_at`
    is null while no server was asked. `methods` are those that made the candidates, by task, and so
    are `differences`: with one, a candidate's probability is not to be relied on. `uploaded` are
    the annotations that came with the article, null for none. `notice` is what to mind about the
    text. Times are Unix seconds.
    """

    request: str
    article: str
    title: str
    publication: Publication
    length: int
    notice: str
    state: RequestState
    message: str
    version: int
    asked_at: float
    deadline_at: float | None
    expires_at: float
    release: str
    settled: bool
    methods: Mapping[str, str]
    differences: Mapping[str, PanelDifference]
    servers: tuple[AskedServer, ...]
    uploaded: UploadedVoice | None
    candidates: tuple[ConsensusCandidate, ...]
    relevant: tuple[ClassVote, ...]


@operation("Consensus.ask", "POST /requests", Role.CURATOR)
async def ask(hub: HubContext, caller: Caller, request: NewRequest) -> RequestDetail:
    """Ask servers about an article; return the request, with `wait` as soon as it is done.

    Articles of phases that are not closed are refused. Refused requests count against the quota
    (docs/curators.md), as do those for an unknown article or an unreadable PDF.
    """
    token_id = token_of(caller)
    options = await _options(hub, caller, request)
    publication_given = normal(Publication(pmid=request.pmid, pmcid=request.pmcid, doi=request.doi))
    await hub.part(CurationParts).requests.require_quota(token_id)
    try:
        file_article = await _article(hub, caller, request)
        article = file_article.article
        ids = (
            publication_given.ids,
            file_article.publication.ids,
            Publication.named(article.id).ids,
        )
        await hub.part(CurationParts).guarded.require_free(article.text, article.id, *chain(*ids))
    except RefusedError as error:
        if error.refusal in TELLING or isinstance(error, UnreadPdfError):
            await hub.part(CurationParts).requests.charge(token_id, caller.name)
        raise
    publication = publication_given.over(file_article.publication).over(
        Publication.named(article.id)
    )
    now, settings = hub.clock(), hub.settings.curation
    _, release = hub.part(CurationParts).rules.vocabulary()
    days = min(request.keep_days or settings.keep_days, settings.keep_days)
    packed = await asyncio.to_thread(pack, article.text.encode("utf-8", "surrogatepass"))
    stored = StoredRequest(
        id=secrets.token_hex(8),
        token_id=token_id,
        caller=caller.name,
        at=now,
        article=article.id or next(iter(publication.ids), ""),
        title=request.title or article.title or first_line(article.text),
        length=len(article.text),
        text=packed,
        options=msgspec.structs.replace(
            options, from_pdf=file_article.from_pdf, publication=publication
        ),
        release=release,
        expires_at=now + days * DAY,
    )
    if file_article.annotations is not None:
        vocabulary, _ = hub.part(CurationParts).rules.vocabulary()
        given = (file_article.annotations, tasks_of(stored), article.text, vocabulary)
        stored = replace(stored, uploaded=await caller.aside(checked, *given))
    async with hub.store.reading() as connection:
        earlier = await requests.same_as(connection, stored)
    options = msgspec.structs.replace(stored.options, same_as=earlier)
    live = await hub.part(CurationParts).requests.begin(replace(stored, options=options))
    if request.wait:
        await _ended(hub, live, request.wait)
    return await _detail(hub, caller, live)


@operation("Consensus.get", "GET /requests/{request}", Role.CURATOR)
async def get(hub: HubContext, caller: Caller, request: RequestQuery) -> RequestDetail:
    """Return a request with the candidates so far; with `wait`, as soon as something changed."""
    live, desk = await own_request(hub, caller, request.request), hub.part(CurationParts).requests
    if request.wait and live.version <= request.since and not (live.settled or desk.closed):
        try:
            async with asyncio.timeout(request.wait):
                live = await desk.news(live, request.since)
        except TimeoutError:
            pass
    return await _detail(hub, caller, live)


@operation("Consensus.list", "GET /requests", Role.CURATOR)
async def list_(hub: HubContext, caller: Caller, request: RequestList) -> Sequence[RequestSummary]:
    """Return the token's requests, newest first; organisers get those of all tokens."""
    token_id = None if caller.organiser else token_of(caller)
    async with hub.store.reading() as connection:
        entries = await requests.list_of(
            connection, token_id, words=request.words.split()[:MOST_WORDS], limit=request.limit
        )
    return [
        convert(
            entry,
            RequestSummary,
            request=entry.id,
            same_as=entry.options.same_as,
            asked_by=entry.caller,
            asked_at=entry.at,
        )
        for entry in entries
    ]


@operation("Consensus.cancel", "POST /requests/{request}/cancel", Role.CURATOR)
async def cancel(hub: HubContext, caller: Caller, request: OneRequest) -> RequestDetail:
    """Cancel a request: calls under way are dropped, and the answers so far are kept."""
    live = await own_request(hub, caller, request.request)
    await hub.part(CurationParts).requests.cancel(live)
    async with hub.store.writing() as connection:
        await audit_log(connection, caller, "consensus.cancel", live.key)
    return await _detail(hub, caller, live)


@operation("Consensus.forget", "DELETE /requests/{request}", Role.CURATOR)
async def forget(hub: HubContext, caller: Caller, request: OneRequest) -> None:
    """Delete a request with its text and all answers to it."""
    live = await own_request(hub, caller, request.request)
    await hub.part(CurationParts).requests.forget(live)
    async with hub.store.writing() as connection:
        await audit_log(connection, caller, "consensus.forget", live.key)


@operation("Consensus.explain", "GET /requests/{request}/candidates/{item}", Role.CURATOR)
async def explain(hub: HubContext, caller: Caller, request: OneCandidate) -> ConsensusCandidate:
    """Return a candidate with all its evidence, even if it is not listed."""
    live = await own_request(hub, caller, request.request)
    if await is_withheld(hub, caller, live):
        raise RefusedError(Refusal.STATE, GUARDED)
    combined = await _combined(hub, caller, live, every=True)
    names = await _names(hub, caller, live)
    item = tuple(sorted(part.strip() for part in request.item.split(",")))
    for candidate in combined.candidates:
        if tuple(sorted(candidate.item)) == item:
            is_searched = live.named.entries.issuperset(item)
            places = live.named if is_searched else NamedPlaces()
            [placed_candidate] = await _placed(hub, caller, live, (candidate,), places)
            return names.candidate(placed_candidate)
    raise RefusedError(Refusal.UNKNOWN, f"no server named {request.item!r}", field="item")


def first_line(text: str) -> str:
    """Return the first line of a text as its title."""
    return text.strip().partition("\n")[0][:MOST_TITLE].strip()


async def _options(hub: HubContext, caller: Caller, request: NewRequest) -> RequestOptions:
    """Return a request's options; `RefusedError` for those that cannot be used."""
    sources = [bool(request.article.strip()), bool(request.text.strip()), bool(request.content)]
    if sum(sources) != 1:
        message = "expected exactly one of article, text and content"
        raise RefusedError(Refusal.INVALID, message, field="article")
    for task in request.tasks:
        require_one_of(task, answered_tasks(), "tasks")
    limit = hub.settings.limits.timeout
    deadline = min(DEADLINE, limit) if request.deadline is None else request.deadline
    if deadline > limit:
        raise RefusedError(Refusal.INVALID, f"at most {limit:g} seconds", field="deadline")
    check_method(request.method, request.threshold, hub.part(CurationParts).models)
    by_name = await _named(hub, caller, request)
    return RequestOptions(
        tasks=request.tasks,
        servers=tuple(by_name[name] for name in request.servers),
        deadline=deadline,
        method=request.method,
        weights={by_name[name]: weight for name, weight in request.weights.items()},
        threshold=request.threshold,
        cutoff=request.cutoff,
    )


async def _article(hub: HubContext, caller: Caller, request: NewRequest) -> FileArticle:
    """Return a request's article, of at most `curation.text_bytes`; else `RefusedError`."""
    limit = hub.settings.curation.text_bytes
    if request.article.strip():
        file_article = await _stored(hub, plain_id(request.article))
    elif request.content:
        file_article = await read_article(
            hub.part(CurationParts).pdfs, request.content, request.source, limit, caller.aside
        )
    else:
        text = request.text.replace("\r\n", "\n").replace("\r", "\n")
        file_article = FileArticle(article=Article(id=ArticleId(""), text=text))
    text = file_article.article.text
    size = await asyncio.to_thread(lambda: len(text.encode("utf-8", "surrogatepass")))
    if size > limit:
        message = f"{size:,} bytes of text; at most {limit:,} are taken"
        raise RefusedError(Refusal.TOO_LARGE, message)
    return file_article


async def _stored(hub: HubContext, article: str) -> FileArticle:
    """Return an article of a closed phase, or of a source; `RefusedError` if there is none.

    An article in another phase too is refused in the same words as an article in no phase.
    """
    parts = hub.part(CurationParts)
    article_found = parts.rules.published(article)
    guarded = await parts.guarded.holds(frozenset(), article)
    sources = hub.settings.curation.sources
    if article_found is None and sources and not guarded:
        limit = hub.settings.curation.text_bytes
        fetched = await fetch(hub.servers.client, parts.pdfs, sources, article, limit)
        calls_itself = (fetched.article.id, *fetched.publication.ids)
        await parts.guarded.require_free("", *calls_itself)
        return with_id(fetched, article)
    if article_found is None or guarded:
        raise not_there(article)
    corpus, position = article_found.corpus, article_found.position
    [text] = await hub.store.article_texts(corpus.id, range(position, position + 1))
    async with hub.store.reading() as connection:
        [listed] = await articles.list_page(connection, corpus.id, position, 1)
    return FileArticle(article=Article(id=ArticleId(article), text=text, title=listed.title))


async def _named(hub: HubContext, caller: Caller, request: NewRequest) -> Mapping[str, ServerName]:
    """Return the servers that a request names by the names they are shown by; `RefusedError`."""
    if not (request.servers or request.weights):
        return {}
    async with hub.store.reading() as connection:
        registered = await servers.list_all(connection)
    serving = {
        server.server.name: server.team or ""
        for server in registered
        if server.retired_at is None and server.serves_curators
    }
    by_shown = (await CuratorNames.of(hub, caller, serving)).by_shown()
    for field, names in (("servers", request.servers), ("weights", tuple(request.weights))):
        for name in names:
            if name not in by_shown:
                message = f"there is no server {name!r} that serves curators"
                raise RefusedError(Refusal.UNKNOWN, message, field=field)
    return by_shown


async def _ended(hub: HubContext, live: LiveRequest, seconds: float) -> None:
    """Wait for a request's end, so many seconds at most."""
    try:
        async with asyncio.timeout(seconds):
            while live.state in UNFINISHED and not hub.part(CurationParts).requests.closed:
                await live.changed.wait()
    except TimeoutError:
        pass


async def own_request(hub: HubContext, caller: Caller, key: str) -> LiveRequest:
    """Return a request of the caller's token; `RefusedError` for any other."""
    live = await hub.part(CurationParts).requests.get(key)
    if live is None or not (caller.organiser or live.stored.token_id == caller.token_id):
        raise RefusedError(Refusal.UNKNOWN, f"there is no request {key}", field="request")
    return live


def token_of(caller: Caller) -> int:
    """Return the token that a caller's requests belong to; `RefusedError` without one."""
    if caller.token_id is None:
        raise RefusedError(Refusal.TOKEN, "requests belong to a token: send one")
    return caller.token_id


async def _combined(
    hub: HubContext, caller: Caller, live: LiveRequest, *, every: bool = False
) -> FoundCandidates:
    answers, models = list(live.answers), hub.part(CurationParts).models
    return await caller.aside(
        find, live.stored, answers, models, changed=models.changed, every=every
    )


async def _found(hub: HubContext, caller: Caller, live: LiveRequest) -> FoundCandidates:
    """Return the candidates that are listed, with their places."""
    combined = await _combined(hub, caller, live)
    candidates = await _placed(hub, caller, live, combined.candidates, live.named)
    return msgspec.structs.replace(combined, candidates=candidates)


async def _placed(
    hub: HubContext,
    caller: Caller,
    live: LiveRequest,
    candidates: tuple[ConsensusCandidate, ...],
    places: NamedPlaces,
) -> tuple[ConsensusCandidate, ...]:
    """Return candidates with places, also those that no server showed in the text."""
    if all(candidate.mentions for candidate in candidates):
        return candidates
    proteins = hub.part(CurationParts).proteins(live.stored.release)
    packed = live.stored.text

    def place() -> tuple[ConsensusCandidate, ...]:
        return placed(candidates, unpack(packed).decode("utf-8", "surrogatepass"), proteins, places)

    async with live.placing:  # who waits for the same names has them then
        return await caller.aside(place)


async def _names(hub: HubContext, caller: Caller, live: LiveRequest) -> CuratorNames:
    teams = {server.server: server.team for server in live.servers.values()}
    return await CuratorNames.of(hub, caller, teams)


async def _detail(hub: HubContext, caller: Caller, live: LiveRequest) -> RequestDetail:
    """Return a request; its version is that of the servers and candidates in it, or older.

    While a phase with its article is not closed, it has no candidates, and counts no hits.
    """
    version, state, message, settled = live.version, live.state, live.message, live.settled
    names = await _names(hub, caller, live)
    servers_asked = names.asked(live.servers.values())
    withheld = await is_withheld(hub, caller, live)
    candidates_found = (
        FoundCandidates() if withheld else names.found(await _found(hub, caller, live))
    )
    if withheld:
        servers_asked = tuple(msgspec.structs.replace(server, hits=0) for server in servers_asked)
    stored = live.stored
    uploaded = await caller.aside(stored_voice, stored)
    return RequestDetail(
        request=stored.id,
        article=stored.article,
        title=stored.title,
        publication=stored.options.publication,
        length=stored.length,
        notice=NOTICE if stored.options.from_pdf else "",
        state=state,
        message=GUARDED if withheld else message,
        version=version,
        asked_at=stored.at,
        deadline_at=live.deadline_at,
        expires_at=stored.expires_at,
        release=stored.release,
        settled=settled,
        methods=candidates_found.methods,
        differences=candidates_found.differences,
        servers=servers_asked,
        uploaded=None if uploaded is None or withheld else uploaded.voice,
        candidates=candidates_found.candidates,
        relevant=candidates_found.relevant,
    )
