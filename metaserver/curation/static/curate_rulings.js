// Rulings on disagreements: a key presses a button of the current one, whose form is sent without
// leaving the page; the current one is that in focus.
import { fieldOf } from "./curate_keys.js";

const rows = [...document.querySelectorAll(".rulings > li[data-ruling]")];
const letters = document.getElementById("letters");
const alarm = document.getElementById("alarm");
let at = 0;

function go(place) {
  at = Math.max(0, Math.min(rows.length - 1, place));
  rows[at]?.focus();
}

async function rule(row, button) {
  const form = button.form;
  const body = new URLSearchParams(new FormData(form, button));
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    if (!answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      throw new Error(page.querySelector(".alarm:not([hidden]), .lead")?.textContent ?? `Error ${answer.status}`);
    }
  } catch (error) {
    alarm.textContent = `No ruling was made: ${error.message}`;
    alarm.hidden = false;
    return;
  }
  alarm.hidden = true;
  const left = document.getElementById("left");
  if (!row.dataset.ruling) left.textContent = Number(left.textContent) - 1;
  row.dataset.ruling = button.value;
  for (const one of form.querySelectorAll("button")) {
    one.setAttribute("aria-pressed", String(one === button));
  }
  const said = `${row.getAttribute("aria-label")}: ${button.firstChild.textContent.trim()}`;
  document.getElementById("announce").textContent = said;
  go(rows.indexOf(row) + 1);
}

for (const row of rows) {
  row.addEventListener("focusin", () => (at = rows.indexOf(row)));
  row.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    rule(row, event.submitter);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || !letters.checked) return;
  if (fieldOf(event.target)) return;
  if (event.key === "j") go(at + 1);
  else if (event.key === "k") go(at - 1);
  else {
    const button = rows[at]?.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (!button) return;
    rule(rows[at], button);
  }
  event.preventDefault();
});

document.getElementById("rule-keys").hidden = !rows.length;
go(0);
