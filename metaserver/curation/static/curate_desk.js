// What a curation's page has and shows: the article, the candidates, the journal of events, and the
// state that follows from them.
import { Article } from "./curate_article.js";
import { fold, keyOf } from "./curate_fold.js";
import { Journal } from "./curate_journal.js";
import { Candidates } from "./curate_list.js";
import { Pace, median } from "./curate_pace.js";

export const byId = (id) => document.getElementById(id);
export const read = (id) => JSON.parse(byId(id).textContent);
const desk = byId("desk");
export const { curation, request, releaseName, path } = desk.dataset;
export const isOpen = "open" in desk.dataset;
const csrf = document.querySelector("input[name=csrf]")?.value ?? "";
const terms = (id) => [...(byId(id)?.options ?? [])].map(({ value, label, dataset }) =>
  ({ value, label, also: dataset.also?.split("|") ?? [] }));
export const methods = terms("methods");
export const types = terms("types");
const features = terms("features");
export const termName = (id) => [...methods, ...types, ...features].find(({ value }) => value === id)?.label ?? id;

export let state = fold([]);
let version = Number(desk.dataset.version);

export const article = new Article(byId("article"));
export const candidates = new Candidates(desk, draw);
export const pace = new Pace();
export const journal = new Journal({ curation, log: read("log"), send, tell });

// -- the hub ---------------------------------------------------------------------------------------

async function ask(address, body) {
  const options = body && {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: JSON.stringify(body),
  };
  const answer = await fetch(`/api/v1/${address}`, options || {});
  return { status: answer.status, body: await answer.json().catch(() => ({})) };
}

function send(seen, events) {
  return ask(`curations/${curation}/events`, { seen, events });
}

export async function entries(address) {
  const { status, body } = await ask(address);
  if (status !== 200) throw new Error(body.error?.message ?? `Error ${status}`);
  return body;
}

function tell(what, detail) {
  const told = byId("told");
  const time = new Date().toLocaleTimeString([], { hourCycle: "h23" });
  if (what === "changed") renew();
  if (what === "saving") told.textContent = "Saving…";
  if (what === "saved") {
    told.textContent = `Saved ${time}`;
    alarm(refused());
  }
  if (what === "offline") {
    told.textContent = `${journal.waiting.length} not saved yet`;
    alarm("The hub does not answer. Go on: your decisions are kept here, and sent when it does.");
  }
  if (what === "refused") {
    told.textContent = "Not all saved";
    alarm(refused());
  }
  if (what === "stopped") alarm(`Not saved: ${detail}. Load the page again.`);
  if (what === "others") {
    const count = `${detail.length} decision${detail.length === 1 ? "" : "s"}`;
    say(`${count} of another page of this article came in before yours.`);
  }
}

// A line for each decision that the hub does not take; the page goes on without them.
function refused() {
  const line = ({ event, reason }) => `Not saved: ${nameOfEvent(event)}: ${reason.replace(/\.$/, "")}.`;
  return journal.refusals.map(line).join("\n");
}

function alarm(text) {
  byId("alarm").textContent = text;
  byId("alarm").hidden = !text;
}

export function say(text) {
  byId("announce").textContent = text;
}

// -- what is shown ---------------------------------------------------------------------------------

export const itemOf = (row) => row.dataset.item.split(",");
export const nameOf = (row) => row.querySelector(".called").textContent;
export const nameOfEvent = ({ kind, task, item }) => {
  const row = item?.length && candidates.find(keyOf(task, item));
  return row ? `${kind} of ${nameOf(row)}` : [kind, ...(item ?? [])].join(" ");
};
export const decided = (row) => state.items.get(row.dataset.key);

