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
