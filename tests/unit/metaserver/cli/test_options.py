"""What a command is given: servers by name, gold by task; bad input is told with its place."""

from pathlib import Path

import pytest

from metaserver.base.errors import InputError
from metaserver.base.records import TaskName
from metaserver.cli.single_phase import read_gold, read_servers
from metaserver.uniprot import Release

URL = "http://127.0.0.1:8100/"


def test_servers_have_names_and_keep_their_order() -> None:
    servers = read_servers([f"b={URL}", "a.1-x_y=https://example.org/RPC2?a=b"], 3)
    found = [(server.name, server.url) for server in servers]
    assert found == [("b", URL), ("a.1-x_y", "https://example.org/RPC2?a=b")]
    assert {server.concurrency for server in servers} == {3}


@pytest.mark.parametrize(
    "option",
    [
        URL, f"={URL}", "name", f"a/b={URL}", f"..={URL}", f".a={URL}", f"a b={URL}", f"a\n={URL}",
        f"ä={URL}", f"{'a' * 65}={URL}",
    ],
)  # fmt: skip
def test_a_name_is_that_of_a_file(option: str) -> None:
    with pytest.raises(InputError, match="expected NAME=URL") as told:
        read_servers([option], 1)
    assert told.value.place == "--server"
    assert "\n" not in str(told.value)


def test_names_are_not_given_twice() -> None:
    with pytest.raises(InputError, match="'a' is given twice"):
        read_servers([f"a={URL}", f"b={URL}", f"a={URL}"], 1)


def test_a_bad_url_is_told_with_its_server() -> None:
    with pytest.raises(InputError, match="is not the URL of a server") as told:
        read_servers([f"a={URL}", "b=127.0.0.1:8100"], 1)
    assert told.value.place == "--server b"


def test_no_secret_is_told() -> None:
    for option in ("a=http://team:secret@example.org:0/", "http://team:secret@example.org/"):
        with pytest.raises(InputError) as told:
            read_servers([option], 1)
        assert "secret" not in str(told.value)


def test_gold_is_read_by_task_and_kept_as_it_is(tmp_path: Path, release: Release) -> None:
    path = tmp_path / "gold.tsv"
    path.write_bytes(b"100\tP04637\r\n")
    gold = read_gold({TaskName("INT"): path}, release)
    assert list(gold) == ["INT"]
    assert gold[TaskName("INT")] == ("gold.tsv", b"100\tP04637\r\n")


def test_gold_that_cannot_be_read_is_named(tmp_path: Path, release: Release) -> None:
    for path in (tmp_path, tmp_path / "none.tsv"):
        with pytest.raises(InputError) as told:
            read_gold({TaskName("INT"): path}, release)
        assert told.value.place == str(path)


@pytest.mark.parametrize(("task", "line"), [("INT", "100\tTP53"), ("IPT", "100\tMDM2\tTP53")])
def test_a_gold_without_any_accession_is_that_of_another_task(tmp_path, release, task, line):
    path = tmp_path / "gold.tsv"
    path.write_text(f"{line}\n")
    with pytest.raises(InputError, match="none of its accessions is one of UniProt") as told:
        read_gold({TaskName(task): path}, release)
    assert told.value.place == str(path)


def test_a_gold_of_relevance_needs_no_accession(tmp_path: Path, release: Release) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text("100\t1\n")
    assert read_gold({TaskName("ACT"): path}, release)
