import { SottoError, type Sotto } from "./core.js";
import { dialects, members, rules, type Rule } from "./table.js";
import type { HistoryApi, Options, Reply, Start } from "./types.js";

// What a client sends back of earlier reasoning. This is the part of Go's package history that
// needs no memory and knows nothing of an upstream, for three APIs; the same requests are tried with
// both. The module of load({ history: true }) has that package itself, for every API.

type Json = Record<string, any>;

interface Thought {
  name: string;
  text: string;
  /** It is signed or encrypted, and goes back as it is. */
  sealed: boolean;
  /** Its form shows that no provider signed it: the signature is empty, or Sotto's own. */
  minted: boolean;
  /** The provider itself sent it so: a gateway of Sotto's added the signature alone. */
  passed: boolean;
  /** Where it is: a member, or a block of the content. */
  block: number | undefined;
}

interface Text {
  text: string;
  block: number | undefined;
}

interface Message {
  role: string;
  texts: Text[];
  thoughts: Thought[];
  calls: boolean;
  results: boolean;
  callIds: string[];
  empty: string[];
}

/** What is to happen to a message. */
interface Change {
  drop: Thought[];
  texts: Map<number, string>;
  field?: string;
}

const isObject = (v: unknown): v is Json => typeof v === "object" && v !== null && !Array.isArray(v);
/** str is a text without half pairs of surrogates, which no request can hold; empty if it is no text. */
const str = (v: unknown): string => (typeof v === "string" ? v.replace(/\p{Surrogate}/gu, "\ufffd") : "");
const get = (v: unknown, key: string): unknown => (isObject(v) ? v[key] : undefined);

const isWhite = (s: string, i: number): boolean => {
  const c = s.charCodeAt(i);
  return c === 32 || (c >= 9 && c <= 13);
};
function trim(s: string): string {
  let from = 0, to = s.length;
  while (from < to && isWhite(s, from)) from++;
  while (to > from && isWhite(s, to - 1)) to--;
  return s.slice(from, to);
}
const blank = (s: string): boolean => trim(s) === "";

/** The signatures of blocks that a gateway of Sotto's made, or passed on without one. */
const ownSignatures = ["sotto-made-this-block", "sotto-signed-this-block", "sotto-signed-this-bare-block"];

/** A Conversation decides what changes in the messages of one request. */
class Conversation {
  private all: Message[];
  private rule: Rule;
  private options: Options;
  private from = 0;
  private tools: boolean[] = [];

  constructor(private sotto: Sotto, private raw: Json[], model: string, private api: HistoryApi) {
    this.all = raw.map(readMessage);
    this.rule = ruleFor(model);
    this.options = { model, inline: ["narration", "tool"], maxHold: -1 };
    this.turns();
  }

  /** next returns the messages to send. Those that do not change are the same objects. */
  next(): Json[] {
    return this.raw.map((m, i) => {
      const change = this.all[i]!.role === "assistant" ? this.change(i) : undefined;
      return change ? apply(m, this.all[i]!, change) : m;
    });
  }

  /** turns finds where the current turn begins, and which turns call tools. */
  private turns(): void {
    const all = this.all;
    for (let i = 0, begin = 0, calls = false; i <= all.length; i++) {
      if (i < all.length && !isAsked(all[i]!)) {
        calls ||= all[i]!.calls;
        continue;
      }
      for (let j = begin; j < i; j++) this.tools[j] = calls;
      if (i < all.length) this.from = i;
      [begin, calls] = [i, false];
    }
    this.from = Math.min(this.from, openCall(all, this.from));
  }

