"""Sets: two curators an article, agreement, rulings, and gold for the phase that they come from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from metaserver.base.errors import Refusal, RefusedError
from metaserver.base.states import JobState
from metaserver.cli.catalogue import OPERATIONS
from metaserver.curation.exports.finished import read_json
from metaserver.operations.caller import Caller
from metaserver.operations.table import perform
from tests.hubs.command import DEMO
from tests.hubs.inside import ORGANISER, Running
from tests.hubs.release import ACCESSIONS
from tests.hubs.sites import organiser_token, visiting
from tests.integration.curating import asked_hub, curator

ARTICLES = ("sample01", "sample02", "sample03", "sample04", "sample05", "sample06")
FIRST, SECOND, THIRD = ACCESSIONS[:3]


async def three(running: Running) -> Sequence[Caller]:
    return [await curator(running, label) for label in ("ana", "bob", "eve")]


async def made(running: Running, given_to: Sequence[Caller], /, **values: Any) -> Any:
    given = {
        "set": "round-1",
        "phase": "test",
        "curators": tuple(one.token_id for one in given_to),
        "articles": ARTICLES,
    }
    return await running.do("curation-sets.create", **given | values)


async def decide(
    running: Running,
    caller: Caller,
    article: str,
    items: Sequence[str],
    relevant: bool = True,
    set_: str = "round-1",
    method: str = "",
) -> str:
    """Curate an article of the set: accept proteins, with a method their pair too."""
    opened = await running.do("curation-sets.open", caller, set=set_, article=article)
    events: list[dict[str, Any]] = [
        {"key": f"accept-{item}", "kind": "add", "task": "INT", "item": (item,)} for item in items
    ]
    if method:
        pair = {"key": "pair-0001", "kind": "pair", "task": "IPT", "item": tuple(items)}
        events.append({**pair, "detail": {"method": method}})
    events.append({"key": "relevant-1", "kind": "relevant", "detail": {"relevant": relevant}})
    await running.do(
        "curation.append", caller, curation=opened.curation, seen=opened.seen, events=events
    )
    await running.do("curation.submit", caller, curation=opened.curation, undecided=True)
    return str(opened.curation)


def pairs_of(found: Any) -> Mapping[str, tuple[str, str]]:
    """Return the curators of each article's first two seats."""
    return {
        one.article: tuple(seat.curator for seat in sorted(one.seats, key=lambda of: of.seat))[:2]
        for one in found.articles
    }


async def test_each_article_has_two_curators_and_each_an_order(running: Running) -> None:
    curators = await three(running)
    found = await made(running, curators)
    assert (found.given, found.submitted, found.blind, found.assist) == (12, 0, True, False)
    assert sorted(one.article for one in found.articles) == sorted(ARTICLES)
    pairs = Counter(frozenset(pair) for pair in pairs_of(found).values())
    assert sorted(pairs.values()) == [2, 2, 2]
    orders = []
    for one in curators:
        own = await running.do("curation-sets.get", one, set="round-1")
        assert own.given == 4
        assert {seat.token for of in own.articles for seat in of.seats} == {one.token_id}
        orders.append([of.article for of in own.articles])
    again = await running.do("curation-sets.get", curators[0], set="round-1")
    assert [of.article for of in again.articles] == orders[0]
    assert any(order != sorted(order) for order in orders)
    other = await curator(running, "zoe")
    assert await running.do("curation-sets.list", other) == []
    assert len(await running.do("curation-sets.list", curators[0])) == 1
    for values, expected in (
        ({}, Refusal.STATE),
        ({"set": "b", "articles": ("nowhere",)}, Refusal.UNKNOWN),
        ({"set": "b", "curators": (curators[0].token_id, 999)}, Refusal.UNKNOWN),
        ({"set": "b", "curators": (curators[0].token_id,) * 2}, Refusal.INVALID),
        ({"set": "b", "each": 4}, Refusal.INVALID),
        ({"set": "b", "tasks": ("NER",)}, Refusal.INVALID),
        ({"set": "b", "assist": True}, Refusal.STATE),
        ({"set": "b", "adjudicators": (999,)}, Refusal.UNKNOWN),
    ):
        with pytest.raises(RefusedError) as caught:
            await made(running, curators, **values)
        assert caught.value.refusal is expected, values
    assert (await running.do("curation-sets.list"))[0].set == "round-1"
    assert "sets of curators" in (await running.refused("phases.delete", phase="test")).message
    await running.do("curation-sets.delete", set="round-1")
    await running.do("phases.delete", phase="test")


