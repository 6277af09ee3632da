"""The matrix of docs/peers.md: its commands select tests, and each result is that of a test."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import pytest

from tests.docs.test_docs import TEXTS
from tests.shared import ROOT

COMMAND = re.compile(r"`(tests/\S+\.py)(?: -k (\S+|'[^']+'))?`")
COLUMNS = (
    "plain", "`<&>`", "non-ASCII", "white space", "300 KB", "fault", "hub's test",
    "`annotators check`",
)  # fmt: skip
BOTH = ("hub's test", "`annotators check`")
SHOWN: Mapping[str, Mapping[str, Sequence[str]]] = {
    "tests/conformance/test_peers.py": {
        "test_an_article_arrives_whole*-plain]": ("plain",),
        "test_an_article_arrives_whole*-markup]": ("`<&>`",),
        "test_an_article_arrives_whole*-letters]": ("non-ASCII",),
        "test_an_article_arrives_whole*-space]": ("white space",),
        "test_an_article_arrives_whole*-long]": ("300 KB",),
        "test_a_fault_is_a_fault*": ("fault",),
        "test_it_passes_the_hubs_test_and_the_teams*": BOTH,
        "test_an_article_in_ascii*-plain]": ("plain", "fault"),
        "test_an_article_in_ascii*-markup]": ("`<&>`",),
        "test_an_article_in_ascii*-letters]": ("non-ASCII",),
        "test_an_article_in_ascii*-space]": ("white space",),
        "test_an_article_in_ascii*-long]": ("300 KB",),
        "test_tcl_passes_the_hubs_test*": ("hub's test",),
        "test_a_careless_server*": ("plain", "non-ASCII"),
    },
    "tests/conformance/test_kits.py": {
        "test_its_smoke_test_passes*": ("plain", "`<&>`", "non-ASCII", "fault"),
        "test_it_passes_the_hubs_test_and_the_teams*": ("300 KB", *BOTH),
    },
    "tests/conformance/test_clients.py": {
        "test_a_foreign_client*": ("plain", "`<&>`", "non-ASCII", "fault", "hub's test"),
        "test_a_client_made_from_the_openapi*": ("plain", "non-ASCII", "fault", "hub's test"),
    },
    "tests/conformance/test_models.py": {
        "test_it_passes_both_tests*": ("plain", "non-ASCII", "300 KB", *BOTH),
        "test_a_wrong_key_is_a_fault": ("fault",),
    },
    "tests/integration/test_tips_servers.py": {
        "test_*_passes_the_whole_test*": ("plain", "non-ASCII", "300 KB", "hub's test"),
    },
    "tests/integration/test_public_servers.py": {
        "test_a_public_server_finds*[plain-*": ("plain",),
        "test_a_public_server_finds*[markup-*": ("`<&>`",),
        "test_a_public_server_finds*[letters-*": ("non-ASCII",),
        "test_a_public_server_finds*[space-*": ("white space",),
        "test_what_a_public_server_refuses*": ("fault",),
        "test_a_public_server_passes_the_whole_test*": ("300 KB", "hub's test"),
    },
}
"""The columns that a test has a result for, by file and name."""


def matrix() -> list[dict[str, str]]:
    """Return the rows of the matrix, a table per kind of peer, by their headings."""
    section = TEXTS[ROOT / "docs" / "peers.md"].split("## The matrix\n", 1)[1].split("\n## ", 1)[0]
    rows: list[dict[str, str]] = []
    for table in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE):
        lines = [line.strip("| ").split(" | ") for line in table.splitlines()]
        heading, _, *results = lines
        if "Repeat" in heading:
            rows += [dict(zip(heading, row, strict=True)) for row in results]
    assert rows
    return rows


def collected(session: pytest.Session, file: str) -> list[str]:
    """Return the names of a file's tests."""
    module = pytest.Module.from_parent(session, path=ROOT / file)
    return [item.name for item in session.genitems(module)]


def shown(file: str, name: str) -> Iterator[str]:
    """Yield the columns that a test has a result for."""
    for pattern, columns in SHOWN[file].items():
        if fnmatchcase(name, pattern.replace("[", "[[]")):
            yield from columns


def test_each_result_of_a_peer_is_that_of_a_test(request: pytest.FixtureRequest) -> None:
    tests = {file: collected(request.session, file) for file in SHOWN}
    repeated: set[tuple[str, str]] = set()
    for row in matrix():
        command = COMMAND.fullmatch(row["Repeat"])
        assert command, row
        file, words = command[1], (command[2] or "").strip("'").split(" or ")
        chosen = [name for name in tests[file] if any(word in name for word in words)]
        repeated |= {(file, name) for name in chosen}
        found = {column for name in chosen for column in shown(file, name)}
        assert {column for column in COLUMNS if row.get(column) == "yes"} == found, row
        assert {row.get(column, "-") for column in COLUMNS} <= {"yes", "-"}, row
    missing = {(file, name) for file, names in tests.items() for name in names} - repeated
    assert [one for one in missing if any(shown(*one))] == []
