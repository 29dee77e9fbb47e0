import { SottoError, type Sotto, type Splitter } from "./core.js";
import type { Delta, Ending, Options } from "./types.js";

/** The longest frame of a stream, in UTF-16 units. */
const maxFrame = 16 << 20;

type Json = any;

/** A line that is a frame of its own, or a frame of server-sent events. */
interface Frame {
  data: string;
  /** The lines as they came, with their ends, for what Sotto does not read. */
  raw: string;
  sse: boolean;
}

/** frames cuts a stream of server-sent events, or of JSON Lines, into its frames. */
class Frames {
  private parts: string[] = []; // of the line that is not complete
  private long = 0; // how long they are
  private cr = ""; // a carriage return, after which a line feed may come
  private lines: string[] = [];
  private data: string[] = [];
  private size = 0;

  add(text: string, last = false): Frame[] {
    const out: Frame[] = [];
    text = this.cr + text;
    this.cr = !last && text.endsWith("\r") ? "\r" : "";
    if (this.cr) text = text.slice(0, -1);
    let from = 0;
    // Only what is new is searched, so that a long line costs no more than its length.
    for (const end of text.matchAll(/\r\n|\n|\r/g)) {
      this.endLine(text.slice(from, end.index), end[0], out);
      from = end.index + end[0].length;
    }
    if (from < text.length) {
      this.parts.push(text.slice(from));
      this.long += text.length - from;
    }
    if (last) {
      if (this.parts.length) this.endLine("", "", out);
      this.flush(out);
    }
    if (this.long + this.size > maxFrame) throw new SottoError(`a frame of the stream is longer than ${maxFrame} units`);
    return out;
  }

  private endLine(rest: string, end: string, out: Frame[]): void {
    this.parts.push(rest);
    const line = this.parts.join("");
    this.parts = [];
    this.long = 0;
    this.line(line, line + end, out);
  }

  private line(line: string, raw: string, out: Frame[]): void {
    if (this.lines.length === 0 && line.startsWith("{")) {
      out.push({ data: line, raw, sse: false });
      return;
    }
    this.lines.push(raw);
    this.size += raw.length;
    const field = /^(?:\uFEFF)?data(?:: ?(.*))?$/s.exec(line);
    if (field) this.data.push(field[1] ?? "");
    if (line === "") this.flush(out);
  }

  private flush(out: Frame[]): void {
    if (this.lines.length) out.push({ data: this.data.join("\n"), raw: this.lines.join(""), sse: true });
    this.lines = [];
    this.data = [];
    this.size = 0;
  }
}

function parsed(data: string): Json {
  if (data === "" || data === "[DONE]") return undefined;
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new SottoError(`a frame of the stream is no JSON: ${JSON.stringify(data.slice(0, 80))}`, { cause });
  }
}

const endings: Record<string, Ending> = {
  stop: "stopped", tool_calls: "stopped", function_call: "stopped", end_turn: "stopped", stop_sequence: "stopped", tool_use: "stopped",
  STOP: "stopped", length: "cut", max_tokens: "cut", max_output_tokens: "cut", MAX_TOKENS: "cut", model_context_window_exceeded: "cut",
  content_filter: "aborted", refusal: "aborted", SAFETY: "aborted",
};

/** What a frame says of the reply: texts to split, reasoning that the server has separated, the end. */
interface Said {
  text: string;
  reasoning: string;
  end?: Ending;
}

function only<T extends { index?: number }>(list: T[]): T | undefined {
  if (list.some((c) => c.index)) throw new SottoError("the stream has more than one choice: ask for one");
  return list[0];
}

/** saidBy reads a frame of any API, by its shape. */
function saidBy(f: Json): Said {
  const said: Said = { text: "", reasoning: "" };
  const finish = (reason: unknown) => {
    if (typeof reason === "string") said.end = endings[reason] ?? "unknown";
  };
  if (Array.isArray(f?.choices)) {
    const c: Json = only(f.choices);
    said.text = c?.delta?.content ?? c?.text ?? "";
    said.reasoning = c?.delta?.reasoning_content ?? c?.delta?.reasoning ?? "";
    finish(c?.finish_reason);
  } else if (Array.isArray(f?.candidates)) {
    const c: Json = only(f.candidates);
    for (const p of c?.content?.parts ?? []) said[p.thought ? "reasoning" : "text"] += p.text ?? "";
    finish(c?.finishReason);
  } else if (typeof f?.done === "boolean") {
    said.text = f.message?.content ?? f.response ?? "";
    said.reasoning = f.message?.thinking ?? f.thinking ?? "";
    if (f.done) finish(f.done_reason ?? "stop");
  } else {
    switch (f?.type) {
      case "content_block_delta":
        said.text = f.delta?.text ?? "";
        said.reasoning = f.delta?.thinking ?? "";
        break;
      case "message_delta": finish(f.delta?.stop_reason); break;
      case "response.output_text.delta": said.text = f.delta; break;
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta": said.reasoning = f.delta; break;
      case "response.completed": said.end = "stopped"; break;
      case "response.incomplete": finish(f.response?.incomplete_details?.reason); break;
      case "response.failed": said.end = "aborted"; break;
    }
  }
  if (typeof said.text !== "string" || typeof said.reasoning !== "string") throw notText();
  return said;
}

