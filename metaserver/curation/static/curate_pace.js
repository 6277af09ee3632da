// The time at work: while the page is visible, and there was input in the last 30 seconds.

const IDLE = 30_000; // ms

export class Pace {
  constructor() {
    this.taken = performance.now(); // up to here time is counted
    this.input = this.taken;
    this.ms = 0; // counted, and not yet given to an event
    const seen = () => this.#count(true);
    for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
      addEventListener(kind, seen, { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", () => {
      this.#count(false);
      this.taken = performance.now();
    });
  }

  #count(input) {
    const now = performance.now();
    const end = Math.min(now, this.input + IDLE);
    if (!document.hidden || input) this.ms += Math.max(0, end - this.taken);
    this.taken = now;
    if (input) this.input = now;
  }

  // Returns the milliseconds since the last call.
  take() {
    this.#count(true);
    const ms = Math.min(3_600_000, Math.round(this.ms));
    this.ms = 0;
    return ms;
  }
}

// The median of the seconds that decisions took: the time of each event belongs to the next one.
export function median(events) {
  const each = [];
  let ms = 0;
  for (const { kind, active_ms: active = 0 } of events) {
    ms += active;
    if (!["accept", "reject", "add", "pair", "species"].includes(kind)) continue;
    each.push(ms);
    ms = 0;
  }
  if (!each.length) return null;
  each.sort((a, b) => a - b);
  const half = each.length >> 1;
  return (each.length % 2 ? each[half] : (each[half - 1] + each[half]) / 2) / 1000;
}
