// The words of the search: the index is made of them, and so is what a visitor asks.

/** stops are words of questions that say nothing about a page. */
const stops = new Set(("a an and are as at be by can do does for from get has have how i if in into is it its me my not of on or so that the " +
  "their there this to use using was we what when where which who why will with you your should put mean means see whether want need").split(" "));

/** weak are words that nearly every page has. They count only if nothing else is asked for. */
const weak = new Set(["gateway", "sotto", "model", "reply"]);

/** same are words that people use for one thing. The first is the one that is looked for. */
const same = [
  ["remove", "delete", "strip"], ["token", "tokens"], ["restart", "reboot"], ["upgrade", "update", "updates"], ["config", "configuration", "settings", "setting"],
  ["key", "keys", "secret", "secrets"], ["metric", "metrics"], ["backup", "backups"], ["tag", "tags"], ["thought", "thoughts", "thinking", "reasoning"],
  ["error", "errors"], ["install", "installation", "installed"],
];
const first = new Map(same.flatMap(([to, ...others]) => others.map((w) => [w, to])));

/** root takes the usual endings off an English word. */
function root(word) {
  if (!/^[a-z]{4,}$/.test(word)) return word;
  return word.replace(/(?:ies)$/, "y").replace(/(?:sses)$/, "ss").replace(/(?<![su])s$/, "").replace(/(?<=[a-z]{3})(?:ing|ed)$/, "").replace(/(?<=[a-z]{3})e$/, "");
}

/** words returns the words of a text: of Chinese, each pair of characters; of names, the whole and its parts. */
export function words(text) {
  const list = [];
  text = text.toLowerCase().normalize("NFKC").replace(/\bback(?:s|ed|ing)?(?: it| them)? up\b/g, "backup");
  for (const [run] of text.matchAll(/[\p{Script=Han}]+|[\p{L}\p{N}](?:[\p{L}\p{N}_.:-]*[\p{L}\p{N}])?/gu)) {
    if (/\p{Script=Han}/u.test(run[0])) {
      const chars = [...run.match(/^\p{Script=Han}+/u)[0]];
      if (chars.length === 1) list.push(chars[0]);
      for (let i = 0; i + 1 < chars.length; i++) list.push(chars[i] + chars[i + 1]);
      continue;
    }
    for (const piece of run.split(/(?<=[^\p{Script=Han}])(?=\p{Script=Han})/u)) {
      if (/^\p{Script=Han}/u.test(piece)) {
        list.push(...words(piece));
        continue;
      }
      const parts = piece.split(/[_.:-]+/).filter(Boolean);
      if (parts.length > 1) list.push(piece.replace(/[_:-]+/g, "-"));
      for (const part of parts) if (!stops.has(part)) list.push(root(first.get(part) ?? part));
    }
  }
  return list;
}

/** options are those of the index. */
export const options = {
  fields: ["title", "questions", "heading", "text"],
  storeFields: ["page", "title", "heading", "anchor", "section", "excerpt"],
  tokenize: words,
  processTerm: (term) => term,
  searchOptions: {
    // Pages that few people look for come after the others.
    boostDocument: (id, term, stored) => ({ errors: 0.7, clients: 0.9, evidence: 0.8, adr: 0.4, project: 0.3 })[stored.section] ?? 1,
    boost: { title: 5, questions: 4, heading: 3 }, prefix: (term) => term.length > 3, fuzzy: (term) => (term.length > 5 && /^[a-z]+$/.test(term) ? 0.15 : false),
  },
};

/** find returns the pages for a question, the best first, each with its best section. */
export function find(index, question, limit = 12) {
  const pages = new Map();
  const all = new Set(words(question)), strong = new Set([...all].filter((w) => !weak.has(w)));
  const terms = strong.size ? strong : all, asked = terms.size;
  for (const r of index.search([...terms].join("\n"), { tokenize: (text) => text.split("\n") })) {
    const share = new Set(r.queryTerms).size / asked;
    const score = r.score * share * share;
    const page = pages.get(r.page);
    if (!page || page.score < score) pages.set(r.page, { ...r, score });
  }
  return [...pages.values()].sort((a, b) => b.score - a.score).slice(0, limit);
}
