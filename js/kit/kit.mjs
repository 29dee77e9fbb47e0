// The kit for ports (docs/conformance.md): every reply, whole and cut at every place, read by the
// module, against what the Go library prints. It runs in Node.js and in browsers.

/** The white space of Go's reader is that of ASCII. */
const trim = (s) => s.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");

/** What the deltas of a stream say, as a reading of the whole would. */
function gather(deltas) {
  const thoughts = new Map(), narration = new Map();
  let visible = "";
  const add = (map, d) => map.set(d.block, (map.get(d.block) ?? "") + d.text);
  for (const d of deltas) {
    if (d.type === "text") visible += d.text;
    if (d.type === "reasoning") add(thoughts, d);
    if (d.type === "narration") add(narration, d);
  }
  const texts = (map) => [...map.values()].map(trim).filter((t) => t !== "");
  return { visible, reasoning: texts(thoughts), narration: texts(narration), diagnostics: deltas.at(-1).diagnostics };
}

const parsed = (text) => text.trimEnd().split("\n").map((l) => JSON.parse(l));

/** A Kit is the three files of the kit, as texts. It notes what is read wrong. */
export class Kit {
  faults = [];
  readings = 0;

  constructor(sotto, { replies, wanted, dialects }) {
    this.sotto = sotto;
    this.replies = parsed(replies);
    this.wanted = parsed(wanted);
    this.own = new Map(JSON.parse(dialects).map((d) => [d.name, d]));
    if (this.replies.length !== this.wanted.length) throw new Error(`${this.replies.length} replies, ${this.wanted.length} wanted`);
  }

  options(c) {
    return { dialect: this.own.get(c.dialect) ?? c.dialect, start: c.start };
  }

  compare(got, want, about) {
    this.readings++;
    for (const key of Object.keys(got)) {
      const g = JSON.stringify(got[key]), w = JSON.stringify(want[key]);
      if (g !== w) this.faults.push(`${about} ${key}: ${g}, want ${w}`);
    }
  }

  /** whole reads the replies as they are. */
  whole() {
    this.replies.forEach((c, i) => {
      const raw = c.raw ?? c.deltas.join("");
      const { visible, reasoning, narration, segments, diagnostics, dialect, start } = this.sotto.parse(raw, { ...this.options(c), end: c.end });
      this.compare({ visible, reasoning, narration, segments: segments.map(({ channel, start, end }) => ({ channel, start, end })), diagnostics, dialect, start }, this.wanted[i], c.id);
      this.compare({ raw: segments.map((s) => raw.slice(s.from, s.to)).join("") }, { raw }, c.id);
    });
  }

  /** cuts reads every reply of `of` in two pieces, by characters, by UTF-16 units and by bytes; long ones at a part of the places unless `all`. */
  cuts({ all = false, of = 1 } = {}) {
    this.replies.forEach((c, i) => {
      if (i % of !== 0) return;
      const raw = c.raw ?? c.deltas.join("");
      const read = (...parts) => {
        const s = this.sotto.splitter(this.options(c));
        this.compare(gather(parts.flatMap((p) => s.feed(p)).concat(s.close(c.end))), this.wanted[i], `${c.id} in ${parts.length} parts, the first ${parts[0]?.length}`);
      };
      for (let at = 0; at <= raw.length; at += raw.length > 100 && !all ? 7 : 1) read(raw.slice(0, at), raw.slice(at));
      read(...raw); // one character at a time
      read(...Array.from({ length: raw.length }, (_, k) => raw[k])); // one UTF-16 unit at a time
      const bytes = new TextEncoder().encode(raw);
      read(...Array.from(bytes, (_, k) => bytes.subarray(k, k + 1)));
    });
  }
}
