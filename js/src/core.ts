import { encodeOptions } from "./options.js";
import type { Delta, Ending, HistoryApi, Options, Reply, Segment } from "./types.js";
import { wasi } from "./wasi.js";

export type * from "./types.js";

/** What the module offers. */
interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  sotto_memory(n: number): number;
  sotto_result(): number;
  sotto_open(n: number): number;
  sotto_feed(stream: number, n: number): number;
  sotto_close(stream: number, end: number): number;
  sotto_forget(stream: number): void;
  sotto_parse(options: number, n: number, end: number): number;
  sotto_strip(options: number, n: number): number;
  sotto_next_request?(api: number, n: number): number;
}

/** An error that Sotto reports: a wrong option, a stream that is closed, or a reader that failed. */
export class SottoError extends Error {
  override name = "SottoError";
}

const endings: Ending[] = ["unknown", "stopped", "cut", "aborted"];

function endNumber(end: Ending): number {
  const n = endings.indexOf(end);
  if (n < 0) throw new SottoError(`unknown ending ${JSON.stringify(end)}: want ${endings.join(", ")}`);
  return n;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The longest reply, or delta, in bytes. */
const maxBytes = 1 << 30;

/** An instance of the module, until it fails. */
class Instance {
  private exports: Exports;
  private view: DataView;
  private resultAt: number;
  private failed?: SottoError;

  constructor(module: WebAssembly.Module) {
    let view: DataView | undefined;
    const memory = (): DataView => (view?.buffer.byteLength ? view : (view = new DataView(exports.memory.buffer)));
    const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: wasi(memory) });
    const exports = (this.exports = instance.exports as unknown as Exports);
    exports._initialize();
    this.resultAt = exports.sotto_result();
    this.view = memory();
  }

  /** memory is the memory of the module, which may have grown. */
  memory(): DataView {
    if (this.view.buffer.byteLength === 0) this.view = new DataView(this.exports.memory.buffer);
    return this.view;
  }

  /** usable throws if an earlier call failed, and its streams are lost. */
  usable(): void {
    if (this.failed) throw this.failed;
  }
  get broken(): boolean {
    return this.failed !== undefined;
  }

  /** put writes texts or bytes as the arguments of a call. It returns their lengths in bytes. */
  put(...parts: (string | Uint8Array)[]): number[] {
    // A UTF-16 unit has at most three bytes.
    const room = parts.reduce((n, p) => n + (typeof p === "string" ? 3 : 1) * p.length, 0);
    if (room > 3 * maxBytes) throw new SottoError("the text is longer than 1 GiB");
    let at = this.exports.sotto_memory(room) >>> 0;
    const memory = new Uint8Array(this.memory().buffer);
    return parts.map((p) => {
      let n = p.length;
      if (typeof p === "string") n = encoder.encodeInto(p, memory.subarray(at, at + 3 * p.length)).written;
      else memory.set(p, at);
      at += n;
      return n;
    });
  }

  /** call runs a function of the module, and returns the bytes that it gives, until the next call. */
  call(run: (e: Exports) => number): Uint8Array {
    this.usable();
    let status: number;
    try {
      status = run(this.exports);
    } catch (cause) {
      if (cause instanceof SottoError) throw cause;
      this.failed = new SottoError("the reader failed, and its open streams are lost: " + (cause as Error).message, { cause });
      throw this.failed;
    }
    const memory = this.memory();
    const at = memory.getUint32(this.resultAt, true), n = memory.getUint32(this.resultAt + 4, true);
    const result = new Uint8Array(memory.buffer, at, n);
    if (status !== 0) throw new SottoError(decoder.decode(result));
    return result;
  }
}

/**
 * A Sotto reads replies. Its streams share one instance of the module, and so one memory. An
 * instance that fails takes its open streams with it, and the next call begins with a new one.
 */
export class Sotto {
  private instance?: Instance;
  /** It reads the requests of every API: its module is that of `load({ history: true })`. */
  readonly history: boolean;