  private change(i: number): Change | undefined {
    const m = this.all[i]!;
    const empty = this.emptied(m);
    if (empty) m.thoughts = [];
    if (this.strips(i)) {
      const stripped = this.strip(m);
      if (stripped) stripped.drop.push(...(empty?.drop ?? []));
      if (stripped !== undefined) return stripped ?? empty;
    }
    const own = m.thoughts.filter((t) => t.minted && (this.rule.need === "sealed" || (!t.passed && !this.rule.demands)));
    if (own.length > 0) {
      const rest = m.thoughts.filter((t) => !own.includes(t));
      const emptied = this.api === "messages" && m.thoughts.length <= few && rest.every((t) => !t.sealed && blank(t.text));
      return this.giveBack(m, emptied ? [...own, ...rest] : own);
    }
    return this.demand(i) ?? empty;
  }

  /** emptied drops blocks that the client has emptied, and that nobody signed. */
  private emptied(m: Message): Change | undefined {
    const says = m.calls || m.texts.some((t) => !blank(t.text));
    if (this.api !== "messages" || !says || m.thoughts.length === 0 || m.thoughts.some((t) => t.sealed || !blank(t.text))) return undefined;
    return { drop: m.thoughts, texts: new Map() };
  }

  private strips(i: number): boolean {
    return i < this.from && (this.rule.need === "strip" || (this.rule.need === "echo" && !this.tools[i]));
  }

  /** strip removes a message's reasoning: null leaves the message as it is, and undefined is one without reasoning. */
  private strip(m: Message): Change | null | undefined {
    const change: Change = { drop: m.thoughts.filter((t) => !t.sealed), texts: new Map() };
    let says = false;
    m.texts.forEach(({ text }, j) => {
      const start = j === 0 && this.mayPreOpen(text) && this.preOpened(text) ? "auto" : "outside";
      let bare = this.bare(text, start);
      // A text that would become empty stays, unless the message has calls and the API takes an empty one.
      if (bare !== undefined && blank(bare) && !(m.calls && m.texts.length === 1 && this.api !== "messages")) bare = undefined;
      says ||= !blank(bare ?? text);
      if (bare !== undefined) change.texts.set(j, bare);
    });
    if (change.drop.length === 0 && change.texts.size === 0) return undefined;
    return says || m.calls ? change : null;
  }

  /** giveBack removes blocks that nobody signed: their reasoning goes into the text, or nowhere if the provider signs its own. */
  private giveBack(m: Message, own: Thought[]): Change | undefined {
    if (this.rule.need === "sealed") {
      const says = m.calls || m.texts.some((t) => !blank(t.text)) || m.thoughts.some((t) => t.sealed);
      return says ? { drop: own, texts: new Map() } : undefined;
    }
    const drop = [...own];
    const seen = new Set<string>();
    let thought = "", n = 0;
    for (const { text } of own) {
      if (text === "") continue;
      if (++n, seen.has(text) || (n <= few && thought.includes(text))) continue;
      seen.add(text);
      thought += (thought === "" ? "" : "\n\n") + text;
    }
    if (this.api !== "messages") drop.push(...m.thoughts.filter((t) => seen.has(t.text) && !t.sealed && t.name !== details && !own.slice(0, few).includes(t)));
    if (m.texts.length === 0 && !m.calls) return undefined;
    const text = m.texts[0]?.text ?? "", inline = this.reasoning(text, "outside").join("\n\n");
    const texts = new Map<number, string>();
    if (inline !== "") return inline.includes(trim(thought)) ? { drop, texts } : undefined;
    const marked = this.marked(thought, text);
    if (marked === undefined) return undefined;
    if (marked !== text) texts.set(0, marked);
    return { drop, texts };
  }

  /** demand adds an empty member, if the provider refuses a message without one. */
  private demand(i: number): Change | undefined {
    const m = this.all[i]!;
    if (this.api === "messages" || !this.rule.demands || !this.tools[i] || m.thoughts.length > 0 || (m.texts.length === 0 && !m.calls)) return undefined;
    if (m.texts.some(({ text }) => this.reasoning(text, this.mayPreOpen(text) ? "auto" : "outside").length > 0)) return undefined;
    const field = this.api === "ollama" ? "thinking" : this.rule.field ?? "reasoning_content";
    return m.empty.includes(field) ? undefined : { drop: [], texts: new Map(), field };
  }

