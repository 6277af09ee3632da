// Sets the colours the viewer has chosen, before the first paint; page.js wires the button.
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden: the system's colours are used then.
}
