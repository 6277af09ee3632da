// The servers of the request as they answer, from its event stream. The browser goes on by itself
// from the last event (Last-Event-ID); where it gives up, a new stream begins with the state now.

const SHAPES = {
  waiting: "waiting", busy: "slow", asked: "up", again: "slow",
  answered: "finished", failed: "down", "not asked": "paused",
};
const STATES = {
  received: "waiting", asking: "up", answered: "finished",
  expired: "slow", cancelled: "paused", failed: "down",
};
const RETRY = 3_000; // ms

function element(one) {
  const made = document.getElementById("new-server").content.cloneNode(true).firstElementChild;
  const word = one.outcome || one.message || "";
  const seconds = one.seconds === null ? "" : ` ${one.seconds.toFixed(1)} s`;
  made.querySelector("b").textContent = one.server;
  made.querySelector(".pill").dataset.state = SHAPES[one.state] ?? "waiting";
  made.querySelector(".word").textContent = one.state;
  made.querySelector(".muted").textContent = `${word}${seconds}${one.late ? " late" : ""}`;
  return made;
}

// Calls `answered` whenever another server's answer is there.
export function followServers(request, answered) {
  const list = document.getElementById("servers");
  const left = document.getElementById("left");
  let stream = null;
  let known = Number(list.dataset.answered); // servers that had answered when the page was made
  let deadline = 0;
  let count = "";

  function draw(event) {
    const pill = left.previousElementSibling;
    const found = JSON.parse(event.data);
    list.replaceChildren(...found.servers.map(element));
    pill.lastChild.textContent = found.state;
    pill.dataset.state = STATES[found.state];
    deadline = found.state === "asking" ? found.deadline_at : 0;
    const ended = found.servers.filter(({ state }) => state === "answered").length;
    count = `${ended} of ${found.servers.length} servers`;
    tick();
    if (ended !== known) answered();
    known = ended;
  }

  function open() {
    if (document.hidden || stream) return;
    stream = new EventSource(`/requests/${request}/events`);
    stream.addEventListener("request", draw);
    stream.addEventListener("done", () => close(true));
    stream.addEventListener("error", () => {
      if (stream?.readyState !== EventSource.CLOSED) return; // it tries again by itself
      close();
      setTimeout(open, RETRY);
    });
  }

  function close(done = false) {
    stream?.close();
    stream = done ? { close() {} } : null;
  }

  function tick() {
    const seconds = Math.max(0, Math.round(deadline - Date.now() / 1000));
    left.textContent = deadline ? `${count} · ${seconds} s left` : count;
  }

  setInterval(() => deadline && tick(), 1_000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) open();
    else if (stream instanceof EventSource) close();
  });
  open();
}