async def test_a_blind_set_says_nothing_of_another(running: Running) -> None:
    await running.do("phases.open", phase="test")
    curators = await three(running)
    found = await made(running, curators)
    by_name = dict(zip(("ana", "bob", "eve"), curators, strict=True))
    article, pair = next(iter(pairs_of(found).items()))
    first, second = (by_name[name] for name in pair)
    [outsider] = [one for one in curators if one not in (first, second)]
    key = await decide(running, first, article, [FIRST])
    before = await running.do("curation-sets.open", second, set="round-1", article=article)
    assert (before.candidates, before.decisions, before.seen) == ((), (), 0)
    assert before.release == "test"
    named = {"set": "round-1"}
    calls: Mapping[str, Mapping[str, Any]] = {
        "curation.get": {"curation": key},
        "curation.events": {"curation": key},
        "curation.export": {"curation": key},
        "curation.append": {
            "curation": key, "seen": 0, "events": [{"key": "a-note-1", "kind": "note"}]
        },
        "curation.submit": {"curation": key},
        "curation.reopen": {"curation": key},
        "curation.refresh": {"curation": key},
        "curation.forget": {"curation": key},
        "curation.orthologs": {"curation": key, "accession": FIRST},
        "curation-sets.agreement": {**named, "task": "INT"},
        "curation-sets.disagreements": {**named, "task": "INT"},
        "curation-sets.rule": {
            **named, "task": "INT", "article": article, "item": (FIRST,), "choice": "1"
        },
        "curation-sets.report": {**named, "task": "INT"},
        "curation-sets.preview": {**named, "task": "INT"},
        "curation-sets.publish": {**named, "task": "INT"},
        "curation-sets.export": named,
        "curation-sets.close": named,
        "curation-sets.delete": named,
    }  # fmt: skip
    for name, values in calls.items():
        refused = await running.refused(name, second, **values)
        assert refused.refusal in (Refusal.UNKNOWN, Refusal.NOT_YOURS), name
        assert FIRST not in refused.message
    closed = await running.refused("curation-sets.open", outsider, **named, article=article)
    assert closed.refusal is Refusal.UNKNOWN
    listed = await running.do("curation.list", second)
    assert [(one.set, one.state) for one in listed] == [("round-1", "open")]
    own = await running.do("curation-sets.get", second, **named)
    assert own.submitted == 0
    [seat] = [seat for of in own.articles if of.article == article for seat in of.seats]
    assert (seat.curation, seat.curator) == (before.curation, pair[1])
    text = (DEMO / "articles" / f"{article}.txt").read_text()
    asked = await running.refused("consensus.ask", second, text=text)
    assert asked.refusal is Refusal.STATE  # a seat opens the text, and no consensus
    for name in ("curation.reopen", "curation.forget"):
        assert (await running.refused(name, first, curation=key)).refusal is not None
    reopened = await running.do("curation.reopen", curation=key)
    assert reopened.state == "open"


