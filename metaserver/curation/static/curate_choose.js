// A dialog in which one thing is chosen: by its key, by arrows and Enter, or by a click. With a
// `search`, what is typed is looked for; the field then has the focus, and keys are letters.

const ENDING = /(?:ations?|ated|ating|ates?|ions?|ing|ed|es|s)$/;
const PAUSE = 150; // ms without a letter until a search begins

const dialog = document.getElementById("chooser");
const field = document.getElementById("chooser-text");
const list = document.getElementById("chooser-options");
const note = document.getElementById("chooser-note");

let end = () => {};
let settle = async () => {}; // looks at once for what was typed, if that is not shown yet
let options = [];
let at = -1;

function point(place) {
  at = Math.max(-1, Math.min(options.length - 1, place));
  [...list.children].forEach((element, number) => {
    element.setAttribute("aria-selected", String(number === at));
    if (number === at) element.scrollIntoView({ block: "nearest" });
  });
  for (const element of [field, list]) {
    if (at < 0) element.removeAttribute("aria-activedescendant");
    else element.setAttribute("aria-activedescendant", `option-${at}`);
  }
}

function show(found) {
  options = found;
  list.replaceChildren(...found.map(({ key, label, detail }, number) => {
    const element = document.createElement("li");
    element.setAttribute("role", "option");
    element.id = `option-${number}`;
    const name = document.createElement("b");
    name.textContent = label;
    element.append(name, ` ${detail ?? ""}`);
    if (key) {
      const sign = document.createElement("kbd");
      sign.textContent = key;
      element.prepend(sign, " ");
    }
    element.addEventListener("click", () => end(found[number].value));
    return element;
  }));
  list.hidden = !found.length;
  point(found.length ? 0 : -1);
}

async function entered() {
  const mine = end; // the answer may come when another dialog is open
  await settle();
  if (at >= 0 && mine === end) end(options[at].value);
}

function pressed(event) {
  const { key } = event;
  if (key === "ArrowDown") point(at + 1);
  else if (key === "ArrowUp") point(at - 1);
  else if (key === "Enter" && event.target.tagName !== "BUTTON") {
    entered();
  } else {
    // In a search every sign is typed; digits choose while the field is empty.
    const open = field.hidden || (field.value === "" && /^\d$/.test(key));
    const found = open && options.find((one) => one.key === key);
    if (!found) return;
    end(found.value);
  }
  event.preventDefault();
  event.stopPropagation(); // the dialog may be closed: the page has commands of the same keys
}

export const chooserIsOpen = () => dialog.open;

// Orders options by how well their texts have the words: the same, at the beginning, words of their
// own, anywhere. Signs between words do not matter; equals stay in their order.
export function ranked(words, found, textsOf) {
  const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  const wanted = plain(words);
  const rank = (text) => {
    if (text === wanted) return 0;
    if (text.startsWith(wanted)) return 1;
    if (` ${text}`.includes(` ${wanted}`)) return 2;
    return text.includes(wanted) ? 3 : 4;
  };
  if (!wanted) return [];
  return found
    .map((one) => [Math.min(...textsOf(one).map((text) => rank(plain(text)))), one])
    .filter(([place]) => place < 4)
    .sort(([one], [other]) => one - other)
    .map(([, one]) => one);
}

// Returns the terms that a text names, those with the longest name first; ends of words do not
// matter. It proposes what `Vocabulary.proposed` of the hub does.
export function named(text, terms, most = 3) {
  const plain = (words) => words.toLowerCase().replace(/[^a-z0-9]+/g, " ").trim()
    .replaceAll("co immuno", "coimmuno").split(" ")
    .map((word) => (word.length > 5 ? word.replace(ENDING, "") : word)).join(" ");
  const there = ` ${plain(text.slice(0, 5_000))} `;
  const longest = ({ label, also }) => Math.max(0, ...[label, ...also].map(plain)
    .filter((name) => name.length > 2 && there.includes(` ${name} `)).map((name) => name.length));
  return terms.map((one) => [longest(one), one]).filter(([length]) => length)
    .sort(([one], [other]) => other - one).slice(0, most).map(([, one]) => one);
}

// Says what is missing for a command. As a dialog, so that what is typed next runs no commands.
export const refuse = (title) => choose({ title, search: async () => [] });

// Returns what was chosen; `null` if nothing was.
export function choose({ title, first = [], search, text = "" }) {
  end(null); // a dialog that Escape closed hears so later: keys may come before
  document.getElementById("chooser-title").textContent = title;
  field.hidden = !search;
  field.value = text;
  note.textContent = "";
  show(first);
  let timer = 0;
  let asked = 0;
  let looking = null; // the last search that was begun
  const seek = async () => {
    clearTimeout(timer);
    timer = 0;
    const mine = (asked += 1);
    const words = field.value.trim();
    try {
      const found = words ? await search(words) : first;
      if (mine !== asked) return; // a later one is under way
      show(found);
      note.textContent = found.length ? `${found.length} found` : "Nothing found.";
    } catch (error) {
      if (mine !== asked) return;
      show([]);
      note.textContent = error.message;
    }
  };
  const look = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (looking = seek()), PAUSE);
  };
  settle = () => {
    if (timer) looking = seek();
    return looking;
  };
  return new Promise((resolve) => {
    end = (value) => {
      clearTimeout(timer);
      asked += 1;
      settle = async () => {};
      field.oninput = null;
      dialog.onkeydown = null;
      dialog.onclose = null;
      if (dialog.open) dialog.close();
      end = () => {};
      resolve(value);
    };
    field.oninput = look;
    dialog.onkeydown = pressed;
    dialog.onclose = () => dialog.open || end(null);
    dialog.showModal();
    (search ? field : list).focus();
    if (search && text) look();
  });
}
