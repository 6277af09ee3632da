// The state that follows from a curation's events, as metaserver/curation/decisions.py has it: an
// event is never changed, a later one wins, an undo names another, a redo is an undo of an undo.

const NOTHING = {
  decision: "undecided", place: -1, at: 0, implied: false, byHand: false,
  reason: "", replaced: [], evidence: [], method: "", type: "", experiments: [], note: "",
};

export const keyOf = (task, item) => `${task}:${item.join(",")}`;
export const pairOf = (a, b) => (a < b ? [a, b] : [b, a]);

// The decisions that hold. Read from the end, an event is in force unless an undo in force named it.
export function inForce(log) {
  const undone = new Set();
  const kept = [];
  for (const event of log.toReversed()) {
    if (undone.has(event.key)) continue;
    if (event.kind === "undo") undone.add(event.detail.undoes);
    else kept.push(event);
  }
  return kept.reverse();
}

export const nextUndo = (log) => inForce(log).at(-1)?.key ?? "";

// The undo that a redo would name: the last one in force, unless something was decided since.
export function nextRedo(log) {
  const undos = new Set(log.filter(({ kind }) => kind === "undo").map(({ key }) => key));
  const undone = new Set();
  for (const event of log.toReversed()) {
    if (undone.has(event.key)) continue;
    if (event.kind !== "undo") return "";
    if (!undos.has(event.detail.undoes)) return event.key;
    undone.add(event.detail.undoes);
  }
  return "";
}

export function fold(log) {
  const items = new Map(); // by key: the decision on an item
  let relevant = null;
  let note = "";
  let publication = null; // as the curator mended it
  inForce(log).forEach((event, place) => {
    const detail = event.detail ?? {};
    if (event.kind === "relevant") relevant = detail.relevant ?? null;
    else if (event.kind === "publication") publication = detail.publication ?? null;
    else if (event.kind === "note" && !event.item?.length) note = detail.note ?? "";
    else apply(items, place, event, detail);
  });
  imply(items);
  return { items, relevant, note, publication };
}

function apply(items, place, { kind, task, item, at = 0 }, detail) {
  const key = keyOf(task, item);
  const known = items.get(key) ?? { ...NOTHING, task, item };
  const decided = { ...known, place, at, reason: "" };
  items.set(key, changed(kind, known, decided, detail));
  const { replaced = [], pairs = [] } = detail;
  const rejectOther = (task, item, reason) => {
    const other = keyOf(task, item);
    const before = items.get(other) ?? { ...NOTHING, task, item };
    items.set(other, { ...before, place, at, decision: "rejected", reason });
  };
  if (kind === "species" && replaced.join() !== item.join()) rejectOther(task, replaced, "wrong species");
  for (const one of pairs) rejectOther("IPT", one, "protein rejected");
}

function changed(kind, known, decided, detail) {
  if (kind === "reject") return { ...decided, decision: "rejected", reason: detail.reason ?? "" };
  if (kind === "undecide") return { ...decided, decision: "undecided" };
  if (kind === "evidence") return { ...known, evidence: detail.evidence ?? [] };
  if (kind === "experiments") return observed(known, detail.experiments ?? []);
  if (kind === "method") return named(known, detail.method ?? "", detail.type ?? "");
  if (kind === "note") return { ...known, note: detail.note ?? "" };
  const { method = "", type = "" } = detail;
  return {
    ...(method || type ? named(decided, method || known.method, type || known.type) : decided),
    decision: "accepted",
    replaced: detail.replaced?.length ? detail.replaced : known.replaced,
    evidence: detail.evidence?.length ? detail.evidence : known.evidence,
    byHand: known.byHand || kind === "add" || kind === "pair",
  };
}

// An item with these experiments; its method and type are those of the first.
function observed(known, experiments) {
  const { method = "", type = "" } = experiments[0] ?? {};
  return { ...known, experiments, method, type };
}

function named(known, method, type) {
  const [first, ...others] = known.experiments;
  return observed(known, [{ ...first, method, type }, ...others]);
}

// The proteins of accepted pairs are accepted, where the curator did not decide on them later.
function imply(items) {
  const pairs = [...items.values()].filter(({ task }) => task === "IPT");
  for (const one of pairs.sort((a, b) => a.place - b.place)) {
    for (const accession of one.decision === "accepted" ? one.item : []) {
      const key = keyOf("INT", [accession]);
      const known = items.get(key) ?? { ...NOTHING, task: "INT", item: [accession] };
      if (known.place < one.place && known.decision !== "accepted") {
        const { place, at } = one;
        items.set(key, { ...known, decision: "accepted", reason: "", implied: true, place, at });
      }
    }
  }
}
