// The playground: the server reads the reply, and says when each byte became certain.
// This script shows the reading at any cut. All of it is in the fragment of the
// address, which no server sees. It makes elements and texts, and no markup.

const $ = (id) => document.getElementById(id);
const form = $("play"), cutter = $("play-cut"), panes = $("play-bytes"), reading = $("play-reading"), arrival = $("arrival");
const fields = ["text", "dialect", "start", "end"];
const limit = 50; // rows of the table of waits

function el(name, className, ...children) {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...children);
  return e;
}

// visible shows what is hidden or reorders other text, as the server does.
const visible = (text) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, (c) =>
    c === "\n" || c === "\t" ? c : c < " " ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : [...c].map((u) => `\\u{${u.codePointAt(0).toString(16)}}`).join(""),
  );
const number = (n) => (n < 10000 ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
const size = (n) => (n < 1000 ? `${n} B` : `${(n / 1000).toFixed(n < 9950 ? 1 : 0)} kB`);

let play = null; // the answer of the server
let bytes = new Uint8Array(); // of the reply
let shown = new Uint8Array(); // of the visible text
let places = [0]; // where characters begin, and the end
const decoder = new TextDecoder();
const text = (from, to, of = bytes) => visible(decoder.decode(of.subarray(from, to)));

// until returns where a span ends after n bytes of the reply have come.
function until(span, n) {
  if (span.at > n) return span.from;
  return span.each ? Math.min(span.to, span.from + (n - span.at) + 1) : span.to;
}

// now is how many bytes have come; one more than the reply has is its end.
const now = () => places[Number(cutter.value)] ?? bytes.length + 1;

// settled returns the segments that are certain after n bytes, each as one.
function settled(n) {
  const list = [];
  for (const p of play.pieces) {
    const to = until(p, n);
    if (to === p.from) break;
    const last = list.at(-1);
    if (last?.segment === p.segment) last.to = to;
    else list.push({ from: p.from, to, channel: p.channel, block: p.block ?? 0, segment: p.segment });
  }
  return list;
}

function drawBytes(n, certain) {
  const out = document.createDocumentFragment();
  let flags = play.diagnostics;
  const flag = (to) => {
    while (flags.length > 0 && flags[0].offset <= to) {
      const d = flags[0];
      const mark = el("a", "flag", `${d.code}${d.reason ? ` (${d.reason})` : ""} · ${number(d.offset)}`);
      mark.id = `b${d.offset}`;
      mark.href = `#b${d.offset}`;
      out.append(mark);
      flags = flags.slice(1);
    }
  };
  for (const s of certain) {
    let at = s.from;
    flag(at);
    while (at < s.to) {
      const to = Math.min(s.to, flags[0]?.offset ?? s.to);
      out.append(el("span", `on-${s.channel}`, text(at, to)));
      at = to;
      if (at < s.to) flag(at);
    }
  }
  const end = certain.at(-1)?.to ?? 0, come = Math.min(n, bytes.length);
  if (n > bytes.length) flag(bytes.length);
  if (end < come) {
    const wait = el("span", "waits", text(end, come));
    wait.title = reason(n)?.why ?? "";
    out.append(wait);
  }
  if (n <= bytes.length) out.append(el("span", "arrow"));
  if (come < bytes.length) out.append(el("span", "future", text(come, bytes.length)));
  panes.replaceChildren(out);
  return come - end;
}

function drawReading(n, certain) {
  const blocks = new Map(), out = document.createDocumentFragment();
  const said = reading.dataset;
  for (const s of certain) {
    if (!["reasoning", "narration", "tool"].includes(s.channel)) continue;
    const key = `${s.channel} ${s.block}`;
    if (!blocks.has(key)) blocks.set(key, [s.channel, ""]);
    blocks.get(key)[1] += text(s.from, s.to);
  }
  for (const [channel, words] of blocks.values()) {
    if (channel === "reasoning") out.append(el("div", "thought", el("span", "what", said.thought), el("div", "words", words.trim())));
    else if (channel === "narration") out.append(el("p", "narration", words.trim()));
    else out.append(el("section", "call", el("h4", "", said.call), el("pre", "", words)));
  }
  const to = play.shown.reduce((most, s) => Math.max(most, until(s, n)), 0);
  out.append(to > 0 ? el("div", "answer words", text(0, to, shown)) : el("p", "dim", said.none));
  reading.replaceChildren(out);
}

const reason = (n) => {
  const hold = play.holds.find((h) => h.from <= n && n <= h.to);
  return hold && { ...hold, why: play.reasons[hold.why] };
};

function draw() {
  if (play === null) return;
  const n = now(), certain = settled(n), said = arrival.dataset;
  const waiting = drawBytes(n, certain);
  drawReading(n, certain);
  let line = said.whole;
  if (n <= bytes.length) line = `${number(n)} ${said.of} ${number(bytes.length)} ${said.bytes}`;
  const parts = [line];
  if (waiting > 0) parts.push(el("b", "", ` · ${number(waiting)} ${said.wait}`), `: ${reason(n)?.why ?? ""}`);
  $("play-at").replaceChildren(...parts);
  cutter.setAttribute("aria-valuetext", $("play-at").textContent);
}

let frame = 0;
const redraw = () => {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(draw);
};

// to moves the cut to a byte.
function to(n) {
  const i = places.findIndex((p) => p >= n);
  cutter.value = String(i < 0 ? places.length : i);
  redraw();
  remember();
}

function drawTables() {
  const body = $("play-holds");
  const rows = play.holds.slice(0, limit).map((h) => {
    const row = el("tr", "", el("td", "n", number(h.at)), el("td", "n", h.from === h.to ? number(h.from) : `${number(h.from)}–${number(h.to)}`), el("td", "", play.reasons[h.why]));
    const go = el("button", "link", row.children[1].textContent);
    go.type = "button";
    go.addEventListener("click", () => to(h.from));
    row.children[1].replaceChildren(go);
    return row;
  });
  body.replaceChildren(...rows);
  body.closest("table").hidden = rows.length === 0;
  $("play-unheld").hidden = rows.length > 0;
  const heading = (where, value) => (document.querySelector(`${where} h2 .dim`).textContent = value);
  heading(".play-holds", `${play.holds.length}${play.longest_hold > 0 ? ` · ${size(play.longest_hold)}` : ""}`);
  heading(".diagnostics", String(play.diagnostics.length + (play.more_diagnostics ?? 0)));
  document.querySelector(".diagnostics ul").replaceChildren(
    ...play.diagnostics.slice(0, limit).map((d) => {
      const link = el("button", "link", el("b", "", d.code), d.reason ? ` (${d.reason}) ` : " ", el("span", "dim", number(d.offset)));
      link.type = "button";
      link.addEventListener("click", () => {
        to(bytes.length + 1);
        requestAnimationFrame(() => requestAnimationFrame(() => $(`b${d.offset}`)?.scrollIntoView({ block: "center" })));
      });
      return el("li", "", link);
    }),
  );
  const sums = new Map();
  const strip = [];
  for (const s of play.reading.segments) {
    sums.set(s.channel, (sums.get(s.channel) ?? 0) + s.end - s.start);
    if (strip.length > 2000) continue;
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [k, v] of Object.entries({ class: `fill-${s.channel}`, x: (240 * s.start) / bytes.length, y: 0, width: (240 * (s.end - s.start)) / bytes.length, height: 12 })) bar.setAttribute(k, v);
    strip.push(bar);
  }
  $("play-strip").replaceChildren(...strip);
  document.querySelector(".legend").replaceChildren(
    ...[...sums].map(([channel, n]) => el("li", "", el("span", `swatch fill-${channel}`), channel, " ", el("b", "", size(n)), " ", el("span", "dim", `${Math.round((100 * n) / bytes.length)} %`))),
  );
  drawJSON();
}