  private parse(text: string, start: Start, end: "unknown" | "stopped" = "unknown"): Reply {
    return this.sotto.parse(text, { ...this.options, start, end });
  }

  private reasoning(text: string, start: Start): string[] {
    return blocks(this.parse(text, start));
  }

  /** mayPreOpen reports whether a text of the model's may begin inside reasoning. */
  private mayPreOpen(text: string): boolean {
    return text !== "" && dialects[this.dialect()]?.preOpens !== false;
  }

  private dialectName?: string;
  private dialect(): string {
    return (this.dialectName ??= this.parse("", "outside").dialect);
  }

  /** preOpened reports whether a text begins inside reasoning: an end without a beginning is alone on its line. */
  private preOpened(text: string): boolean {
    const reply = this.parse(text, "auto");
    const at = reply.diagnostics.find((d) => d.code === "orphan_close")?.offset;
    const marker = at === undefined ? undefined : reply.segments.find((s) => s.channel === "markup" && s.start <= at && at < s.end);
    if (at === undefined || !marker) return false;
    const close = marker.from + unitsOf(text, marker.from, at - marker.start);
    const line = text.indexOf("\n", marker.to);
    return blank(text.slice(text.lastIndexOf("\n", close - 1) + 1, close)) && blank(text.slice(marker.to, line < 0 ? undefined : line));
  }

  /** bare returns a text without its reasoning; undefined if it has none, or if the rest would not read the same again. */
  private bare(text: string, start: Start): string | undefined {
    let reply = this.parse(text, start);
    if (!reply.segments.some((s) => s.channel === "reasoning" && s.end > s.start)) return undefined;
    let bare = text, done = false;
    for (let k = 0; k < 5; k++) {
      if (k > 0) reply = this.parse(bare, "outside");
      if ((done = reply.visible === bare)) break;
      bare = reply.visible;
    }
    if (!done) bare = "";
    return this.parse(bare, start).visible === bare ? bare : undefined;
  }

  /** marked returns a text with reasoning before it, in the model's own markers, if that reads back. */
  private marked(thought: string, text: string): string | undefined {
    thought = trim(thought);
    const marks = dialects[this.dialect()]?.marks;
    if (!marks || thought === "") return undefined;
    const out = `${marks[0]}\n${thought}\n${marks[1]}\n\n${text}`;
    const after = this.parse(out, "outside", "stopped"), before = this.parse(text, "outside", "stopped");
    return trim(after.visible) === trim(before.visible) && blocks(after)[0] === thought ? out : undefined;
  }
}

const details = "reasoning_details";
/** How many thoughts of a message are searched for in each other. */
const few = 16;

const blocks = (reply: Reply): string[] => reply.reasoning.map(trim).filter((t) => t !== "");

/** unitsOf returns how many UTF-16 units n bytes of UTF-8 are, from a place in a text. */
function unitsOf(text: string, from: number, n: number): number {
  let at = from;
  while (n > 0 && at < text.length) {
    const c = text.codePointAt(at)!;
    n -= c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    at += c < 0x10000 ? 1 : 2;
  }
  return at - from;
}

/** isAsked reports whether a message is the user's own, and not a result that an API sends as the user's. */
const isAsked = (m: Message): boolean => m.role === "user" && !m.results;

/** openCall returns where the group of calls begins whose results are still missing at from, or from. */
function openCall(all: Message[], from: number): number {
  const called = new Map<string, boolean>(), open = new Set<string>();
  let unnamed = false;
  for (const m of all.slice(from)) {
    for (const id of m.callIds) {
      if (m.calls) called.set(id, true);
      if (m.results && !called.get(id)) open.add(id);
      if (!called.has(id)) called.set(id, false);
    }
    unnamed ||= m.results && m.callIds.length === 0 && called.size === 0;
    if (m.calls) called.set("", true);
  }
  let begin = from;
  for (let i = from - 1; i >= 0 && (unnamed || open.size > 0); i--) {
    const m = all[i]!;
    if (!m.calls) continue;
    if (unnamed) [begin, unnamed] = [i, false];
    for (const id of m.callIds) {
      if (open.delete(id)) begin = i;
    }
  }
  while (begin < from && begin > 0 && all[begin - 1]!.role === "assistant") begin--; // pieces of one reply
  return begin;
}

