// What a curator can do, by key or by button: each decision is an event of the journal.
import { choose, named, ranked, refuse } from "./curate_choose.js";
import {
  article, byId, candidates, curation, decided, entries, isOpen, itemOf, journal, known, methods,
  nameOf, nameOfEvent, pace, path, read, record, releaseName, say, showTask, state, termName, types,
} from "./curate_desk.js";
import { inForce, keyOf, pairOf } from "./curate_fold.js";

const MOST_EVIDENCE = 50; // passages of an item, as metaserver/curation/decisions.py has it
const MOST_PAIRS = 500; // that are rejected with their protein, as there

const NO_PAIR = "There is no pair: m adds one";

let first = null; // of a pair: the row that was marked

const entryOption = (entry, key) => ({
  key,
  label: entry.entry_name || entry.accession,
  detail: [entry.accession, entry.names[0], entry.symbols[0], entry.organism].filter(Boolean).join(" · "),
  value: entry,
});

function goOn() {
  const row = candidates.next(1, true);
  if (row) move(row);
  else say("Every candidate of this task has a decision.");
}

function move(row) {
  if (!row) return;
  const focused = document.activeElement === document.body || candidates.row === document.activeElement;
  candidates.select(row, focused);
}

function decide(kind, detail) {
  const { row } = candidates;
  if (!row) return;
  record(kind, row, detail);
  say(`${nameOf(row)} ${row.dataset.decision}`);
  goOn();
  const pairs = kind === "reject" && row.dataset.task === "INT" ? openPairs(row.dataset.item) : [];
  if (pairs.length) {
    say(`${nameOf(row)} rejected. X: its ${pairs.length} pair${pairs.length === 1 ? "" : "s"} too.`);
  }
}

// The pairs with a protein that are not rejected.
const openPairs = (accession) => candidates.rows("IPT")
  .filter((row) => row.dataset.decision !== "rejected" && itemOf(row).includes(accession))
  .slice(0, MOST_PAIRS);

// Rejects the pairs of the protein that was rejected last: by one event in the place of the former,
// so that one undo takes back both.
function rejectPairs() {
  const last = inForce(journal.events).at(-1);
  const pairs = last?.kind === "reject" && last.task === "INT" ? openPairs(last.item[0]) : [];
  if (!pairs.length) return say("Reject a protein that has pairs first.");
  const row = candidates.find(keyOf("INT", last.item));
  journal.undo(pace.take());
  record("reject", row, { reason: last.detail.reason ?? "", pairs: pairs.map(itemOf) });
  say(`${nameOf(row)} rejected with ${pairs.length} pair${pairs.length === 1 ? "" : "s"}`);
}

// Accepts; a pair of a rejected protein only if that is meant, since it accepts the protein.
async function accept() {
  const { row } = candidates;
  if (row?.dataset.task === "IPT" && !(await meant(itemOf(row)))) return;
  decide("accept");
}

function meant(item) {
  const rows = [...new Set(item)].map((one) => candidates.find(keyOf("INT", [one])));
  const rejected = rows.filter((row) => row?.dataset.decision === "rejected").map(nameOf);
  return !rejected.length || choose({
    title: `${rejected.join(" and ")} rejected. Accept with the pair?`,
    first: [
      { key: "n", label: "Leave it rejected, and the pair undecided", value: false },
      { key: "y", label: "Accept the pair and its proteins", value: true },
    ],
  });
}

export function pick(place) {
  const { row } = candidates;
  if (!row || !place) return;
  const chosen = (decided(row)?.evidence ?? []).map((one) => one.join("-"));
  const next = chosen.includes(place) ? chosen.filter((one) => one !== place) : [...chosen, place];
  if (next.length > MOST_EVIDENCE) return say(`An item has at most ${MOST_EVIDENCE} passages.`);
  record("evidence", row, { evidence: next.map((one) => one.split("-").map(Number)) });
  say(chosen.includes(place) ? "evidence left out" : `evidence: ${article.words(place.split("-").map(Number))}`);
}

