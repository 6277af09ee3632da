// Forms that take long: sent once, with a word beside the button that work goes on. Of the form that
// registers a server, the address is tried while it is typed.

const TYPED = 800; // ms without a key until an address is tried

function tell(form) {
  const begun = Date.now();
  const line = document.createElement("p");
  line.className = "muted busy";
  line.setAttribute("role", "status");
  line.textContent = `${form.dataset.busy}…`;
  const seconds = document.createElement("span");
  seconds.setAttribute("aria-hidden", "true"); // announced once, not each second
  line.append(" ", seconds);
  form.append(line);
  const timer = setInterval(() => {
    seconds.textContent = `${Math.round((Date.now() - begun) / 1000)} s`;
  }, 1000);
  return () => {
    clearInterval(timer);
    line.remove();
  };
}

export function wireBusy() {
  for (const form of document.querySelectorAll("form[data-busy]")) {
    const button = form.querySelector("button:not([type])");
    let end = null;
    form.addEventListener("submit", (event) => {
      if (end) {
        event.preventDefault();
        return;
      }
      button.setAttribute("aria-disabled", "true");
      end = tell(form);
    });
    // Back from the answer: the page as it was left.
    addEventListener("pageshow", (event) => {
      if (!event.persisted || !end) return;
      end();
      end = null;
      button.removeAttribute("aria-disabled");
    });
  }
}

export function wireLook() {
  const form = document.querySelector("form[data-look]");
  const line = document.getElementById("looked-at");
  let [timer, tried, busy] = [0, "", false];
  const look = async () => {
    const { value } = form.elements.url;
    if (busy || value === tried || !/^https?:\/\/./.test(value)) return;
    [busy, tried] = [true, value];
    line.textContent = "Trying the address…";
    try {
      const answer = await fetch(form.dataset.look, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      line.textContent = answer.ok ? await answer.text() : "";
    } catch {
      line.textContent = "";
    }
    busy = false;
    look(); // what was typed meanwhile
  };
  form?.elements.url.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, TYPED);
  });
}
