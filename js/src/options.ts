import type { Dialect, Options } from "./types.js";

const encoder = new TextEncoder();

/** A Values writes options in the form that the module reads: see internal/reply/abi. */
class Values {
  private parts: Uint8Array[] = [];
  private length = 0;

  number(n: number): void {
    if (!Number.isInteger(n) || n < -(2 ** 31) || n >= 2 ** 32) throw new RangeError(`${n} is no whole number of 32 bits`);
    const b = new Uint8Array(4);
    new DataView(b.buffer).setUint32(0, n >>> 0, true);
    this.add(b);
  }
  text(s = ""): void {
    if (typeof s !== "string") throw new TypeError(`${typeof s} ${String(s)}: want a string`);
    const b = encoder.encode(s);
    this.number(b.length);
    this.add(b);
  }
  list(list: string[] = []): void {
    this.number(list.length);
    list.forEach((s) => this.text(s));
  }
  flag(on?: boolean): void {
    this.number(on === undefined ? 0 : on ? 2 : 1);
  }
  bytes(): Uint8Array {
    const all = new Uint8Array(this.length);
    let at = 0;
    for (const p of this.parts) all.set(p, at), (at += p.length);
    return all;
  }
  private add(b: Uint8Array): void {
    this.parts.push(b);
    this.length += b.length;
  }
}

/** encodeOptions returns options as the bytes that the module reads. */
export function encodeOptions(o: Options): Uint8Array {
  const v = new Values();
  v.text(o.model);
  v.text(typeof o.dialect === "string" ? o.dialect : "");
  v.text(o.start);
  let inline = 0;
  for (const channel of o.inline ?? []) {
    const bit = { narration: 1, tool: 2 }[channel];
    if (!bit) throw new RangeError(`inline channel ${JSON.stringify(channel)}: want "narration" or "tool"`);
    inline |= bit;
  }
  v.number(inline);
  v.number(o.maxHold ?? 0);
  if (o.tools) {
    v.number(o.tools.length + 1);
    o.tools.forEach((t) => v.text(t));
  } else {
    v.number(0);
  }
  if (typeof o.dialect === "object") {
    v.number(1);
    dialect(v, o.dialect);
  } else {
    v.number(0);
  }
  return v.bytes();
}

const dialectKeys = new Set(["name", "title", "sources", "models", "markers", "header", "pre_opens", "pre_opens_since", "prompt",
  "placement", "start", "output", "close", "on_doubt", "after_tool", "code", "stray", "max_marker", "max_hold"]);

function dialect(v: Values, d: Dialect): void {
  // A marker that is silently not looked for is a leak.
  const unknown = Object.keys(d).find((key) => !dialectKeys.has(key));
  if (unknown !== undefined) throw new RangeError(`dialect: unknown key ${JSON.stringify(unknown)}`);
  for (const s of [d.name, d.pre_opens, d.placement, d.start, d.output, d.close, d.on_doubt, d.after_tool]) v.text(s);
  v.flag(d.code);
  v.flag(d.stray);
  v.number(d.max_marker ?? 0);
  v.number(d.max_hold ?? 0);
  v.number(d.markers?.length ?? 0);
  for (const m of d.markers ?? []) {
    for (const s of [m.role, m.tag, m.name, m.family]) v.text(s);
    v.list(m.open);
    v.list(m.close);
    v.number((m.special ? 1 : 0) | (m.phrase ? 2 : 0) | (m.rescue ? 4 : 0));
  }
  const h = d.header;
  v.number(h ? 1 : 0);
  if (!h) return;
  for (const list of [h.begin, h.body, h.lead, h.end, h.close, h.name, h.tokens]) v.list(list);
  v.list(Object.entries(h.channels).flat());
  v.list(Object.entries(h.recipients ?? {}).flat());
  v.text(h.between);
  v.number(h.max_header ?? 0);
}