function reached(event) {
  if (!event) return say("There is nothing more.");
  const key = event.task && keyOf(event.task, event.item);
  const row = key && candidates.find(key);
  if (row) {
    if (row.dataset.task !== candidates.task) showTask(row.dataset.task);
    move(row);
  }
  say(`${nameOfEvent(event)}: ${row?.dataset.decision ?? "changed"}`);
}

async function addProtein() {
  const search = async (words) => {
    const address = new URLSearchParams({ text: words, limit: 20 });
    const found = await entries(`releases/${encodeURIComponent(releaseName)}/entries?${address}`);
    return found.map((entry) => entryOption(entry));
  };
  const entry = await choose({ title: "Add a protein: name, symbol or accession", search });
  if (!entry) return;
  known.set(entry.accession, entry);
  record("add", null, { task: "INT", item: [entry.accession] });
  if (candidates.task !== "INT") showTask("INT");
  move(candidates.find(keyOf("INT", [entry.accession])));
  say(`${entry.entry_name} added`);
}

async function otherSpecies() {
  const { row } = candidates;
  if (!row || row.dataset.task !== "INT") return say("Choose a protein first.");
  const { item, symbol } = row.dataset;
  let found = [];
  try {
    found = await entries(`curations/${curation}/orthologs/${encodeURIComponent(item)}`);
    if (!found.length && symbol) {
      const address = new URLSearchParams({ text: symbol, limit: 9 });
      found = await entries(`releases/${encodeURIComponent(releaseName)}/entries?${address}`);
    }
  } catch (error) {
    return say(error.message);
  }
  const others = found.filter(({ accession }) => accession !== item).slice(0, 9);
  if (!others.length) return say("No ortholog is known: add it by name.");
  const first = others.map((entry, place) => entryOption(entry, String(place + 1)));
  const entry = await choose({ title: `${nameOf(row)} of which species?`, first });
  if (!entry) return;
  known.set(entry.accession, entry);
  record("species", row, { item: [entry.accession], replaced: [item] });
  say(`${entry.entry_name} instead of ${nameOf(row)}`);
  goOn();
}

// Adds a pair: of two proteins marked in their list, or chosen by their places in it from the pairs.
async function pair() {
  const { row } = candidates;
  if (candidates.task === "IPT") {
    const one = await protein("A pair of which protein?");
    const other = one && (await protein(`${nameOf(one)} binds …? Itself: a homomer.`));
    return other && addPair(one, other);
  }
  if (!row) return say("Choose a protein first.");
  if (!first) {
    first = row;
    row.classList.add("first");
    return say(`${nameOf(row)} binds …? Mark the second with m; m again: itself.`);
  }
  const one = first;
  unmark();
  return addPair(one, row);
}

function protein(title) {
  const first = candidates.rows("INT").map((row, place) => ({
    key: place < 9 ? String(place + 1) : "",
    label: nameOf(row),
    detail: `${itemOf(row)} ${row.querySelector(".symbol").textContent}`,
    value: row,
  }));
  const search = async (words) =>
    ranked(words, first, ({ label, detail }) => [label, ...detail.split(" ")]).map((one) => ({ ...one, key: "" }));
  return choose({ title, first, search });
}

async function addPair(one, other) {
  const item = pairOf(one.dataset.item, other.dataset.item);
  if (!(await meant(item))) return;
  record("pair", null, { task: "IPT", item });
  move(candidates.find(keyOf("IPT", item)));
  say(`${nameOf(one)} – ${nameOf(other)}: pair added`);
}

export function unmark() {
  first?.classList.remove("first");
  first = null;
}