function readMessage(raw: Json): Message {
  const m: Message = { role: "", texts: [], thoughts: [], calls: false, results: false, callIds: [], empty: [] };
  if (!isObject(raw)) return m;
  for (const [key, v] of Object.entries(raw)) {
    switch (key) {
      case "role":
        m.role = str(v);
        m.results ||= v === "tool" || v === "function";
        break;
      case "content":
        readContent(m, v);
        break;
      case "tool_calls":
        for (const c of Array.isArray(v) ? v : v === null || v === undefined ? [] : [v]) call(m, get(c, "id"), get(get(c, "function"), "name"));
        break;
      case "tool_call_id":
        m.callIds.push(str(v));
        break;
      case "function_call":
        if (isObject(v)) call(m, "", v.name);
        break;
      case details:
        if (Array.isArray(v) && v.length > 0) {
          const sealed = v.some((d) => str(get(d, "signature")) !== "" || str(get(d, "data")) !== "" || get(d, "type") === "reasoning.encrypted");
          m.thoughts.push({ name: key, text: v.map((d) => str(get(d, "text")) + str(get(d, "summary"))).join(""), sealed, minted: false, passed: false, block: undefined });
        }
        break;
      default:
        if (typeof v !== "string" || !members.includes(key)) break;
        if (v === "") m.empty.push(key);
        else m.thoughts.push({ name: key, text: str(v), sealed: false, minted: false, passed: false, block: undefined });
    }
  }
  return m;
}

/** call notes a call by its id, or else by the name of its tool. */
function call(m: Message, id: unknown, name: unknown): void {
  m.calls = true;
  const known = str(id) || str(name);
  if (known !== "") m.callIds.push(known);
}

function readContent(m: Message, content: unknown): void {
  if (typeof content === "string") m.texts.push({ text: str(content), block: undefined });
  if (!Array.isArray(content)) return;
  content.forEach((b, block) => {
    switch (get(b, "type")) {
      case "text":
      case "input_text":
      case "output_text":
        m.texts.push({ text: str(b.text), block });
        break;
      case "thinking":
      case "reasoning": {
        const signature = str(b.signature), ours = ownSignatures.includes(signature);
        m.thoughts.push({
          name: b.type, text: thoughtText(b), block, sealed: signature !== "" && !ours,
          minted: b.signature !== undefined && (signature === "" || ours), passed: ours && signature !== ownSignatures[0],
        });
        break;
      }
      case "redacted_thinking":
        m.thoughts.push({ name: b.type, text: "", sealed: true, minted: false, passed: false, block });
        break;
      case "tool_use":
      case "server_tool_use":
      case "mcp_tool_use":
        call(m, b.id, b.name);
        break;
      case "tool_result":
        m.results = true;
        m.callIds.push(str(b.tool_use_id));
    }
  });
}

function thoughtText(block: Json): string {
  for (const key of ["thinking", "text", "reasoning", "summary", "content"]) {
    const v = block[key];
    if (typeof v === "string") return str(v);
    const all = Array.isArray(v) ? v.map((t) => str(get(t, "text"))).join("") : "";
    if (all !== "") return all;
  }
  return "";
}

/** apply returns a copy of a message with a change. */
function apply(raw: Json, m: Message, change: Change): Json {
  const out: Json = { ...raw };
  const dropped = new Set(change.drop.map((t) => t.block));
  for (const t of change.drop) if (t.block === undefined) delete out[t.name];
  if (Array.isArray(raw.content)) {
    out.content = raw.content.flatMap((b: Json, i: number) => {
      if (dropped.has(i)) return [];
      const text = change.texts.get(m.texts.findIndex((t) => t.block === i));
      return [text === undefined ? b : { ...b, text }];
    });
  }
  const text = change.texts.get(0);
  if (text !== undefined && m.texts[0]?.block === undefined) {
    if (m.texts.length === 0 && Array.isArray(raw.content) && raw.content.length > 0) out.content.unshift({ type: "text", text });
    else if (!("content" in raw)) return { content: text, ...out };
    else out.content = text;
  }
  if (change.field === undefined) return out;
  return change.field in out ? { ...out, [change.field]: "" } : { [change.field]: "", ...out };
}

