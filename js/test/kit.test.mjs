// The kit for ports (docs/conformance.md): every reply, whole and cut at every place, read by
// the module, against what the Go library prints. SOTTO_EFFORT=2 takes more than one cut.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "../dist/index.js";

const kit = new URL("../../testdata/", import.meta.url);
const lines = (name) => readFileSync(new URL(name, kit), "utf8").trimEnd().split("\n").map((l) => JSON.parse(l));
const own = new Map(JSON.parse(readFileSync(new URL("conformance.dialects.json", kit), "utf8")).map((d) => [d.name, d]));
const sotto = await load({ ownDialects: true });
const replies = lines("conformance.jsonl"), wanted = lines("conformance.want.jsonl");
const effort = Number(process.env.SOTTO_EFFORT ?? 1);

const optionsOf = (c) => ({ dialect: own.get(c.dialect) ?? c.dialect, start: c.start });

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

/** The white space of Go's reader is that of ASCII. */
const trim = (s) => s.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");

test("whole replies", () => {
  assert.equal(replies.length, wanted.length);
  replies.forEach((c, i) => {
    const raw = c.raw ?? c.deltas.join(""), want = wanted[i];
    const r = sotto.parse(raw, { ...optionsOf(c), end: c.end });
    assert.deepEqual(
      { visible: r.visible, reasoning: r.reasoning, narration: r.narration, segments: r.segments.map(({ channel, start, end }) => ({ channel, start, end })),
        diagnostics: r.diagnostics, dialect: r.dialect, start: r.start },
      { visible: want.visible, reasoning: want.reasoning, narration: want.narration, segments: want.segments,
        diagnostics: want.diagnostics, dialect: want.dialect, start: want.start }, c.id);
    assert.equal(r.segments.map((s) => raw.slice(s.from, s.to)).join(""), raw, c.id);
  });
});

test("at every cut", () => {
  let cuts = 0;
  replies.forEach((c, i) => {
    const raw = c.raw ?? c.deltas.join(""), want = wanted[i];
    const read = (...parts) => {
      const s = sotto.splitter(optionsOf(c));
      const got = gather(parts.flatMap((p) => s.feed(p)).concat(s.close(c.end)));
      for (const key of ["visible", "reasoning", "narration", "diagnostics"]) assert.deepEqual(got[key], want[key], `${c.id} ${key} ${JSON.stringify(parts)}`);
      cuts++;
    };
    const long = raw.length > 100 && effort < 2;
    for (let at = 0; at <= raw.length; at += long ? 7 : 1) read(raw.slice(0, at), raw.slice(at));
    read(...raw); // one character at a time
    read(...Array.from({ length: raw.length }, (_, k) => raw[k])); // one UTF-16 unit at a time
    const bytes = new TextEncoder().encode(raw);
    read(...Array.from(bytes, (_, k) => bytes.subarray(k, k + 1)));
  });
  console.log(`${cuts} readings`);
});
