// The lists of candidates: a listbox a task, of which one row is current. Rows keep their places,
// whatever is decided and whatever comes late; only `rank` moves undecided ones, below the current.
// Unlikely ones are hidden until they are unfolded, at the end of their list.

const isUnlikely = ({ dataset }) => "unlikely" in dataset && dataset.decision === "undecided";
const SIGNS = { accepted: "✔", rejected: "✘", undecided: "" };

export class Candidates {
  constructor(root, chosen) {
    this.chosen = chosen; // called with the row that became current
    this.lists = new Map(); // by task
    this.current = new Map(); // by task: a row
    this.more = new WeakMap(); // by row: what speaks for it
    this.keys = new Map(); // by task and item: its row
    this.order = new Map(); // by task and item: its place in the newest page
    this.unlikely = new Set(); // tasks and items that are, there
    this.task = "INT";
    this.filter = "";
    this.fold = root.querySelector("details.unlikely");
    this.fold.previousElementSibling.previousElementSibling.append(...this.fold.querySelectorAll(".candidate"));
    this.fold.querySelector("ol").remove();
    this.fold.addEventListener("toggle", () => this.sift(this.filter));
    for (const list of root.querySelectorAll("ol.candidates")) {
      const { task } = list.closest("[data-task]").dataset;
      this.lists.set(task, list);
      list.setAttribute("role", "listbox");
      for (const row of list.children) this.#take(row);
      list.addEventListener("click", ({ target }) => {
        const row = target.closest(".candidate");
        if (row) this.select(row, true);
      });
    }
    this.#sort(root.querySelectorAll(".candidate"));
    this.sift("");
  }

  #sort(rows) {
    this.order = new Map([...rows].map(({ dataset }, place) => [dataset.key, place]));
    this.unlikely = new Set([...rows].filter(isUnlikely).map(({ dataset }) => dataset.key));
  }

  // A row is an option, which has no controls in it: its form goes, its details are kept beside.
  #take(row) {
    row.querySelector("form")?.remove();
    const more = row.querySelector(".more");
    if (more) {
      more.remove();
      this.more.set(row, more);
    }
    this.keys.set(row.dataset.key, row);
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", "false");
    row.tabIndex = -1;
  }

  get row() {
    return this.current.get(this.task);
  }

  rows(task = this.task) {
    return [...(this.lists.get(task)?.children ?? [])];
  }

  find(key) {
    return this.keys.get(key);
  }

  select(row, focus = false) {
    const { task } = row.dataset;
    const before = this.current.get(task);
    if (before && before !== row) {
      before.setAttribute("aria-selected", "false");
      before.tabIndex = -1;
    }
    row.hidden = false;
    row.setAttribute("aria-selected", "true");
    row.tabIndex = 0;
    this.current.set(task, row);
    if (focus) row.focus({ preventScroll: true });
    this.#reveal(row);
    if (task === this.task) this.chosen(row);
  }

  // Scrolls the list, and not the page around it.
  #reveal(row) {
    const pane = row.closest(".task");
    const box = pane.getBoundingClientRect();
    const { top, bottom } = row.getBoundingClientRect();
    if (top < box.top) pane.scrollTop += top - box.top;
    else if (bottom > box.bottom) pane.scrollTop += bottom - box.bottom;
  }

  // The next row in a direction that is shown, or only one that is undecided; round the end.
  next(by, undecided) {
    const rows = this.rows().filter((row) => !row.hidden || row === this.row);
    const at = rows.indexOf(this.row);
    for (let step = 1; step <= rows.length; step += 1) {
      const place = at + by * step;
      if (!undecided && (place < 0 || place >= rows.length)) return undefined;
      const row = rows[(place + 2 * rows.length) % rows.length];
      if (row !== this.row && (!undecided || row.dataset.decision === "undecided")) return row;
    }
    return undefined;
  }

  // Shows the decision on a row; nothing else of it changes.
  decide(row, { decision = "undecided", reason = "", implied = false, method = "" } = {}) {
    const why = reason || (implied ? "by its pair" : "") || method;
    if (row.dataset.decision === decision && row.dataset.why === why) return;
    row.dataset.decision = decision;
    row.dataset.why = why;
    row.querySelector(".state").textContent = SIGNS[decision];
    row.querySelector(".said").textContent = why ? `${decision}: ${why}` : decision;
    if ("unlikely" in row.dataset) this.#refold([row]);
  }

  // Puts a row that came late at the end, and says that it is new.
  append(row, { fresh = true } = {}) {
    this.#take(row);
    row.querySelector(".fresh").hidden = !fresh || isUnlikely(row);
    const list = this.lists.get(row.dataset.task);
    list.append(row);
    list.nextElementSibling.hidden = true; // "no candidate yet"
  }

  // Takes the figures of a newer page into rows that are there; none moves.
  renew(fresh) {
    this.#sort(fresh);
    const added = [];
    const touched = []; // that are or were unlikely
    for (const newer of fresh) {
      const row = this.find(newer.dataset.key);
      if (!row) {
        const copy = document.importNode(newer, true);
        this.append(copy);
        added.push(copy);
        if (isUnlikely(copy)) touched.push(copy);
        continue;
      }
      const shown = row.dataset.task === this.task; // what is in sight does not go
      for (const name of ["chance", "votes", "places"]) {
        row.querySelector(`.${name}`).innerHTML = newer.querySelector(`.${name}`).innerHTML;
      }
      if ("unlikely" in row.dataset || isUnlikely(newer)) touched.push(row);
      if (!isUnlikely(newer) || !shown) row.toggleAttribute("data-unlikely", isUnlikely(newer));
      row.dataset.rank = newer.dataset.rank;
      row.dataset.probability = newer.dataset.probability;
      this.more.set(row, document.importNode(newer.querySelector(".more"), true));
    }
    this.#refold(touched);
    return added;
  }

  // Ranks the undecided below the current row again, among the places that they have.
  rank() {
    const list = this.lists.get(this.task);
    const rows = this.rows();
    const free = rows.filter(
      (row, place) => place > rows.indexOf(this.row) && row.dataset.decision === "undecided",
    );
    const place = ({ dataset }) => this.order.get(dataset.key) ?? this.order.size;
    const ordered = free.toSorted((a, b) => place(a) - place(b));
    const order = rows.map((row) => (free.includes(row) ? ordered.shift() : row));
    order.forEach((row, place) => {
      if (list.children[place] !== row) list.insertBefore(row, list.children[place] ?? null);
    });
    for (const row of rows) row.querySelector(".fresh").hidden = true;
    for (const row of free) row.toggleAttribute("data-unlikely", this.unlikely.has(row.dataset.key));
    this.#refold(free);
  }

  // Hides the unlikely of some rows, unless a filter chose them, and counts all that there are.
  #refold(rows) {
    for (const row of this.filter === "" ? rows : []) {
      row.hidden = isUnlikely(row) && !this.fold.open && row !== this.current.get("IPT");
    }
    const count = this.rows("IPT").filter(isUnlikely).length;
    this.fold.hidden = !count;
    this.fold.querySelector(".count").textContent = count;
  }

  sift(filter) {
    this.filter = filter;
    for (const task of this.lists.keys()) {
      for (const row of this.rows(task)) {
        const fresh = !row.querySelector(".fresh").hidden;
        row.hidden = filter !== "" && (filter === "new" ? !fresh : row.dataset.decision !== filter);
      }
    }
    this.#refold(this.rows("IPT"));
  }
}
