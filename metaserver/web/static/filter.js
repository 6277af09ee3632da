// Filters lists in place. The server does the same from the address, for viewers without scripts.
//
// A list `<tbody data-filter="state" data-wanted="up" data-find="team 7">` shows those children
// whose data-value is the wanted one (any, if empty) and whose data-find holds the text.

const lists = () => document.querySelectorAll("[data-filter]");

export function applyFilters() {
  for (const list of lists()) {
    const { filter, wanted, find = "" } = list.dataset;
    for (const child of list.children) {
      const { value, find: name = "" } = child.dataset;
      child.hidden = (wanted !== "" && value !== wanted) || !name.includes(find.toLowerCase());
    }
    for (const link of document.querySelectorAll(`[data-choose="${filter}"]`)) {
      if (link.dataset.value === wanted) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
}

function remember() {
  const address = new URL(location.href);
  for (const { dataset } of lists()) {
    address.searchParams.set(dataset.filter, dataset.wanted);
    if ("find" in dataset) address.searchParams.set("find", dataset.find);
  }
  history.replaceState(null, "", address);
  applyFilters();
}

export function wireFilters() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-choose]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const { dataset } = document.querySelector(`[data-filter="${link.dataset.choose}"]`);
    const again = dataset.wanted === link.dataset.value; // a second click takes the filter off
    dataset.wanted = again ? "" : link.dataset.value;
    remember();
  });
  const form = document.querySelector("form.find");
  form?.addEventListener("submit", (event) => event.preventDefault());
  form?.elements.find.addEventListener("input", (event) => {
    document.querySelector("[data-find][data-filter]").dataset.find = event.target.value.trim();
    remember();
  });
}
