"""The PostgreSQL servers of tests."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import stores
from tests.waiting import until_true

INTEGRATION = Path(__file__).parents[1] / "integration"

MARK = f"pytest.mark.{stores.ONE_STORE}"
LEFT_OUT = {
    "test_chaos.py", "test_demo.py", "test_doctor_fleet.py", "test_hostile_answers.py",
    "test_full_rate.py", "test_hostile_files.py",
    "test_hostile_servers.py", "test_job_board.py", "test_kill.py", "test_machines.py",
    "test_packaging.py", "test_process_database.py", "test_process_losses.py",
    "test_process_networks.py", "test_processes.py", "test_rehearse.py", "test_several.py",
    "test_run.py", "test_serve_blocked.py", "test_shared.py", "test_stop.py", "test_tasks.py",
}  # fmt: skip
"""Files of integration tests none of which is run again on PostgreSQL; why is said in each."""

RUN = """
import time
from tests.stores import PostgresServer
server = PostgresServer()
server.start()
print(server.folder, flush=True)
time.sleep(3600)
"""


@pytest.mark.slow
def test_a_server_ends_with_the_process_that_made_it_also_if_that_is_killed() -> None:
    stores.binaries()
    with subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True) as made:
        folder = Path(made.stdout.readline().rstrip())
        first = Path("/proc", (folder / "data" / "postmaster.pid").read_text().split()[0])
        assert first.exists()
        made.kill()
    until_true(lambda: not folder.exists())
    until_true(lambda: not first.exists())


def marks(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == MARK:
            yield node


def test_what_is_not_run_on_postgresql_is_listed_and_says_why() -> None:
    whole = set()
    for path in INTEGRATION.glob("test_*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for mark in marks(tree):
            [reason] = mark.args
            assert len(ast.literal_eval(reason).split()) > 3, path.name
        for node in tree.body:
            if isinstance(node, ast.Assign) and any(marks(node)):
                whole.add(path.name)
    assert whole == LEFT_OUT
