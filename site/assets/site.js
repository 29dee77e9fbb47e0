import MiniSearch from "./minisearch/index.js";
import { find, options } from "./words.js";

const script = document.currentScript;
const root = script.dataset.root;
const place = (id) => document.getElementById(id);
const input = place("q"), list = place("found"), count = place("count");

// Light or dark: what the visitor chose, else what the system says.
place("theme").addEventListener("click", () => {
  const style = document.documentElement;
  const dark = style.dataset.theme ? style.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  style.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", style.dataset.theme); } catch { /* some browsers keep nothing for a folder */ }
});

// On a phone, the list of pages is folded.
if (matchMedia("(max-width: 56rem)").matches) document.querySelector(".menu").open = false;
document.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest" });

// What is wider than the screen can be scrolled by keys too.
function reachable() {
  for (const e of document.querySelectorAll("main pre, main .table")) if (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) e.tabIndex = 0;
}
reachable();
addEventListener("resize", reachable);

/** The index is a script, since a page of a folder may not fetch a file. */
let loading;
function index() {
  return loading ??= new Promise((done, failed) => {
    const s = document.createElement("script");
    s.src = root + "search-index.js";
    s.onload = () => done(MiniSearch.loadJS(self.sottoIndex, options));
    s.onerror = () => { loading = undefined; failed(new Error("the index did not load")); };
    document.head.append(s);
  });
}

/** marked returns a text in which the words that were found stand out. */
function marked(text, terms) {
  const p = document.createDocumentFragment();
  const some = terms.filter((t) => t.length > 1).map((t) => t.replace(/[^\p{L}\p{N}]/gu, ".")).sort((a, b) => b.length - a.length);
  if (!some.length) return p.append(text), p;
  const cut = new RegExp(`(${some.join("|")})`, "iu");
  text.split(cut).forEach((part, i) => {
    if (i % 2) { const m = document.createElement("mark"); m.textContent = part; p.append(m); } else p.append(part);
  });
  return p;
}

/** kinds are what the sections are called beside a page that was found. */
const kinds = {
  tutorials: "Tutorial", howto: "How-to", guides: "Guide", families: "Model family", clients: "Client", errors: "Error",
  reference: "Reference", explanation: "Explanation", evidence: "Evidence", adr: "Decision", project: "The project",
};

function row(r) {
  const a = document.createElement("a");
  a.href = root + r.page + (r.anchor ? "#" + r.anchor : "");
  const title = document.createElement("b"), where = document.createElement("small"), text = document.createElement("span");
  title.append(marked(r.title, r.terms));
  where.textContent = r.heading && r.heading !== r.title ? r.heading : kinds[r.section] ?? "";
  text.append(marked(r.excerpt, r.terms));
  a.append(title, " ", where, text);
  return a;
}

let asked = 0;
async function search() {
  const question = input.value.trim(), mine = ++asked;
  if (!question) { list.hidden = true; list.replaceChildren(); count.textContent = ""; return; }
  let results;
  try { results = find(await index(), question); } catch (error) { results = []; count.textContent = error.message; }
  if (mine !== asked) return;
  list.replaceChildren(...results.map(row));
  if (!results.length) { const p = document.createElement("p"); p.textContent = "No page has these words."; list.append(p); }
  list.hidden = false;
  count.textContent = results.length + " pages found";
}
self.sottoSearch = async (question) => find(await index(), question); // for the tests

input.addEventListener("input", search);
input.addEventListener("focus", () => { index().catch(() => {}); if (input.value) search(); });
input.form.addEventListener("submit", (event) => { event.preventDefault(); list.querySelector("a")?.click(); });
addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName ?? "");
  if (event.key === "/" && !typing) { event.preventDefault(); input.focus(); input.select(); }
  if (event.key === "Escape" && !list.hidden) { list.hidden = true; input.focus(); }
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && input.form.contains(event.target)) {
    const all = [input, ...list.querySelectorAll("a")], at = all.indexOf(document.activeElement);
    all[Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), all.length - 1)].focus();
    event.preventDefault();
  }
});
addEventListener("click", (event) => { if (!input.form.contains(event.target)) list.hidden = true; });
