"""The curator's page in a browser: an article by keys, offline, in two tabs, on a phone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from metaserver.base.states import Role
from metaserver.curation.operations.curation_view import CurationDetail
from metaserver.operations.caller import Caller
from tests.browser.conftest import Visits
from tests.browser.curating import HOSTILE, PROTEINS, TITLE, CuratorHub, article, asked

pytestmark = pytest.mark.slow

COUNT = 30
REFUSED = re.compile(r"status of (409|422)|ERR_INTERNET_DISCONNECTED|ERR_FAILED")

SELECT = """(start) => {
  const words = document.createTreeWalker(
    document.querySelectorAll("#article p")[2], NodeFilter.SHOW_TEXT).nextNode();
  getSelection().setBaseAndExtent(words, start, words, start + 4);
}"""


@pytest.fixture(scope="module")
def asked_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CuratorHub]:
    with CuratorHub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.fixture
def hub(asked_hub: CuratorHub) -> CuratorHub:
    """The hub of this module, whose servers answer at once and with all candidates."""
    asked_hub.answers(article(), {"fast": range(COUNT), "slow": range(5, COUNT)})
    asked_hub.let_go("fast", "slow")
    return asked_hub


def detail_of(hub: CuratorHub, page: Page) -> CurationDetail:
    """Return the curation of a page as the hub has it."""
    caller = Caller(role=Role.CURATOR, token_id=hub.token_id, name="curator ana")
    key = page.url.partition("/curations/")[2].partition("/")[0].partition("#")[0]
    found: CurationDetail = hub.do(hub.running.do("curation.get", caller, curation=key))
    return found


def decisions(detail: CurationDetail, decision: str, task: str = "INT") -> set[tuple[str, ...]]:
    return {one.item for one in detail.decisions if (one.decision, one.task) == (decision, task)}


def opened(hub: CuratorHub, visits: Visits, text: str = "", **options: Any) -> Page:
    """Ask about an article, and return its page with all candidates on it."""
    page: Page = asked(hub, visits, text or article(), **options)
    expect(page.locator("#list-INT > li")).to_have_count(COUNT)
    expect(page.locator("#left")).to_have_text("2 of 2 servers")
    return page


KEPT = """(count) => new Promise((resolve) => {
  const opening = indexedDB.open("curations");
  opening.onsuccess = () => {
    const kept = opening.result.transaction("events").objectStore("events").count();
    kept.onsuccess = () => resolve(kept.result === count);
  };
})"""


def saved(page: Page) -> None:
    expect(page.locator("#told")).to_contain_text("Saved")


def selected(page: Page) -> str:
    return page.locator("section.task:not([hidden]) [aria-selected=true] .acc").inner_text()


def test_an_article_by_keyboard_alone(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits, viewport={"width": 1360, "height": 900})
    keys = page.keyboard
    expect(page.locator("#list-INT > li").first).to_be_focused()
    order = page.locator("#list-INT .acc").all_inner_texts()
    for number in range(COUNT):
        assert selected(page) == order[number]
        if number % 3 == 0:
            keys.press("n")
            keys.press("e")
        if number == 1:
            keys.press("r")
            expect(page.get_by_role("dialog")).to_contain_text("Why is")
            begin, end = page.evaluate(
                "[document.querySelector('#chooser').getBoundingClientRect().left,"
                " document.querySelector('#article').getBoundingClientRect().right]"
            )
            assert begin > end  # it is beside the article
            keys.press("f")
        else:
            keys.press("x" if number % 5 == 1 else "a")
    expect(page.locator("#announce")).to_contain_text("Every candidate of this task")
    rejected = {(order[number],) for number in range(COUNT) if number % 5 == 1}
    saved(page)
    detail = detail_of(hub, page)
    assert decisions(detail, "rejected") == rejected
    assert len(decisions(detail, "accepted")) == COUNT - len(rejected)
    decided = {one.item[0]: one for one in detail.decisions}
    assert decided[order[1]].reason == "family"
    for number in (0, 3):
        [(start, end)] = decided[order[number]].evidence
        symbol = dict(PROTEINS)[order[number]]
        assert symbol in detail.text[start:end]
        assert detail.text[end - 1] == "."

    keys.press("u")
    keys.press("u")
    expect(page.locator("#progress")).not_to_contain_text(f"{COUNT} of")
    keys.press("U")
    keys.press("U")
    keys.press("t")
    expect(page.locator("#relevance")).to_have_text("relevant")
    keys.press("+")
    other = PROTEINS[COUNT]
    keys.type(other[1])
    expect(page.locator("#chooser-options li").first).to_contain_text(other[0])
    keys.press("Enter")
    expect(page.locator("[aria-selected=true] .acc").first).to_have_text(other[0])
    keys.press("m")
    keys.press("ArrowUp")
    keys.press("m")
    keys.press("i")
    keys.press("d")
    keys.type("pull down")
    expect(page.locator("#chooser-options li").first).to_contain_text("MI:0096")
    keys.press("Enter")
    expect(page.locator("#standing")).to_contain_text("pull down")  # the dialog has gone
    keys.press("y")
    keys.type("MI:0407")
    expect(page.locator("#chooser-options li")).to_have_count(1)
    keys.press("Enter")
    expect(page.locator("#standing")).to_have_text("accepted · pull down · direct interaction")
    keys.press("w")
    keys.press("?")
    shown = page.get_by_role("dialog", name="Keys")
    expect(shown).to_contain_text("accept, and go on")
    expect(shown.get_by_role("heading")).to_be_in_viewport()
    keys.press("Escape")
    saved(page)
    detail = detail_of(hub, page)
    assert decisions(detail, "rejected") == rejected
    assert (other[0],) in decisions(detail, "accepted")
    assert detail.relevant is True
    [pair] = [one for one in detail.decisions if one.task == "IPT" and one.by_hand]
    assert other[0] in pair.item
    assert (pair.method, pair.type) == ("MI:0096", "MI:0407")
    left = [one for one in detail.undecided if one.task == "IPT"]
    assert left
    keys.press("Control+Enter")
    page.wait_for_url("**/submit")
    expect(page.locator("main")).to_contain_text(f"{len(left)} without a decision")
    expect(page.get_by_role("button", name="Submit without them")).to_be_focused()
    keys.press("Enter")
    page.wait_for_url(re.compile(r"/curations/[0-9a-f]{16}$"))
    expect(page.locator("#told")).to_contain_text("submitted")
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON, all that is known").click()
    assert other[0] in Path(download.value.path()).read_text("utf-8")


def test_proteins_and_pairs_know_of_each_other(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits)
    keys = page.keyboard
    keys.press("i")
    accession, other = selected(page).split(" – ")
    symbols = [dict(PROTEINS)[one] for one in (accession, other)]
    keys.press("n")
    keys.press("e")  # no server gave evidence of a pair: a sentence that names both
    chosen = page.locator("#quotes [aria-pressed=true]")
    for symbol in symbols:
        expect(chosen).to_contain_text(symbol)
    keys.press("i")
    keys.press("i")
    while selected(page) != accession:
        keys.press("ArrowDown")
    keys.press("x")
    expect(page.locator("#announce")).to_contain_text(re.compile(r"rejected. X: its \d pairs? too"))
    keys.press("X")
    saved(page)
    detail = detail_of(hub, page)
    assert decisions(detail, "rejected") == {(accession,)}
    lost = decisions(detail, "rejected", "IPT")
    assert tuple(sorted((accession, other))) in lost
    assert all(accession in one for one in lost)
    keys.press("u")
    saved(page)
    detail = detail_of(hub, page)
    assert not decisions(detail, "rejected") | decisions(detail, "rejected", "IPT")
    keys.press("U")
    keys.press("i")
    keys.press("a")
    asked_ = page.get_by_role("dialog")
    expect(asked_).to_contain_text("Accept with the pair?")
    keys.press("n")
    keys.press("a")
    keys.press("y")
    saved(page)
    assert (accession,) in decisions(detail_of(hub, page), "accepted")


def test_offline_and_back(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits)
    page.keyboard.press("a")
    saved(page)
    page.context.set_offline(True)
    page.keyboard.press("x")
    page.keyboard.press("a")
    expect(page.locator("#alarm")).to_contain_text("The hub does not answer")
    expect(page.locator("#told")).to_contain_text("2 not saved yet")
    assert len(detail_of(hub, page).decisions) == 1
    asks: list[str] = []
    page.on("dialog", lambda dialog: (asks.append(dialog.type), dialog.accept()))
    address = page.url
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    assert asks == ["beforeunload"]
    visits.problems.clear()
    again = visits.again(page.context)
    page.context.set_offline(False)
    again.goto(address)
    saved(again)
    detail = detail_of(hub, again)
    assert (len(decisions(detail, "accepted")), len(decisions(detail, "rejected"))) == (2, 1)
    expect(again.locator("#list-INT [data-decision=rejected]")).to_have_count(1)


def test_a_refused_decision_blocks_no_other(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits)
    page.context.set_offline(True)
    page.keyboard.press("a")
    kept_note(page, "n" * 4_001)
    page.keyboard.press("u")  # it is undone, and done again: neither is of use without it
    page.keyboard.press("U")
    for key in "xaxa":
        page.keyboard.press(key)
    expect(page.locator("#told")).to_contain_text("8 not saved yet")
    page.wait_for_function(KEPT, arg=8)  # the browser has written them
    address, name = page.url, page.locator("#list-INT .called").nth(1).inner_text()
    page.close(run_before_unload=False)
    again = visits.again(page.context)
    page.context.set_offline(False)
    again.goto(address)
    saved(again)
    told = again.locator("#alarm")
    expect(told).to_contain_text(f"Not saved: note of {name}: ")
    expect(told).to_contain_text("4,000")
    detail = detail_of(hub, again)
    assert detail.seen == 5
    assert (len(decisions(detail, "accepted")), len(decisions(detail, "rejected"))) == (3, 2)
    again.keyboard.press("j")
    kept_note(again, "short")
    again.keyboard.press("a")
    saved(again)
    expect(told).to_contain_text("Not saved: note")  # the later ones leave it there
    again.reload()
    expect(again.locator("#told")).to_have_text("7 decisions kept")
    expect(told).to_be_hidden()
    again.keyboard.press("a")
    saved(again)
    assert detail_of(hub, again).seen == 8
    visits.problems = [told for told in visits.problems if not REFUSED.search(told)]


def test_what_cannot_be_saved_now_is_kept(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits)
    caller = Caller(role=Role.CURATOR, token_id=hub.token_id, name="curator ana")
    key = detail_of(hub, page).curation
    hub.do(hub.running.do("curation.submit", caller, curation=key, undecided=True))
    page.keyboard.press("a")
    expect(page.locator("#alarm")).to_contain_text("it is submitted: reopen it first. Load the")
    page.keyboard.press("x")
    hub.do(hub.running.do("curation.reopen", caller, curation=key))
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    saved(page)
    expect(page.locator("#alarm")).to_be_hidden()
    assert detail_of(hub, page).seen == 2
    visits.problems = [told for told in visits.problems if not REFUSED.search(told)]


def kept_note(page: Page, text: str) -> None:
    """Keep a note on the current candidate, also one that is longer than the field takes."""
    page.keyboard.press("o")
    field = page.locator("#chooser-text")
    field.fill(text)
    expect(field).to_have_value(text[:4_000])
    field.fill("")
    expect(page.locator("#chooser-options")).to_be_hidden()
    field.evaluate("(field) => field.removeAttribute('maxlength')")
    field.fill(text)
    expect(page.locator("#chooser-options")).to_contain_text("Keep this note")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_item_has_as_many_passages_as_the_hub_takes(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits)
    for start in range(51):
        page.evaluate(SELECT, start)
        page.keyboard.press("e")
    expect(page.locator("#announce")).to_have_text("An item has at most 50 passages.")
    saved(page)
    [one] = detail_of(hub, page).decisions
    assert len(one.evidence) == 50
    expect(page.locator("#alarm")).to_be_hidden()


def test_two_tabs_know_of_each_other(hub: CuratorHub, visits: Visits) -> None:
    one = opened(hub, visits)
    two = visits.again(one.context)
    two.goto(one.url)
    expect(two.locator("#list-INT > li")).to_have_count(COUNT)
    two.bring_to_front()
    two.keyboard.press("x")
    saved(two)
    rejected = two.locator("#list-INT [data-decision=rejected] .acc").inner_text()
    one.bring_to_front()
    one.keyboard.press("j")
    one.keyboard.press("a")
    saved(one)
    expect(one.locator("#announce")).to_contain_text("1 decision of another page")
    expect(one.locator("#list-INT [data-decision=rejected] .acc")).to_have_text(rejected)
    detail = detail_of(hub, one)
    assert decisions(detail, "rejected") == {(rejected,)}
    assert len(decisions(detail, "accepted")) == 1
    visits.problems = [told for told in visits.problems if not REFUSED.search(told)]


def test_late_answers_move_nothing(hub: CuratorHub, visits: Visits) -> None:
    hub.hold("slow")
    hub.answers(article(), {"fast": range(10), "slow": [*range(12, 20), *range(9, 4, -1)]})
    page: Page = asked(hub, visits, article(), viewport={"width": 1360, "height": 900})
    expect(page.locator("#list-INT > li")).to_have_count(10)
    page.keyboard.press("a")
    page.keyboard.press("j")
    page.keyboard.press("n")
    assert page.evaluate("scrollY") == 0
    order = page.locator("#list-INT .acc").all_inner_texts()
    row = page.locator("#list-INT [aria-selected=true]")
    before, name = row.bounding_box(), row.locator(".acc").inner_text()
    text = page.locator("#article p").nth(3).bounding_box()
    hub.let_go("slow")
    expect(page.locator("#list-INT > li")).to_have_count(18)
    expect(page.locator("#news")).to_contain_text("12 new")
    assert page.locator("#list-INT .acc").all_inner_texts()[:10] == order
    assert (row.bounding_box(), row.locator(".acc").inner_text()) == (before, name)
    assert page.locator("#article p").nth(3).bounding_box() == text
    expect(page.locator("#list-INT > li").nth(12).get_by_text("new")).to_be_visible()
    page.keyboard.press("g")
    found = page.locator("#list-INT .acc").all_inner_texts()
    place = order.index(name)
    assert found[: place + 1] == order[: place + 1]
    ranks = page.locator("#list-INT > li").evaluate_all(
        "rows => rows.map((row) => +row.dataset.rank)"
    )
    assert ranks[place + 1 :] == sorted(ranks[place + 1 :])
    assert found[place + 1 :] != order[place + 1 :] + found[10:]
    saved(page)


def test_what_is_told_is_seen(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits, viewport={"width": 1360, "height": 900})
    told, first = page.locator("#announce"), page.locator("#list-INT > li").first
    page.keyboard.press("m")
    expect(told).to_contain_text("Mark the second with m")
    expect(told).to_be_in_viewport()
    assert not {"unseen"} & set((told.get_attribute("class") or "").split())
    page.keyboard.press("Escape")
    expect(first.locator(".said")).to_have_css("clip-path", "inset(50%)")  # the sign is enough
    page.keyboard.press("r")
    page.keyboard.press("f")
    expect(first.locator(".said")).to_have_text("rejected: family")
    expect(first.locator(".said")).to_have_css("clip-path", "none")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("o")
    page.keyboard.type("of two genes")
    expect(page.locator("#chooser-options li")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#standing")).to_have_text("rejected: family · note: of two genes")


def test_enter_takes_the_method_that_was_typed(hub: CuratorHub, visits: Visits) -> None:
    """Others have the words in them, such as *lambda repressor two hybrid*."""
    page = opened(hub, visits)
    page.keyboard.press("i")
    page.keyboard.press("d")
    page.keyboard.type("two-hybrid")
    page.keyboard.press("Enter")  # before the search has begun
    expect(page.locator("#standing")).to_contain_text(re.compile("· two hybrid( ·|$)"))


def test_a_pair_gets_the_experiment_of_the_pair_before_by_one_key(hub, visits):
    page = opened(hub, visits)
    keys = page.keyboard
    expect(page.locator("#list-INT > li").first).to_be_focused()
    keys.press("i")
    keys.press("d")
    keys.type("co-IP")
    keys.press("Enter")
    expect(page.locator("#standing")).to_contain_text("coimmunoprecipitation")
    expect(page.get_by_role("dialog")).to_have_count(0)
    keys.press("j")
    keys.press("=")
    expect(page.locator("#announce")).to_contain_text("as the pair before")
    saved(page)
    pairs = [one for one in detail_of(hub, page).decisions if one.task == "IPT"]
    assert [(one.method, len(one.experiments)) for one in pairs] == [("MI:0019", 1)] * 2
    keys.press("f")
    expect(page.get_by_role("heading", name="Experiment 1")).to_be_visible()
    expect(page.get_by_label("Detection method").first).to_have_value("coimmunoprecipitation")


def test_a_pair_is_added_from_the_pairs_by_number_and_by_name(hub, visits):
    page = opened(hub, visits)
    keys = page.keyboard
    expect(page.locator("#list-INT > li").first).to_be_focused()
    order = page.locator("#list-INT .acc").all_inner_texts()
    keys.press("i")
    count = page.locator("#list-IPT > li").count()
    keys.press("m")
    keys.press("2")
    expect(page.get_by_role("dialog")).to_contain_text("Itself: a homomer")
    keys.type(dict(PROTEINS)[order[20]])
    keys.press("Enter")
    expect(page.locator("#announce")).to_contain_text("pair added")
    item = tuple(sorted((order[1], order[20])))
    assert selected(page) == " – ".join(item)
    expect(page.locator("#list-IPT [aria-selected=true]")).to_be_focused()
    saved(page)
    assert decisions(detail_of(hub, page), "accepted", "IPT") == {item}
    keys.press("m")
    keys.press("2")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#list-IPT > li")).to_have_count(count + 1)


def test_what_is_typed_for_nothing_runs_no_commands(hub: CuratorHub, visits: Visits) -> None:
    """Its letters are commands: t, w, o."""
    hub.answers(article(), {"fast": [0], "slow": [0]})
    page = asked(hub, visits, article())
    expect(page.locator("#left")).to_have_text("2 of 2 servers")
    relevance = page.locator("#relevance").inner_text()
    for key in ("d", "y", "i", "o", "r"):
        page.keyboard.press(key)
        if key == "i":  # pairs: there are none
            continue
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.type("two hybrid")
        page.keyboard.press("Enter")
        expect(page.locator("#chooser-note")).to_have_text("Nothing found.")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#relevance")).to_have_text(relevance)
    assert not decisions(detail_of(hub, page), "accepted")


@pytest.mark.parametrize("focused", ["main", "chooser-text"])
def test_key_before_the_closing_of_a_dialog_is_heard_opens_the_next(hub, visits, focused):
    """The field of a closed dialog keeps the focus for a while if what had it before is hidden."""
    page = opened(hub, visits)
    page.keyboard.press("d")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.evaluate(
        """(focused) => new Promise((resolve) => {
          const dialog = document.getElementById("chooser");
          dialog.addEventListener("close", () => setTimeout(resolve), { once: true });
          dialog.close();  // as Escape does: its event comes later
          const key = { key: "d", bubbles: true };
          document.getElementById(focused).dispatchEvent(new KeyboardEvent("keydown", key));
        })""",
        focused,
    )
    expect(page.get_by_role("dialog")).to_be_visible()


def test_names_and_buttons_on_a_phone(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits, viewport={"width": 360, "height": 780})
    cut = """rows => rows.filter((row) => {
      const name = row.querySelector(".called").getBoundingClientRect();
      const room = row.querySelector(".named").getBoundingClientRect();
      return name.right > room.right || name.bottom > room.bottom + 1;
    }).length"""
    assert page.locator("#list-INT > li").evaluate_all(cut) == 0
    page.keyboard.press("i")
    assert page.locator("#list-IPT > li").evaluate_all(cut) == 0
    page.keyboard.press("i")
    page.keyboard.press("i")
    for name in ("Accept", "Reject"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
    page.locator("#list-INT > li").nth(2).click()
    page.get_by_role("button", name="Accept", exact=True).click()
    saved(page)
    assert len(detail_of(hub, page).decisions) == 1


def test_single_keys_can_be_switched_off(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits)
    page.get_by_label("Single keys").uncheck()
    page.locator("#list-INT > li").first.focus()
    page.keyboard.press("a")
    page.keyboard.press("ArrowDown")
    assert selected(page) == page.locator("#list-INT .acc").nth(1).inner_text()
    page.get_by_role("button", name="Accept", exact=True).click()
    saved(page)
    assert len(detail_of(hub, page).decisions) == 1
    page.reload()
    expect(page.get_by_label("Single keys")).not_to_be_checked()


def test_what_servers_and_articles_say_is_text(hub: CuratorHub, visits: Visits) -> None:
    text = f"{HOSTILE} {TITLE}\n\n{article()}\n\n{HOSTILE} </script><script>alert(2)</script>"
    given = hub.servers["fast"].answer
    given["normalizations"][0]["evidence"] = HOSTILE
    given["normalizations"][1]["evidence"] = "</script><script>alert(3)</script>"
    page = opened(hub, visits, text)
    expect(page.locator("h1")).to_contain_text("<img src=x")
    expect(page.locator("#article p").first).to_contain_text("onerror")
    assert page.locator("main img").count() == 0
    page.keyboard.press("o")
    page.keyboard.type(HOSTILE)
    expect(page.locator("#chooser-options li")).to_have_count(1)
    page.keyboard.press("Enter")
    saved(page)
    page.reload()
    expect(page.locator("#list-INT > li")).to_have_count(COUNT)
    assert page.locator("main img").count() == 0
    assert [one.note for one in detail_of(hub, page).decisions] == [HOSTILE]


WATCH = """() => {
  window.touched = window.painted = 0;
  const channel = new MessageChannel();
  channel.port1.onmessage = () => (painted += 1);
  const told = () => channel.port2.postMessage(0);
  addEventListener("keydown", () => requestAnimationFrame(told), true);
  new MutationObserver((changes) => (touched += changes.length))
    .observe(document.getElementById("article"), { subtree: true, attributes: true });
}"""


def test_a_long_article_with_many_marks(hub: CuratorHub, visits: Visits) -> None:
    text = article(lines=640)
    hub.answers(text, {"fast": range(COUNT), "slow": range(5, COUNT)})
    page = opened(hub, visits, text, viewport={"width": 1360, "height": 900})
    page.reload()
    assert page.locator("#article mark").count() > 1_800
    largest = max(
        page.locator(f'#article mark[data-c="{accession}"]').count()
        for accession, _ in PROTEINS[:COUNT]
    )
    page.evaluate(WATCH)
    keys = "ananeaxuUjjkkanppaxanaaxa"
    for number, key in enumerate(keys, 1):
        page.keyboard.press(key)
        page.wait_for_function("count => painted >= count", arg=number)
    # Those of the candidate that was left, and of the next; a frame for the mention.
    assert page.evaluate("touched") <= len(keys) * (2 * largest + 2)
    assert page.locator("#article mark.on").count() <= largest
    saved(page)


def test_rows_by_their_decision(hub: CuratorHub, visits: Visits) -> None:
    page = opened(hub, visits)
    for key in "axa":
        page.keyboard.press(key)
    rows = page.locator("#list-INT > li:visible")
    for shown, count in (("rejected", 1), ("accepted", 2), ("undecided", COUNT - 3)):
        page.get_by_label("Show").select_option(shown)
        expect(rows).to_have_count(count)
