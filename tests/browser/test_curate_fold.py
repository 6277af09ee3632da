"""The state that the page makes of events is the one that the hub makes of them."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import expect

from metaserver.config import CurationSettings
from metaserver.curation.decisions import CurationEvent, fold, next_redo, next_undo, normal
from scoring import Task
from scoring.consensus import ConsensusModel
from scoring.consensus.model import Member
from scoring.consensus.model_files import write_model
from tests.browser.conftest import Visits
from tests.browser.curating import CuratorHub, article, asked

ITEMS = {"INT": [("P04637",), ("Q00987",), ("P38398",)], "IPT": [("P04637", "Q00987")]}
FOLD = """async ({ address, logs }) => {
  const { fold, nextRedo, nextUndo } = await import(address);
  const one = ({ task, item, decision, implied, byHand, reason, replaced, evidence, method, type,
    note, experiments }) => [task, item, decision, implied, byHand, reason, replaced, evidence,
    method, type, note,
    experiments.map(({ method = "", type = "", host = null }) => [method, type, host])];
  return logs.map((log) => {
    const { items, relevant, note, publication } = fold(log);
    return [[...items.values()].map(one), relevant, note, publication?.pmid,
      nextUndo(log), nextRedo(log)];
  });
}"""


def log_of(seed: int) -> list[CurationEvent]:
    """Return a log of any events, many of them undos of earlier ones."""
    chance = random.Random(seed)
    log: list[CurationEvent] = []
    for number in range(chance.randint(1, 40)):
        task = chance.choice(["INT", "INT", "IPT"])
        kinds = ["accept", "reject", "undecide", "evidence", "note", "species", "relevant"]
        kinds.append("publication")
        kind = chance.choice(
            [*kinds, "undo", "undo", "undo", *(["pair", "method", "experiments"] * (task == "IPT"))]
        )
        detail: dict[str, Any] = {
            "accept": {"evidence": chance.choice([[], [[1, 5]]])},
            "reject": {"reason": chance.choice(["", "family"])},
            "evidence": {"evidence": [[number, number + 3]]},
            "note": {"note": f"note {number}"},
            "species": {"replaced": chance.choice(ITEMS[task])},
            "relevant": {"relevant": chance.choice([True, False, None])},
            "publication": {"publication": {"pmid": f"{number + 1}"}},
            "pair": {"method": "MI:0096"},
            "experiments": {
                "experiments": [
                    {"method": method, "type": "MI:0407", "host": number or None}
                    for method in ("MI:0018", "MI:0019")[: chance.randint(0, 2)]
                ]
            },
            "method": {"method": chance.choice(["MI:0096", ""]), "type": "MI:0915"},
        }.get(kind, {})
        if kind == "undo":
            if not log:
                continue
            detail = {"undoes": chance.choice(log[-6:]).key}
        event: dict[str, Any] = {"key": f"event-{number:04}", "kind": kind, "detail": detail}
        if kind not in ("undo", "relevant", "publication"):
            event |= {"task": task, "item": chance.choice(ITEMS[task])}
        if kind == "reject" and task == "INT" and event["item"][0] in ITEMS["IPT"][0]:
            detail["pairs"] = chance.choice([[], ITEMS["IPT"]])
        log.append(normal(msgspec.convert(event, CurationEvent), 1_000))
    return log


def by_hub(log: list[CurationEvent]) -> list[Any]:
    state = fold(log)
    items = [
        [
            *(task, item, one.decision, one.implied, one.by_hand, one.reason, one.replaced),
            *(one.evidence, one.method, one.type, one.note),
            [(each.method, each.type, each.host) for each in one.experiments],
        ]
        for (task, item), one in state.items.items()
    ]
    pmid = state.publication and state.publication.pmid
    found = [items, state.relevant, state.note, pmid, next_undo(log), next_redo(log)]
    made: list[Any] = msgspec.json.decode(msgspec.json.encode(found))
    return made


def pair_model(path: Path) -> str:
    """Write a model that trusts the pairs of server fast alone, and return its file."""
    members = tuple(
        Member(name=name, team=name, weights=(weight, 0.0, 0.0))
        for name, weight in (("fast", 5.0), ("slow", -1.0))
    )
    write_model(ConsensusModel(task=Task.IPT, method="stacked", members=members, bias=-4.0), path)
    return str(path)


def unlikely_pairs_are_folded(hub: CuratorHub, visits: Visits) -> None:
    hub.answers(article(), {"fast": range(5), "slow": range(10, 15)})
    hub.hold("fast")
    page = asked(hub, visits, article())
    shown, fold = page.locator("#list-IPT > li:visible"), page.locator("details.unlikely")
    said, figures = page.locator("#detail .likelihood"), page.locator("#list-IPT .figure")
    expect(page.locator("#list-IPT > li")).to_have_count(4)
    page.keyboard.press("i")
    expect(figures).to_have_text(["rank 1", "rank 2", "rank 3", "rank 4"])
    expect(said).to_have_text("No likelihood. Missing servers of the model: fast.")
    expect(page.locator("#list-IPT .bar, details.unlikely:visible")).to_have_count(0)
    hub.let_go("fast")
    unlikely = "very unlikely: under 1 of 20"
    expect(figures).to_have_text([unlikely] * 4 + ["likely: 7 of 10"] * 4)
    expect(page.locator("#list-IPT .bar")).to_have_count(8)
    expect(shown).to_have_count(8)  # nothing moves by itself
    page.keyboard.press("w")
    expect(page.locator("#detail .why th + td")).to_have_text(["against it, strongly"] * 2)
    page.keyboard.press("g")
    expect(shown).to_have_count(5)
    expect(fold).to_contain_text(f"3 {unlikely} such was right")
    page.locator("#list-IPT > li").nth(1).click()
    expect(said).to_have_text("likely: 7 of 10 such were right")
    expect(page.locator("#detail .why th + td").first).to_have_text("for it, strongly")
    expect(page.locator("#detail .why table")).to_be_visible()
    page.locator("#list-IPT > li").first.click()
    for _ in range(5):
        page.keyboard.press("a")
    expect(page.locator("#announce")).to_contain_text("Every candidate of this task")
    fold.locator("summary").click()
    expect(shown).to_have_count(8)
    page.locator("#list-IPT > li").last.click()
    page.keyboard.press("x")
    expect(fold).to_contain_text("2 very unlikely")
    page.close(run_before_unload=False)


@pytest.mark.slow
def test_both_make_the_same_state_of_any_events(tmp_path: Path, visits: Visits) -> None:
    logs = [log_of(seed) for seed in range(150)]
    model = pair_model(tmp_path / "pairs.json")
    with CuratorHub(tmp_path, curation=CurationSettings(models={"IPT": model})) as hub:
        unlikely_pairs_are_folded(hub, visits)
        page = visits.open(f"{hub.url}/curate")
        address = page.locator("script[type=module]").first.get_attribute("src") or ""
        given = {
            "address": address.replace("page.js", "curate_fold.js"),
            "logs": msgspec.to_builtins(logs),
        }
        states = page.evaluate(FOLD, given)
    for found, log in zip(states, logs, strict=True):
        assert found == by_hub(log)