// The detection method or the interaction type of a pair: those used last come first, then those
// that the passage which is shown, or the pair's evidence, names.
// With `another` it is that of one more experiment, otherwise as one that has it already.
async function setTerm(name, terms, question, another = false) {
  const row = currentPair();
  if (!row) return refuse(NO_PAIR);
  const option = ({ value, label, also }, key) =>
    ({ key, label, detail: [value, ...(also ?? []).slice(0, 3)].join(" · "), value });
  const inEvent = ({ detail = {} }) => [detail, ...(detail.experiments ?? [])].map((one) => one[name]);
  const used = journal.events.flatMap(inEvent).filter(Boolean).reverse();
  const last = [...new Set(used)].slice(0, 5);
  const passages = [article.passage(), ...(decided(row)?.evidence ?? [])].filter(Boolean);
  const said = passages.map(([start, end]) => article.words([start, end])).join("\n");
  const proposed = named(said, terms).map(({ value }) => value).filter((id) => !last.includes(id));
  const easy = [...last, ...proposed].slice(0, 9);
  const recent = easy.map((id, place) => option({ value: id, label: termName(id) }, String(place + 1)));
  const search = async (words) =>
    ranked(words, terms, ({ label, value, also }) => [label, value, ...also]).slice(0, 50).map((one) => option(one));
  const rest = terms.filter(({ value }) => !easy.includes(value)).map((one) => option(one));
  const chosen = await choose({ title: question(nameOf(row)), first: [...recent, ...rest], search });
  if (!chosen) return;
  const { method = "", type = "", experiments = [] } = decided(row) ?? {};
  if (another) {
    const all = [...state.items.values()].flatMap((one) => one.experiments);
    const same = all.findLast((one) => one[name] === chosen) ?? { [name]: chosen };
    const made = like({ ...same, figure: "" }, itemOf(row));
    record("experiments", row, { experiments: [...experiments, made] });
  } else record("method", row, { method, type, [name]: chosen });
  say(`${nameOf(row)}: ${termName(chosen)}`);
}

// Changes the last experiment of the current pair.
function changeLast(change) {
  const row = currentPair();
  if (!row) return refuse(NO_PAIR);
  const known = decided(row)?.experiments ?? [];
  const last = { ...known.at(-1), ...change(known.at(-1) ?? {}) };
  record("experiments", row, { experiments: [...known.slice(0, -1), last] });
  say([nameOf(row), last.figure, last.negative && "no interaction"].filter(Boolean).join(" · "));
}

// Its figure or table; of the others, the one said last comes first.
async function figure() {
  const row = currentPair();
  if (!row) return refuse(NO_PAIR);
  const now = decided(row)?.experiments.at(-1)?.figure;
  const said = journal.events.flatMap(({ detail }) => detail?.experiments ?? []).map((one) => one.figure);
  const last = [...new Set(said.filter((one) => one && one !== now).reverse())].slice(0, 5);
  const option = (words) => ({ label: words, value: words });
  const chosen = await choose({
    title: `Which figure or table shows ${nameOf(row)}?`,
    first: last.map(option),
    search: async (words) => [option(words.slice(0, 100))],
  });
  if (chosen) changeLast(() => ({ figure: chosen }));
}

// The pair that a command is for.
const currentPair = () => (candidates.task === "IPT" ? candidates.row : candidates.current.get("IPT"));

// An experiment as another: its methods, host, figure and roles by place, as `Experiment.like` of
// the hub.
function like({ method = "", type = "", host = null, figure = "", participants = [] }, item) {
  const roles = participants.length === item.length ? participants : [];
  return {
    method, type, host, figure,
    participants: roles.map((one, number) => ({ ...one, accession: item[number], features: [] })),
  };
}

