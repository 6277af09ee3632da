// Sends the forms that act without leaving the page, and copies what is to be copied.
//
// The hub answers a form with a whole page. Of it, the elements with `data-swap` are put in place:
// what was done, or why not. What the action has changed comes by the page's event stream.

const UNREACHED = "The hub does not answer: nothing is known to have been done. Try again.";

function say(text) {
  document.getElementById("announce").textContent = text;
}

function swap(page) {
  let message = "";
  for (const fresh of page.querySelectorAll("[data-swap]")) {
    document.getElementById(fresh.id)?.replaceWith(document.importNode(fresh, true));
    message ||= fresh.textContent.trim();
  }
  return message;
}

function tellInstead(text) {
  const place = document.querySelector("[data-swap]");
  const line = document.createElement("p");
  line.className = "alarm";
  line.textContent = text;
  place.replaceChildren(line);
  say(text);
}

async function send(form, button, afterwards) {
  const body = new URLSearchParams(new FormData(form, button));
  const headers = { Accept: "text/html" };
  let answer;
  try {
    answer = await fetch(button.formAction, { method: "POST", body, headers });
  } catch {
    tellInstead(UNREACHED);
    return;
  }
  if (answer.status === 401) { // the session has ended
    location.assign(`/signin?next=${encodeURIComponent(location.pathname + location.search)}`);
    return;
  }
  if (answer.redirected && new URL(answer.url).pathname !== location.pathname) {
    location.assign(answer.url);
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (page.querySelector("[data-swap]")) say(swap(page));
  else tellInstead(page.querySelector(".lead")?.textContent ?? `Error ${answer.status}`);
  afterwards();
}

async function copy(button) {
  const { textContent } = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it by hand";
  }
}

export function wireActs(afterwards) {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!("act" in form.dataset)) return;
    event.preventDefault();
    if (form.dataset.act === "busy") return;
    form.dataset.act = "busy";
    await send(form, event.submitter, afterwards);
    form.dataset.act = "";
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}