// After each event: the rows whose decision has changed, and what was added.
export function renew() {
  state = fold(journal.events);
  for (const [key, one] of state.items) {
    const row = candidates.find(key) ?? addRow(one);
    const { experiments = [], method } = one;
    const none = experiments.length && experiments.every(({ negative }) => negative);
    candidates.decide(row, { ...one, method: none ? "no interaction" : method && termName(method) });
  }
  for (const task of candidates.lists.keys()) {
    for (const row of candidates.rows(task)) if (!decided(row)) candidates.decide(row);
  }
  const rows = [...candidates.lists.keys()].flatMap((task) => candidates.rows(task));
  const open = rows.filter(({ dataset }) => dataset.decision === "undecided").length;
  byId("progress").textContent = `${rows.length - open} of ${rows.length} decided`;
  const seconds = median(journal.events);
  byId("pace").textContent = seconds === null ? "" : `${seconds.toFixed(1)} s a candidate (median)`;
  const said = { true: "relevant", false: "not relevant", null: "undecided" };
  byId("relevance").textContent = said[state.relevant];
  for (const button of document.querySelectorAll("[data-relevant]")) {
    button.setAttribute("aria-pressed", String(button.dataset.relevant === String(state.relevant)));
  }
  if (!candidates.row) return;
  standing(candidates.row);
  quotes(candidates.row);
}

export const known = new Map(); // by accession: an entry that was found

function addRow({ task, item }) {
  const row = byId("new-row").content.cloneNode(true).firstElementChild;
  const found = item.map((one) => known.get(one));
  const text = (name, value) => (row.querySelector(`.${name}`).textContent = value);
  Object.assign(row.dataset, { task, item: item.join(","), key: keyOf(task, item) });
  row.id = `c-${task}-${encodeURIComponent(item.join(","))}`;
  const label = (one, place) => found[place]?.entry_name || nameInList(one) || one;
  text("called", item.map(label).join(" – "));
  text("acc", item.join(" – "));
  text("symbol", found.map((one) => one?.symbols[0]).filter(Boolean).join(" – "));
  text("species", [...new Set(found.map((one) => one?.organism).filter(Boolean))].join(", "));
  const count = new Set(item.flatMap((one) => article.of([one]))).size;
  text("places", `${count} mention${count === 1 ? "" : "s"}`);
  candidates.append(row, { fresh: false });
  return row;
}

function nameInList(accession) {
  const row = candidates.find(keyOf("INT", [accession]));
  return row && nameOf(row);
}

// The current row: its marks, what speaks for it, and its evidence.
function draw(row) {
  offered = offers(row);
  const first = row.dataset.task === "IPT" ? offered : [];
  article.show([...new Set(itemOf(row))], first.map(placeOf));
  const detail = byId("detail");
  detail.hidden = false;
  const heading = document.createElement("h2");
  heading.textContent = `${nameOf(row)} `;
  const more = candidates.more.get(row);
  const now = document.createElement("p");
  now.id = "standing";
  detail.replaceChildren(heading, now, ...(more ? [more] : []));
  detail.querySelector(".why")?.toggleAttribute("open", whyIsOpen);
  detail.scrollTop = 0;
  standing(row);
  quotes(row);
}

let whyIsOpen = false; // of each row from now on
byId("detail").addEventListener("toggle", ({ target }) => (whyIsOpen = target.open), true);

// A feature in words: `mutation K48R 48-48`; its range as `Feature.range` of the hub.
const featureName = ({ type, name, start, end }) =>
  [termName(type), name, (start || end) && `${start ?? "?"}-${end ?? "?"}`].filter(Boolean).join(" ");

// What the curator said of the current row, in words.
function standing(row) {
  const { reason, experiments = [], note } = decided(row) ?? {};
  const { decision } = row.dataset;
  const shown = experiments.map(({ method, type, figure, negative, participants = [] }) =>
    [
      method && termName(method), type && termName(type), figure,
      ...participants.flatMap((one) => (one.features ?? []).map(featureName)), negative && "no interaction",
    ].filter(Boolean).join(" · "));
  const why = reason ? `${decision}: ${reason}` : decision;
  byId("standing").textContent = [why, shown.filter(Boolean).join("; "), note && `note: ${note}`].filter(Boolean).join(" · ");
}

