import { instantiate, type Delta, type Ending, type Options, type Sotto } from "./sotto/core.ts";

const place = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const reply = place<HTMLTextAreaElement>("reply"), dialect = place<HTMLSelectElement>("dialect"), start = place<HTMLSelectElement>("start");
const end = place<HTMLSelectElement>("end"), size = place<HTMLSelectElement>("size"), at = place<HTMLInputElement>("at");
const notes = place("notes"), shown = place("bytes");

const examples: [string, string, string][] = [
  ["The user wants seven times eight, minus six. That is fifty-six, minus six: fifty.\n</think>\n\nIt is **50**.", "deepseek_r1", ""],
  ["<think>\nThey ask about the tag. I write `</think>` in code.\n</think>\nClose the block with `</think>`: it is then over.", "qwen3", ""],
  ["<|channel|>analysis<|message|>Count the legs: eight.<|end|><|start|>assistant<|channel|>final<|message|>A spider has eight legs.<|return|>", "", ""],
  ["[THINK]Basel lies on the Rhine, Bern on the Aare.[/THINK]Bern lies on the Aare.", "", ""],
  ["<think>月球绕地球一周约需二十七天。</think>大约二十七天。", "qwen3", ""],
];
let example = 0;

const bytesOf = new TextEncoder(), textOf = new TextDecoder();
let sotto: Sotto;

/** chosen is how the reply is read. */
function chosen(raw: string): Options {
  const o: Options = {};
  const name = dialect.value || byMarkers(raw);
  if (name) o.dialect = name;
  if (start.value) o.start = start.value as Options["start"];
  return o;
}

/**
 * byMarkers returns the dialect that takes the most of the reply as markers, or none: the default
 * dialect. It is a guess of this page. The gateway goes by the model's name.
 */
function byMarkers(raw: string): string {
  let best = "", most = weight(raw, "");
  for (const { value } of dialect.options) {
    if (!value) continue;
    const n = weight(raw, value);
    if (n > most) { best = value; most = n; }
  }
  return best;
}

function weight(raw: string, name: string): number {
  const r = sotto.parse(raw.slice(0, 16 << 10), { ...(name && { dialect: name }), end: end.value as Ending });
  return r.reasoning.length === 0 ? 0 : r.segments.reduce((n, s) => n + (s.channel === "markup" ? s.end - s.start : 0), 0) - r.diagnostics.length;
}

interface Arrived { thought: string; said: string }

/** arrive feeds the first bytes of the reply, and tells what came of them. */
function arrive(bytes: Uint8Array, until: number, step: number, options: Options): Arrived {
  const splitter = sotto.splitter(options);
  const events: Delta[] = [];
  for (let i = 0; i < until; i += step) events.push(...splitter.feed(bytes.subarray(i, Math.min(i + step, until))));
  if (until >= bytes.length) events.push(...splitter.close(end.value as Ending));
  else splitter.dispose();
  const text = (type: string) => events.map((d) => (d.type === type && "text" in d ? d.text : "")).join("");
  return { thought: text("reasoning"), said: text("text") };
}

function span(text: string, name: string): HTMLElement {
  const s = document.createElement("span");
  s.className = name;
  s.textContent = text;
  return s;
}

function draw(): void {
  if (!sotto) return;
  const raw = reply.value, bytes = bytesOf.encode(raw), step = Number(size.value) || Math.max(bytes.length, 1);
  const options = chosen(raw);
  const whole = sotto.parse(raw, { ...options, end: end.value as Ending });
  const until = Number(size.value) ? Math.min(Number(at.value) * step, bytes.length) : bytes.length;
  const a = arrive(bytes, until, step, options);
  // What has been given of a channel says which of the bytes that arrived still wait.
  const given: Record<string, Uint8Array> = { text: bytesOf.encode(a.said), reasoning: bytesOf.encode(a.thought) };
  const taken: Record<string, number> = { text: 0, reasoning: 0 };
  const parts: HTMLElement[] = [];
  let waiting = 0;
  for (const s of whole.segments) {
    const arrived = Math.min(s.end, Math.max(until, s.start));
    let known = arrived;
    const of = given[s.channel];
    if (of && until < bytes.length) {
      // White space beside a marker is not given: it does not wait if more of its channel was given.
      let i = s.start;
      known = s.start;
      for (; i < arrived && taken[s.channel]! < of.length; i++) {
        if (bytes[i] === of[taken[s.channel]!]) taken[s.channel]!++;
        else if (bytes[i]! > 32) break;
        known = i + 1;
      }
    }
    waiting += arrived - known;
    for (const [from, to, name] of [[s.start, known, "c-" + s.channel], [known, arrived, "waits"], [arrived, s.end, "later"]] as [number, number, string][])
      if (to > from) parts.push(span(textOf.decode(bytes.subarray(from, to)), name));
  }
  shown.replaceChildren(...parts);
  place("thought").textContent = a.thought;
  place("said").textContent = a.said;
  place("arrival").hidden = !Number(size.value);
  at.max = String(Math.ceil(bytes.length / step));
  place("at-text").textContent = `${until} of ${bytes.length} bytes`;
  notes.textContent = `Read in the dialect ${whole.dialect}${dialect.value ? "" : ", guessed by the markers"}, from start ${whole.start}.`;
  if (waiting > 0) notes.append(` ${waiting} bytes wait: they may be part of a marker, or of a thought.`);
  if (until < bytes.length) return;
  whole.diagnostics.forEach((d, i) => {
    const a = document.createElement("a");
    a.href = `errors/${d.code.replaceAll("_", "-")}.html`;
    a.textContent = d.code + (d.reason ? ` (${d.reason})` : "");
    notes.append(i === 0 ? " Diagnostics: " : ", ", a);
  });
}

function all(): void {
  const step = Number(size.value);
  at.max = String(step ? Math.ceil(bytesOf.encode(reply.value).length / step) : 0);
  at.value = at.max;
  draw();
}

function showExample(): void {
  const [raw, name, begin] = examples[example++ % examples.length]!;
  reply.value = raw;
  dialect.value = name;
  start.value = begin;
  all();
}

let playing = 0;
function play(): void {
  clearInterval(playing);
  if (!Number(size.value)) size.value = "16";
  all();
  at.value = "0";
  draw();
  playing = setInterval(() => {
    at.value = String(Number(at.value) + 1);
    draw();
    if (at.value === at.max) clearInterval(playing);
  }, 60) as unknown as number;
}

async function begin(): Promise<void> {
  const text = atob((self as unknown as { sottoModule: string }).sottoModule);
  sotto = instantiate(await WebAssembly.compile(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  showExample();
  const asked = new URLSearchParams(location.hash.slice(1)).get("dialect");
  if (asked && [...dialect.options].some((o) => o.value === asked)) {
    dialect.value = asked;
    draw();
  }
  document.body.dataset.ready = "yes";
}

for (const field of [reply, dialect, start, end, size]) field.addEventListener("input", () => { clearInterval(playing); all(); });
at.addEventListener("input", () => { clearInterval(playing); draw(); });
place("play").addEventListener("click", play);
place("example").addEventListener("click", () => { clearInterval(playing); showExample(); });
begin().catch((error: Error) => { notes.textContent = "The splitter did not load: " + error.message; });