@pytest.mark.slow
@pytest.mark.both_stores
async def test_two_curators_make_the_next_gold(running: Running) -> None:
    curators = await three(running)
    judge = await curator(running, "judge")
    given = {"adjudicators": (judge.token_id, curators[0].token_id)}
    found = await made(running, curators, **given)
    by_name = dict(zip(("ana", "bob", "eve"), curators, strict=True))
    pairs = pairs_of(found)
    named = {"set": "round-1", "task": "INT"}
    early = await running.refused("curation-sets.agreement", judge, **named)
    assert early.refusal is Refusal.STATE
    odd = ARTICLES[0]
    for article in ARTICLES:
        for place, name in enumerate(pairs[article]):
            more = [SECOND] if place and article == odd else []
            relevant = not (place and article == odd)
            method = "MI:0096" if more else ""
            await decide(running, by_name[name], article, [FIRST, *more], relevant, method=method)
    agreed = await running.do("curation-sets.agreement", judge, **named)
    assert agreed.articles[0].article == odd
    assert agreed.articles[0].value < agreed.articles[1].value == 1.0
    assert {frozenset((one.first, one.second)) for one in agreed.pairs} == {
        frozenset(pair) for pair in pairs.values()
    }
    assert all(one.measures["f_score"].value for one in agreed.pairs)
    assert {"krippendorff_alpha", "decisions_alpha"} <= agreed.overall.keys()
    classes = await running.do("curation-sets.agreement", judge, set="round-1", task="ACT")
    assert any("cohen_kappa" in one.measures for one in classes.pairs)
    differ = await running.do("curation-sets.disagreements", judge, **named)
    assert (differ.total, differ.left) == (1, 1)
    [one] = differ.disagreements
    assert (one.article, one.item, one.ruling) == (odd, (SECOND,), "")
    assert (one.first.curator, one.second.curator) == pairs[odd]
    assert (one.first.decision, one.second.decision) == ("undecided", "accepted")
    differ = await running.do("curation-sets.disagreements", judge, set="round-1", task="IPT")
    [(without, with_it)] = [(one.first, one.second) for one in differ.disagreements]
    assert (without.experiments, with_it.experiments) == ((), ("pull down",))
    refused = await running.refused("curation-sets.publish", ORGANISER, **named)
    assert (refused.refusal, "1 of 1" in refused.message) == (Refusal.STATE, True)
    ruling = {**named, "article": odd, "item": (SECOND,), "choice": "2"}
    if "ana" in pairs[odd]:
        own = await running.refused("curation-sets.rule", curators[0], **ruling)
        assert own.refusal is Refusal.NOT_YOURS
        hidden = await running.do("curation-sets.disagreements", curators[0], **named)
        assert hidden.disagreements == ()
    nothing = await running.refused("curation-sets.rule", judge, **{**ruling, "item": (FIRST,)})
    assert nothing.refusal is Refusal.UNKNOWN
    await running.do("curation-sets.rule", judge, **{**ruling, "choice": "neither"})
    await running.do("curation-sets.rule", judge, **ruling)
    differ = await running.do("curation-sets.disagreements", judge, **named, ruled=False)
    assert (differ.total, differ.left, differ.disagreements) == (1, 0, ())
    report = await running.do("curation-sets.report", **named)
    assert (report.items, report.agreed, report.ruled) == (7, 6, 1)
    assert (report.by_hand, report.missing, report.servers) == (1.0, (), {})
    before = await running.do("gold.get", phase="test", task="INT")
    preview = await running.do("curation-sets.preview", **named)
    assert preview.replaces == before.gold.version
    change = await running.do("curation-sets.publish", **named, replaces=before.gold.version)
    assert change.version == before.gold.version + 1
    after = await running.do("gold.get", phase="test", task="INT")
    assert after.gold.source == "set round-1, ana + bob + eve adjudicated by curator judge"
    lines = set(after.content.decode().splitlines())
    of_set = {line for line in lines if line.split("\t")[0] in ARTICLES}
    assert of_set == {f"{article}\t{FIRST}" for article in ARTICLES} | {f"{odd}\t{SECOND}"}
    kept = {
        line
        for line in before.content.decode().splitlines()
        if line and line.split("\t")[0] not in ARTICLES
    }
    assert lines - of_set == kept != set()
    entries = await running.do("audit.list")
    assert {"gold.set", "curation-sets.create", "curation-sets.rule"} <= {
        entry.action for entry in entries
    }
    exported = await running.do("curation-sets.export", set="round-1")
    assert len(read_json(exported.content)) == 12
    assert exported.source == "round-1.json"