  constructor(private module: WebAssembly.Module) {
    this.history = WebAssembly.Module.exports(module).some((e) => e.name === "sotto_next_request");
  }

  private current(): Instance {
    if (!this.instance || this.instance.broken) this.instance = new Instance(this.module);
    return this.instance;
  }

  /** parse reads a whole reply. */
  parse(raw: string | Uint8Array, options: Options & { end?: Ending } = {}): Reply {
    const end = endNumber(options.end ?? "unknown"), head = encodeOptions(options), instance = this.current();
    const json = instance.call((e) => {
      const [n, size] = instance.put(head, raw) as [number, number];
      return e.sotto_parse(n, size, end);
    });
    const reply = JSON.parse(decoder.decode(json));
    return {
      visible: reply.visible,
      reasoning: reply.reasoning,
      narration: reply.narration,
      segments: withUnits(reply.segments, raw),
      diagnostics: reply.diagnostics,
      moreDiagnostics: reply.more_diagnostics ?? 0,
      dialect: reply.dialect,
      start: reply.start,
    };
  }

  /** strip returns the visible text of a whole reply, for history and memory. */
  strip(raw: string | Uint8Array, options: Options = {}): string {
    const head = encodeOptions(options), instance = this.current();
    const text = instance.call((e) => {
      const [n, size] = instance.put(head, raw) as [number, number];
      return e.sotto_strip(n, size);
    });
    return decoder.decode(text);
  }

  /**
   * nextRequest returns the body of a request as it should go to the model that it names: without the
   * earlier reasoning that this family of models does not need back, and with what its provider
   * requires. The APIs gemini and bedrock have the model in the path: put it into the body, as `model`.
   */
  nextRequest<R extends object>(request: R, { api = "chat" }: { api?: HistoryApi } = {}): R {
    if (!this.history) throw new SottoError("this module does not read requests: take that of load({ history: true })");
    const instance = this.current();
    const body = instance.call((e) => {
      const [n, size] = instance.put(api, JSON.stringify(request)) as [number, number];
      return e.sotto_next_request!(n, size);
    });
    return JSON.parse(decoder.decode(body));
  }

  /** splitter begins the reading of a reply that streams in. */
  splitter(options: Options = {}): Splitter {
    return new Splitter(this.current(), options);
  }

  /**
   * stream reads a stream of texts, or of bytes, and gives the deltas. It ends the reply as
   * `unknown`; give `end` a function if you know more by then.
   */
  stream(options: Options & { end?: () => Ending } = {}): TransformStream<string | Uint8Array, Delta> {
    const splitter = this.splitter(options);
    return new TransformStream<string | Uint8Array, Delta>({
      transform(chunk, controller) {
        for (const d of splitter.feed(chunk)) controller.enqueue(d);
      },
      flush(controller) {
        for (const d of splitter.close(options.end?.() ?? "unknown")) controller.enqueue(d);
      },
    });
  }

  /** visible is like stream, and gives the visible text alone. */
  visible(options: Options & { end?: () => Ending } = {}): TransformStream<string | Uint8Array, string> {
    const splitter = this.splitter(options);
    const pass = (deltas: Delta[], controller: TransformStreamDefaultController<string>) => {
      for (const d of deltas) if (d.type === "text") controller.enqueue(d.text);
    };
    return new TransformStream<string | Uint8Array, string>({
      transform: (chunk, controller) => pass(splitter.feed(chunk), controller),
      flush: (controller) => pass(splitter.close(options.end?.() ?? "unknown"), controller),
    });
  }
}

/** Streams that nobody closed are forgotten with their splitters. */
const forgotten = new FinalizationRegistry<() => void>((forget) => forget());

/** A Splitter reads one reply as it streams in. */
export class Splitter {
  private stream: number;
  private closed = false;
  private half = ""; // the first half of a pair of surrogates
  private forget: () => void;