// Gives a pair one more experiment that is as the last of another pair.
function sameAsLast() {
  const row = currentPair();
  if (!row) return refuse(NO_PAIR);
  const item = itemOf(row);
  const others = [...state.items.values()]
    .filter(({ task, item: other, experiments }) =>
      task === "IPT" && experiments.length && other.join() !== item.join());
  const place = ({ item: other }) => journal.events.findLastIndex(({ kind, item: of }) =>
    ["experiments", "method", "pair", "accept"].includes(kind) && of?.join() === other.join());
  const last = others.sort((one, other) => place(one) - place(other)).at(-1)?.experiments.at(-1);
  if (!last) return refuse("No other pair has an experiment yet");
  record("experiments", row, {
    experiments: [...(decided(row)?.experiments ?? []), like(last, item)],
  });
  const said = [termName(last.method), last.figure].filter(Boolean).join(", ");
  say(`${nameOf(row)}: ${said}, as the pair before`);
}

// Leads to the form of a pair's experiments when all decisions are saved.
async function experiments() {
  const row = currentPair();
  if (!row) return refuse(NO_PAIR);
  const told = journal.refusals.length;
  await journal.flush();
  if (!journal.waiting.length && journal.refusals.length === told) {
    location.assign(`${path}/experiments/${itemOf(row).join(",")}`);
  }
}

async function note() {
  const { row } = candidates;
  if (!row) return refuse("Choose a candidate to note something on");
  const search = async (words) => [{ label: "Keep this note", value: words }];
  const text = await choose({ title: `Note on ${nameOf(row)}`, search, text: decided(row)?.note ?? "" });
  if (text !== null) record("note", row, { note: text });
}

async function reject() {
  const first = read("reasons").map(([key, label]) => ({ key, label, value: label }));
  const reason = await choose({ title: `Why is ${nameOf(candidates.row)} rejected?`, first });
  if (reason) decide("reject", { reason });
}

const NEXT = new Map([[null, true], [true, false], [false, null]]);
const commands = {
  next: () => move(candidates.next(1, true)),
  previous: () => move(candidates.next(-1, true)),
  down: () => move(candidates.next(1, false)),
  up: () => move(candidates.next(-1, false)),
  accept,
  reject: () => decide("reject"),
  reason: () => (candidates.row ? reject() : refuse("Choose a candidate to reject")),
  pairs: rejectPairs,
  undecide: () => candidates.row && record("undecide", candidates.row),
  undo: () => reached(journal.undo(pace.take())),
  redo: () => reached(journal.redo(pace.take())),
  mention: () => article.step(1),
  back: () => article.step(-1),
  evidence: () => pick(article.passage()?.join("-")),
  quote: (digit = 1) => byId("quotes").children[digit - 1]?.firstElementChild.click(),
  species: otherSpecies,
  add: addProtein,
  pair,
  another: () => setTerm("method", methods, (pair) => `How was ${pair} detected, too?`, true),
  figure,
  negative: () => changeLast(({ negative }) => ({ negative: !negative })),
  method: () => setTerm("method", methods, (pair) => `How was ${pair} detected?`),
  type: () => setTerm("type", types, (pair) => `Which interaction is ${pair}?`),
  same: sameAsLast,
  form: experiments,
  relevant: () => commands.judge(NEXT.get(state.relevant)),
  judge: (relevant) => {
    record("relevant", null, { relevant });
    say(`The article is ${byId("relevance").textContent}.`);
  },
  note,
  why: () => byId("detail").querySelector(".why")?.toggleAttribute("open"),
  renew: () => {
    candidates.rank();
    byId("news").hidden = true;
    say("The undecided below are ranked again.");
  },
  task: () => showTask({ INT: "IPT", IPT: "ACT", ACT: "INT" }[candidates.task]),
  help: () => byId("keys").showModal(),
  submit: async () => {
    const told = journal.refusals.length;
    await journal.flush();
    if (!journal.waiting.length && journal.refusals.length === told) location.assign(`${path}/submit`);
  },
};
const READING = new Set(["next", "previous", "down", "up", "mention", "back", "why", "task", "help"]);

export function run(name, ...given) {
  if (isOpen || READING.has(name)) commands[name](...given);
}
