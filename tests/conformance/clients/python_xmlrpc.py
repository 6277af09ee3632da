"""A challenge by Python's xmlrpc.client. Usage: python FILE HUB TOKEN ORGANISER SERVER URL PHASE"""

import json
import sys
import time
from datetime import datetime
from typing import Any
from xmlrpc.client import Fault, MultiCall, ServerProxy

hub_url, token, organiser, server, url, phase = sys.argv[1:]
hub = ServerProxy(hub_url, allow_none=True, use_builtin_types=True)
saw: dict[str, Any] = {}


def code(method: str, *params: object) -> int:
    """Return the fault code that a call gets."""
    try:
        getattr(hub, method)(*params)
    except Fault as fault:
        return fault.faultCode
    return 0


def wait_for(state: str) -> None:
    while hub.Servers.get(token, server)["phases"][0]["state"] != state:
        time.sleep(0.1)


saw["methods"] = hub.system.listMethods()
saw["signature"] = hub.system.methodSignature("Servers.start")
saw["help"] = hub.system.methodHelp("Servers.start")
saw["title"] = hub.Teams.update(token, "foreign", {"title": 'Ångström 中 <&> "'})["title"]

hub.Phases.open(organiser, phase)
saw["tested"] = [
    hub.Servers.register(token, {"server": server, "url": url, "tasks": ["INT"]})["tested"]
]
saw["untested"] = code("Servers.start", token, server)
job = hub.Servers.test(token, server)["job"]
saw["passed"] = hub.Jobs.get(token, job, {"wait": 30.0})["report"]["passed"]
saw["tested"].append(hub.Servers.get(token, server)["tested"])
hub.Servers.next(token, server, {"phase": phase})
wait_for("paused")
hub.Servers.start(token, server, {})
wait_for("finished")
saw["attempts"] = [
    [one["article"], one["outcome"]] for one in hub.Servers.attempts(token, server, {"limit": 2})
]
raw = hub.Servers.answer(token, server, 19661423, 1)["raw"]
saw["raw"] = "Ångström" in raw.decode()

saw["faults"] = {
    "wrong token": code("Servers.get", "wrong", server),
    "not theirs": code("Phases.freeze", token, phase),
    "unknown": code("Servers.get", token, "nobody"),
    "wrong field": code("Servers.update", token, server, {"colour": "blue"}),
    "wrong value": code("Servers.update", token, server, {"concurrency": "many"}),
    "no method": code("Servers.dance", token),
    "no token": code("Servers.get"),
}
many = MultiCall(hub)
many.Servers.get(token, server)
many.Servers.get(token, "nobody")
first, second = many().results
saw["multicall"] = [first[0]["server"], second["faultCode"]]
closes = datetime(2030, 1, 2, 3, 4, 5)
saw["closes"] = hub.Phases.update(organiser, phase, {"closes": closes})["closes"].isoformat()
saw["large"] = hub.Phases.get(phase)["limits"]["answer_bytes"]
saw["large sent"] = None  # no int beyond 32 bits can be sent

hub.Phases.freeze(organiser, phase)
hub.Phases.close(organiser, phase)
annotations = hub.Annotations.getAnnotations(19661423)
saw["annotations"] = [[one["article"], one["phase"], one["server"]] for one in annotations]
saw["the same"] = hub.Annotations.getAnnotations("19661423") == annotations
answer = hub.Annotations.getAnnotation("19661423", server)["answer"]
saw["hits"] = [[hit["dbid"], hit["confidence"]] for hit in answer["normalizations"]]
saw["servers"] = hub.Annotations.getAnnotationServerList(19661423)
board = hub.Boards.get(phase, "INT", {"view": None})
saw["board"] = [[row["run"], row["place"], row["values"]["precision"]] for row in board["rows"]]
print(json.dumps(saw))
