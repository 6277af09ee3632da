"""A team's work with a client that openapi-python-client made; its package is hub_client.

Usage: python FILE HUB TOKEN ORGANISER SERVER URL PHASE PHASE_OF_FILES FILE
"""

import base64
import json
import sys
import time
from typing import Any

from hub_client import AuthenticatedClient
from hub_client.api.annotations import annotations_get_annotation
from hub_client.api.boards import boards_get
from hub_client.api.jobs import jobs_get
from hub_client.api.phases import phases_close, phases_freeze, phases_open
from hub_client.api.runs import runs_upload
from hub_client.api.servers import (
    servers_answer,
    servers_attempts,
    servers_get,
    servers_list,
    servers_register,
    servers_start,
    servers_test,
)
from hub_client.models import Error, RunsUploadUploadRun, ServersRegisterRegisterServer
from hub_client.models.outcome import Outcome

hub_url, token, organiser, server, url, phase, of_files, file = sys.argv[1:]
team = AuthenticatedClient(base_url=hub_url, token=token, timeout=60.0)
host = AuthenticatedClient(base_url=hub_url, token=organiser, timeout=60.0)
saw: dict[str, Any] = {}


def refusal(answer: Any) -> list[Any]:
    assert isinstance(answer, Error)
    return [answer.error.status, answer.error.field]


phases_open.sync(phase, client=host)
body = ServersRegisterRegisterServer(server=server, url=url, tasks=["INT"])
saw["registered"] = servers_register.sync(client=team, body=body).tested.value
saw["listed"] = [one.server for one in servers_list.sync(client=team)]
saw["untested"] = refusal(servers_start.sync(server, client=team))[0]
wrong = ServersRegisterRegisterServer(server="other", url="no address")
saw["wrong"] = refusal(servers_register.sync(client=team, body=wrong))

job = servers_test.sync(server, client=team)
saw["passed"] = jobs_get.sync(job.job, client=team, wait=30.0).report["passed"]
servers_start.sync(server, client=team)
while servers_get.sync(server, client=team).phases[0].state != "finished":
    time.sleep(0.1)
attempts = servers_attempts.sync(server, client=team, outcome=Outcome.OK)
saw["attempts"] = [[one.article, one.outcome.value] for one in attempts]
raw = servers_answer.sync(server, "19661423", 1, client=team).raw
saw["raw"] = "Ångström" in base64.b64decode(raw).decode()

phases_freeze.sync(phase, client=host)
phases_close.sync(phase, client=host)
answer = annotations_get_annotation.sync("19661423", server, client=team).answer
saw["hits"] = [[hit["dbid"], hit["confidence"]] for hit in answer["normalizations"]]
board = boards_get.sync(phase, "INT", client=team)
saw["board"] = [[row.run, row.place, row.values["precision"]] for row in board.rows]

phases_open.sync(of_files, client=host)
content = RunsUploadUploadRun(content=base64.b64encode(file.encode()).decode())
run = runs_upload.sync(of_files, "PPI-3D", "ours", client=team, body=content)
saw["uploaded"] = [run.run, run.articles]
board = boards_get.sync(of_files, "PPI-3D", client=team)
saw["uploads"] = [[row.run, row.place] for row in board.rows]
print(json.dumps(saw))