/** Some servers send lists of parts, in which a thought could stand. */
const notText = () => new SottoError("the text of a reply is a list of parts: Sotto's gateway reads those");

/**
 * read gives the deltas of a reply that a server streams: server-sent events or JSON Lines of chat
 * completions, completions, responses, messages, Gemini's or Ollama's API. Reasoning that the
 * server has separated comes as block 0.
 *
 *     const response = await fetch(url, { method: "POST", body });
 *     for await (const d of response.body.pipeThrough(read(sotto, { model }))) …
 */
export function read(sotto: Sotto, options: Options = {}): TransformStream<Uint8Array, Delta> {
  const splitter = sotto.splitter(options), frames = new Frames(), decoder = new TextDecoder();
  let end: Ending = "unknown", thinking = false;
  const pass = (list: Frame[], controller: TransformStreamDefaultController<Delta>) => {
    const endThought = (closed: boolean) => {
      if (thinking) controller.enqueue({ type: "reasoning-end", block: 0, closed });
      thinking = false;
    };
    for (const frame of list) {
      const said = saidBy(parsed(frame.data));
      if (said.reasoning) {
        controller.enqueue({ type: "reasoning", block: 0, text: said.reasoning });
        thinking = true;
      }
      if (said.text) {
        endThought(true);
        for (const d of splitter.feed(said.text)) controller.enqueue(d);
      }
      if (said.end) end = said.end;
    }
    return endThought;
  };
  return new TransformStream<Uint8Array, Delta>({
    transform: (chunk, controller) => void pass(frames.add(decoder.decode(chunk, { stream: true })), controller),
    flush(controller) {
      pass(frames.add(decoder.decode(), true), controller)(end === "stopped");
      for (const d of splitter.close(end)) controller.enqueue(d);
    },
  });
}

/**
 * wrapFetch gives a `fetch` for the SDKs of chat completions and of Ollama: what a model thinks comes
 * in the member for reasoning (`reasoning_content`, `thinking`), and not in the text, whole or
 * streaming. The name of the model is that of the request.
 *
 *     const client = new OpenAI({ baseURL, apiKey, fetch: wrapFetch(await load()) });
 *
 * A reply of another API is refused: use the gateway, which knows them all.
 */
export function wrapFetch(sotto: Sotto, options: Options = {}, inner: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    const request = await requestOf(init?.body ?? (input instanceof Request ? input.clone() : undefined));
    const response = await inner(input, init);
    if (method.toUpperCase() !== "POST" || !response.ok || !response.body) return response;
    const all: Options = { model: request?.model, tools: toolsOf(request?.tools), ...options };
    const type = response.headers.get("content-type") ?? "";
    const headers = new Headers(response.headers);
    // The body is decoded, and has another length.
    for (const name of ["content-length", "content-encoding"]) headers.delete(name);
    const about = { status: response.status, statusText: response.statusText, headers };
    if (type.startsWith("text/event-stream") || type.startsWith("application/x-ndjson")) {
      return new Response(response.body.pipeThrough(rewrite(sotto, all)), about);
    }
    if (!type.startsWith("application/json")) return response;
    return new Response(JSON.stringify(rewriteWhole(sotto, all, JSON.parse(await response.text()))), about);
  };
}