/** ruleFor returns the rule for a model: that of the longest pattern which fits its name. */
function ruleFor(model: string): Rule {
  let best: Rule = { need: "preserve" }, most = 0;
  const name = normal(model);
  for (const rule of rules) {
    for (const pattern of rule.models!) {
      const n = pattern.replaceAll("*", "").length;
      if (n > most && fits(pattern, name)) [best, most] = [rule, n];
    }
  }
  return best;
}

/** normal is the name of a model as patterns have it: in lower case, without the path of its registry. */
function normal(model: string): string {
  let name = model.trim().toLowerCase();
  while (name.endsWith("/")) name = name.slice(0, -1);
  name = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  if (name.startsWith("models--")) name = name.slice(name.lastIndexOf("--") + 2); // a folder of a cache
  return name.replace(/[:@ ]/g, "-");
}

/** fits reports whether a pattern, in which a star is any run of characters, matches the whole of a name. */
function fits(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
  if (parts.length === 1) return pattern === name;
  const first = parts.shift()!, last = parts.pop()!;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const i = name.indexOf(part, at);
    if (i < 0) return false;
    at = i + part.length;
  }
  return name.length - at >= last.length && name.endsWith(last);
}

/** Where the request of each API has its messages. */
const held = new Map<HistoryApi, string>([
  ["chat", "messages"], ["responses", "input"], ["messages", "messages"], ["ollama", "messages"],
  ["gemini", "contents"], ["cohere", "messages"], ["bedrock", "messages"],
]);

/** The APIs that need no module of their own. */
const small: HistoryApi[] = ["chat", "messages", "ollama"];

/**
 * forNextPrompt returns the messages that should go to the model with the next request: without the
 * reasoning that its family does not need back, and with what its provider requires, by the table of the
 * gateway. Messages that need no change are the same objects. Use it on each request, with all messages.
 *
 *     client.chat.completions.create({ model, messages: forNextPrompt(sotto, messages, model) })
 *
 * @param api The API of the messages: chat completions, Anthropic's messages, Ollama's chat; and with a
 *   reader of `load({ history: true })` also the input items of `responses`, the contents of `gemini`, and
 *   the messages of `cohere` and of Bedrock's Converse.
 */
export function forNextPrompt<M extends object>(sotto: Sotto, messages: readonly M[], model: string, { api = "chat" }: { api?: HistoryApi } = {}): M[] {
  const member = held.get(api);
  if (member === undefined) throw new RangeError(`unknown API ${JSON.stringify(api)}: want ${[...held.keys()].join(", ")}`);
  if (sotto.history) {
    const request: Record<string, unknown> = { model, [member]: messages };
    return known(messages, sotto.nextRequest(request, { api })[member] as M[]);
  }
  if (!small.includes(api)) throw new SottoError(`${api} needs the module of load({ history: true }): without it the APIs are ${small.join(", ")}`);
  return new Conversation(sotto, messages as unknown as Json[], model, api).next() as M[];
}

/** known returns messages, each as the object that it was before if it has not changed. */
function known<M extends object>(before: readonly M[], after: M[]): M[] {
  const texts = before.map((m) => JSON.stringify(m));
  if (after.length === before.length) return after.map((m, i) => (JSON.stringify(m) === texts[i] ? before[i]! : m));
  let from = 0; // some have gone
  return after.map((m) => {
    const i = texts.indexOf(JSON.stringify(m), from);
    if (i < 0) return m;
    from = i + 1;
    return before[i]!;
  });
}
