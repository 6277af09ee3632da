// Keeps a page live from its event stream.
//
// A frame has `html` (elements by id, to be replaced), `rows` (slots by id, to be filled) and `lists`
// (ids of a list's children, in order). The stream is closed while the tab is hidden or paused: a browser opens six connections
// to a host at most. A new stream begins with the whole page, so nothing is missed.

import { fillRows, forget, watchRows } from "./rows.js";

const SILENCE = 40_000; // ms without a frame or a beat (every 15 s) until the hub counts as lost
const RETRY = 2_000; // ms until the next try, on average: not all viewers at once
const ANNOUNCED = 3; // changes announced at once; more are counted

const byId = (id) => document.getElementById(id);

function build(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

function replaceParts(html) {
  const fresh = new Map();
  const said = [];
  for (const [id, text] of Object.entries(html)) {
    const element = build(text);
    const old = byId(id);
    if (!old) {
      fresh.set(id, element);
      continue;
    }
    const { announce } = element.dataset;
    if (announce && announce !== old.dataset.announce) said.push(announce);
    forget(old);
    const focus = old.contains(document.activeElement) && document.activeElement.id;
    old.replaceWith(element);
    // A button that was pressed may have gone: the one in its place is next.
    if (focus) (byId(focus) ?? element.querySelector("button"))?.focus({ preventScroll: true });
  }
  return { fresh, said };
}

function say(said) {
  const rest = said.length - ANNOUNCED;
  const more = rest > 0 ? [`${rest} more changed`] : [];
  byId("announce").textContent = [...said.slice(0, ANNOUNCED), ...more].join(", ");
}

function arrange(list, ids, fresh) {
  let place = list.firstElementChild;
  for (const id of ids) {
    const child = fresh.get(id) ?? byId(id);
    if (child === place) place = place.nextElementSibling;
    else if (child) list.insertBefore(child, place);
  }
  while (place) {
    const next = place.nextElementSibling;
    forget(place);
    place.remove();
    place = next;
  }
}

// A steady list does not move under the viewer's eyes: a link says that it would.
function tellNews(list, ids) {
  const news = byId("news");
  const shown = [...list.children].map((child) => child.id);
  const added = ids.filter((id) => !shown.includes(id)).length;
  news.hidden = ids.join(" ") === shown.join(" ");
  const text = added ? `${added} new result${added === 1 ? "" : "s"}` : "New order";
  if (!news.hidden && news.textContent !== text) {
    news.textContent = text;
    say([text]);
  }
}

async function showNews(event) {
  event.preventDefault();
  const answer = await fetch(event.target.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  byId("runs").replaceWith(page.getElementById("runs"));
  byId("news").hidden = true;
  byId("news").textContent = "";
  document.querySelector(".scroll").focus({ preventScroll: true });
}

function show(state) {
  const pill = byId("live");
  pill.hidden = false;
  if (pill.dataset.state === state) return;
  pill.dataset.state = state;
  byId("live-word").textContent = state;
}

export function startStream(address, afterFrame) {
  let stream = null;
  let timer = 0;
  let paused = false;

  function draw(event) {
    const { html, lists, rows } = JSON.parse(event.data);
    const { fresh, said } = replaceParts(html);
    said.push(...fillRows(rows));
    if (said.length) say(said);
    for (const [id, ids] of Object.entries(lists)) {
      const list = byId(id);
      if ("steady" in list.dataset && list.children.length) tellNews(list, ids);
      else arrange(list, ids, fresh);
    }
    watchRows();
    afterFrame();
    alive();
  }

  function alive() {
    // Where no article is sent the page is kept up to date, but nothing on it is live.
    show(document.querySelector("[data-still]") ? "up to date" : "live");
    again(lose, SILENCE);
  }

  function again(action, delay) {
    clearTimeout(timer);
    timer = setTimeout(action, delay);
  }

  function close() {
    clearTimeout(timer);
    stream?.close();
    stream = null;
  }

  // The browser would try again by itself, but not after every kind of failure.
  function lose() {
    close();
    show("lost");
    again(open, RETRY * (0.5 + Math.random()));
  }

  function open() {
    close();
    if (paused || document.hidden) return;
    stream = new EventSource(address);
    stream.addEventListener("frame", draw);
    stream.addEventListener("beat", alive);
    stream.addEventListener("error", lose);
  }

  watchRows();
  const button = byId("pause");
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Resume updates" : "Pause updates";
    if (paused) {
      close();
      show("paused");
    } else open();
  });
  byId("news")?.addEventListener("click", showNews);
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
  open();
}