let quoted = ""; // what the evidence was drawn of
let offered = []; // the places that speak for the current row
const placeOf = (text) => text.split("-").map(Number);

// What servers gave as evidence, and sentences that name both proteins of a pair.
function offers(row) {
  const more = candidates.more.get(row);
  const given = [...(more?.querySelectorAll("[data-place]") ?? [])].map(({ dataset }) => dataset.place);
  if (given.length) return given;
  return row.dataset.task === "IPT" ? article.together(itemOf(row)) : [];
}

// Shows the box of evidence, or not; the text stays where it is.
function pin(shown) {
  const { top } = article.element.getBoundingClientRect();
  byId("pinned").hidden = !shown;
  article.element.scrollTop += article.element.getBoundingClientRect().top - top;
}

function quotes(row) {
  const places = offered;
  const chosen = (decided(row)?.evidence ?? []).map((place) => place.join("-"));
  const shown = [...new Set([...places, ...chosen])].slice(0, 9);
  pin(shown.length > 0);
  const now = [row.dataset.key, ...shown, "", ...chosen].join(" ");
  if (now === quoted) return;
  quoted = now;
  byId("quotes").replaceChildren(...shown.map((place, number) => {
    const range = placeOf(place);
    const line = document.createElement("li");
    const button = document.createElement("button");
    const key = document.createElement("kbd");
    key.textContent = number + 1;
    button.type = "button";
    button.append(key, ` ${article.words(range)}`);
    button.setAttribute("aria-pressed", String(chosen.includes(place)));
    button.disabled = !isOpen;
    button.dataset.pick = place;
    line.append(button);
    return line;
  }));
  article.highlight(shown.map(placeOf));
}

export function showTask(task) {
  const focused = document.activeElement === candidates.row; // it is about to be hidden
  candidates.task = task;
  for (const section of document.querySelectorAll("section.task")) {
    section.hidden = section.dataset.task !== task;
  }
  for (const button of byId("tasks").children) {
    button.setAttribute("aria-pressed", String(button.dataset.show === task));
  }
  const row = candidates.row ?? candidates.rows()[0];
  byId("detail").hidden = !row;
  if (!row) pin(false);
  if (row) candidates.select(row, focused);
  else article.show([]);
}

// -- what is decided -------------------------------------------------------------------------------

export function record(kind, row, detail = {}) {
  const { task, rank, probability } = row?.dataset ?? {};
  const seen = {};
  if (rank) seen.seen_rank = Number(rank);
  if (probability) seen.seen_probability = Number(probability);
  const about = row ? { task, item: itemOf(row), ...seen } : {};
  const shown = version ? { request_version: version } : {};
  return journal.add(kind, { activeMs: pace.take(), ...shown, ...about, ...detail });
}

// -- answers that come late ------------------------------------------------------------------------

let fetching = null;

// Takes in a newer page: new candidates at the end, newer figures in their places.
async function takeIn() {
  const answer = await fetch(location.pathname);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("desk");
  if (!fresh || Number(fresh.dataset.version) <= version) return;
  version = Number(fresh.dataset.version);
  const added = candidates.renew(fresh.querySelectorAll(".candidate"));
  article.renew(page.getElementById("article"));
  renew();
  quoted = "";
  if (candidates.row) draw(candidates.row);
  else showTask(candidates.task);
  if (!added.length) return;
  const news = byId("news");
  const count = candidates.rows("INT").concat(candidates.rows("IPT"))
    .filter((row) => !row.querySelector(".fresh").hidden).length;
  news.textContent = `${count} new · g`;
  news.hidden = false;
  say(`${added.length} new candidate${added.length === 1 ? "" : "s"} at the end`);
}

export function answered() {
  fetching = (fetching ?? Promise.resolve()).then(takeIn).catch(() => {});
}
