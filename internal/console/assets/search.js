// The search goes on where the page of the server stopped, as long as there is room
// for hits. Hits come as lines of JSON; the script makes elements and texts of them.

const $ = (id) => document.getElementById(id);
const box = $("found");

function el(name, className, ...children) {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...children);
  return e;
}
const visible = (text) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, (c) =>
    c === "\n" || c === "\t" ? c : c < " " ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : [...c].map((u) => `\\u{${u.codePointAt(0).toString(16)}}`).join(""),
  );
// A text that is not UTF-8 comes in base64.
const words = (t) => visible(t.startsWith("base64:") ? new TextDecoder().decode(Uint8Array.from(atob(t.slice(7)), (c) => c.charCodeAt(0))) : t);
const size = (n) => (n < 1e3 ? `${n} B` : n < 1e6 ? `${(n / 1e3).toFixed(n < 9950 ? 1 : 0)} kB` : n < 1e9 ? `${(n / 1e6).toFixed(n < 9.95e6 ? 1 : 0)} MB` : `${(n / 1e9).toFixed(1)} GB`);

let older = Number(box?.dataset.older ?? 0), searched = Number(box?.dataset.searched ?? 0), count = document.querySelectorAll(".hits li").length;
let reading = null;
// Of several gateways, the address of the next page, which holds the cursor, and their names.
let page = box?.dataset.next ?? "", names = {};

function add(hit) {
  const section = $(`hits-${hit.kind}`);
  if (!section) return;
  section.hidden = false;
  $("search-none").hidden = true;
  const at = new Date(hit.time);
  const time = el("time", "", at.toISOString().slice(0, 16).replace("T", " "));
  time.dateTime = hit.time;
  const row = el("a", "row");
  row.href = (hit.record ? `at/${encodeURIComponent(hit.record)}/` : "") + link(hit);
  row.append(
    el("span", "where", time, " ", el("b", "", el("bdi", "", visible(hit.model ?? ""))), " ", el("span", "dim", `${hit.record ? `${visible(names[hit.record] ?? "")} ` : ""}#${hit.event} `, el("bdi", "", visible(hit.path)))),
    text(words(hit.before), el("mark", "", words(hit.match)), words(hit.after)),
  );
  if (hit.more) row.append(el("span", "dim", `${hit.more} ${box.dataset.more}`));
  section.querySelector("ul").append(el("li", "", row));
  const shown = document.querySelector(`[data-count="${CSS.escape(hit.kind)}"] b`);
  shown.textContent = String(Number(shown.textContent) + 1);
  count++;
}
function text(...children) {
  const e = el("span", "text", ...children);
  e.dir = "auto";
  return e;
}
// link is the address of the byte of a hit.
function link(hit) {
  const raw = /^replies\.(\d+)\.raw$/.exec(hit.path);
  const q = new URLSearchParams();
  if (!raw) q.set("path", hit.path);
  else if (raw[1] !== "0") q.set("choice", raw[1]);
  q.set("at", hit.start);
  q.set("end", Math.max(hit.end, hit.start + 1));
  return `${raw ? "exchanges" : "events"}/${hit.event}/${raw ? "bytes" : "text"}?${q}#at`;
}

function say(ended, failed) {
  const [a, b] = [size(searched), size(Number(box.dataset.total))];
  const parts = [box.dataset.of.replace("%s", a).replace("%s", b)];
  if (ended) parts.push(box.dataset.ended);
  if (failed) parts.push(`${box.dataset.failed} ${visible(failed)}`);
  $("search-said").textContent = parts.join(" · ");
  $("search-bar").value = searched;
}

// next sets the link to the rest, which holds the cursor.
function next() {
  const on = $("search-on");
  on.hidden = older === 0;
  const q = new URLSearchParams(location.search);
  q.set("before", String(older));
  q.set("done", String(searched));
  on.setAttribute("href", "search?" + q);
}

async function run() {
  reading = new AbortController();
  $("search-stop").hidden = false;
  $("search-on").hidden = true;
  let failed = "", done = false;
  try {
    const q = new URLSearchParams(location.search);
    q.set("before", String(older));
    q.set("done", String(searched));
    const response = await fetch("search/stream?" + q, { signal: reading.signal });
    if (!response.ok) throw new Error(response.statusText);
    const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      const { value, done: end } = await lines.read();
      if (end) break;
      const list = (rest + value).split("\n");
      rest = list.pop();
      for (const line of list) {
        const got = JSON.parse(line);
        if (got.error) throw new Error(got.error.message);
        for (const hit of got.hits ?? []) add(hit);
        if (got.progress) {
          searched = got.progress.searched;
          older = got.progress.older ?? 0;
          done = got.done === true;
        }
      }
      say(done && older === 0, "");
    }
  } catch (e) {
    if (e.name !== "AbortError") failed = e.message;
  }
  $("search-stop").hidden = true;
  say(done && older === 0, failed);
  next();
}
// runPages asks for the next pages of a search in the records of several gateways.
async function runPages() {
  reading = new AbortController();
  $("search-stop").hidden = false;
  $("search-on").hidden = true;
  let failed = "";
  try {
    while (page && count < Number(box.dataset.most)) {
      const response = await fetch(page + "&format=json", { signal: reading.signal });
      const got = await response.json();
      if (!response.ok) throw new Error(got.error?.message ?? response.statusText);
      names = Object.fromEntries(got.gateways.map((g) => [g.record, g.name]));
      for (const hit of got.list) add(hit);
      searched = got.searched;
      const q = new URLSearchParams(location.search);
      q.set("cursor", got.next ?? "");
      q.set("done", String(searched));
      q.set("of", String(got.total));
      page = got.next ? "search?" + q : "";
      say(page === "", "");
    }
  } catch (e) {
    if (e.name !== "AbortError") failed = e.message;
  }
  $("search-stop").hidden = true;
  say(page === "", failed);
  const on = $("search-on");
  on.hidden = page === "";
  on.setAttribute("href", page);
}
$("search-stop")?.addEventListener("click", () => reading?.abort());
addEventListener("pagehide", () => reading?.abort());
if (box && count < Number(box.dataset.most)) {
  if (page) runPages();
  else if (older > 0) run();
}