async def test_a_set_without_a_class_has_a_page_and_no_agreement(running: Running) -> None:
    curators = await three(running)
    found = await made(running, curators, articles=ARTICLES[:1], tasks=("ACT",))
    by_token = {one.token_id: one for one in curators}
    for seat in found.articles[0].seats:
        caller, seated = by_token[seat.token], {"set": "round-1", "article": ARTICLES[0]}
        opened = await running.do("curation-sets.open", caller, **seated)
        await running.do("curation.submit", caller, curation=opened.curation, undecided=True)
    agreed = await running.do("curation-sets.agreement", set="round-1", task="ACT")
    assert (agreed.pairs, agreed.articles) == ((), ())
    async with visiting(running) as visitor:
        await visitor.sign_in(await organiser_token(running))
        page = await visitor.get("/curate/sets/round-1")
    assert (page.status, "classified by two curators yet" in page.said) == (200, True)


@pytest.mark.parametrize("blind", [False, True])
async def test_a_third_curator_sees_the_others_after_the_own_submission(running, blind):
    curators = await three(running)
    article = ARTICLES[0]
    judges = tuple(one.token_id for one in curators) if blind else ()
    given = {"articles": (article,), "each": 3, "blind": blind, "adjudicators": judges}
    found = await made(running, curators, **given)
    seats = sorted(found.articles[0].seats, key=lambda one: one.seat)
    by_token = {one.token_id: one for one in curators}
    first, second, third = (by_token[one.token] for one in seats)
    await decide(running, first, article, [FIRST])
    await decide(running, second, article, [FIRST, SECOND])
    named = {"set": "round-1", "task": "INT"}
    seen = await running.do("curation-sets.disagreements", third, **named)
    assert (seen.total, seen.disagreements) == (0, ())
    early = await running.refused("curation-sets.agreement", third, **named)
    assert early.refusal is Refusal.STATE
    ruling = {**named, "article": article, "item": (SECOND,), "choice": "2"}
    refused = await running.refused("curation-sets.rule", third, **ruling)
    assert refused.refusal is (Refusal.UNKNOWN if blind else Refusal.NOT_YOURS)
    await decide(running, third, article, [FIRST])
    seen = await running.do("curation-sets.disagreements", third, **named)
    assert [one.item for one in seen.disagreements] == [(SECOND,)]
    agreed = await running.do("curation-sets.agreement", third, **named)
    assert [one.curators for one in agreed.articles] == [3]
    hidden = await running.do("curation-sets.disagreements", first, **named)
    assert hidden.total == (0 if blind else 1)  # whose gold it is sees none in a blind set
    if blind:
        await running.do("curation-sets.rule", third, **ruling)


async def test_a_ruling_is_asked_for_again_when_its_curator_decides_otherwise(running):
    pair = (await three(running))[:2]
    found = await made(running, pair, articles=ARTICLES[:1])
    by_token = {one.token_id: one for one in pair}
    seats = sorted(found.articles[0].seats, key=lambda one: one.seat)
    callers = [by_token[one.token] for one in seats]
    keys = [
        await decide(running, caller, ARTICLES[0], items)
        for caller, items in zip(callers, ([FIRST, SECOND, THIRD], []), strict=True)
    ]
    named = {"set": "round-1", "task": "INT"}
    choices = {FIRST: "1", SECOND: "2", THIRD: "both"}
    for item, choice in choices.items():
        ruling = {"article": ARTICLES[0], "item": (item,), "choice": choice}
        await running.do("curation-sets.rule", **named, **ruling)
    asked = await running.do("curation-sets.disagreements", **named)
    assert {one.item[0]: one.ruling for one in asked.disagreements} == choices
    for caller, key, kind in zip(callers, keys, ("reject", "add"), strict=True):
        opened = await running.do("curation.reopen", curation=key)
        events = [
            {"key": f"again-{item}", "kind": kind, "task": "INT", "item": (item,)}
            for item in choices
        ]
        await running.do("curation.append", caller, curation=key, seen=opened.seen, events=events)
        await running.do("curation.submit", caller, curation=key, undecided=True)
    asked = await running.do("curation-sets.disagreements", **named)
    assert {one.item[0]: one.ruling for one in asked.disagreements} == {
        FIRST: "", SECOND: "", THIRD: "both"
    }  # fmt: skip
    assert (asked.total, asked.left) == (3, 2)
    refused = await running.refused("curation-sets.publish", ORGANISER, **named)
    assert (refused.refusal, "2 of 3" in refused.message) == (Refusal.STATE, True)


