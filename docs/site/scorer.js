// What is so today comes before the decisions and the changes that led to it, as in a hub's own search.
var Scorer = {
  score: ([page, , , , score]) =>
    /^(docs\/adr\/|CHANGELOG)/.test(page) ? score - 100 : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Excerpts begin and end at words: Sphinx cuts 240 characters, with "..." if it cut.
const excerpt = Search.makeSearchSummary;
Search.makeSearchSummary = (...page) => {
  const summary = excerpt(...page);
  if (summary)
    summary.textContent = summary.textContent
      .replace(/^\.\.\.\S*\s+/, "… ")
      .replace(/\s+\S*\.\.\.$/, " …");
  return summary;
};
