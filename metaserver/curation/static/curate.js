// The page of a curation: keys and buttons are commands, commands are events, events make the state.
import { chooserIsOpen } from "./curate_choose.js";
import { pick, run, unmark } from "./curate_commands.js";
import { answered, byId, candidates, isOpen, journal, renew, request, showTask } from "./curate_desk.js";
import { fieldOf } from "./curate_keys.js";
import { followServers } from "./curate_servers.js";

const keys = new Map([["ArrowDown", "down"], ["ArrowUp", "up"]]);
for (const { dataset } of document.querySelectorAll("[data-do]")) {
  for (const key of dataset.keys.split(" ")) if (key.length === 1) keys.set(key, dataset.do);
}
const LETTERS = "curate-letters";

function pressed(event) {
  const { key, target } = event;
  if (chooserIsOpen() || byId("keys").open || event.altKey || event.metaKey) return;
  if (fieldOf(target)) return;
  if (event.ctrlKey) {
    if (key !== "Enter") return;
    event.preventDefault();
    return run("submit");
  }
  const inList = target === document.body || target.closest(".candidates, .article");
  if (key === "Escape") return unmark();
  if (key === "Enter" || key.startsWith("Arrow")) {
    if (!inList || (key.startsWith("Arrow") && target.closest(".article"))) return;
    if (key !== "Enter" && !keys.has(key)) return;
    event.preventDefault();
    return run(key === "Enter" ? "accept" : keys.get(key));
  }
  if (!byId("letters")?.checked) return;
  const name = keys.get(key);
  if (/^[1-9]$/.test(key)) run("quote", Number(key));
  else if (name) run(name);
  else return;
  event.preventDefault();
}

byId("desk").classList.add("with-scripts");
for (const shown of document.querySelectorAll(".deck, #commands")) shown.hidden = false;
for (const form of document.querySelectorAll(".deciding .plain")) {
  if (!form.querySelector("[data-relevant]") && !form.closest("section.task")) form.remove();
}
const news = document.createElement("p");
Object.assign(news, { id: "news", hidden: true, className: "news" });
byId("tasks").after(news);
byId("filter").addEventListener("change", ({ target }) => candidates.sift(target.value));
byId("tasks").addEventListener("click", ({ target }) => {
  const task = target.closest("[data-show]")?.dataset.show;
  if (task) showTask(task);
});
byId("commands")?.addEventListener("click", ({ target }) => {
  const name = target.closest("[data-do]")?.dataset.do;
  if (name) run(name);
});
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
byId("quotes").addEventListener("click", ({ target }) => {
  const place = target.closest("[data-pick]")?.dataset.pick;
  if (place) pick(place);
});
for (const button of document.querySelectorAll("[data-relevant]")) {
  button.addEventListener("click", (event) => {
    event.preventDefault();
    run("judge", JSON.parse(button.dataset.relevant));
  });
}
const letters = byId("letters");
if (letters) {
  try {
    letters.checked = localStorage.getItem(LETTERS) !== "off";
  } catch {
    // Storage may be forbidden: the choice then lasts for this page only.
  }
  letters.addEventListener("change", () => {
    try {
      localStorage.setItem(LETTERS, letters.checked ? "on" : "off");
    } catch {
      // As above.
    }
  });
}
document.addEventListener("keydown", pressed);
renew();
showTask(candidates.rows("INT").length || !candidates.rows("IPT").length ? "INT" : "IPT");
const row = candidates.find(decodeURIComponent(location.hash.slice(1)).replace(/^c-(\w+)-/, "$1:"));
const begin = row ?? candidates.rows().find(({ dataset }) => dataset.decision === "undecided");
if (begin) {
  if (begin.dataset.task !== candidates.task) showTask(begin.dataset.task);
  candidates.select(begin, true);
}
if (isOpen) journal.open();
if (request) followServers(request, answered);