// drawJSON writes the reading only while it is open, since it may be long.
function drawJSON() {
  if ($("play-json").open && play !== null) $("play-json").querySelector("pre").textContent = visible(JSON.stringify(play.reading, null, 2));
}

// ask lets the server read the reply, and keeps the cut where it can.
let asked = null;
async function ask(at) {
  asked?.abort();
  asked = new AbortController();
  const body = new URLSearchParams(new FormData(form));
  try {
    const response = await fetch(new URL(form.getAttribute("action") + "?format=json", location.href), { method: "POST", body, signal: asked.signal });
    const fresh = await response.json();
    if (!response.ok) throw new Error(fresh.error?.message ?? response.statusText);
    const encoder = new TextEncoder();
    play = fresh;
    const words = body.get("text").replaceAll("\r\n", "\n");
    bytes = encoder.encode(words);
    shown = encoder.encode(play.reading.visible);
    places = [0];
    for (const c of words) places.push(places.at(-1) + (c.codePointAt(0) < 0x80 ? 1 : c.codePointAt(0) < 0x800 ? 2 : c.codePointAt(0) < 0x10000 ? 3 : 4));
    $("play-fault").hidden = true;
    cutter.max = String(places.length);
    drawTables();
    to(at ?? bytes.length + 1);
    draw();
  } catch (e) {
    if (e.name === "AbortError") return;
    $("play-fault").textContent = e.message;
    $("play-fault").hidden = false;
  }
}

// The fragment holds everything, so that a link shows the same.
let remembering = 0;
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(keep, 300);
}
function keep() {
  const q = new URLSearchParams(fields.map((f) => [f, form.elements[f].value]));
  if (now() <= bytes.length) q.set("at", String(now()));
  history.replaceState(history.state, "", location.pathname + location.search + "#" + q);
}

// recall takes what a fragment holds, and returns the cut.
function recall() {
  const q = new URLSearchParams(location.hash.slice(1));
  if (!q.has("text")) return undefined;
  for (const f of fields) if (q.has(f)) form.elements[f].value = q.get(f);
  for (const f of ["dialect", "start", "end"]) if (form.elements[f].selectedIndex < 0) form.elements[f].selectedIndex = 0; // not an option
  document.querySelector(".play-examples [aria-current]")?.removeAttribute("aria-current");
  return q.has("at") ? Number(q.get("at")) : undefined;
}

let typing = 0;
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => ask(), 250);
});
form.addEventListener("submit", (e) => {
  e.preventDefault();
  ask();
});
cutter.addEventListener("input", () => {
  redraw();
  remember();
});
addEventListener("hashchange", () => {
  if (/^#b\d+$/.test(location.hash)) return;
  ask(recall());
});
$("newer").addEventListener("click", () => to(play?.holds.findLast((h) => h.from < now())?.from ?? 0));
$("older").addEventListener("click", () => to(play?.holds.find((h) => h.from > now())?.from ?? bytes.length + 1));
$("play-json").addEventListener("toggle", drawJSON);
$("play-link").addEventListener("click", async (e) => {
  keep();
  const button = e.currentTarget, name = button.textContent;
  let said = button.dataset.failed;
  try {
    await navigator.clipboard.writeText(location.href);
    said = button.dataset.done;
  } catch {}
  button.textContent = said;
  setTimeout(() => (button.textContent = name), 2000);
});
ask(recall());
