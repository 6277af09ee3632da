"""A frame that replaces what a key or pointer is about to use, or uses, takes nothing from it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.console import OrganisedHub
from tests.browser.visiting import live, signed_in

pytestmark = pytest.mark.slow

BY = {"blue-1": "key", "blue-2": "pointer"}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OrganisedHub]:
    with OrganisedHub(tmp_path_factory.mktemp("hub")) as hub:
        for name in BY:
            hub.tested(name)
        yield hub


def test_enter_follows_a_link_that_was_replaced_under_the_focus(hub, visits):
    page = live(signed_in(hub, visits, "/organise"))
    page.get_by_role("link", name="Test phase", exact=True).focus()
    hub.ask("phases.update", phase="test", title="Another title")
    expect(page.get_by_role("link", name="Another title", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/organise/phases/test")


@pytest.mark.parametrize("name", BY, ids=BY.values())
def test_a_press_acts_if_its_button_is_replaced_before_the_release(hub, visits, name):
    hub.token = hub.ask("tokens.create", team="blue", role="team", label=name).token
    page = live(signed_in(hub, visits, "/team/servers"))
    other = visits.again(page.context)
    other.goto(page.url)
    live(other)
    button = page.get_by_role("button", name=f"Start {name}")
    page.bring_to_front()
    button.focus()
    button.hover()
    with page.expect_response("**/start"):
        page.keyboard.down("Space") if BY[name] == "key" else page.mouse.down()
        hub.ask_as_team("servers.next", server=name)
        expect(other.get_by_role("region", name=name)).to_contain_text("1/32")
        page.keyboard.up("Space") if BY[name] == "key" else page.mouse.up()
    expect(page.get_by_role("region", name=name)).to_contain_text("finished")
