# A challenge by Ruby's xmlrpc. Usage: ruby FILE HUB TOKEN ORGANISER SERVER URL PHASE
require "json"
require "xmlrpc/client"

XMLRPC::Config.module_eval do  # both are off unless one says so
  remove_const(:ENABLE_NIL_CREATE)
  const_set(:ENABLE_NIL_CREATE, true)
  remove_const(:ENABLE_BIGINT)
  const_set(:ENABLE_BIGINT, true)
end
HUB_URL, TOKEN, ORGANISER, SERVER, URL, PHASE = ARGV
HUB = XMLRPC::Client.new2(HUB_URL)
saw = {}

def ask(*call) = HUB.call(*call)

def code(*call)  # the fault code that a call gets
  done, fault = HUB.call2(*call)
  done ? 0 : fault.faultCode
end

def wait_for(state)
  sleep 0.1 while ask("Servers.get", TOKEN, SERVER)["phases"][0]["state"] != state
end

saw["methods"] = ask("system.listMethods")
saw["signature"] = ask("system.methodSignature", "Servers.start")
saw["help"] = ask("system.methodHelp", "Servers.start")
saw["title"] = ask("Teams.update", TOKEN, "foreign", {title: "Ångström 中 <&> \""})["title"]

ask("Phases.open", ORGANISER, PHASE)
registered = ask("Servers.register", TOKEN, {server: SERVER, url: URL, tasks: ["INT"]})
saw["untested"] = code("Servers.start", TOKEN, SERVER)
job = ask("Servers.test", TOKEN, SERVER)["job"]
saw["passed"] = ask("Jobs.get", TOKEN, job, {wait: 30.0})["report"]["passed"]
saw["tested"] = [registered["tested"], ask("Servers.get", TOKEN, SERVER)["tested"]]
ask("Servers.next", TOKEN, SERVER, {phase: PHASE})
wait_for("paused")
ask("Servers.start", TOKEN, SERVER, {})
wait_for("finished")
saw["attempts"] = ask("Servers.attempts", TOKEN, SERVER, {limit: 2}).map do |one|
  [one["article"], one["outcome"]]
end
raw = ask("Servers.answer", TOKEN, SERVER, 19661423, 1)["raw"]
saw["raw"] = raw.force_encoding("UTF-8").include?("Ångström")

saw["faults"] = {
  "wrong token" => code("Servers.get", "wrong", SERVER),
  "not theirs" => code("Phases.freeze", TOKEN, PHASE),
  "unknown" => code("Servers.get", TOKEN, "nobody"),
  "wrong field" => code("Servers.update", TOKEN, SERVER, {colour: "blue"}),
  "wrong value" => code("Servers.update", TOKEN, SERVER, {concurrency: "many"}),
  "no method" => code("Servers.dance", TOKEN),
  "no token" => code("Servers.get")
}
first, second = HUB.multicall(["Servers.get", TOKEN, SERVER], ["Servers.get", TOKEN, "nobody"])
saw["multicall"] = [first["server"], second.faultCode]
closes = XMLRPC::DateTime.new(2030, 1, 2, 3, 4, 5)
moved = ask("Phases.update", ORGANISER, PHASE, {closes: closes})["closes"]
saw["closes"] = moved.to_time.strftime("%FT%T")
saw["large"] = ask("Phases.get", PHASE)["limits"]["answer_bytes"]
saw["large sent"] = ask("Audit.list", ORGANISER, {before: 8_589_934_592, limit: 1}).length

ask("Phases.freeze", ORGANISER, PHASE)
ask("Phases.close", ORGANISER, PHASE)
annotations = ask("Annotations.getAnnotations", 19661423)
saw["annotations"] = annotations.map { |one| one.values_at("article", "phase", "server") }
saw["the same"] = ask("Annotations.getAnnotations", "19661423") == annotations
answer = ask("Annotations.getAnnotation", "19661423", SERVER)["answer"]
saw["hits"] = answer["normalizations"].map { |hit| [hit["dbid"], hit["confidence"]] }
saw["servers"] = ask("Annotations.getAnnotationServerList", 19661423)
saw["board"] = ask("Boards.get", PHASE, "INT", {view: nil})["rows"].map do |row|
  [row["run"], row["place"], row["values"]["precision"]]
end
puts JSON.generate(saw)
