// The article: the marks of one candidate, steps from mention to mention, and passages of the text.
// Only the marks of the candidate that is shown are touched: a full text has thousands.

const characters = (text) => [...text].length; // offsets are code points, as the hub counts them

export class Article {
  constructor(element) {
    this.element = element;
    this.shown = []; // accessions
    this.place = -1; // of the mention that was stepped to
    this.index();
  }

  index() {
    this.paragraphs = [...this.element.querySelectorAll("p[data-at]")];
    this.starts = this.paragraphs.map(({ dataset }) => Number(dataset.at));
    this.marks = new Map(); // accession: its marks
    for (const mark of this.element.querySelectorAll("mark")) {
      for (const accession of mark.dataset.c.split(" ")) {
        if (!this.marks.has(accession)) this.marks.set(accession, []);
        this.marks.get(accession).push(mark);
      }
    }
  }

  of(accessions) {
    const found = new Set(accessions.flatMap((one) => this.marks.get(one) ?? []));
    if (accessions.length === 1) return [...found];
    const before = Node.DOCUMENT_POSITION_FOLLOWING;
    return [...found].sort((a, b) => (a.compareDocumentPosition(b) & before ? -1 : 1));
  }

  // Shows the marks of a candidate; steps visit those in the places of `first` before the others.
  show(accessions, first = []) {
    for (const mark of this.current ?? []) mark.classList.remove("on", "here");
    this.shown = accessions;
    const ranges = first.map((place) => this.range(place)).filter(Boolean);
    const rank = (mark) => {
      const at = ranges.findIndex((range) => range.intersectsNode(mark));
      return at < 0 ? ranges.length : at;
    };
    this.current = this.of(accessions);
    if (ranges.length) {
      const ranked = this.current.map((mark) => [rank(mark), mark]);
      this.current = ranked.sort(([one], [other]) => one - other).map(([, mark]) => mark);
    }
    this.place = -1;
    for (const mark of this.current) mark.classList.add("on");
  }

  step(by) {
    const { length } = this.current;
    if (!length) return null;
    this.current[this.place]?.classList.remove("here");
    this.place = this.place < 0 ? (by > 0 ? 0 : length - 1) : (this.place + by + length) % length;
    const mark = this.current[this.place];
    mark.classList.add("here");
    this.#reveal(mark);
    return mark;
  }

  // Scrolls the article, and not the page around it.
  #reveal(mark) {
    const box = this.element.getBoundingClientRect();
    const { top, bottom } = mark.getBoundingClientRect();
    if (top >= box.top && bottom <= box.bottom) return;
    this.element.scrollTop += (top + bottom - box.top - box.bottom) / 2;
  }

  // The passage that is chosen: a selection, else the sentence of the mention that is shown.
  passage() {
    const selection = getSelection();
    if (!selection.isCollapsed && this.element.contains(selection.anchorNode)) {
      const range = selection.getRangeAt(0);
      const start = this.#offset(range.startContainer, range.startOffset);
      const end = this.#offset(range.endContainer, range.endOffset);
      if (start >= 0 && end > start) return [start, end];
    }
    const mark = this.current[Math.max(0, this.place)];
    return mark ? this.#sentence(mark) : null;
  }

  #sentence(mark) {
    const paragraph = mark.closest("p");
    const at = Number(paragraph.dataset.at);
    const range = document.createRange();
    range.setStart(paragraph, 0);
    range.setEndBefore(mark);
    const before = range.toString().length; // here in the browser's units, as the segments are
    const text = paragraph.textContent;
    for (const { index, segment } of new Intl.Segmenter("en", { granularity: "sentence" }).segment(text)) {
      if (before >= index + segment.length) continue;
      const start = at + characters(text.slice(0, index));
      return [start, start + characters(segment.trimEnd())];
    }
    return null;
  }

  // The first sentences that name both proteins of a pair, each at a mark of its own.
  together([one, other], most = 5) {
    const marked = (accession) => {
      const found = new Map();
      for (const mark of this.of([accession])) {
        const place = this.#sentence(mark)?.join("-");
        found.set(place, [...(found.get(place) ?? []), mark]);
      }
      return found;
    };
    const [first, second] = [marked(one), marked(other)];
    const apart = (place) =>
      first.get(place).some((mark) => second.get(place)?.some((another) => another !== mark));
    return [...first.keys()].filter((place) => place && apart(place)).slice(0, most);
  }

  #offset(node, offset) {
    const paragraph = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest("p[data-at]");
    if (!paragraph) return -1;
    const range = document.createRange();
    range.setStart(paragraph, 0);
    range.setEnd(node, offset);
    return Number(paragraph.dataset.at) + characters(range.toString());
  }

  // The words of a passage, and the range of the page that has them.
  words([start, end]) {
    return this.range([start, end])?.toString().replace(/\s+/g, " ") ?? "";
  }

  range([start, end]) {
    const range = document.createRange();
    let begun = false;
    let number = Math.max(0, this.starts.findIndex((at) => at > start) - 1);
    if (start >= this.starts.at(-1)) number = this.starts.length - 1;
    for (; number < this.paragraphs.length && this.starts[number] < end; number += 1) {
      const walker = document.createTreeWalker(this.paragraphs[number], NodeFilter.SHOW_TEXT);
      let place = this.starts[number];
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const letters = [...node.data];
        const stop = place + letters.length;
        const units = (to) => letters.slice(0, to - place).join("").length;
        if (!begun && start < stop) {
          range.setStart(node, units(Math.max(start, place)));
          begun = true;
        }
        if (begun) range.setEnd(node, units(Math.min(end, stop)));
        if (end <= stop) return range;
        place = stop;
      }
    }
    return begun ? range : null;
  }

  // One range, drawn by the browser without a change of the page.
  highlight(places) {
    if (!globalThis.CSS?.highlights) return;
    const ranges = places.map((place) => this.range(place)).filter(Boolean);
    CSS.highlights.set("evidence", new Highlight(...ranges));
  }

  // Takes the marks of a newer page: paragraphs that differ are put in the place of the old ones.
  renew(fresh) {
    const old = this.paragraphs;
    const newer = fresh.querySelectorAll("p[data-at]");
    if (old.length !== newer.length) return;
    const { shown, place } = this;
    this.show([]);
    old.forEach((paragraph, number) => {
      const other = newer[number];
      if (paragraph.innerHTML !== other.innerHTML) paragraph.innerHTML = other.innerHTML;
    });
    this.index();
    this.show(shown);
    if (place >= 0 && place < this.current.length) {
      this.place = place;
      this.current[place].classList.add("here");
    }
  }
}