async def test_methods_of_a_pair_that_both_accepted_are_ruled_on(running: Running) -> None:
    ana, bob, judge = await three(running)
    given = {"articles": ARTICLES[:1], "adjudicators": (judge.token_id,)}
    found = await made(running, [ana, bob], **given)
    first, second = (ana, bob) if pairs_of(found)[ARTICLES[0]][0] == "ana" else (bob, ana)
    for caller, method in ((first, "MI:0096"), (second, "MI:0018")):
        await decide(running, caller, ARTICLES[0], [FIRST, SECOND], method=method)
    named = {"set": "round-1", "task": "IPT"}
    asked = await running.do("curation-sets.disagreements", judge, **named)
    [one] = asked.disagreements
    assert (one.of_methods, one.item) == (True, (FIRST, SECOND))
    read = await running.do("curation.get", judge, curation=one.first.curation)
    assert (read.own, read.text != "", read.seen) == (False, True, 4)
    for act, caller, key in (
        ("curation.get", second, one.first.curation),
        ("curation.submit", judge, one.first.curation),
        ("curation.forget", judge, one.first.curation),
    ):
        refused = await running.refused(act, caller, curation=key)
        assert refused.refusal is Refusal.UNKNOWN, act
    report = await running.do("curation-sets.report", **named)
    assert (report.items, report.ruled) == (1, 0)  # gold has no methods
    export = {"set": "round-1", "format": "sda", "ruled": True}
    refused = await running.refused("curation-sets.export", ORGANISER, **export)
    assert (refused.refusal, refused.field) == (Refusal.STATE, "ruled")
    by_choice = {"1": ["pull down"], "2": ["two hybrid"], "both": ["pull down", "two hybrid"],
                 "neither": ["unspecified method"]}  # fmt: skip
    for choice, methods in by_choice.items():
        ruling = {"article": ARTICLES[0], "item": one.item, "choice": choice}
        await running.do("curation-sets.rule", judge, **named, **ruling)
        content = (await running.do("curation-sets.export", **export)).content.decode()
        assert [
            line.rpartition(" by ")[2].split(" (")[0] for line in content.splitlines()
        ] == methods
    await running.do("curation-sets.rule", judge, **named, **{**ruling, "choice": "2"})
    opened = await running.do("curation.reopen", curation=one.second.curation)
    event = {"key": "again-01", "kind": "method", "task": "IPT", "item": one.item,
             "detail": {"method": "MI:0019"}}  # fmt: skip
    values = {"curation": opened.curation, "seen": opened.seen, "events": [event]}
    hidden = await running.refused("curation.get", judge, curation=opened.curation)
    assert hidden.refusal is Refusal.UNKNOWN  # it is open
    await running.do("curation.append", second, **values)
    await running.do("curation.submit", second, curation=opened.curation, undecided=True)
    asked = await running.do("curation-sets.disagreements", judge, **named)
    assert (asked.total, asked.left) == (1, 1)


async def test_sets_published_together_lose_no_gold(running: Running) -> None:
    pair = (await three(running))[:2]
    names = {"round-1": ARTICLES[0], "round-2": ARTICLES[1]}
    for name, article in names.items():
        await made(running, pair, set=name, articles=(article,))
        for one in pair:
            await decide(running, one, article, [THIRD], set_=name)
    publish = OPERATIONS["curation-sets.publish"]
    async with running.service.phase("test").scoring:  # until both jobs are begun
        begun = [
            await perform(publish, running.service, ORGANISER, {"set": name, "task": "INT"})
            for name in names
        ]
    for one in begun:
        await running.service.jobs.own.get(one.job).ended()  # type: ignore[union-attr]
    first, second = (running.service.jobs.own.get(one.job) for one in begun)
    assert (first.state, second.state) == (JobState.DONE, JobState.FAILED)
    assert "another version was set meanwhile" in second.error
    await running.do("curation-sets.publish", set="round-2", task="INT")
    gold = await running.do("gold.get", phase="test", task="INT")
    lines = gold.content.decode().splitlines()
    assert {f"{article}\t{THIRD}" for article in names.values()} <= set(lines)


