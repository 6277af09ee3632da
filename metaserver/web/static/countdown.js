// How far dates are, as the hub writes it (formatting.countdown), kept up while the page is open.

const EVERY = 30_000; // ms

function words(seconds) {
  const minutes = Math.floor(Math.abs(seconds) / 60);
  const days = Math.floor(minutes / 1440);
  const hours = Math.floor(minutes / 60) % 24;
  const several = `${days} day${days === 1 ? "" : "s"}`;
  if (minutes === 0) return "now";
  if (seconds < 0) return `${days ? several : hours ? `${hours} h` : `${minutes} min`} ago`;
  if (days) return `in ${several}${hours ? ` ${hours} h` : ""}`;
  return hours ? `in ${hours} h ${minutes % 60} min` : `in ${minutes} min`;
}

export function countdowns() {
  const found = [...document.querySelectorAll("[data-countdown]")];
  const show = () => {
    for (const one of found) {
      one.textContent = words((Date.parse(one.dataset.countdown) - Date.now()) / 1000);
    }
  };
  if (found.length) setInterval(show, EVERY);
}