/** requestOf is the request, if it is an object that can be read. */
async function requestOf(body: unknown): Promise<Json> {
  if (body instanceof Request) body = await body.text();
  if (body instanceof Uint8Array) body = new TextDecoder().decode(body);
  if (typeof body !== "string") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** toolsOf is the names of the tools. Without a request that can be read, they are not known. */
function toolsOf(tools: unknown): string[] | undefined {
  if (!Array.isArray(tools)) return undefined;
  return tools.flatMap((t) => (typeof t?.function?.name === "string" ? [t.function.name] : []));
}

/** A Place is where a reply of a frame stands: its text, and its member for reasoning. */
interface Place {
  key: number;
  holder: Json;
  text: string;
  reasoning: string;
  end?: Ending;
}

/** placesOf finds the replies in a frame. The text of a chat may be missing; the holder is never. */
function placesOf(f: Json): Place[] {
  const ending = (reason: unknown): Ending | undefined => (typeof reason === "string" ? (endings[reason] ?? "unknown") : undefined);
  if (Array.isArray(f?.choices)) {
    return f.choices.map((c: Json) => {
      const holder = c.delta ?? c.message ?? c;
      return { key: c.index ?? 0, holder, text: holder === c ? "text" : "content", reasoning: "reasoning_content", end: ending(c.finish_reason) };
    });
  }
  if (typeof f?.done === "boolean") {
    const end = f.done ? ending(f.done_reason ?? "stop") : undefined;
    if (f.message) return [{ key: 0, holder: f.message, text: "content", reasoning: "thinking", end }];
    return [{ key: 0, holder: f, text: "response", reasoning: "thinking", end }];
  }
  if (f?.error === undefined && (f?.candidates || f?.output || f?.content || typeof f?.type === "string")) {
    throw new SottoError("wrapFetch reads chat completions and Ollama's API; for other APIs use the gateway");
  }
  return [];
}

/** put writes what deltas say into a place. */
function put(p: Place, deltas: Delta[]): void {
  let text = "", reasoning = "";
  for (const d of deltas) {
    if (d.type === "text") text += d.text;
    if (d.type === "reasoning") reasoning += d.text;
  }
  if (typeof p.holder[p.text] === "string" || text) p.holder[p.text] = text;
  if (reasoning) p.holder[p.reasoning] = (p.holder[p.reasoning] ?? "") + reasoning;
}

function rewrite(sotto: Sotto, options: Options): TransformStream<Uint8Array, Uint8Array> {
  const splitters = new Map<number, Splitter | "ended">(), frames = new Frames();
  const decoder = new TextDecoder(), encoder = new TextEncoder();
  let last: { frame: Frame; value: Json } | undefined;
  const written = (frame: Frame, value: Json) => {
    const text = JSON.stringify(value);
    if (!frame.sse) return encoder.encode(text + "\n");
    const others = frame.raw.split(/\r\n|\n|\r/).filter((line) => line !== "" && !/^\uFEFF?data(:|$)/.test(line));
    return encoder.encode([...others, "data: " + text, "", ""].join("\n"));
  };
  const pass = (list: Frame[], controller: TransformStreamDefaultController<Uint8Array>) => {
    for (const frame of list) {
      if (frame.data === "[DONE]") finish(controller);
      const value = parsed(frame.data);
      const places = placesOf(value);
      for (const p of places) {
        const said = p.holder[p.text] ?? undefined;
        if (said !== undefined && typeof said !== "string") throw notText();
        let s = splitters.get(p.key);
        if (!s && (typeof said === "string" || p.end)) {
          if (splitters.size >= 128) throw new SottoError("the stream has more than 128 choices");
          splitters.set(p.key, (s = sotto.splitter(options)));
        }
        if (s === "ended") {
          // What comes after the end could be the rest of a thought.
          if (said) throw new SottoError("a choice of the stream has text after its end");
          continue;
        }
        if (!s) continue;
        const deltas = typeof said === "string" && said ? s.feed(said) : [];
        if (p.end) {
          deltas.push(...s.close(p.end));
          splitters.set(p.key, "ended");
        }
        put(p, deltas);
      }
      if (places.length) last = { frame, value };
      controller.enqueue(places.length ? written(frame, value) : encoder.encode(frame.raw));
    }
  };
  /** finish gives what a stream that ends without a reason still holds, in a frame like its last. */
  const finish = (controller: TransformStreamDefaultController<Uint8Array>) => {
    for (const [key, s] of splitters) {
      if (s === "ended") continue;
      const deltas = s.close("unknown");
      if (!last || !deltas.some((d) => (d.type === "text" || d.type === "reasoning") && d.text)) continue;
      const value = structuredClone(last.value);
      if (value.choices) value.choices = [{ index: key, delta: {}, finish_reason: null }];
      for (const p of placesOf(value)) {
        delete p.holder[p.reasoning];
        p.holder[p.text] = "";
        put(p, deltas);
      }
      controller.enqueue(written(last.frame, value));
    }
    splitters.clear();
  };
  return new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => pass(frames.add(decoder.decode(chunk, { stream: true })), controller),
    flush(controller) {
      pass(frames.add(decoder.decode(), true), controller);
      finish(controller);
    },
  });
}

function rewriteWhole(sotto: Sotto, options: Options, value: Json): Json {
  for (const p of placesOf(value)) {
    const raw = p.holder[p.text] ?? undefined;
    if (raw === undefined) continue;
    if (typeof raw !== "string") throw notText();
    const reply = sotto.parse(raw, { ...options, end: p.end ?? "unknown" });
    p.holder[p.text] = reply.visible;
    const thoughts = [p.holder[p.reasoning], ...reply.reasoning].filter((t) => typeof t === "string" && t !== "");
    if (thoughts.length) p.holder[p.reasoning] = thoughts.join("\n\n");
  }
  return value;
}