@pytest.mark.slow
async def test_help_of_servers_is_shown_when_the_phase_is_closed(tmp_path: Path) -> None:
    async with asked_hub(tmp_path, ["a"]) as (running, servers):
        servers["a"].answer = {"normalizations": [{"dbid": FIRST, "rank": 1, "confidence": 0.9}]}
        await running.do("phases.open", phase="test")
        await running.do("servers.start", running.team("a"), server="a", phase="test")
        await running.until(lambda: running.status("a").state == "finished")
        ana, bob, _ = await three(running)
        for act in ("freeze", "close"):
            with pytest.raises(RefusedError):
                await made(running, [ana, bob], assist=True)
            await running.do(f"phases.{act}", phase="test")
        await made(running, [ana, bob], assist=True, articles=ARTICLES[:2])
        opened = await running.do("curation-sets.open", ana, set="round-1", article=ARTICLES[0])
        assert [(one.item, one.votes[0].server) for one in opened.candidates] == [((FIRST,), "a")]
        for caller in (ana, bob):
            for article in ARTICLES[:2]:
                await decide(running, caller, article, [FIRST, THIRD])
        report = await running.do("curation-sets.report", set="round-1", task="INT")
        assert (report.items, report.by_hand, report.servers) == (4, 0.5, {"a": 2})
        assert {one.item for one in report.unproposed} == {(THIRD,)}
        assert report.source == "set round-1, ana + bob, no disagreement"


async def test_a_closed_set_takes_no_decision(running: Running) -> None:
    ana, bob, _ = await three(running)
    await made(running, [ana, bob], blind=False)
    key = await decide(running, ana, ARTICLES[0], [FIRST])
    await decide(running, bob, ARTICLES[0], [FIRST, SECOND])
    opened = await running.do("curation-sets.open", ana, set="round-1", article=ARTICLES[1])
    named = {"set": "round-1", "task": "INT"}
    open_to_all = await running.do("curation-sets.disagreements", ana, **named)
    assert [one.item for one in open_to_all.disagreements] == [(SECOND,)]
    refused = await running.refused("curation-sets.rule", ana, **named, article=ARTICLES[0],
                            item=(SECOND,), choice="1")  # fmt: skip
    assert refused.refusal is Refusal.NOT_YOURS
    closed = await running.do("curation-sets.close", set="round-1")
    assert closed.closed_at is not None
    events = [{"key": "a-note-1", "kind": "note"}]
    for name, values in (
        ("curation.append", {"curation": opened.curation, "seen": 0, "events": events}),
        ("curation.submit", {"curation": opened.curation}),
        ("curation-sets.open", {"set": "round-1", "article": ARTICLES[2]}),
    ):
        assert (await running.refused(name, ana, **values)).refusal is Refusal.STATE, name
    lacking = await running.refused("curation-sets.publish", ORGANISER, **named)
    assert lacking.refusal is Refusal.STATE
    await running.do("curation-sets.rule", **named, article=ARTICLES[0], item=(SECOND,),
                     choice="neither")  # fmt: skip
    missing = await running.refused("curation-sets.publish", ORGANISER, **named)
    assert missing.field == "partial"
    change = await running.do("curation-sets.publish", **named, partial=True)
    assert change.version == 2
    await running.do("curation-sets.close", set="round-1")
    done = await running.do("curation.append", ana, curation=opened.curation, seen=0, events=events)
    assert done.seen == 1
    await running.do("curation-sets.delete", set="round-1")
    assert (await running.refused("curation.get", ana, curation=key)).refusal == 404
    async with running.service.store.reading() as connection:
        for table in ("curation_seats", "curation_rulings", "curations", "curation_events"):
            rows = await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")
            assert rows.scalar() == 0, table


