"""`metaserver run` and `metaserver attempts` as organisers use them: processes, real files."""

import json
from pathlib import Path

import pytest

from metaserver.exchange.wire.xmlrpc import encode_response
from tests.hubs.command import ARTICLES, DEMO, GOLD, Ended, boards, boards_in, metaserver
from tests.hubs.release import release_at
from tests.integration.kits import asked_server
from tests.integration.peers import answering, peer

pytestmark = pytest.mark.one_store("the store of the command is a file")


@pytest.fixture
async def release(tmp_path: Path) -> Path:
    return release_at(tmp_path / "uniprot")


def given(release: Path, out: Path, **servers: str) -> list[object]:
    named = [part for name, url in servers.items() for part in ("--server", f"{name}={url}")]
    return [
        "run", "--articles", DEMO / "articles", *GOLD, "--uniprot", release, "--out", out, *named,
    ]  # fmt: skip


@pytest.mark.slow
async def test_a_run_leaves_its_results_and_started_again_asks_for_nothing(release, tmp_path):
    out = tmp_path / "out"
    async with asked_server() as one, asked_server() as two:
        arguments = given(release, out, one=one.url, two=two.url)
        ended = await metaserver(*arguments)
        assert ended.status == 0, ended.stderr
        assert one.texts.total() == two.texts.total() == ARTICLES
        first = boards(out)
        again = await metaserver(*arguments, "--json")
        assert again.status == 0, again.stderr
        assert json.loads(again.stdout) == json.loads((out / "leaderboard.json").read_text())
        assert one.texts.total() == ARTICLES
    assert boards_in(again.stdout) == first == boards(out)
    assert [run["server"] for run in first["INT"]["runs"]] == ["one", "two"]
    assert {run["place"] for run in first["INT"]["runs"]} == {1}  # the same answers, the same place
    attempts = (out / "attempts.tsv").read_text().splitlines()
    assert len(attempts) == 1 + 2 * ARTICLES
    assert attempts[0].startswith("server\tarticle\tattempt\tstarted_at\toutcome\tmessage\tqueue")


async def refused(ended: Ended, out: Path, *words: str) -> None:
    """Status 2, one line that has the words, and nothing written."""
    assert ended.status == 2, ended.stdout + ended.stderr
    [line] = ended.stderr.splitlines()
    for word in words:
        assert word in line
    assert not out.exists()


async def test_bad_input_is_told_in_one_line_and_nothing_is_written(release, tmp_path):
    out, url = tmp_path / "out", "http://127.0.0.1:9/"
    good = given(release, out, one=url)

    def instead(old: object, new: object) -> list[object]:
        return [new if part == old else part for part in good]

    empty = tmp_path / "empty"
    empty.mkdir()
    await refused(await metaserver(*instead(DEMO / "articles", empty)), out, str(empty))

    broken = tmp_path / "broken.nxml"
    broken.write_text("<article>\n<body><p>text</body></article>")
    await refused(await metaserver(*instead(DEMO / "articles", broken)), out, "broken.nxml:2")

    gold = tmp_path / "gold.tsv"
    gold.write_text("sample01\tP04637\nsample02\tP04637\tQ00987\n")
    name = str(DEMO / "gold_int.tsv")
    await refused(await metaserver(*instead(name, gold)), out, "gold.tsv:2", "column")

    await refused(await metaserver(*instead(f"one={url}", "one=ftp://x/")), out, "--server one")
    await refused(await metaserver(*instead(f"one={url}", "http://x/")), out, "expected NAME=URL")

    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "META.json").write_text("{}")
    await refused(await metaserver(*instead(release, wrong)), out, str(wrong))

    await refused(await metaserver(*good, "--timeout", "0"), out, "timeout", "> 0")


WRONG = {
    "normalizations": [
        {"dbid": "P04637", "rank": 1, "confidence": 0.9},
        {"dbid": "P00000", "rank": 2, "confidence": 7.0},
    ]
}


async def test_every_problem_is_told_with_its_place_and_the_answer_as_it_came(tmp_path):
    release, out = release_at(tmp_path / "uniprot"), tmp_path / "out"
    async with peer(answering(encode_response(WRONG))) as wrong, asked_server() as right:
        ended = await metaserver(
            "run", "--articles", DEMO / "articles" / "sample01.txt", "--uniprot", release,
            "--server", f"right={right.url}", "--server", f"wrong={wrong.url}", "--out", out,
        )  # fmt: skip
        assert ended.status == 0, ended.stderr
    ended = await metaserver("attempts", "--out", out, "--outcome", "partial", "--raw")
    assert ended.status == 0, ended.stderr
    assert " wrong sample01 attempt 1: partial, the last; " in ended.stdout
    assert " right " not in ended.stdout
    assert (
        "  normalizations[1].confidence: expected a confidence above 0 and up to 1, got 7.0\n"
        in ended.stdout
    )
    assert "  normalizations[1].dbid: unknown: " in ended.stdout
    assert "<methodResponse>" in ended.stdout


async def test_what_is_no_store_is_bad_input_and_left_alone(tmp_path: Path) -> None:
    ended = await metaserver("attempts", "--out", tmp_path)
    assert ended.status == 2
    assert "there is no store" in ended.stderr
    (tmp_path / "metaserver.sqlite").write_text("my notes, and more of them\n" * 200)
    ended = await metaserver("attempts", "--out", tmp_path)
    assert ended.status == 2
    assert "not a hub's SQLite store" in ended.stderr
    assert (tmp_path / "metaserver.sqlite").read_text().startswith("my notes")
