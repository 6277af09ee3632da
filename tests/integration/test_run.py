"""`metaserver run` as an organiser uses it: a process, real servers, real files."""

from pathlib import Path

import pytest

from scoring import evaluate_files
from tests.hubs.command import DEMO, GOLD, Ended, boards, boards_in, metaserver
from tests.hubs.release import NAMES, release_at
from tests.hubs.stored import stored
from tests.integration.kits import asked_server, refusing

pytestmark = pytest.mark.one_store("the store of the command is a file")

ARTICLES = len(list((DEMO / "articles").iterdir()))


@pytest.fixture
async def release(tmp_path: Path) -> Path:
    return release_at(tmp_path / "uniprot")


def given(release: Path, out: Path, **servers: str) -> list[object]:
    named = [part for name, url in servers.items() for part in ("--server", f"{name}={url}")]
    return [
        "run", "--articles", DEMO / "articles", *GOLD, "--uniprot", release, "--out", out, *named,
    ]  # fmt: skip


async def test_a_run_leaves_its_results_and_started_again_asks_for_nothing(
    release: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    async with asked_server() as one, asked_server() as two:
        arguments = given(release, out, one=one.url, two=two.url)
        ended = await metaserver(*arguments)
        assert ended.status == 0, ended.stderr
        assert one.texts.total() == two.texts.total() == ARTICLES
        first = boards(out)
        again = await metaserver(*arguments, "--json")
        assert again.status == 0, again.stderr
        assert one.texts.total() == ARTICLES
    assert boards_in(again.stdout) == first == boards(out)
    assert [run["server"] for run in first["INT"]["runs"]] == ["one", "two"]
    assert {run["place"] for run in first["INT"]["runs"]} == {1}  # the same answers, the same place
    attempts = (out / "attempts.tsv").read_text().splitlines()
    assert len(attempts) == 1 + 2 * ARTICLES
    assert attempts[0].startswith("server\tarticle\tattempt\tstarted_at\toutcome\tmessage\tqueue")


@pytest.mark.parametrize("task", ["ACT", "INT", "IPT"])
async def test_a_result_file_scores_as_the_leaderboard_says(
    release: Path, tmp_path: Path, task: str
) -> None:
    out = tmp_path / "out"
    async with asked_server() as one:
        assert (await metaserver(*given(release, out, one=one.url))).status == 0
    [run] = boards(out)[task]["runs"]
    gold = DEMO / f"gold_{task.lower()}.tsv"
    card = evaluate_files(task, gold, out / f"one.{task}.tsv").to_dict()
    assert card | {"run": "", "signature": ""} == run["score"] | {"run": "", "signature": ""}


async def test_a_server_that_is_down_is_left_and_asked_when_it_is_back(
    release: Path, tmp_path: Path
) -> None:
    out, config, down = tmp_path / "out", tmp_path / "config.yaml", refusing()
    config.write_text(
        "circuit: {failures: 2, probe_base: 0.05, probe_cap: 0.1, patience: 0.5}\n"
        "retry: {base: 0.05, cap: 0.1}\n"
    )
    url = f"http://127.0.0.1:{down.getsockname()[1]}/"
    async with asked_server() as up:
        arguments = [*given(release, out, up=up.url, down=url), "--config", config]
        ended = await metaserver(*arguments)
        assert ended.status == 1
        assert "not all articles were sent to down" in ended.stdout
        assert up.texts.total() == ARTICLES
        async with asked_server(at=down) as back:
            ended = await metaserver(*arguments)
            assert ended.status == 0, ended.stderr
            assert back.texts.total() == ARTICLES
        assert up.texts.total() == ARTICLES
    assert stored(out, "SELECT count(*) FROM answers") == [(2 * ARTICLES,)]


async def refused(ended: Ended, out: Path, *words: str) -> None:
    """Status 2, one line that has the words, and nothing written."""
    assert ended.status == 2, ended.stdout + ended.stderr
    [line] = ended.stderr.splitlines()
    for word in words:
        assert word in line
    assert not out.exists()


async def test_bad_input_is_told_in_one_line_and_nothing_is_written(
    release: Path, tmp_path: Path
) -> None:
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


async def test_other_articles_or_another_release_do_not_go_into_a_begun_run(
    release: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    async with asked_server() as one:
        good = given(release, out, one=one.url)
        assert (await metaserver(*good)).status == 0
        first = boards(out)
        fewer = [DEMO / "articles" / "sample01.txt" if p == DEMO / "articles" else p for p in good]
        ended = await metaserver(*fewer)
        assert (ended.status, "other articles" in ended.stderr) == (2, True)
        small = tmp_path / "small.tsv"
        small.write_text("\n".join(NAMES.read_text().splitlines()[:5]) + "\n")
        other = tmp_path / "other"
        ended = await metaserver(
            "uniprot", "build", "--from", small, "--release", "other", "--out", other
        )
        assert ended.status == 0, ended.stderr
        ended = await metaserver(*[other if part == release else part for part in good])
        assert (ended.status, "release test, not other" in ended.stderr) == (2, True)
    assert boards(out) == first