  /** Call `splitter` of a Sotto instead. */
  constructor(private instance: Instance, options: Options) {
    const head = encodeOptions(options);
    const number = instance.call((e) => e.sotto_open(instance.put(head)[0]!));
    const stream = (this.stream = new DataView(number.buffer, number.byteOffset, 4).getUint32(0, true));
    this.forget = () => {
      try {
        instance.call((e) => (e.sotto_forget(stream), 0));
      } catch {
        // The instance failed: the stream is gone already.
      }
    };
    forgotten.register(this, this.forget, this);
  }

  /** feed reads a part of the reply. */
  feed(chunk: string | Uint8Array): Delta[] {
    if (this.closed) throw new SottoError("feed after close: a splitter reads one reply");
    if (typeof chunk === "string") {
      if (this.half) chunk = this.half + chunk;
      const last = chunk.charCodeAt(chunk.length - 1);
      this.half = last >= 0xd800 && last < 0xdc00 ? chunk.slice(-1) : "";
      if (this.half) chunk = chunk.slice(0, -1);
      return this.read(chunk);
    }
    const before = this.endHalf();
    return before.concat(this.read(chunk));
  }

  /** endHalf reads a half pair that stays alone. */
  private endHalf(): Delta[] {
    const half = this.half;
    this.half = "";
    return this.read(half);
  }

  private read(chunk: string | Uint8Array): Delta[] {
    if (chunk.length === 0) return [];
    return decode(this.instance.call((e) => e.sotto_feed(this.stream, this.instance.put(chunk)[0]!)));
  }

  /** close ends the reply. The last delta is its end. */
  close(end: Ending = "unknown"): Delta[] {
    if (this.closed) throw new SottoError("close twice: a splitter reads one reply");
    const number = endNumber(end);
    const deltas = this.endHalf();
    this.closed = true;
    forgotten.unregister(this);
    return deltas.concat(decode(this.instance.call((e) => e.sotto_close(this.stream, number))));
  }

  /** dispose drops a reply that is not read to its end. */
  dispose(): void {
    if (this.closed) return;
    this.closed = true;
    forgotten.unregister(this);
    this.forget();
  }
}

/** decode reads the events that a call gave. */
function decode(events: Uint8Array): Delta[] {
  const deltas: Delta[] = [];
  const view = new DataView(events.buffer, events.byteOffset, events.byteLength);
  for (let at = 0; at < events.length; ) {
    const kind = events[at]!, block = view.getUint32(at + 1, true), n = view.getUint32(at + 5, true);
    at += 9;
    const text = decoder.decode(events.subarray(at, at + n));
    at += n;
    switch (kind) {
      case 0: deltas.push({ type: "text", text }); break;
      case 1: deltas.push({ type: "reasoning", block, text }); break;
      case 2:
      case 3: deltas.push({ type: "reasoning-end", block, closed: kind === 2 }); break;
      case 4: deltas.push({ type: "narration", block, text }); break;
      case 5: deltas.push({ type: "tool", block, text }); break;
      default: deltas.push({ type: "end", ...JSON.parse(text) });
    }
  }
  return deltas;
}

/** withUnits adds to segments, which come in order, their places in UTF-16 units. */
function withUnits(segments: { channel: Segment["channel"]; start: number; end: number }[], raw: string | Uint8Array): Segment[] {
  const text = typeof raw === "string" ? raw : decoder.decode(raw);
  let bytes = 0, units = 0;
  const unitOf = (offset: number): number => {
    while (bytes < offset && units < text.length) {
      const c = text.codePointAt(units)!;
      bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
      units += c < 0x10000 ? 1 : 2;
    }
    return units;
  };
  return segments.map((s) => ({ ...s, from: unitOf(s.start), to: unitOf(s.end) }));
}

/** instantiate makes a Sotto of the module, compiled or as bytes. Use it where the runtime has a way of its own to load modules. */
export function instantiate(module: WebAssembly.Module | BufferSource): Sotto {
  return new Sotto(module instanceof WebAssembly.Module ? module : new WebAssembly.Module(module));
}
