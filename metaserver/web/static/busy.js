// Forms that take long: sent once, with a word beside the button that work goes on.

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
