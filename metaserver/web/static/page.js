// Wires what every page has: the colours, the times, and the event stream where there is one.
import { localTimes, themeButton } from "./viewer.js";
import { wireActs } from "./acts.js";
import { wireBusy, wireLook } from "./busy.js";
import { countdowns } from "./countdown.js";
import { applyFilters, wireFilters } from "./filter.js";

themeButton(document.getElementById("theme"));
localTimes();
let look = () => {};
wireFilters(() => look());
wireActs(localTimes);
wireBusy();
wireLook();
countdowns();
// A form that was not sent is shown again at once; not to who went back from it.
if (performance.getEntriesByType("navigation")[0]?.type !== "back_forward") {
  document.querySelector("form[data-again]")?.requestSubmit();
}

const { release, stream } = document.body.dataset;
if (stream) {
  const { startStream } = await import("./live.js");
  look = startStream(stream, release, () => {
    localTimes();
    applyFilters();
    // Work that was watched is done: its result has a page of its own.
    const done = document.querySelector("[data-next]");
    if (done) location.replace(done.dataset.next);
  });
}