async def test_seats_go_to_a_new_token_and_to_another_person(running: Running) -> None:
    ana, bob, _ = await three(running)
    await made(running, [ana, bob], adjudicators=(ana.token_id,))
    key = await decide(running, ana, ARTICLES[0], [FIRST])
    again, zoe = await curator(running, "ana"), await curator(running, "zoe")
    named = {"set": "round-1"}
    moved = await running.do(
        "curation-sets.reassign", **named, curator=ana.token_id, to=again.token_id
    )
    assert {seat.token for of in moved.articles for seat in of.seats} == {
        bob.token_id, again.token_id
    }  # fmt: skip
    assert (await running.do("curation.get", again, curation=key)).own
    for name, values in (("curation.get", {"curation": key}), ("curation-sets.get", named)):
        assert (await running.refused(name, ana, **values)).refusal is Refusal.UNKNOWN
    listed = await running.do("curation-sets.get", again, **named)
    assert (listed.given, listed.submitted, listed.adjudicates) == (6, 1, True)
    await running.do("curation-sets.reassign", **named, curator=again.token_id, to=zoe.token_id)
    assert (await running.do("curation-sets.get", again, **named)).given == 1
    assert (await running.do("curation-sets.get", zoe, **named)).given == 5
    assert not (await running.do("curation-sets.get", zoe, **named)).adjudicates
    for values, expected in (
        ({"curator": ana.token_id, "to": zoe.token_id}, Refusal.UNKNOWN),
        ({"curator": bob.token_id, "to": zoe.token_id}, Refusal.STATE),
        ({"curator": bob.token_id, "to": 999}, Refusal.UNKNOWN),
    ):
        refused = await running.refused("curation-sets.reassign", ORGANISER, **named, **values)
        assert refused.refusal is expected, values


async def test_curations_of_no_set_go_to_a_renewed_token(running: Running) -> None:
    ana, bob, _ = await three(running)
    await made(running, [ana, bob])
    seated = await decide(running, ana, ARTICLES[0], [FIRST])
    asked = await running.do("consensus.ask", ana, text="A title\nA text.", wait=20.0)
    own = (await running.do("curation.open", ana, request=asked.request)).curation
    again = await curator(running, "ana")
    for values, expected in (
        ({"curator": ana.token_id, "to": bob.token_id}, Refusal.STATE),  # of another person
        ({"curator": ana.token_id, "to": ana.token_id}, Refusal.STATE),
        ({"curator": ana.token_id, "to": 999}, Refusal.UNKNOWN),
        ({"curator": 999, "to": again.token_id}, Refusal.UNKNOWN),
    ):
        refused = await running.refused("curation.reassign", ORGANISER, **values)
        assert refused.refusal is expected, values
    await running.do("tokens.revoke", id=ana.token_id)
    given = {"curator": ana.token_id, "to": again.token_id}
    assert (await running.do("curation.reassign", **given)).curations == 1
    assert (await running.do("curation.get", again, curation=own)).own
    for caller, key in ((ana, own), (again, seated)):
        gone = await running.refused("curation.get", caller, curation=key)
        assert gone.refusal is Refusal.UNKNOWN
    [entry] = [one for one in await running.do("audit.list") if one.action == "curation.reassign"]
    assert entry.subject == f"token {ana.token_id}"


async def test_long_evidence_does_not_multiply_the_article(running: Running) -> None:
    ana, bob, _ = await three(running)
    await made(running, [ana, bob], articles=ARTICLES[:1])
    named = {"set": "round-1", "article": ARTICLES[0]}
    opened = await running.do("curation-sets.open", ana, **named)
    whole = {"evidence": ((0, opened.length),) * 50}
    event = {"key": "whole-01", "kind": "add", "task": "INT", "item": (FIRST,), "detail": whole}
    values = {"curation": opened.curation, "seen": 0, "events": [event]}
    await running.do("curation.append", ana, **values)
    await running.do("curation.submit", ana, curation=opened.curation, undecided=True)
    await decide(running, bob, ARTICLES[0], [])
    found = await running.do("curation-sets.disagreements", set="round-1", task="INT")
    [one] = found.disagreements
    assert 0 < sum(map(len, one.first.evidence)) + sum(map(len, one.second.evidence)) <= 2_000
