// The events of a curation: decided here, sent to the hub at once, kept by the browser until they
// have arrived. An event that is sent twice counts once, so that whatever is unsure is sent again.
import { nextRedo, nextUndo } from "./curate_fold.js";

const RETRY = 3_000; // ms until the next try where the hub does not answer
const AT_ONCE = 100; // events of one message
const OF_EVENTS = new Set([400, 413, 422]); // statuses of messages whose events are at fault
const DATABASE = "curations";
const STORE = "events"; // that have not arrived, by key

function database() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE, { keyPath: "key" });
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

// Storage may be forbidden, or full: events are then kept in the page alone, and closing it asks.
async function stored(mode, act) {
  try {
    const store = (await database()).transaction(STORE, mode).objectStore(STORE);
    return await new Promise((resolve, reject) => {
      const asked = act(store);
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    });
  } catch {
    return null;
  }
}

const forget = (key) => stored("readwrite", (store) => store.delete(key));

// Unlike crypto.randomUUID it is there without https, too.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Journal {
  // `log` are the hub's events with their places ({seq, event}); `send(seen, events)` sends some
  // and gives {status, body}; `tell` is called with what has happened: "changed", "saving",
  // "saved", "offline", "refused" (an event was), "stopped" (with a text: all are, until the page
  // is loaded again), "others" (with the events of another page).
  constructor({ curation, log, send, tell }) {
    Object.assign(this, { curation, log, send, tell });
    this.waiting = []; // events that the hub is not known to have
    this.refusals = []; // events that it does not take, each with its reason
    this.most = AT_ONCE; // events of the next message
    this.sending = null;
    this.stopped = false;
    this.timer = 0;
    addEventListener("online", () => this.flush());
    addEventListener("beforeunload", (event) => this.waiting.length && event.preventDefault());
  }

  get events() {
    return [...this.log.map(({ event }) => event), ...this.waiting];
  }

  // Takes in what an earlier page of this browser could not send.
  async open() {
    const kept = (await stored("readonly", (store) => store.getAll())) ?? [];
    const known = new Set(this.log.map(({ event }) => event.key));
    const own = kept.filter(({ curation }) => curation === this.curation);
    for (const { key, event } of own.sort((a, b) => a.order - b.order)) {
      if (known.has(key)) forget(key);
      else this.waiting.push(event);
    }
    if (!this.waiting.length) return;
    this.tell("changed");
    await this.flush();
  }

  add(kind, { task, item = [], activeMs = 0, ...detail } = {}) {
    const event = { key: newKey(), kind, at: Date.now() / 1000, active_ms: activeMs };
    if (task) Object.assign(event, { task, item });
    event.detail = detail;
    this.waiting.push(event);
    const order = performance.timeOrigin + performance.now();
    const record = { key: event.key, curation: this.curation, order, event };
    stored("readwrite", (store) => store.put(record));
    this.tell("changed");
    this.tell("saving");
    this.flush();
    return event;
  }

  // Both return the event that is undone, or done again; undefined where there is none.
  undo(activeMs) {
    const undoes = nextUndo(this.events);
    if (undoes) this.add("undo", { undoes, activeMs });
    return this.#named(undoes);
  }

  redo(activeMs) {
    const undoes = nextRedo(this.events);
    if (undoes) this.add("undo", { undoes, activeMs });
    return this.#named(this.#named(undoes)?.detail.undoes);
  }

  #named(key) {
    return this.events.find((event) => event.key === key);
  }

  // Ends when all that waits is sent, or cannot be sent now.
  async flush() {
    clearTimeout(this.timer);
    if (this.stopped || !this.waiting.length) return;
    this.sending ??= this.#sendAll();
    await this.sending;
  }

  async #sendAll() {
    try {
      while (this.waiting.length && (await this.#batch()));
    } catch {
      this.tell("offline");
      this.timer = setTimeout(() => this.flush(), RETRY);
    } finally {
      this.sending = null;
    }
  }

  // Sends what waits; returns whether it can go on.
  async #batch() {
    const batch = this.waiting.slice(0, this.most);
    const seen = 1 + Math.max(-1, ...this.log.map(({ seq }) => seq));
    const { status, body } = await this.send(seen, batch);
    if (status === 200) {
      this.most = AT_ONCE;
      this.#arrived(batch.map((event) => ({ seq: body.seqs[event.key], event })));
      if (!this.waiting.length) this.tell("saved");
      return true;
    }
    const missing = body.error?.detail?.missing ?? [];
    if (status === 409 && missing.length) {
      // Another page of this curation was quicker: its events come before those that wait here.
      this.#arrived(missing);
      this.tell("changed");
      this.tell("others", missing.map(({ event }) => event));
      return true;
    }
    if (status >= 500 || status === 429) throw new Error(`status ${status}`);
    const reason = body.error?.message;
    const atFault = OF_EVENTS.has(status) || (status === 409 && body.error?.field === "key");
    if (atFault && batch.length > 1) {
      // One of them is: halves find it, and what comes before it is saved.
      this.most = Math.ceil(batch.length / 2);
      return true;
    }
    if (atFault && reason) {
      this.most = AT_ONCE;
      this.#refuse(batch[0], reason);
      return true;
    }
    this.stopped = true;
    this.tell("stopped", reason ?? `status ${status}`);
    return false;
  }

  // Goes on without an event that the hub does not take, and without what undid it.
  #refuse(event, reason) {
    const gone = new Set([event.key]);
    for (const { key, detail } of this.waiting) if (gone.has(detail.undoes)) gone.add(key);
    this.#drop(gone);
    this.refusals.push({ event, reason });
    this.tell("changed");
    this.tell("refused");
  }

  #arrived(entries) {
    const keys = new Set(entries.map(({ event }) => event.key));
    this.log = this.log.filter(({ event }) => !keys.has(event.key)).concat(entries);
    this.log.sort((a, b) => a.seq - b.seq);
    this.#drop(keys);
  }

  #drop(keys) {
    this.waiting = this.waiting.filter(({ key }) => !keys.has(key));
    for (const key of keys) forget(key);
  }
}
