// Rows of which the hub sends figures only while they are in sight.
//
// On a phone, figures are in sight only of the rows that are unfolded.
//
// Every row is in the page with its state and its name, so that it is found, counted, printed and
// read out. Its other cells come with the stream, which is asked for the rows in sight, and go when
// they are far away again: a table of 1,000 costs what its visible part costs.
//
// A frame has texts and attributes by slot, `{"last": "12", "line@d": "M0 ..."}`. The slot without a
// name is the row itself.

const NEAR = 300; // pixels: rows that are so near to the window need figures
const AHEAD = 900; // pixels: when some lack them, those so far ahead of scrolling are asked for too
const STEP = 10; // rows: who sees nearly the same asks for the same
const MOST = 200; // rows that the hub gives figures of
const SETTLED = 120; // ms without scrolling until rows are asked for
const PATIENCE = 400; // ms of scrolling after which they are asked for all the same

const slots = new WeakMap(); // by row: its elements by slot
const byId = (id) => document.getElementById(id);
const table = () => document.querySelector("[data-rows]");

export function build(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// The index of the first of `rows`, from top to bottom, that ends below `y`.
function firstBelow(rows, y) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].getBoundingClientRect().bottom > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The range of `rows` that are within so many pixels of the window.
function within(rows, margin) {
  return [firstBelow(rows, -margin), firstBelow(rows, innerHeight + margin) + 1];
}

// The ids of the rows to ask for, or null where all that are in sight are among `asked`.
export function needed(asked) {
  const rows = [...(table()?.children ?? [])].filter((row) => row.lastElementChild.offsetParent);
  const [first, end] = within(rows, AHEAD);
  const begin = Math.floor(first / STEP) * STEP;
  const until = Math.min(Math.ceil(end / STEP) * STEP, begin + MOST);
  const [nearFirst, nearEnd] = within(rows, NEAR);
  const near = rows.slice(nearFirst, Math.min(nearEnd, until));
  return near.every((row) => asked.has(row.id)) ? null : rows.slice(begin, until).map((row) => row.id);
}

// Calls `look` when scrolling or another size of the window may have brought other rows into sight.
export function watchSight(look) {
  if (!table()) return;
  let [timer, since] = [0, 0];
  const settle = () => {
    since = 0;
    look();
  };
  const moved = () => {
    const now = performance.now();
    since ||= now;
    clearTimeout(timer);
    timer = setTimeout(settle, Math.max(0, Math.min(SETTLED, since + PATIENCE - now)));
  };
  addEventListener("scroll", moved, { passive: true });
  addEventListener("resize", moved, { passive: true });
  addEventListener("toggle", moved, true); // it does not bubble
}

function put(row, key, text) {
  const [slot, attribute] = key.split("@");
  if (!slots.has(row)) {
    slots.set(row, new Map([...row.querySelectorAll("[data-slot]")].map((e) => [e.dataset.slot, e])));
  }
  const element = slot ? slots.get(row).get(slot) : row;
  if (!element) return;
  if (!attribute) {
    if (element.textContent !== text) element.textContent = text;
  } else if (element.getAttribute(attribute) !== text) element.setAttribute(attribute, text);
}

// Fills rows, and returns what is to be announced of them.
export function fillRows(rows) {
  const said = [];
  for (const [id, filled] of Object.entries(rows)) {
    const row = byId(id);
    if (!row) continue;
    const news = filled["@data-announce"];
    if (news && news !== row.dataset.announce) said.push(news);
    for (const [key, text] of Object.entries(filled)) put(row, key, text);
  }
  return said;
}

// State and name stay in their place, and so does the focus: the other cells are put after them.
function setCells(row, cells) {
  const kept = Number(table().dataset.rows);
  while (row.cells.length > kept) row.deleteCell(-1);
  row.append(...cells);
  slots.delete(row);
}

// Draws rows whole; with `missing`, only those that have no figures yet.
export function drawRows(drawn, missing = false) {
  for (const [id, html] of Object.entries(drawn)) {
    const row = byId(id);
    if (!row || (missing && !row.classList.contains("brief"))) continue;
    setCells(row, [...build(html).cells].slice(Number(table().dataset.rows)));
    row.classList.remove("brief");
  }
}

// Takes the figures from the rows that are not asked for: they would be of another time.
export function shortenRows(asked) {
  for (const row of table()?.querySelectorAll(":scope > :not(.brief)") ?? []) {
    if (asked.has(row.id)) continue;
    const blank = document.createElement("td");
    blank.colSpan = row.cells.length - Number(table().dataset.rows);
    setCells(row, [blank]);
    row.classList.add("brief");
  }
}
