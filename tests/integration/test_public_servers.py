"""Public annotators of BioC and PubAnnotation work unmodified; none of their code is here."""

import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

import pytest
from aiohttp import web
from bioc import BioCAnnotation, BioCLocation, biocjson, biocxml  # type: ignore[import-untyped]

from metaserver.base.records import Server
from metaserver.base.states import Outcome
from tests.fakes.pubannotation import NAMES
from tests.fakes.web_peer import web_peer
from tests.integration.callers import article_caller, conformance_of, server

TASKS = ("INT", "NER")
TEXTS = {
    "plain": "TP53 interacts with BRCA1.",
    "markup": "if 1 < 2 && 3 > 2\nthen <i>TP53</i> &amp; BRCA1 + 100 % ]]>",
    "letters": "Ä 𝛼 中文 TP53\nΕλληνικά BRCA1",
    "space": "  TP53\n\n\tbinds  BRCA1 \n",
}


def found_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield each name at the first place where it stands."""
    for name in ("TP53", "BRCA1", "MDM2"):
        if (at := text.find(name)) >= 0:
            yield at, name


async def oger(request: web.Request) -> web.Response:
    """Behave as OGER (2020): BioC in XML comes back annotated, in the form that the path names."""
    _, _, wanted = request.path.partition("/upload/bioc/")
    if wanted not in ("bioc", "bioc_json"):
        return web.Response(status=404, text="<h1>Invalid resource</h1>", content_type="text/html")
    collection = biocxml.loads((await request.read()).decode())
    for document in collection.documents:
        numbers = itertools.count(1)
        for passage in document.passages:
            for at, name in found_in(passage.text or ""):
                passage.add_annotation(_term(next(numbers), passage.offset + at, name))
    if wanted == "bioc":
        return web.Response(text=biocxml.dumps(collection), content_type="text/xml")
    return web.Response(text=biocjson.dumps(collection), content_type="application/json")


def _term(number: int, at: int, name: str) -> BioCAnnotation:
    term = BioCAnnotation()
    term.id, term.text = str(number), name
    term.add_location(BioCLocation(at, len(name)))
    term.infons = {
        "type": "gene/protein",
        "preferred_form": name.lower(),
        "original_resource": "Swiss-Prot",
        "native_id": NAMES[name],
        "umls_cui": "",
    }
    return term


class PubDictionaries:
    """Behaves as PubDictionaries (2026): it answers a form at once, JSON by a task."""

    def __init__(self) -> None:
        self._results: list[Any] = []
        self._looks: list[int] = []

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request."""
        kind, *rest = request.path.strip("/").split("/")
        if rest and kind == "annotation_tasks":
            return self._task(request, int(rest[0]))
        if kind == "annotation_results":
            number = int(rest[0].removeprefix("annotation-").removesuffix(".json"))
            result, self._results[number] = self._results[number], None
            return web.Response(status=410) if result is None else web.json_response(result)
        if not request.query.get("dictionary"):
            return _wrong("At least one dictionary has to be specified for annotation.")
        form = request.content_type == "application/x-www-form-urlencoded"
        target = dict(await request.post()) if form else json.loads(await request.read())
        if not target.get("text", "").strip():
            return _wrong("No text was supplied.")
        if kind == "text_annotation.json":
            return web.json_response(_denoted({"text": target["text"]}))
        self._results.append(_denoted(target))
        self._looks.append(0)
        place = request.url.origin() / "annotation_tasks" / str(len(self._looks) - 1)
        return web.json_response(
            {"status": "IN_QUEUE", "ETR": 0.01}, status=201, headers={"Location": str(place)}
        )

    def _task(self, request: web.Request, number: int) -> web.Response:
        self._looks[number] += 1
        if self._looks[number] == 1:
            return web.json_response({"status": "IN_PROGRESS", "ETR": 0.01})
        place = request.url.origin() / "annotation_results" / f"annotation-{number}.json"
        return web.json_response({"status": "DONE", "result_location": str(place)})


def _denoted(target: dict[str, Any]) -> dict[str, Any]:
    """Add denotations to what was sent: without ids, each with the string and a score."""
    denotations = [
        {
            "span": {"begin": at, "end": at + len(name)},
            "obj": f"http://www.uniprot.org/uniprot/{NAMES[name]}",
            "score": 1,
            "string": name,
        }
        for at, name in found_in(target["text"])
    ]
    return target | {"denotations": denotations}


def _wrong(message: str) -> web.Response:
    return web.json_response({"message": message}, status=400)


class Program(NamedTuple):
    """A public annotator: how it behaves, where, how it is registered, and how it refuses."""

    begin: Callable[[], Callable[[web.Request], Awaitable[web.StreamResponse]]]
    path: str
    wrong_path: str
    refusal: tuple[Outcome, str]
    options: dict[str, str]

    def at(self, url: str) -> Server:
        return server(url, tasks=TASKS, **self.options)


XML = {"protocol": "bioc", "options": "format = xml\nid_keys = native_id"}
FORM = {"protocol": "pubannotation", "options": "body = form"}
TASK = {"protocol": "pubannotation", "options": "looks_a_second = 20"}
NO_PLACE = (Outcome.HTTP, "404")
NO_DICTIONARY = (Outcome.FAULT, "400: At least one dictionary has to be specified")
PROGRAMS = {
    "oger-xml": Program(lambda: oger, "upload/bioc/bioc", "upload/x/bioc", NO_PLACE, XML),
    "oger-json": Program(lambda: oger, "upload/bioc/bioc_json", "upload/x/bioc", NO_PLACE, XML),
    "pubdictionaries-form": Program(
        lambda: PubDictionaries().handle,
        "text_annotation.json?dictionary=uniprot",
        "text_annotation.json",
        NO_DICTIONARY,
        FORM,
    ),
    "pubdictionaries-task": Program(
        lambda: PubDictionaries().handle,
        "annotation_tasks.json?dictionary=uniprot",
        "annotation_tasks.json",
        NO_DICTIONARY,
        TASK,
    ),
}
SLOW = "pubdictionaries-task"  # each of its articles is first looked for after a second
pytestmark = pytest.mark.parametrize(
    "program",
    [
        pytest.param(program, id=name, marks=[pytest.mark.slow] * (name == SLOW))
        for name, program in PROGRAMS.items()
    ],
)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_a_public_server_finds_the_names_at_their_places(program: Program, text: str) -> None:
    async with web_peer(program.begin()) as url, article_caller(text) as caller:
        ended, answer = await caller.call(program.at(url + program.path), 0, 1)
    assert ended.outcome is Outcome.OK, ended.message
    assert answer is not None
    assert [hit[0] for hit in answer.payloads["INT"]] == ["P04637", "P38398"]
    mentions = [(at, words) for at, words, _ in answer.payloads["NER"]]
    assert mentions == list(found_in(text))


async def test_what_a_public_server_refuses_is_no_answer(program: Program) -> None:
    async with web_peer(program.begin()) as url, article_caller() as caller:
        ended, answer = await caller.call(program.at(url + program.wrong_path), 0, 1)
    outcome, message = program.refusal
    assert (ended.outcome, answer) == (outcome, None)
    assert message in ended.message


async def test_a_public_server_passes_the_whole_test(program: Program) -> None:
    async with web_peer(program.begin()) as url:
        run = await conformance_of(program.at(url + program.path))
    assert run.passed, run.reasons()
