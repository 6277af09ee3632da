// Keeps a page live from its event stream.
//
// A frame has `html` (elements by id, to be replaced), `lists` (ids of a list's children, in order),
// `brief` (slots of rows, whether in sight or not), and of the rows that were asked for `rows`
// (slots, to be filled) and `drawn` (whole rows). The stream is closed while the tab is hidden or
// paused: a browser opens six connections to a host at most. A new stream names the last event that
// was seen, and begins with all that has changed since, so nothing is missed.

import { build, drawRows, fillRows, needed, shortenRows, watchSight } from "./rows.js";

const SILENCE = 40_000; // ms without a frame or a beat (every 15 s) until the hub counts as lost
// ms until the next try, on average: not all viewers at once, and late enough for another process
// of the hub, which follows the store once a second, to know what this page has shown.
const RETRY = 2_000;
const SETTLED = 3_000; // ms after an action by which the frames with its effect have come
const ANNOUNCED = 3; // changes announced at once; more are counted

const CONTROLS = "a[href], button, summary, input, select, [tabindex='0']";

const byId = (id) => document.getElementById(id);

// What a control is for, which a newer one in its place is for as well.
function purpose(control) {
  const names = ["href", "formaction", "name", "value", "aria-label"];
  const [href, ...rest] = names.map((name) => control.getAttribute(name));
  return [control.localName, href, ...rest, href || rest.at(-1) || control.textContent.trim()].join("\n");
}

function sameIn(part, control) {
  if (control.id) return part.querySelector(`#${CSS.escape(control.id)}`);
  return [...part.querySelectorAll(CONTROLS)].find((one) => purpose(one) === purpose(control));
}

// Draws, and leaves the focus on its control, or on the one that has come in its place.
function keepFocus(draw) {
  const control = document.activeElement;
  const around = []; // elements with an id, the innermost first
  for (let one = control; (one = one?.parentElement?.closest("[id]")); ) around.push(one);
  draw();
  if (document.activeElement === control) return;
  if (control.isConnected) return control.focus({ preventScroll: true });
  const parts = around.map((old) => [old, byId(old.id)]).filter(([, now]) => now);
  const first = (find) => parts.map(find).find(Boolean);
  // A button that was pressed may have gone: the one in its place is next.
  const next = ([old, now]) =>
    control.localName === "button" && old !== now && now.querySelector("button");
  (first(([, now]) => sameIn(now, control)) ?? first(next))?.focus({ preventScroll: true });
}

// The browser acts on what a key or pointer went down on and is released on. What would put another
// element there in between is drawn after the release.
let pressed = false;
const waiting = [];

function whenReleased(draw) {
  if (pressed) waiting.push(draw);
  else draw();
}

function watchPresses() {
  const press = ({ button, key, target }) => {
    if (!button && ["Enter", " ", undefined].includes(key)) pressed = !!target.closest?.(CONTROLS);
  };
  const released = () => {
    pressed = false;
    for (const draw of waiting.splice(0)) draw();
  };
  const release = () => setTimeout(released); // after the click
  for (const type of ["keydown", "pointerdown"]) addEventListener(type, press, true);
  for (const type of ["keyup", "pointerup", "pointercancel"]) addEventListener(type, release, true);
  addEventListener("blur", release); // another window has the release
}

// What was said of a server's state after an action goes on as that state does.
const STATE = /^(\S+) is \S+ in (.+?)(?=\.?$| \()/;

function keepNotice() {
  const notice = byId("notice");
  const [, server, phase] = STATE.exec(notice?.textContent.trim() ?? "") ?? [];
  if (!server) return;
  const all = [...document.querySelectorAll("[data-announce]")];
  const states = all.flatMap(({ dataset }) => dataset.announce.split("; ")).filter((one) => {
    const found = STATE.exec(one);
    return found?.[1] === server && found[2] === phase;
  });
  if (states.length !== 1) return; // titles may be alike up to a bracket
  if (notice.textContent !== `${states[0]}.`) notice.textContent = `${states[0]}.`;
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
    for (const summary of old.querySelectorAll("details[open] > summary")) {
      const same = sameIn(element, summary);
      if (same) same.parentElement.open = true; // what the viewer has unfolded stays so
    }
    for (const { value } of old.querySelectorAll("[name=run]:checked")) {
      const same = element.querySelector(`[name=run][value="${CSS.escape(value)}"]`);
      if (same) same.checked = true;
    }
    old.replaceWith(element);
  }
  return { fresh, said };
}

function say(said) {
  const rest = said.length - ANNOUNCED;
  const more = rest > 0 ? [`${rest} more changed`] : [];
  byId("announce").textContent = [...said.slice(0, ANNOUNCED), ...more].join(", ");
}

// A list that the viewer has sorted keeps its order: new children come last.
function kept(list, ids) {
  if (!("sorted" in list.dataset)) return ids;
  const known = new Set(ids);
  const shown = [...list.children].map((child) => child.id).filter((id) => known.delete(id));
  return [...shown, ...known];
}

const newest = new WeakMap(); // by list: the ids of its children as the last frame had them

// In a list that is marked the viewer sees what has moved, until it is drawn again.
function markMoved(list, before) {
  const children = [...list.children].filter(({ id }) => before.includes(id));
  const stayed = before.filter((id) => byId(id));
  if (children.every(({ id }, place) => id === stayed[place])) return;
  children.forEach(({ id, dataset }, place) => {
    const from = stayed.indexOf(id);
    if (from === place) delete dataset.moved;
    else dataset.moved = from > place ? "up" : "down";
  });
  say(["New order"]);
}

