"""Anything sent to any operation is done or refused: never the hub's own fault."""

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode
from xmlrpc.client import Fault, loads

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from yarl import URL

from metaserver.base.states import Role
from metaserver.cli.catalogue import OPERATIONS
from metaserver.config import WebSettings
from metaserver.exchange.wire.values import EncodeError
from metaserver.exchange.wire.xmlrpc import encode_call
from metaserver.operations.outline import Outline, Parameter, ValueKind
from metaserver.store import tokens
from tests.hubs.inside import plan_phase
from tests.hubs.thread import HubThread
from tests.waiting import PATIENCE

ENDS = {"teams.retire", "servers.retire", "phases.close", "phases.freeze", "tokens.revoke"}
"""After these little could be asked any more."""
OUTLINES = {
    name: Outline.of(operation) for name, operation in OPERATIONS.items() if name not in ENDS
}
EXAMPLES = 1_200
KNOWN = {
    "server": ["blue-1"], "team": ["blue"], "phase": ["test"], "task": ["INT", "ACT"],
    "challenge": ["bc"], "corpus": ["demo", "demo@1"], "release": ["test"], "article": ["1", "2"],
    "url": ["http://127.0.0.1:1/"], "timezone": ["Europe/Madrid", "."], "run": ["r1"],
    "opens": ["2026-01-01", "0001-01-01T00:00+14:00", ""], "closes": ["9999-12-31T23:59-12:00"],
    "source": ["gold.tsv", "../x.zip"], "webhook": ["http://127.0.0.1:1/"],
}  # fmt: skip
"""Values that mean something, so that more than the check of the values is reached."""

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
fitting = {
    ValueKind.TEXT: st.text(max_size=30),
    ValueKind.INTEGER: st.integers(min_value=-1, max_value=3) | st.integers(),
    ValueKind.NUMBER: st.floats() | st.integers(),
    ValueKind.TRUTH: st.booleans(),
    ValueKind.FILE: st.binary(max_size=60).map(lambda content: content.hex()),
    ValueKind.STRUCT: st.dictionaries(st.text(max_size=8), junk, max_size=3),
    ValueKind.ANY: junk,
}


def value_of(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Return values of a parameter: those that mean something the most often."""
    one = fitting[parameter.kind]
    if parameter.choices:
        one = st.sampled_from(parameter.choices) | one
    if parameter.members:
        one = st.dictionaries(st.sampled_from(parameter.members), junk, max_size=3) | one
    if parameter.name in KNOWN:
        known = st.sampled_from(KNOWN[parameter.name])
        one = known | known | known | known | one
    if parameter.many:
        return st.lists(one, max_size=3) | st.lists(one, max_size=1) | one | junk
    return one | one | one | junk


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return an operation's name and values for it, most of them of the right type."""
    outline = OUTLINES[draw(st.sampled_from(sorted(OUTLINES)))]
    values = {
        parameter.name: draw(value_of(parameter))
        for parameter in outline.parameters
        if parameter.in_path
        or (parameter.required and draw(st.integers(0, 9)))
        or not draw(st.integers(0, 3))
    }
    return outline.name, values


class FuzzedHub(HubThread):
    """A hub with a phase and a team's server, and an organiser's token."""

    async def fill(self) -> None:
        await plan_phase(self.running, teams=["blue"])
        server = {"server": "blue-1", "url": "http://127.0.0.1:1/", "team": "blue"}
        await self.running.do("servers.register", **server)
        async with self.running.service.store.writing() as connection:
            _, self.token = await tokens.issue(connection, Role.ORGANISER, "ana")

    def send(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(URL(self.url).authority, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzedHub]:
    folder = tmp_path_factory.mktemp("hub")
    with FuzzedHub(folder, web=WebSettings(requests_a_minute=10**6)) as hub:
        yield hub


@pytest.mark.nightly
# The hub, in its own thread, draws random numbers meanwhile: none of ours.
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")
@bounds(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example(("teams.create", {"team": "x\x00"}))
@example(("audit.list", {"before": 2**63 - 1, "limit": 1}))
@example(("phases.update", {"phase": "test", "closes": "9999-12-31T23:59-12:00"}))
@example(("servers.attempts", {"server": "blue-1", "since": 1e308}))
@given(asked())
def test_nothing_sent_is_the_hubs_fault(hub: FuzzedHub, sent: tuple[str, dict[str, Any]]) -> None:
    name, values = sent
    outline = OUTLINES[name]
    places = {given.name: quote(str(values[given.name]).encode("utf-8", "replace"), safe="")
              for given in outline.in_path}  # fmt: skip
    rest = {key: value for key, value in values.items() if key not in places}
    path, body = f"/api/v1{outline.path.format_map(places)}", None
    if outline.method == "GET":
        query = {key: str(value).encode("utf-8", "replace") for key, value in rest.items()}
        path += f"?{urlencode(query)}"
    else:
        body = json.dumps(rest).encode()
    status, told = hub.send(outline.method, path, body, "application/json")
    assert status < 500, told
    assert status == 204 or json.loads(told) is not None
    call_by_xmlrpc(hub, outline, values)


def call_by_xmlrpc(hub: FuzzedHub, outline: Outline, values: dict[str, Any]) -> None:
    params = [*([hub.token] if outline.role else []), *(values[p.name] for p in outline.in_path)]
    rest = {given.name: values[given.name] for given in outline.by_name if given.name in values}
    try:
        body = encode_call(outline.rpc, [*params, *([rest] if rest else [])], nil=True)
    except EncodeError:
        return
    status, told = hub.send("POST", "/xmlrpc/", body, "text/xml")
    assert status == 200
    code = 0
    try:
        loads(told)
    except Fault as fault:
        code = fault.faultCode
    assert code != -32603, told
