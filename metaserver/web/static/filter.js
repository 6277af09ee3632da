// Filters lists in place. The server does the same from the address, for viewers without scripts.
//
// A list `<tbody data-filter="state" data-chosen="up" data-find="team 7">` shows those children
// whose data-value is the chosen one (any, if empty) and whose data-find holds the text.

let afterwards = () => {};

const lists = () => document.querySelectorAll("[data-filter]");

export function applyFilters() {
  for (const list of lists()) {
    const { filter, chosen, find = "" } = list.dataset;
    for (const child of list.children) {
      const { value, find: name = "" } = child.dataset;
      child.hidden = (chosen !== "" && value !== chosen) || !name.includes(find.toLowerCase());
    }
    for (const link of document.querySelectorAll(`[data-choose="${filter}"]`)) {
      if (link.dataset.value === chosen) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
}

function remember() {
  const address = new URL(location.href);
  address.searchParams.delete("rows"); // of the rows that were found before
  for (const { dataset } of lists()) {
    address.searchParams.set(dataset.filter, dataset.chosen);
    if ("find" in dataset) address.searchParams.set("find", dataset.find);
  }
  history.replaceState(null, "", address);
  applyFilters();
  afterwards();
}

// Calls `afterwards` when a list shows other children.
export function wireFilters(after) {
  afterwards = after;
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-choose]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const { dataset } = document.querySelector(`[data-filter="${link.dataset.choose}"]`);
    const again = dataset.chosen === link.dataset.value; // a second click takes the filter off
    dataset.chosen = again ? "" : link.dataset.value;
    remember();
  });
  const form = document.querySelector("form.find");
  form?.addEventListener("submit", (event) => event.preventDefault());
  form?.elements.find.addEventListener("input", (event) => {
    document.querySelector("[data-find][data-filter]").dataset.find = event.target.value.trim();
    remember();
  });
}