function arrange(list, ids, fresh) {
  const before = "marked" in list.dataset ? [...list.children].map(({ id }) => id) : [];
  let place = list.firstElementChild;
  for (const id of kept(list, ids)) {
    const child = fresh.get(id) ?? byId(id);
    if (!child) continue;
    if (child === place) place = place.nextElementSibling;
    else list.insertBefore(child, place);
  }
  while (place) {
    const next = place.nextElementSibling;
    place.remove();
    place = next;
  }
  if (before.length) markMoved(list, before);
}

// After the hub was lost there may be children that no frame has brought: the page has them.
async function complete(list) {
  const page = await pageNow(location.href);
  const ids = newest.get(list); // other frames may have come meanwhile
  const missing = ids.filter((id) => !byId(id)).map((id) => [id, page.getElementById(id)]);
  arrange(list, ids, new Map(missing.filter(([, child]) => child)));
}

async function pageNow(address) {
  const answer = await fetch(address);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
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
  const page = await pageNow(event.target.href);
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

// Fields that the viewer has changed would be lost with the page.
const isTyped = () =>
  [...document.querySelectorAll("input, textarea")].some((one) => one.value !== one.defaultValue);

export function startStream(address, release, afterFrame) {
  let stream = null; // whose frames are drawn
  let coming = null; // that takes its place with its first frame
  let timer = 0;
  let paused = false;
  let seen = ""; // the last event
  let asked = new Set(); // the rows whose figures come

  function draw(event) {
    const { html, lists, brief, rows, drawn } = JSON.parse(event.data);
    seen = event.lastEventId;
    const { fresh, said } = replaceParts(html);
    drawRows(drawn);
    said.push(...fillRows(brief), ...fillRows(rows));
    if (said.length) say(said);
    for (const [id, ids] of Object.entries(lists)) {
      const list = byId(id);
      if ("steady" in list.dataset && list.children.length) tellNews(list, ids);
      else {
        newest.set(list, ids);
        arrange(list, ids, fresh);
        if (list.children.length < ids.length) complete(list).then(afterFrame, lose);
      }
    }
    afterFrame();
    alive();
    look();
  }

  function alive() {
    keepNotice();
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
    coming?.close();
    stream = coming = null;
  }

  // The browser would try again by itself, but not after every kind of failure.
  function lose() {
    close();
    show("lost");
    again(open, RETRY * (0.75 + Math.random() / 2));
  }

  // The hub was updated, so that its frames do not fit this page, which is loaded again: once, in
  // case it comes from a cache.
  function renew() {
    close();
    const { href } = location;
    const known = sessionStorage.getItem(href) === release;
    if (known || isTyped()) return show("reload the page");
    sessionStorage.setItem(href, release);
    location.reload();
  }

  function source(ids) {
    const from = new URL(address, location.href);
    from.searchParams.set("release", release);
    if (ids.length) from.searchParams.set("rows", ids.join(","));
    return from;
  }

  // What is drawn goes on until the new stream's first frame is there.
  function begin(ids) {
    coming?.close();
    const from = source(ids);
    if (seen) from.searchParams.set("seen", seen);
    const mine = (coming = new EventSource(from));
    const take = (event) => {
      if (mine === coming) {
        stream?.close();
        [stream, coming] = [mine, null];
        shortenRows(asked);
      } else if (mine !== stream) return; // it was closed meanwhile
      draw(event);
    };
    mine.addEventListener("frame", (event) => whenReleased(() => keepFocus(() => take(event))));
    mine.addEventListener("outdated", renew);
    mine.addEventListener("beat", alive);
    mine.addEventListener("error", lose);
    asked = new Set(ids);
  }

  function open() {
    close();
    if (paused || document.hidden) return;
    begin(needed(new Set()) ?? []);
  }

  // Other rows are in sight. A paused page gets their figures once, where it has none yet.
  function look() {
    if (document.hidden || (!stream && !coming && !paused)) return;
    const ids = needed(asked);
    if (ids && !paused) begin(ids);
    else if (ids) glance(ids);
  }

  function glance(ids) {
    coming?.close();
    const mine = (coming = new EventSource(source(ids)));
    const end = () => {
      mine.close();
      if (mine === coming) coming = null;
    };
    mine.addEventListener("outdated", renew);
    mine.addEventListener("error", end);
    mine.addEventListener("frame", (event) => {
      end();
      const { drawn } = JSON.parse(event.data);
      drawRows(drawn, true);
      asked = new Set([...asked, ...Object.keys(drawn)]);
    });
  }

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
  // The answer to an action may come after the frames with what it has changed.
  const notices = new MutationObserver(() => {
    if (byId("notice")) setTimeout(() => stream && keepNotice(), SETTLED);
  });
  if (byId("notice")) notices.observe(byId("notice").parentElement, { childList: true });
  byId("news")?.addEventListener("click", showNews);
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
  // All rows are on this page where figures come with the stream: links to others lead nowhere new.
  for (const pages of document.querySelectorAll("[data-paged]")) pages.hidden = true;
  watchSight(look);
  watchPresses();
  open();
  return look;
}
