// Fills rows anew in place: a frame tells texts and attributes by slot, `{"last": "12", "line@d":
// "M0 ..."}`. The slot without a name is the row itself. Rows out of sight are filled when they come
// into sight, and now and then: a table of 300 costs what its visible part costs.

const MARGIN = "300px"; // filled so far ahead of scrolling
const LEISURE = 10; // frames until rows out of sight are filled all the same

const slots = new WeakMap(); // by row: its elements by slot
const waiting = new Map(); // by row: what it has not been filled with yet
const away = new WeakSet(); // rows out of sight
let frames = 0;

const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) {
        away.delete(target);
        catchUp(target);
      } else away.add(target);
    }
  },
  { rootMargin: MARGIN },
);

export function watchRows() {
  for (const row of document.querySelectorAll("[data-rows] > *")) {
    if (!slots.has(row)) {
      slots.set(row, new Map([...row.querySelectorAll("[data-slot]")].map((e) => [e.dataset.slot, e])));
      sight.observe(row);
    }
  }
}

export function forget(row) {
  sight.unobserve(row);
  waiting.delete(row);
}

function put(row, key, text) {
  const [slot, attribute] = key.split("@");
  const element = slot ? slots.get(row).get(slot) : row;
  if (attribute) element.setAttribute(attribute, text);
  else element.textContent = text;
}

function catchUp(row) {
  for (const [key, text] of Object.entries(waiting.get(row) ?? {})) put(row, key, text);
  waiting.delete(row);
}

// Fills rows; what filters and announcements go by is put at once, in sight or not.
export function fillRows(rows) {
  const said = [];
  for (const [id, filled] of Object.entries(rows)) {
    const row = document.getElementById(id);
    if (!row) continue;
    if (!away.has(row)) {
      for (const [key, text] of Object.entries(filled)) put(row, key, text);
    } else {
      for (const [key, text] of Object.entries(filled)) if (key[0] === "@") put(row, key, text);
      waiting.set(row, { ...waiting.get(row), ...filled });
    }
    if ("@data-announce" in filled) said.push(filled["@data-announce"]);
  }
  if (++frames % LEISURE === 0) for (const row of [...waiting.keys()]) catchUp(row);
  return said;
}
