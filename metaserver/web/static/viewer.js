// What depends on the viewer: colours, and times in their zone.

export function themeButton(button) {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // Storage may be forbidden: the choice then lasts for this page only.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
  button.hidden = false;
}

const DAY = {
  year: "numeric", month: "short", day: "numeric",
  hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short",
};

export function localTimes() {
  for (const time of document.querySelectorAll("time:not([data-local])")) {
    const at = new Date(time.dateTime);
    time.textContent = "day" in time.dataset
      ? at.toLocaleString([], DAY)
      : at.toLocaleTimeString([], { hourCycle: "h23" });
    time.dataset.local = "";
  }
  for (const zone of document.querySelectorAll("[data-zone]")) {
    zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
}
