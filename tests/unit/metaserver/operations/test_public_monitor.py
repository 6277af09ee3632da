from dataclasses import replace

import msgspec

from metaserver.base.boards import BoardRow
from metaserver.base.records import ServerName
from metaserver.base.states import ServerState
from metaserver.base.viewer import ANYBODY, Viewer
from metaserver.operations.visibility import PublicMonitor
from tests.unit.metaserver.web.challenge import Challenge

OWN = "Team 14"


def shown(monitor, viewer):
    return PublicMonitor(lambda server: server.partition(" · ")[0])(monitor, viewer)


def test_anybody_sees_names_states_and_outcomes_but_no_message_and_no_address():
    monitor = Challenge().monitor()
    public = shown(monitor, ANYBODY)
    assert [one.name for one in public.servers] == [one.name for one in monitor.servers]
    assert [one.state for one in public.servers] == [one.state for one in monitor.servers]
    assert [one.outcome for one in public.errors] == [one.outcome for one in monitor.errors]
    assert {one.address for one in public.servers} == {one.message for one in public.errors} == {""}
    told = {one.state for one in public.servers if one.note}
    assert told <= {ServerState.WAITING, ServerState.UP, ServerState.SLOW, ServerState.FINISHED}


def test_a_team_sees_the_messages_of_its_own_servers():
    monitor = Challenge().monitor()
    own = shown(monitor, Viewer(team=OWN))
    for before, after in zip(monitor.errors, own.errors, strict=True):
        assert (after == before) is (before.server.startswith(OWN))
    [server] = [one for one in own.servers if one.name.startswith(OWN)]
    assert server.note == "6 failures running; next probe in 40 s"


def test_organisers_see_all():
    monitor = Challenge().monitor()
    assert shown(monitor, Viewer(organiser=True)) is monitor


def test_a_row_that_has_not_changed_is_the_same_one_again():
    monitor = Challenge().monitor()
    public = PublicMonitor(lambda server: "")
    first, second = public(monitor, ANYBODY), public(monitor, ANYBODY)
    assert all(a is b for a, b in zip(first.servers, second.servers, strict=True))


def test_a_hidden_name_conceals_every_text_that_is_not_let_through():
    row = BoardRow(
        place=1, articles_scored=3, articles_in_gold=4, values={"f": 0.5}, **texts(BoardRow)
    )
    found = row.anonymous("run", "team")
    assert found == msgspec.structs.replace(row, run="run", team="team", title="", protocol="")
    error = replace(Challenge().monitor().errors[0], message="a secret")
    assert error.public(error.server) == replace(error, message="")
    status = replace(Challenge().monitor().servers[0], address="a secret", protocol="a secret")
    public = status.public(ServerName("server"), note="", protocol="")
    assert public == replace(status, name="server", address="", note="", protocol="")


def texts(kind):
    """Return a secret for each text that a struct has."""
    return {one.name: "a secret" for one in msgspec.structs.fields(kind) if one.type is str}
